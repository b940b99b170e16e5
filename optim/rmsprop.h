#pragma once

#include "optim/options.h"
#include "optim/step_lists.h"

namespace torch::optim {

/// Settings of RMSprop. ValueError unless all numbers are >= 0.
struct RMSpropOptions : public StepOptions<RMSpropOptions> {
  RMSpropOptions(double lr = 1e-2) : StepOptions(lr) {}
  TORCH_ARG(double, alpha) = 0.99;
  TORCH_ARG(double, eps) = 1e-8;
  TORCH_ARG(double, weight_decay) = 0;
  TORCH_ARG(double, momentum) = 0;
  TORCH_ARG(bool, centered) = false;
  TORCH_ARG(bool, capturable) = false;

 public:
  void visit(FieldVisitor& visitor) override;
  void check() const override;
};

struct RMSpropParamState : public OptimizerCloneableParamState<RMSpropParamState> {
  TORCH_ARG(int64_t, step) = 0;
  TORCH_ARG(at::Tensor, square_avg);
  TORCH_ARG(at::Tensor, momentum_buffer) = {};
  TORCH_ARG(at::Tensor, grad_avg) = {};

 public:
  void visit(FieldVisitor& visitor) override;
  friend bool operator==(const RMSpropParamState& a, const RMSpropParamState& b) { return same_fields(a, b); }
};
TORCH_OPTIM_CLASSES_OF(extern, RMSprop)

/// RMSprop, optionally centred and with momentum (formula: at::_fused_rmsprop_).
class RMSprop : public ListOptimizer<RMSpropOptions, RMSpropParamState> {
 public:
  using ListOptimizer::ListOptimizer;

 protected:
  const char* name() const override { return "RMSprop"; }
  void update(StepLists& lists, const RMSpropOptions& options) override;
};

}  // namespace torch::optim

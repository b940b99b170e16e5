#pragma once

#include "optim/options.h"
#include "optim/step_lists.h"

namespace torch::optim {

/// Settings of Rprop: `etas` are the factors of a step after a gradient changed its sign and after it did not,
/// `step_sizes` the least and the most. ValueError unless 0 < etas[0] < 1 < etas[1].
struct RpropOptions : public StepOptions<RpropOptions> {
  RpropOptions(double lr = 1e-2) : StepOptions(lr) {}
  TORCH_ARG(FieldVisitor::Betas, etas) = std::make_tuple(0.5, 1.2);
  TORCH_ARG(FieldVisitor::Betas, step_sizes) = std::make_tuple(1e-6, 50.0);
  TORCH_ARG(bool, capturable) = false;

 public:
  void visit(FieldVisitor& visitor) override;
  void check() const override;
};

struct RpropParamState : public OptimizerCloneableParamState<RpropParamState> {
  TORCH_ARG(int64_t, step) = 0;
  TORCH_ARG(at::Tensor, prev);
  TORCH_ARG(at::Tensor, step_size);

 public:
  void visit(FieldVisitor& visitor) override;
  friend bool operator==(const RpropParamState& a, const RpropParamState& b) { return same_fields(a, b); }
};
TORCH_OPTIM_CLASSES_OF(extern, Rprop)

/// Resilient propagation (Riedmiller and Braun, 1993): each element has a step of its own, of which only the sign comes
/// from the gradient. For full batches.
class Rprop : public ListOptimizer<RpropOptions, RpropParamState> {
 public:
  using ListOptimizer::ListOptimizer;

 protected:
  const char* name() const override { return "Rprop"; }
  void update(StepLists& lists, const RpropOptions& options) override;
};

}  // namespace torch::optim

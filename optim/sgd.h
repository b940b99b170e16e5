#pragma once

#include "optim/options.h"
#include "optim/step_lists.h"

namespace torch::optim {

/// Settings of SGD.
///   momentum >= 0, weight_decay >= 0 (else ValueError); nesterov needs a momentum and no dampening.
struct SGDOptions : public StepOptions<SGDOptions> {
  SGDOptions(double lr = 1e-3) : StepOptions(lr) {}
  TORCH_ARG(double, momentum) = 0;
  TORCH_ARG(double, dampening) = 0;
  TORCH_ARG(double, weight_decay) = 0;
  TORCH_ARG(bool, nesterov) = false;
  TORCH_ARG(std::optional<bool>, fused);

 public:
  void visit(FieldVisitor& visitor) override;
  void check() const override;
};

struct SGDParamState : public OptimizerCloneableParamState<SGDParamState> {
  TORCH_ARG(at::Tensor, momentum_buffer);

 public:
  void visit(FieldVisitor& visitor) override;
  friend bool operator==(const SGDParamState& a, const SGDParamState& b) { return same_fields(a, b); }
};
TORCH_OPTIM_CLASSES_OF(extern, SGD)

/// Stochastic gradient descent with momentum (formula: at::_fused_sgd_).
///
///   torch::optim::SGD sgd(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
class SGD : public ListOptimizer<SGDOptions, SGDParamState> {
 public:
  using ListOptimizer::ListOptimizer;

 protected:
  const char* name() const override { return "SGD"; }
  void update(StepLists& lists, const SGDOptions& options) override;
  void update_rows(const RowGradient& rows, const SGDOptions& options) override;
};

}  // namespace torch::optim

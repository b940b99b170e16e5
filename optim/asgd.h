#pragma once

#include "optim/options.h"
#include "optim/step_lists.h"

namespace torch::optim {

/// Settings of ASGD. ValueError unless the rate, lambd and weight_decay are >= 0.
struct ASGDOptions : public StepOptions<ASGDOptions> {
  ASGDOptions(double lr = 1e-2) : StepOptions(lr) {}
  TORCH_ARG(double, lambd) = 1e-4;
  TORCH_ARG(double, alpha) = 0.75;
  TORCH_ARG(double, t0) = 1e6;
  TORCH_ARG(double, weight_decay) = 0;
  TORCH_ARG(bool, capturable) = false;

 public:
  void visit(FieldVisitor& visitor) override;
  void check() const override;
};

struct ASGDParamState : public OptimizerCloneableParamState<ASGDParamState> {
  TORCH_ARG(int64_t, step) = 0;
  TORCH_ARG(double, eta) = 0;
  TORCH_ARG(double, mu) = 1;
  TORCH_ARG(at::Tensor, ax);

 public:
  void visit(FieldVisitor& visitor) override;
  friend bool operator==(const ASGDParamState& a, const ASGDParamState& b) { return same_fields(a, b); }
};
TORCH_OPTIM_CLASSES_OF(extern, ASGD)

/// Averaged stochastic gradient descent (Polyak and Juditsky, 1992): p = (1 - lambd eta) p - eta g with a decaying rate
/// eta = lr / (1 + lambd lr t)^alpha. `ax` of the state is the average of the parameters since step t0.
class ASGD : public ListOptimizer<ASGDOptions, ASGDParamState> {
 public:
  using ListOptimizer::ListOptimizer;

 protected:
  const char* name() const override { return "ASGD"; }
  void update(StepLists& lists, const ASGDOptions& options) override;
};

}  // namespace torch::optim

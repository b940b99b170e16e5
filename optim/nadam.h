#pragma once

#include "optim/options.h"
#include "optim/step_lists.h"

namespace torch::optim {

/// Settings of NAdam. ValueError unless momentum_decay >= 0.
struct NAdamOptions : public BetasOptions<NAdamOptions> {
  NAdamOptions(double lr = 2e-3) : BetasOptions(lr, /*weight_decay=*/0) {}
  TORCH_ARG(double, momentum_decay) = 4e-3;
  TORCH_ARG(bool, decoupled_weight_decay) = false;

 public:
  void visit(FieldVisitor& visitor) override;
  void check() const override;
};

struct NAdamParamState : public OptimizerCloneableParamState<NAdamParamState> {
  TORCH_ARG(int64_t, step) = 0;
  TORCH_ARG(double, mu_product) = 1;
  TORCH_ARG(at::Tensor, exp_avg);
  TORCH_ARG(at::Tensor, exp_avg_sq);

 public:
  void visit(FieldVisitor& visitor) override;
  friend bool operator==(const NAdamParamState& a, const NAdamParamState& b) { return same_fields(a, b); }
};
TORCH_OPTIM_CLASSES_OF(extern, NAdam)

/// Adam with Nesterov's momentum (Dozat, 2016); its momentum grows with mu_t = beta1 (1 - 0.96^(t momentum_decay) / 2).
class NAdam : public ListOptimizer<NAdamOptions, NAdamParamState> {
 public:
  using ListOptimizer::ListOptimizer;

 protected:
  const char* name() const override { return "NAdam"; }
  void update(StepLists& lists, const NAdamOptions& options) override;
};

}  // namespace torch::optim

#pragma once

#include "optim/options.h"
#include "optim/step_lists.h"

namespace torch::optim {

/// Settings of RAdam.
struct RAdamOptions : public BetasOptions<RAdamOptions> {
  RAdamOptions(double lr = 1e-3) : BetasOptions(lr, /*weight_decay=*/0) {}
  TORCH_ARG(bool, decoupled_weight_decay) = false;

 public:
  void visit(FieldVisitor& visitor) override;
  void check() const override;
};

struct RAdamParamState : public OptimizerCloneableParamState<RAdamParamState> {
  TORCH_ARG(int64_t, step) = 0;
  TORCH_ARG(at::Tensor, exp_avg);
  TORCH_ARG(at::Tensor, exp_avg_sq);

 public:
  void visit(FieldVisitor& visitor) override;
  friend bool operator==(const RAdamParamState& a, const RAdamParamState& b) { return same_fields(a, b); }
};
TORCH_OPTIM_CLASSES_OF(extern, RAdam)

/// Rectified Adam (Liu et al., 2019): plain momentum while too few gradients were seen to know their variance.
class RAdam : public ListOptimizer<RAdamOptions, RAdamParamState> {
 public:
  using ListOptimizer::ListOptimizer;

 protected:
  const char* name() const override { return "RAdam"; }
  void update(StepLists& lists, const RAdamOptions& options) override;
};

}  // namespace torch::optim

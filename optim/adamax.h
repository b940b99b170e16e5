#pragma once

#include "optim/options.h"
#include "optim/step_lists.h"

namespace torch::optim {

/// Settings of Adamax.
struct AdamaxOptions : public BetasOptions<AdamaxOptions> {
  AdamaxOptions(double lr = 2e-3) : BetasOptions(lr, /*weight_decay=*/0) {}

 public:
  void visit(FieldVisitor& visitor) override;
  void check() const override;
};

struct AdamaxParamState : public OptimizerCloneableParamState<AdamaxParamState> {
  TORCH_ARG(int64_t, step) = 0;
  TORCH_ARG(at::Tensor, exp_avg);
  TORCH_ARG(at::Tensor, exp_inf);

 public:
  void visit(FieldVisitor& visitor) override;
  friend bool operator==(const AdamaxParamState& a, const AdamaxParamState& b) { return same_fields(a, b); }
};
TORCH_OPTIM_CLASSES_OF(extern, Adamax)

/// Adamax: Adam with the largest gradient in place of the root mean square (Kingma and Ba, 2014),
///   m = beta1 m + (1 - beta1) g,  u = max(beta2 u, |g| + eps),  p -= lr / (1 - beta1^t) m / u.
class Adamax : public ListOptimizer<AdamaxOptions, AdamaxParamState> {
 public:
  using ListOptimizer::ListOptimizer;

 protected:
  const char* name() const override { return "Adamax"; }
  void update(StepLists& lists, const AdamaxOptions& options) override;
};

}  // namespace torch::optim

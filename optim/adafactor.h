#pragma once

#include "optim/options.h"
#include "optim/step_lists.h"

namespace torch::optim {

/// Settings of Adafactor: `eps` are the least second moment (none: the dtype's epsilon) and the least scale of a
/// parameter, `d` clips the root mean square of an update. ValueError unless lr, eps, weight_decay >= 0, beta2_decay <=
/// 0 and d >= 1.
struct AdafactorOptions : public LrOptions<AdafactorOptions> {
  AdafactorOptions(double lr = 1e-2) : LrOptions(lr) {}
  TORCH_ARG(double, beta2_decay) = -0.8;
  TORCH_ARG(FieldVisitor::Epsilons, eps) = std::make_tuple(std::nullopt, 1e-3);
  TORCH_ARG(double, d) = 1.0;
  TORCH_ARG(double, weight_decay) = 0;
  TORCH_ARG(std::optional<bool>, foreach);
  TORCH_ARG(bool, maximize) = false;

 public:
  void visit(FieldVisitor& visitor) override;
  void check() const override;
};

struct AdafactorParamState : public OptimizerCloneableParamState<AdafactorParamState> {
  TORCH_ARG(int64_t, step) = 0;
  TORCH_ARG(at::Tensor, row_var);
  TORCH_ARG(at::Tensor, col_var);
  TORCH_ARG(at::Tensor, variance);

 public:
  void visit(FieldVisitor& visitor) override;
  friend bool operator==(const AdafactorParamState& a, const AdafactorParamState& b) { return same_fields(a, b); }
};
TORCH_OPTIM_CLASSES_OF(extern, Adafactor)

/// Adafactor (Shazeer and Stern, 2018): of matrices only the means of squared gradients by row and by column are kept.
/// Complex parameters are refused.
class Adafactor : public ListOptimizer<AdafactorOptions, AdafactorParamState> {
 public:
  using ListOptimizer::ListOptimizer;

 protected:
  const char* name() const override { return "Adafactor"; }
  void update(StepLists& lists, const AdafactorOptions& options) override;
};

}  // namespace torch::optim

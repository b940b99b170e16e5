#pragma once

#include "optim/options.h"
#include "optim/step_lists.h"

namespace torch::optim {

/// Settings of SparseAdam. ValueError unless lr > 0, eps > 0 and both betas lie in [0, 1).
struct SparseAdamOptions : public LrOptions<SparseAdamOptions> {
  SparseAdamOptions(double lr = 1e-3) : LrOptions(lr) {}
  TORCH_ARG(FieldVisitor::Betas, betas) = std::make_tuple(0.9, 0.999);
  TORCH_ARG(double, eps) = 1e-8;
  TORCH_ARG(bool, maximize) = false;

 public:
  void visit(FieldVisitor& visitor) override;
  void check() const override;
};

struct SparseAdamParamState : public OptimizerCloneableParamState<SparseAdamParamState> {
  TORCH_ARG(int64_t, step) = 0;
  TORCH_ARG(at::Tensor, exp_avg);
  TORCH_ARG(at::Tensor, exp_avg_sq);

 public:
  void visit(FieldVisitor& visitor) override;
  friend bool operator==(const SparseAdamParamState& a, const SparseAdamParamState& b) { return same_fields(a, b); }
};
TORCH_OPTIM_CLASSES_OF(extern, SparseAdam)

/// Adam for gradients of some rows (Optimizer::add_row_gradient): rows without a gradient keep their values and their
/// moments. A dense gradient throws.
class SparseAdam : public ListOptimizer<SparseAdamOptions, SparseAdamParamState> {
 public:
  using ListOptimizer::ListOptimizer;

 protected:
  const char* name() const override { return "SparseAdam"; }
  void update(StepLists& lists, const SparseAdamOptions& options) override;
  void update_rows(const RowGradient& rows, const SparseAdamOptions& options) override;
};

}  // namespace torch::optim

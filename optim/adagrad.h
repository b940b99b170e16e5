#pragma once

#include "optim/options.h"
#include "optim/step_lists.h"

namespace torch::optim {

/// Settings of Adagrad. ValueError unless all are >= 0.
struct AdagradOptions : public StepOptions<AdagradOptions> {
  AdagradOptions(double lr = 1e-2) : StepOptions(lr) {}
  TORCH_ARG(double, lr_decay) = 0;
  TORCH_ARG(double, weight_decay) = 0;
  TORCH_ARG(double, initial_accumulator_value) = 0;
  TORCH_ARG(double, eps) = 1e-10;
  TORCH_ARG(std::optional<bool>, fused);

 public:
  void visit(FieldVisitor& visitor) override;
  void check() const override;
};

struct AdagradParamState : public OptimizerCloneableParamState<AdagradParamState> {
  TORCH_ARG(at::Tensor, sum);
  TORCH_ARG(int64_t, step) = 0;

 public:
  void visit(FieldVisitor& visitor) override;
  friend bool operator==(const AdagradParamState& a, const AdagradParamState& b) { return same_fields(a, b); }
};
TORCH_OPTIM_CLASSES_OF(extern, Adagrad)

/// Adagrad; the rate of step t is lr / (1 + (t - 1) * lr_decay) (formula: at::_fused_adagrad_). The states of the
/// constructor's parameters are there from the beginning.
class Adagrad : public ListOptimizer<AdagradOptions, AdagradParamState> {
 public:
  explicit Adagrad(const std::vector<OptimizerParamGroup>& param_groups, AdagradOptions defaults = {});
  explicit Adagrad(std::vector<at::Tensor> params, AdagradOptions defaults = {});

 protected:
  const char* name() const override { return "Adagrad"; }
  void update(StepLists& lists, const AdagradOptions& options) override;
  void update_rows(const RowGradient& rows, const AdagradOptions& options) override;

 private:
  void make_states();
};

}  // namespace torch::optim

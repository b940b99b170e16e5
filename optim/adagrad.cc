#include "optim/adagrad.h"

#include "aten/ops/binary/ops.h"
#include "aten/ops/foreach/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/unary/ops.h"
#include "c10/core/grad_mode.h"

namespace torch::optim {

TORCH_OPTIM_CLASSES_OF(, Adagrad)

void AdagradOptions::visit(FieldVisitor& visitor) {
  visitor("lr", lr_);
  visitor("lr_decay", lr_decay_);
  visitor("eps", eps_);
  visitor("weight_decay", weight_decay_);
  visitor("initial_accumulator_value", initial_accumulator_value_);
  visitor("foreach", foreach_);
  visitor("maximize", maximize_);
  visitor("differentiable", differentiable_);
  visitor("fused", fused_);
}

void AdagradOptions::check() const {
  StepOptions::check();
  TORCH_CHECK_VALUE(lr_decay_ >= 0, "Invalid lr_decay value: ", lr_decay_);
  TORCH_CHECK_VALUE(weight_decay_ >= 0, "Invalid weight_decay value: ", weight_decay_);
  TORCH_CHECK_VALUE(initial_accumulator_value_ >= 0,
                    "Invalid initial_accumulator_value value: ", initial_accumulator_value_);
  TORCH_CHECK_VALUE(eps_ >= 0, "Invalid epsilon value: ", eps_);
  check_fused(fused_);
}

void AdagradParamState::visit(FieldVisitor& visitor) {
  visitor.step("step", step_);
  visitor("sum", sum_);
}

Adagrad::Adagrad(const std::vector<OptimizerParamGroup>& param_groups, AdagradOptions defaults)
    : ListOptimizer(param_groups, std::move(defaults)) {
  make_states();
}

Adagrad::Adagrad(std::vector<at::Tensor> params, AdagradOptions defaults)
    : ListOptimizer(std::move(params), std::move(defaults)) {
  make_states();
}

void Adagrad::make_states() {
  const c10::NoGradGuard no_grad;
  for (const OptimizerParamGroup& group : param_groups_) {
    const auto& options = static_cast<const AdagradOptions&>(group.options());
    for (const at::Tensor& param : group.params()) {
      state_of<AdagradParamState>(param).sum(make_state_tensor(param, options.initial_accumulator_value()));
    }
  }
}

void Adagrad::update(StepLists& lists, const AdagradOptions& options) {
  list_states(lists);
  scratch_.list_counts(lists);
  take(lists, 0, &AdagradParamState::sum, options.initial_accumulator_value());
  at::_fused_adagrad_(lists.params, lists.grads, lists.state[0], lists.counts, options.lr(), options.lr_decay(),
                      options.weight_decay(), options.eps(), options.maximize(), grad_scale_, found_inf_);
}

void Adagrad::update_rows(const RowGradient& rows, const AdagradOptions& options) {
  TORCH_CHECK(options.weight_decay() == 0, "weight_decay option is not compatible with sparse gradients");
  at::Tensor param = rows.parameter;
  AdagradParamState& state = state_of<AdagradParamState>(param);
  if (!state.sum().defined()) state.sum(make_state_tensor(param, options.initial_accumulator_value()));
  const at::Tensor grad = options.maximize() ? at::neg(rows.values) : rows.values;
  at::index_add_(state.sum(), 0, rows.indices, at::mul(grad, grad));
  const at::Tensor root = at::add(at::sqrt(at::index_select(state.sum(), 0, rows.indices)), options.eps());
  const double lr = options.lr() / (1 + static_cast<double>(state.step()) * options.lr_decay());
  at::index_add_(param, 0, rows.indices, at::div(grad, root), -lr);
  state.step(next_count(state.step()));
}

}  // namespace torch::optim

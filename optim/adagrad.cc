#include "optim/adagrad.h"

#include "aten/ops/foreach/ops.h"

namespace torch::optim {

AdagradOptions::AdagradOptions(double lr) : lr_(lr) {}

void AdagradOptions::visit(FieldVisitor& visitor) {
  visitor.number("lr", lr_);
  visitor.number("lr_decay", lr_decay_);
  visitor.number("weight_decay", weight_decay_);
  visitor.number("initial_accumulator_value", initial_accumulator_value_);
  visitor.number("eps", eps_);
}

void AdagradOptions::check() const {
  TORCH_CHECK_VALUE(lr_ >= 0, "Invalid learning rate: ", lr_);
  TORCH_CHECK_VALUE(lr_decay_ >= 0, "Invalid lr_decay value: ", lr_decay_);
  TORCH_CHECK_VALUE(weight_decay_ >= 0, "Invalid weight_decay value: ", weight_decay_);
  TORCH_CHECK_VALUE(initial_accumulator_value_ >= 0, "Invalid initial_accumulator_value value: ", initial_accumulator_value_);
  TORCH_CHECK_VALUE(eps_ >= 0, "Invalid epsilon value: ", eps_);
}

void AdagradParamState::visit(FieldVisitor& visitor) {
  visitor.tensor("sum", sum_);
  visitor.count("step", step_);
}

at::Tensor Adagrad::step(LossClosure closure) {
  return run_step(closure, [this](OptimizerParamGroup& group) {
    const AdagradOptions& options = static_cast<const AdagradOptions&>(group.options());
    for (StepLists& lists : scratch_.list(group.params())) {
      for (const at::Tensor& param : lists.params) {
        AdagradParamState& state = state_of<AdagradParamState>(param);
        if (!state.sum().defined()) state.sum(make_state_tensor(param, options.initial_accumulator_value()));
        lists.state[0].push_back(state.sum());
        scratch_.add_count(lists, state.step());
      }
      at::_fused_adagrad_(lists.params, lists.grads, lists.state[0], lists.counts, options.lr(), options.lr_decay(),
                          options.weight_decay(), options.eps(), /*maximize=*/false);
      StepScratch::count(lists);
    }
  });
}

}  // namespace torch::optim

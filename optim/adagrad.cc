#include "optim/adagrad.h"

#include "aten/cpu/optimizer/optimizer_step.h"
#include "optim/fused_step.h"

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
    FusedParameters parameters;
    std::vector<at::cpu::AdagradStep> steps;
    std::vector<AdagradParamState*> states;
    for (at::Tensor& p : group.params()) {
      if (!p.grad().defined()) continue;
      AdagradParamState& state = state_of<AdagradParamState>(p);
      if (!state.sum().defined()) state.sum(make_state_tensor(p, options.initial_accumulator_value()));
      parameters.add(p, {&state.sum()});
      states.push_back(&state);
      at::cpu::AdagradStep step;
      step.lr = options.lr() / (1 + static_cast<double>(state.step()) * options.lr_decay());
      step.eps = options.eps();
      step.weight_decay = options.weight_decay();
      steps.push_back(step);
    }
    for (AdagradParamState* state : states) state->step(next_count(state->step()));
    parameters.run(
        [](const void* context, size_t i, const FusedOperands& o) {
          at::cpu::adagrad_step(o.dtype, o.data[0], o.data[1], o.data[2], o.numel,
                                static_cast<const at::cpu::AdagradStep*>(context)[i]);
        },
        steps.data());
  });
}

}  // namespace torch::optim

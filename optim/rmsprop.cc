#include "optim/rmsprop.h"

#include "aten/cpu/optimizer/optimizer_step.h"
#include "optim/fused_step.h"

namespace torch::optim {

RMSpropOptions::RMSpropOptions(double lr) : lr_(lr) {}

void RMSpropOptions::visit(FieldVisitor& visitor) {
  visitor.number("lr", lr_);
  visitor.number("alpha", alpha_);
  visitor.number("eps", eps_);
  visitor.number("weight_decay", weight_decay_);
  visitor.number("momentum", momentum_);
  visitor.flag("centered", centered_);
}

void RMSpropOptions::check() const {
  TORCH_CHECK_VALUE(lr_ >= 0, "Invalid learning rate: ", lr_);
  TORCH_CHECK_VALUE(eps_ >= 0, "Invalid epsilon value: ", eps_);
  TORCH_CHECK_VALUE(momentum_ >= 0, "Invalid momentum value: ", momentum_);
  TORCH_CHECK_VALUE(weight_decay_ >= 0, "Invalid weight_decay value: ", weight_decay_);
  TORCH_CHECK_VALUE(alpha_ >= 0, "Invalid alpha value: ", alpha_);
}

void RMSpropParamState::visit(FieldVisitor& visitor) {
  visitor.count("step", step_);
  visitor.tensor("square_avg", square_avg_);
  visitor.tensor("momentum_buffer", momentum_buffer_);
  visitor.tensor("grad_avg", grad_avg_);
}

at::Tensor RMSprop::step(LossClosure closure) {
  return run_step(closure, [this](OptimizerParamGroup& group) {
    const RMSpropOptions& options = static_cast<const RMSpropOptions&>(group.options());
    at::cpu::RmspropStep step;
    step.lr = options.lr();
    step.alpha = options.alpha();
    step.eps = options.eps();
    step.weight_decay = options.weight_decay();
    step.momentum = options.momentum();
    FusedParameters parameters;
    std::vector<RMSpropParamState*> states;
    for (at::Tensor& p : group.params()) {
      if (!p.grad().defined()) continue;
      RMSpropParamState& state = state_of<RMSpropParamState>(p);
      parameters.add(p, {&state.square_avg(), options.centered() ? &state.grad_avg() : nullptr,
                         options.momentum() > 0 ? &state.momentum_buffer() : nullptr});
      states.push_back(&state);
    }
    for (RMSpropParamState* state : states) state->step(next_count(state->step()));
    parameters.run(
        [](const void* context, size_t, const FusedOperands& o) {
          at::cpu::rmsprop_step(o.dtype, o.data[0], o.data[1], o.data[2], o.data[3], o.data[4], o.numel,
                                *static_cast<const at::cpu::RmspropStep*>(context));
        },
        &step);
  });
}

}  // namespace torch::optim

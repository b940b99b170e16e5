#include "optim/rmsprop.h"

#include "aten/ops/foreach/ops.h"

namespace torch::optim {

TORCH_OPTIM_CLASSES_OF(, RMSprop)

void RMSpropOptions::visit(FieldVisitor& visitor) {
  visitor("lr", lr_);
  visitor("momentum", momentum_);
  visitor("alpha", alpha_);
  visitor("eps", eps_);
  visitor("centered", centered_);
  visitor("weight_decay", weight_decay_);
  visitor("capturable", capturable_);
  visitor("foreach", foreach_);
  visitor("maximize", maximize_);
  visitor("differentiable", differentiable_);
}

void RMSpropOptions::check() const {
  StepOptions::check();
  TORCH_CHECK_VALUE(eps_ >= 0, "Invalid epsilon value: ", eps_);
  TORCH_CHECK_VALUE(momentum_ >= 0, "Invalid momentum value: ", momentum_);
  TORCH_CHECK_VALUE(weight_decay_ >= 0, "Invalid weight_decay value: ", weight_decay_);
  TORCH_CHECK_VALUE(alpha_ >= 0, "Invalid alpha value: ", alpha_);
}

void RMSpropParamState::visit(FieldVisitor& visitor) {
  visitor.step("step", step_);
  visitor("square_avg", square_avg_);
  visitor("momentum_buffer", momentum_buffer_);
  visitor("grad_avg", grad_avg_);
}

void RMSprop::update(StepLists& lists, const RMSpropOptions& options) {
  list_states(lists);
  take(lists, 0, &RMSpropParamState::square_avg);
  if (options.centered()) take(lists, 1, &RMSpropParamState::grad_avg);
  if (options.momentum() > 0) take(lists, 2, &RMSpropParamState::momentum_buffer);
  at::_fused_rmsprop_(lists.params, lists.grads, lists.state[0], lists.state[1], lists.state[2], options.lr(),
                      options.alpha(), options.eps(), options.weight_decay(), options.momentum(), options.centered(),
                      options.maximize());
}

}  // namespace torch::optim

#include "optim/adadelta.h"

#include "aten/ops/foreach/ops.h"

namespace torch::optim {

TORCH_OPTIM_CLASSES_OF(, Adadelta)

void AdadeltaOptions::visit(FieldVisitor& visitor) {
  visitor("lr", lr_);
  visitor("rho", rho_);
  visitor("eps", eps_);
  visitor("weight_decay", weight_decay_);
  visitor("maximize", maximize_);
  visitor("capturable", capturable_);
  visitor("foreach", foreach_);
  visitor("differentiable", differentiable_);
}

void AdadeltaOptions::check() const {
  StepOptions::check();
  TORCH_CHECK_VALUE(0 <= rho_ && rho_ <= 1, "Invalid rho value: ", rho_);
  TORCH_CHECK_VALUE(eps_ >= 0, "Invalid epsilon value: ", eps_);
  TORCH_CHECK_VALUE(weight_decay_ >= 0, "Invalid weight_decay value: ", weight_decay_);
}

void AdadeltaParamState::visit(FieldVisitor& visitor) {
  visitor.step("step", step_);
  visitor("square_avg", square_avg_);
  visitor("acc_delta", acc_delta_);
}

void Adadelta::update(StepLists& lists, const AdadeltaOptions& options) {
  list_states(lists);
  const auto params = as_reals(lists.params);
  const auto grads = step_gradients(lists, params, options.maximize(), options.weight_decay());
  const auto squares = as_reals(take(lists, 0, &AdadeltaParamState::square_avg));
  const auto steps = as_reals(take(lists, 1, &AdadeltaParamState::acc_delta));
  at::_foreach_mul_(squares, options.rho());
  at::_foreach_addcmul_(squares, grads, grads, 1 - options.rho());
  const auto of_gradients = at::_foreach_sqrt(at::_foreach_add(squares, options.eps()));
  const auto of_steps = at::_foreach_sqrt(at::_foreach_add(steps, options.eps()));
  const auto delta = at::_foreach_mul(at::_foreach_div(of_steps, of_gradients), grads);
  at::_foreach_mul_(steps, options.rho());
  at::_foreach_addcmul_(steps, delta, delta, 1 - options.rho());
  at::_foreach_add_(params, delta, -options.lr());
}

}  // namespace torch::optim

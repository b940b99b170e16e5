#include "optim/adamax.h"

#include <cmath>

#include "aten/ops/foreach/ops.h"

namespace torch::optim {

TORCH_OPTIM_CLASSES_OF(, Adamax)

void AdamaxOptions::visit(FieldVisitor& visitor) {
  visitor("lr", lr_);
  visitor("betas", betas_);
  visitor("eps", eps_);
  visitor("weight_decay", weight_decay_);
  visitor("foreach", foreach_);
  visitor("maximize", maximize_);
  visitor("differentiable", differentiable_);
  visitor("capturable", capturable_);
}

void AdamaxOptions::check() const {
  BetasOptions::check();
}

void AdamaxParamState::visit(FieldVisitor& visitor) {
  visitor.step("step", step_);
  visitor("exp_avg", exp_avg_);
  visitor("exp_inf", exp_inf_);
}

void Adamax::update(StepLists& lists, const AdamaxOptions& options) {
  const auto [beta1, beta2] = options.betas();
  list_states(lists);
  const auto params = as_reals(lists.params);
  const auto grads = step_gradients(lists, params, options.maximize(), options.weight_decay());
  const auto averages = as_reals(take(lists, 0, &AdamaxParamState::exp_avg));
  const auto norms = as_reals(take(lists, 1, &AdamaxParamState::exp_inf));
  at::_foreach_lerp_(averages, grads, 1 - beta1);
  const auto largest =
      at::_foreach_maximum(at::_foreach_mul(norms, beta2), at::_foreach_add(at::_foreach_abs(grads), options.eps()));
  at::_foreach_copy_(norms, largest);
  std::vector<at::Scalar> sizes;
  for (const double count : lists.next_counts()) sizes.push_back(-options.lr() / (1 - std::pow(beta1, count)));
  at::_foreach_addcdiv_(params, averages, largest, sizes);
}

}  // namespace torch::optim

#include "optim/radam.h"

#include <cmath>

#include "aten/ops/foreach/ops.h"

namespace torch::optim {

TORCH_OPTIM_CLASSES_OF(, RAdam)

void RAdamOptions::visit(FieldVisitor& visitor) {
  visitor("lr", lr_);
  visitor("betas", betas_);
  visitor("eps", eps_);
  visitor("weight_decay", weight_decay_);
  visitor("maximize", maximize_);
  visitor("foreach", foreach_);
  visitor("capturable", capturable_);
  visitor("decoupled_weight_decay", decoupled_weight_decay_);
  visitor("differentiable", differentiable_);
}

void RAdamOptions::check() const {
  BetasOptions::check();
}

void RAdamParamState::visit(FieldVisitor& visitor) {
  visitor.step("step", step_);
  visitor("exp_avg", exp_avg_);
  visitor("exp_avg_sq", exp_avg_sq_);
}

void RAdam::update(StepLists& lists, const RAdamOptions& options) {
  const auto [beta1, beta2] = options.betas();
  const double lr = options.lr(), decay = options.weight_decay();
  list_states(lists);
  const auto params = as_reals(lists.params);
  const auto grads = step_gradients(lists, params, options.maximize(), options.decoupled_weight_decay() ? 0 : decay);
  const auto averages = as_reals(take(lists, 0, &RAdamParamState::exp_avg));
  const auto squares = as_reals(take(lists, 1, &RAdamParamState::exp_avg_sq));
  if (options.decoupled_weight_decay()) at::_foreach_mul_(params, 1 - lr * decay);
  at::_foreach_lerp_(averages, grads, 1 - beta1);
  at::_foreach_mul_(squares, beta2);
  at::_foreach_addcmul_(squares, grads, grads, 1 - beta2);
  // Parameters whose variance is known well enough, and the others.
  struct Part {
    std::vector<at::Tensor> params, averages, squares;
    std::vector<at::Scalar> sizes;
  } rectified, plain;
  const std::vector<double> counts = lists.next_counts();
  const double longest = 2 / (1 - beta2) - 1;
  for (size_t i = 0; i < counts.size(); ++i) {
    const double power = std::pow(beta2, counts[i]);
    const double length = longest - 2 * counts[i] * power / (1 - power);
    double size = -lr / (1 - std::pow(beta1, counts[i]));
    Part& part = length > 5 ? rectified : plain;
    if (length > 5) {
      size *= std::sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)) *
              std::sqrt(1 - power);
    }
    part.params.push_back(params[i]);
    part.averages.push_back(averages[i]);
    part.squares.push_back(squares[i]);
    part.sizes.push_back(size);
  }
  if (!plain.params.empty()) at::_foreach_add_(plain.params, at::_foreach_mul(plain.averages, plain.sizes));
  if (!rectified.params.empty()) {
    const auto denominators = at::_foreach_add(at::_foreach_sqrt(rectified.squares), options.eps());
    at::_foreach_addcdiv_(rectified.params, rectified.averages, denominators, rectified.sizes);
  }
}

}  // namespace torch::optim

#include "optim/nadam.h"

#include <cmath>

#include "aten/ops/foreach/ops.h"
#include "c10/core/default_dtype.h"

namespace torch::optim {

TORCH_OPTIM_CLASSES_OF(, NAdam)
namespace {

// The product as a tensor of the default dtype computes it.
double product(double a, double b) {
  if (c10::get_default_dtype_as_scalartype() == at::kDouble) return a * b;
  return static_cast<double>(static_cast<float>(a) * static_cast<float>(b));
}

}  // namespace

void NAdamOptions::visit(FieldVisitor& visitor) {
  visitor("lr", lr_);
  visitor("betas", betas_);
  visitor("eps", eps_);
  visitor("weight_decay", weight_decay_);
  visitor("momentum_decay", momentum_decay_);
  visitor("decoupled_weight_decay", decoupled_weight_decay_);
  visitor("maximize", maximize_);
  visitor("foreach", foreach_);
  visitor("capturable", capturable_);
  visitor("differentiable", differentiable_);
}

void NAdamOptions::check() const {
  BetasOptions::check();
  TORCH_CHECK_VALUE(momentum_decay_ >= 0, "Invalid momentum_decay value: ", momentum_decay_);
}

void NAdamParamState::visit(FieldVisitor& visitor) {
  visitor.step("step", step_);
  visitor.tensor_number("mu_product", mu_product_);
  visitor("exp_avg", exp_avg_);
  visitor("exp_avg_sq", exp_avg_sq_);
}

void NAdam::update(StepLists& lists, const NAdamOptions& options) {
  const auto [beta1, beta2] = options.betas();
  const double lr = options.lr(), decay = options.weight_decay();
  list_states(lists);
  const auto params = as_reals(lists.params);
  const auto grads = step_gradients(lists, params, options.maximize(), options.decoupled_weight_decay() ? 0 : decay);
  const auto averages = as_reals(take(lists, 0, &NAdamParamState::exp_avg));
  const auto squares = as_reals(take(lists, 1, &NAdamParamState::exp_avg_sq));
  if (options.decoupled_weight_decay()) at::_foreach_mul_(params, 1 - lr * decay);
  at::_foreach_lerp_(averages, grads, 1 - beta1);
  at::_foreach_mul_(squares, beta2);
  at::_foreach_addcmul_(squares, grads, grads, 1 - beta2);
  const std::vector<double> counts = lists.next_counts();
  std::vector<at::Scalar> corrections, of_gradient, of_average;
  std::vector<double> products;
  for (size_t i = 0; i < counts.size(); ++i) {
    const auto momentum = [&, b = beta1](double count) {
      return b * (1 - 0.5 * std::pow(0.96, count * options.momentum_decay()));
    };
    const double mu = momentum(counts[i]), next = momentum(counts[i] + 1);
    products.push_back(product(state_at(lists, i).mu_product(), mu));
    corrections.push_back(1 - std::pow(beta2, counts[i]));
    of_gradient.push_back(-lr * (1 - mu) / (1 - products[i]));
    of_average.push_back(-lr * next / (1 - products[i] * next));
  }
  const auto denominators = at::_foreach_add(at::_foreach_sqrt(at::_foreach_div(squares, corrections)), options.eps());
  at::_foreach_addcdiv_(params, grads, denominators, of_gradient);
  at::_foreach_addcdiv_(params, averages, denominators, of_average);
  for (size_t i = 0; i < counts.size(); ++i) state_at(lists, i).mu_product(products[i]);
}

}  // namespace torch::optim

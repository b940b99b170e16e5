#include "optim/asgd.h"

#include <algorithm>
#include <cmath>

#include "aten/ops/foreach/ops.h"
#include "c10/core/default_dtype.h"

namespace torch::optim {

TORCH_OPTIM_CLASSES_OF(, ASGD)
namespace {

// As a tensor of the default dtype holds it.
double stored(double value) {
  return c10::get_default_dtype_as_scalartype() == at::kDouble ? value : static_cast<double>(static_cast<float>(value));
}

}  // namespace

void ASGDOptions::visit(FieldVisitor& visitor) {
  visitor("lr", lr_);
  visitor("lambd", lambd_);
  visitor("alpha", alpha_);
  visitor("t0", t0_);
  visitor("weight_decay", weight_decay_);
  visitor("foreach", foreach_);
  visitor("maximize", maximize_);
  visitor("differentiable", differentiable_);
  visitor("capturable", capturable_);
}

void ASGDOptions::check() const {
  StepOptions::check();
  TORCH_CHECK_VALUE(lambd_ >= 0, "Invalid lambd value: ", lambd_);
  TORCH_CHECK_VALUE(weight_decay_ >= 0, "Invalid weight_decay value: ", weight_decay_);
}

void ASGDParamState::visit(FieldVisitor& visitor) {
  visitor.step("step", step_);
  visitor.tensor_number("eta", eta_);
  visitor.tensor_number("mu", mu_);
  visitor("ax", ax_);
}

void ASGD::update(StepLists& lists, const ASGDOptions& options) {
  list_states(lists);
  const auto params = as_reals(lists.params);
  const auto grads = step_gradients(lists, params, options.maximize(), options.weight_decay());
  const auto averages = as_reals(take(lists, 0, &ASGDParamState::ax));
  std::vector<at::Scalar> shrink, rates, weights;
  std::vector<at::Tensor> averaged, taken, averaged_params, taken_params;
  for (size_t i = 0; i < params.size(); ++i) {
    ASGDParamState& state = state_at(lists, i);
    if (state.step() == 0) state.eta(stored(options.lr()));
    shrink.push_back(1 - options.lambd() * state.eta());
    rates.push_back(-state.eta());
    const bool take_over = state.mu() == 1;
    (take_over ? taken : averaged).push_back(averages[i]);
    (take_over ? taken_params : averaged_params).push_back(params[i]);
    if (!take_over) weights.push_back(state.mu());
  }
  at::_foreach_mul_(params, shrink);
  at::_foreach_add_(params, at::_foreach_mul(grads, rates));
  if (!taken.empty()) at::_foreach_copy_(taken, taken_params);
  if (!averaged.empty()) {
    at::_foreach_add_(averaged, at::_foreach_mul(at::_foreach_sub(averaged_params, averaged), weights));
  }
  const std::vector<double> counts = lists.next_counts();
  for (size_t i = 0; i < params.size(); ++i) {
    ASGDParamState& state = state_at(lists, i);
    state.eta(stored(options.lr() / std::pow(1 + options.lambd() * options.lr() * counts[i], options.alpha())));
    state.mu(stored(1 / std::max(1.0, counts[i] - options.t0())));
  }
}

}  // namespace torch::optim

#include "optim/sparse_adam.h"

#include <cmath>

#include "aten/ops/binary/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/unary/ops.h"

namespace torch::optim {

TORCH_OPTIM_CLASSES_OF(, SparseAdam)

void SparseAdamOptions::visit(FieldVisitor& visitor) {
  visitor("lr", lr_);
  visitor("betas", betas_);
  visitor("eps", eps_);
  visitor("maximize", maximize_);
}

void SparseAdamOptions::check() const {
  const auto [beta1, beta2] = betas_;
  TORCH_CHECK_VALUE(lr_ > 0, "Invalid learning rate: ", lr_);
  TORCH_CHECK_VALUE(eps_ > 0, "Invalid epsilon value: ", eps_);
  TORCH_CHECK_VALUE(0 <= beta1 && beta1 < 1, "Invalid beta parameter at index 0: ", beta1);
  TORCH_CHECK_VALUE(0 <= beta2 && beta2 < 1, "Invalid beta parameter at index 1: ", beta2);
}

void SparseAdamParamState::visit(FieldVisitor& visitor) {
  visitor("step", step_);
  visitor("exp_avg", exp_avg_);
  visitor("exp_avg_sq", exp_avg_sq_);
}

void SparseAdam::update(StepLists&, const SparseAdamOptions&) {
  TORCH_CHECK(false, "SparseAdam does not support dense gradients, please consider Adam instead");
}

void SparseAdam::update_rows(const RowGradient& rows, const SparseAdamOptions& options) {
  const auto [beta1, beta2] = options.betas();
  at::Tensor param = rows.parameter;
  SparseAdamParamState& state = state_of<SparseAdamParamState>(param);
  if (!state.exp_avg().defined()) state.exp_avg(make_state_tensor(param));
  if (!state.exp_avg_sq().defined()) state.exp_avg_sq(make_state_tensor(param));
  state.step(next_count(state.step()));
  const at::Tensor grad = options.maximize() ? at::neg(rows.values) : rows.values;
  // The rows of a moment, moved towards their new values.
  const auto moved = [&](at::Tensor& moment, const at::Tensor& target, double weight) {
    const at::Tensor old = at::index_select(moment, 0, rows.indices);
    const at::Tensor change = at::mul(at::sub(target, old), weight);
    at::index_add_(moment, 0, rows.indices, change);
    return at::add(change, old);
  };
  const at::Tensor average = moved(state.exp_avg(), grad, 1 - beta1);
  const at::Tensor square = moved(state.exp_avg_sq(), at::mul(grad, grad), 1 - beta2);
  const double count = static_cast<double>(state.step());
  const double size = options.lr() * std::sqrt(1 - std::pow(beta2, count)) / (1 - std::pow(beta1, count));
  at::index_add_(param, 0, rows.indices, at::div(average, at::add(at::sqrt(square), options.eps())), -size);
}

}  // namespace torch::optim

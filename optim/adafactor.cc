#include "optim/adafactor.h"

#include <algorithm>
#include <cmath>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "c10/core/epsilon.h"

namespace torch::optim {

TORCH_OPTIM_CLASSES_OF(, Adafactor)
namespace {

double norm_of(const at::Tensor& t) {
  return at::item(at::norm(t)).toDouble();
}

// Means of the squares over one dimension, which stays with size 1.
at::Tensor mean_squares(const at::Tensor& grad, int64_t dim) {
  const at::Tensor norm = at::norm(grad, 2, dim, /*keepdim=*/true);
  return at::div(at::mul(norm, norm), grad.size(dim));
}

at::Tensor& made(at::Tensor& state, const at::Tensor& grad, int64_t dim) {
  std::vector<int64_t> sizes = grad.sizes().vec();
  if (dim < 0) sizes[sizes.size() - static_cast<size_t>(-dim)] = 1;
  if (!state.defined()) state = at::zeros(sizes, grad.options());
  TORCH_CHECK_VALUE(state.sizes() == at::IntArrayRef(sizes), "Adafactor: expected a state of size ",
                    at::IntArrayRef(sizes), ", but got ", state.sizes());
  return state;
}

}  // namespace

void AdafactorOptions::visit(FieldVisitor& visitor) {
  visitor("lr", lr_);
  visitor("beta2_decay", beta2_decay_);
  visitor("eps", eps_);
  visitor("d", d_);
  visitor("weight_decay", weight_decay_);
  visitor("foreach", foreach_);
  visitor("maximize", maximize_);
}

void AdafactorOptions::check() const {
  const auto& [eps1, eps2] = eps_;
  TORCH_CHECK_VALUE(lr_ >= 0, "Learning rate should be >= 0 but is: ", lr_);
  TORCH_CHECK_VALUE(beta2_decay_ <= 0, "beta2_decay should be <= 0 but is: ", beta2_decay_);
  TORCH_CHECK_VALUE(!eps1.has_value() || *eps1 >= 0, "epsilon1 should be >= 0 but is: ", eps1.value_or(0));
  TORCH_CHECK_VALUE(eps2 >= 0, "epsilon2 should be >= 0 but is: ", eps2);
  TORCH_CHECK_VALUE(d_ >= 1, "Clipping threshold d should be >= 1 but is: ", d_);
  TORCH_CHECK_VALUE(weight_decay_ >= 0, "weight_decay should be >= 0 but is: ", weight_decay_);
}

void AdafactorParamState::visit(FieldVisitor& visitor) {
  visitor.step("step", step_);
  visitor("row_var", row_var_, FieldVisitor::Kind::kTensor);
  visitor("col_var", col_var_, FieldVisitor::Kind::kTensor);
  visitor("variance", variance_);
}

void Adafactor::update(StepLists& lists, const AdafactorOptions& options) {
  for (const at::Tensor& param : lists.params) {
    TORCH_CHECK(!param.is_complex(), "Adafactor does not support complex parameters");
  }
  list_states(lists);
  const auto grads = step_gradients(lists, lists.params, options.maximize(), 0);
  const std::vector<double> counts = lists.next_counts();
  if (!lists.params.empty() && lists.params[0].is_meta()) return;
  for (size_t i = 0; i < grads.size(); ++i) {
    at::Tensor& param = lists.params[i];
    const at::Tensor& grad = grads[i];
    AdafactorParamState& state = state_at(lists, i);
    const double weight = std::pow(counts[i], options.beta2_decay());
    const double eps1 = std::get<0>(options.eps()).value_or(at::epsilon_of(param.scalar_type()));
    const double root = std::sqrt(static_cast<double>(param.numel()));
    const double alpha =
        std::max(std::get<1>(options.eps()), norm_of(param) / root) * std::min(options.lr(), 1 / std::sqrt(counts[i]));
    if (options.weight_decay() != 0) at::mul_(param, 1 - options.lr() * options.weight_decay());
    at::Tensor estimate;
    if (grad.dim() > 1) {
      at::Tensor &rows = made(state.row_var(), grad, -1), &columns = made(state.col_var(), grad, -2);
      at::lerp_(rows, mean_squares(grad, -1), weight);
      at::lerp_(columns, mean_squares(grad, -2), weight);
      estimate = at::div(at::matmul(rows, columns), at::clamp(at::mean(rows, -2, /*keepdim=*/true), eps1));
    } else {
      estimate = at::lerp_(made(state.variance(), grad, 0), at::mul(grad, grad), weight);
    }
    const at::Tensor update = at::mul(at::rsqrt(at::clamp(estimate, eps1 * eps1)), grad);
    const double clip = std::max(1.0, norm_of(update) / (root * options.d()));
    at::add_(param, update, -alpha / clip);
  }
}

}  // namespace torch::optim

#include "optim/muon.h"

#include <algorithm>
#include <cmath>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/foreach/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"

namespace torch::optim {

TORCH_OPTIM_CLASSES_OF(, Muon)
namespace {

// The orthogonal matrix next to `grad`, roughly: singular values come near 1.
at::Tensor orthogonal(const at::Tensor& grad, const MuonOptions& options) {
  const auto [a, b, c] = options.ns_coefficients();
  at::Tensor x = at::to(grad, at::kBFloat16);
  const bool tall = grad.size(0) > grad.size(1);
  if (tall) x = at::t(x);
  x = at::div(x, at::clamp(at::norm(x), options.eps()));
  for (int64_t i = 0; i < options.ns_steps(); ++i) {
    const at::Tensor gram = at::mm(x, at::t(x));
    x = at::addmm(x, at::addmm(gram, gram, gram, b, c), x, a);
  }
  return tall ? at::t(x) : x;
}

double adjusted(double lr, const std::optional<std::string>& rule, const at::Tensor& param) {
  const double rows = static_cast<double>(param.size(0)), columns = static_cast<double>(param.size(1));
  if (rule == "match_rms_adamw") return lr * 0.2 * std::sqrt(std::max(rows, columns));
  if (rule == "spectral_unclamped") return lr * std::sqrt(rows / columns);
  return lr * std::sqrt(std::max(1.0, rows / columns));
}

}  // namespace

void MuonOptions::visit(FieldVisitor& visitor) {
  visitor("lr", lr_);
  visitor("weight_decay", weight_decay_);
  visitor("momentum", momentum_);
  visitor("nesterov", nesterov_);
  visitor("ns_coefficients", ns_coefficients_);
  visitor("eps", eps_);
  visitor("ns_steps", ns_steps_);
  visitor("adjust_lr_fn", adjust_lr_fn_);
}

void MuonOptions::check() const {
  TORCH_CHECK_VALUE(lr_ >= 0, "Learning rate should be >= 0 but is: ", lr_);
  TORCH_CHECK_VALUE(momentum_ >= 0, "momentum should be >= 0 but is: ", momentum_);
  TORCH_CHECK_VALUE(weight_decay_ >= 0, "weight decay should be >= 0 but is: ", weight_decay_);
  TORCH_CHECK_VALUE(!adjust_lr_fn_.has_value() || *adjust_lr_fn_ == "original" || *adjust_lr_fn_ == "match_rms_adamw" ||
                        *adjust_lr_fn_ == "spectral_unclamped",
                    "Adjust learning rate function ", adjust_lr_fn_.value_or(""), " is not supported");
  TORCH_CHECK_VALUE(ns_steps_ < 100, "Muon: expected fewer than 100 ns_steps, but got ", ns_steps_);
}

void MuonOptions::check_parameter(const at::Tensor& parameter) const {
  OptimizerOptions::check_parameter(parameter);
  TORCH_CHECK_VALUE(parameter.dim() == 2,
                    "Muon only supports 2D parameters whereas we found a parameter with size: ", parameter.sizes());
}

void MuonParamState::visit(FieldVisitor& visitor) {
  visitor("momentum_buffer", momentum_buffer_);
}

void Muon::update(StepLists& lists, const MuonOptions& options) {
  for (const at::Tensor& param : lists.params) {
    TORCH_CHECK(!param.is_complex(), "Muon does not support complex parameters");
  }
  list_states(lists);
  const auto grads = step_gradients(lists, lists.params, /*maximize=*/false, 0);
  const auto& buffers = take(lists, 0, &MuonParamState::momentum_buffer);
  at::_foreach_lerp_(buffers, grads, 1 - options.momentum());
  for (size_t i = 0; i < grads.size(); ++i) {
    at::Tensor& param = lists.params[i];
    const at::Tensor update =
        orthogonal(options.nesterov() ? at::lerp(grads[i], buffers[i], options.momentum()) : buffers[i], options);
    at::mul_(param, 1 - options.lr() * options.weight_decay());
    at::add_(param, update, -adjusted(options.lr(), options.adjust_lr_fn(), param));
  }
}

}  // namespace torch::optim

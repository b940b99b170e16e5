#include "nn/utils/clip_grad.h"

#include <cmath>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "c10/core/grad_mode.h"

namespace torch::nn::utils {
namespace {

// The gradients that exist. They share their tensors with the parameters.
std::vector<at::Tensor> gradients(const std::vector<at::Tensor>& parameters) {
  std::vector<at::Tensor> out;
  out.reserve(parameters.size());
  for (const at::Tensor& p : parameters) {
    if (p.defined() && p.grad().defined()) out.push_back(p.grad());
  }
  return out;
}

}  // namespace

double clip_grad_norm_(const std::vector<at::Tensor>& parameters, double max_norm, double norm_type,
                       bool error_if_nonfinite) {
  c10::NoGradGuard no_grad;
  std::vector<at::Tensor> grads = gradients(parameters);
  if (grads.empty()) return 0.0;
  // One number a gradient, then the norm of these.
  std::vector<at::Tensor> norms;
  norms.reserve(grads.size());
  const c10::Device device = grads[0].device();
  for (const at::Tensor& g : grads) {
    at::Tensor norm = at::norm(g, norm_type);
    if (g.device() != device) norm = at::to(norm, norm.options().device(device), false, false, std::nullopt);
    norms.push_back(std::move(norm));
  }
  const double total = at::item(norms.size() == 1 ? norms[0] : at::norm(at::stack(norms), norm_type)).to<double>();
  TORCH_CHECK(
      !error_if_nonfinite || std::isfinite(total), "The total norm of order ", norm_type,
      " for gradients from `parameters` is non-finite, so it cannot be clipped. To disable this error and scale the "
      "gradients with the non-finite norm anyway, set `error_if_nonfinite=false`");
  const double scale = max_norm / (total + 1e-6);
  // Also where the norm is not a number: the gradients then show it.
  if (!(scale >= 1.0)) {
    for (at::Tensor& g : grads) at::mul_(g, scale);
  }
  return total;
}

double clip_grad_norm_(at::Tensor parameter, double max_norm, double norm_type, bool error_if_nonfinite) {
  return clip_grad_norm_(std::vector<at::Tensor>{std::move(parameter)}, max_norm, norm_type, error_if_nonfinite);
}

void clip_grad_value_(const std::vector<at::Tensor>& parameters, double clip_value) {
  c10::NoGradGuard no_grad;
  for (at::Tensor& g : gradients(parameters)) {
    at::clamp_(g, std::optional<at::Scalar>(-clip_value), std::optional<at::Scalar>(clip_value));
  }
}

void clip_grad_value_(at::Tensor parameter, double clip_value) {
  clip_grad_value_(std::vector<at::Tensor>{std::move(parameter)}, clip_value);
}

}  // namespace torch::nn::utils

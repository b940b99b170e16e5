#include "nn/utils/clip_grad.h"

#include <cmath>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/sparse/ops.h"
#include "aten/ops/unary/ops.h"
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

at::Tensor get_total_norm(const std::vector<at::Tensor>& tensors, double norm_type, bool error_if_nonfinite) {
  c10::NoGradGuard no_grad;
  if (tensors.empty()) return at::zeros({});
  // One number a tensor, then the norm of these.
  std::vector<at::Tensor> norms;
  norms.reserve(tensors.size());
  const c10::Device device = tensors[0].device();
  for (const at::Tensor& t : tensors) {
    // Places that a sparse one names twice count as their sum.
    at::Tensor norm = at::norm(t.is_sparse() ? at::_values(at::coalesce(t)) : t, norm_type);
    if (t.device() != device) norm = at::to(norm, norm.options().device(device), false, false, std::nullopt);
    norms.push_back(std::move(norm));
  }
  at::Tensor total = norms.size() == 1 ? norms[0] : at::norm(at::stack(norms), norm_type);
  TORCH_CHECK(
      !error_if_nonfinite || std::isfinite(at::item(total).to<double>()), "The total norm of order ", norm_type,
      " for gradients from `parameters` is non-finite, so it cannot be clipped. To disable this error and scale the "
      "gradients with the non-finite norm anyway, set `error_if_nonfinite=false`");
  return total;
}

void clip_grads_with_norm_(const std::vector<at::Tensor>& parameters, double max_norm, double total_norm) {
  c10::NoGradGuard no_grad;
  const double scale = max_norm / (total_norm + 1e-6);
  // Also where the norm is not a number: the gradients then show it.
  if (scale >= 1.0) return;
  for (at::Tensor& g : gradients(parameters)) at::mul_(g, scale);
}

void clip_grads_with_norm_(const std::vector<at::Tensor>& parameters, double max_norm, const at::Tensor& total_norm) {
  if (total_norm.is_cpu()) return clip_grads_with_norm_(parameters, max_norm, at::item(total_norm).to<double>());
  c10::NoGradGuard no_grad;
  const at::Tensor scale = at::clamp_max(at::mul(at::reciprocal(at::add(total_norm, 1e-6)), max_norm), 1.0);
  for (at::Tensor& g : gradients(parameters)) {
    const auto here = scale.options().device(g.device());
    at::mul_(g, g.device() == scale.device() ? scale : at::to(scale, here, false, false, std::nullopt));
  }
}

double clip_grad_norm_(const std::vector<at::Tensor>& parameters, double max_norm, double norm_type,
                       bool error_if_nonfinite) {
  const std::vector<at::Tensor> grads = gradients(parameters);
  if (grads.empty()) return 0.0;
  const double total = at::item(get_total_norm(grads, norm_type, error_if_nonfinite)).to<double>();
  clip_grads_with_norm_(parameters, max_norm, total);
  return total;
}

double clip_grad_norm_(const at::Tensor& parameter, double max_norm, double norm_type, bool error_if_nonfinite) {
  return clip_grad_norm_(std::vector<at::Tensor>{parameter}, max_norm, norm_type, error_if_nonfinite);
}

void clip_grad_value_(const std::vector<at::Tensor>& parameters, double clip_value) {
  c10::NoGradGuard no_grad;
  for (at::Tensor& g : gradients(parameters)) {
    at::clamp_(g, std::optional<at::Scalar>(-clip_value), std::optional<at::Scalar>(clip_value));
  }
}

void clip_grad_value_(const at::Tensor& parameter, double clip_value) {
  clip_grad_value_(std::vector<at::Tensor>{parameter}, clip_value);
}

}  // namespace torch::nn::utils

#include "autograd/derivatives/reduce_functions.h"

#include <limits>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/rearrange/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/scan/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/derivatives/pointwise_functions.h"
#include "autograd/engine/forward_grad.h"

namespace torch::autograd::generated {
namespace {

Tensor conjugate(const Tensor& t) { return t.is_complex() ? at::conj_physical(t) : t; }

bool all_dims(OptionalIntArrayRef dim) { return !dim.has_value() || dim->empty(); }

int64_t count_of(IntArrayRef sizes, OptionalIntArrayRef dim) {
  int64_t n = 1;
  if (all_dims(dim)) {
    for (int64_t s : sizes) n *= s;
  } else if (!sizes.empty()) {
    for (int64_t d : *dim) n *= sizes[static_cast<size_t>(maybe_wrap_dim(d, static_cast<int64_t>(sizes.size())))];
  }
  return n;
}

Tensor as_dtype_of(const Tensor& t, const Tensor& other) {
  return at::_to_copy(t, TensorOptions().dtype(other.scalar_type()));
}

Tensor zero_where(const Tensor& t, const Tensor& mask) { return at::masked_fill(t, mask, Scalar(0)); }

// The product of all other elements along dim.
Tensor product_of_others(const Tensor& self, int64_t dim) {
  const int64_t n = self.size(dim);
  DimVector sizes(self.sizes().begin(), self.sizes().end());
  sizes[static_cast<size_t>(maybe_wrap_dim(dim, self.dim()))] = 1;
  const Tensor one = at::ones(sizes, self.options());
  const Tensor before = at::cumprod(at::cat({one, at::narrow(self, dim, 0, n - 1)}, dim), dim);
  const Tensor after = at::flip(at::cumprod(at::cat({one, at::flip(at::narrow(self, dim, 1, n - 1), dim)}, dim), dim), dim);
  return at::mul(before, after);
}

bool has_zero(const Tensor& t) { return at::item(at::any(at::eq(t, Scalar(0)))).toBool(); }

}  // namespace

Tensor restore_reduced_dims(const Tensor& reduced, int64_t rank, OptionalIntArrayRef dim, bool keepdim) {
  if (keepdim || rank == 0) return reduced;
  bool mask[TensorImpl::kMaxDims] = {};
  if (all_dims(dim)) {
    for (int64_t d = 0; d < rank; ++d) mask[d] = true;
  } else {
    for (int64_t d : *dim) mask[maybe_wrap_dim(d, rank)] = true;
  }
  Tensor t = reduced;
  for (int64_t d = 0; d < rank; ++d) {
    if (mask[d]) t = at::unsqueeze(t, d);
  }
  return t;
}

Tensor sum_backward(const Tensor& grad, IntArrayRef sizes, OptionalIntArrayRef dim, bool keepdim) {
  return at::expand(restore_reduced_dims(grad, static_cast<int64_t>(sizes.size()), dim, keepdim), sizes);
}

Tensor mean_backward(const Tensor& grad, IntArrayRef sizes, OptionalIntArrayRef dim, bool keepdim) {
  return at::expand(
      restore_reduced_dims(at::div(grad, Scalar(count_of(sizes, dim))), static_cast<int64_t>(sizes.size()), dim, keepdim), sizes);
}

Tensor scale_grad_by_count(const Tensor& grad, const Tensor& mask, OptionalIntArrayRef dim) {
  const Tensor weight = as_dtype_of(mask, grad);
  return at::mul(at::div(grad, at::sum(weight, dim, true)), weight);
}

Tensor evenly_distribute_backward(const Tensor& grad, const Tensor& input, const Tensor& value) {
  const Tensor both_nan = at::logical_and(at::ne(input, input), at::ne(value, value));
  const Tensor weight = as_dtype_of(at::logical_or(at::eq(input, value), both_nan), grad);
  return at::mul(at::div(grad, at::sum(weight)), weight);
}

Tensor aminmax_backward(
    const Tensor& self, std::optional<int64_t> dim, bool keepdim, const Tensor& grad_min, const Tensor& grad_max, const Tensor& min,
    const Tensor& max) {
  const OptionalIntArrayRef dims = dim ? OptionalIntArrayRef(*dim) : OptionalIntArrayRef();
  Tensor total;
  const auto add = [&](const Tensor& grad, const Tensor& value) {
    if (!grad.defined()) return;
    const Tensor mask = at::eq(self, restore_reduced_dims(value, self.dim(), dims, keepdim));
    const Tensor part = scale_grad_by_count(restore_reduced_dims(grad, self.dim(), dims, keepdim), mask, dims);
    total = total.defined() ? at::add(total, part) : part;
  };
  add(grad_min, min);
  add(grad_max, max);
  return total;
}

Tensor logsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result, IntArrayRef dim, bool keepdim) {
  const Tensor g = restore_reduced_dims(grad, self.dim(), dim, keepdim), r = restore_reduced_dims(result, self.dim(), dim, keepdim);
  return at::mul(g, conj_of(at::exp(at::sub(self, r))));
}

Tensor var_backward(
    const Tensor& grad, const Tensor& self, OptionalIntArrayRef dim, const std::optional<Scalar>& correction, bool keepdim) {
  const double freedom = static_cast<double>(count_of(self.sizes(), dim)) - (correction ? correction->toDouble() : 1.0);
  const Tensor g = restore_reduced_dims(grad, self.dim(), dim, keepdim);
  return at::mul(at::mul(g, Scalar(2.0 / freedom)), at::sub(self, at::mean(self, dim, true)));
}

Tensor std_backward(
    const Tensor& result, const Tensor& grad, const Tensor& self, OptionalIntArrayRef dim, const std::optional<Scalar>& correction,
    bool keepdim) {
  const Tensor grad_var = zero_where(at::div(grad, at::mul(result, Scalar(2))), at::eq(result, Scalar(0)));
  return var_backward(grad_var, self, dim, correction, keepdim);
}

Tensor var_mean_backward(
    const Tensor& grad_var, const Tensor& grad_mean, const Tensor& self, OptionalIntArrayRef dim,
    const std::optional<Scalar>& correction, bool keepdim) {
  Tensor total;
  if (grad_var.defined()) total = var_backward(grad_var, self, dim, correction, keepdim);
  if (grad_mean.defined()) {
    const Tensor part = mean_backward(grad_mean, self.sizes(), dim, keepdim);
    total = total.defined() ? at::add(total, part) : part;
  }
  return total;
}

Tensor std_mean_backward(
    const Tensor& grad_std, const Tensor& grad_mean, const Tensor& self, const Tensor& std, OptionalIntArrayRef dim,
    const std::optional<Scalar>& correction, bool keepdim) {
  Tensor total;
  if (grad_std.defined()) total = std_backward(std, grad_std, self, dim, correction, keepdim);
  if (grad_mean.defined()) {
    const Tensor part = mean_backward(grad_mean, self.sizes(), dim, keepdim);
    total = total.defined() ? at::add(total, part) : part;
  }
  return total;
}

Tensor prod_backward(const Tensor& grad, const Tensor& self, const Tensor& result) {
  if (self.dim() == 0) return grad;
  if (self.numel() == 0) return at::zeros_like(self);
  if (!has_zero(self)) return at::mul(grad, conjugate(at::div(result, self)));
  const Tensor flat = at::reshape(self, IntArrayRef(-1));
  return at::reshape(at::mul(grad, conjugate(product_of_others(flat, 0))), self.sizes());
}

Tensor prod_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim, bool keepdim) {
  if (self.dim() == 0) return grad;
  if (self.numel() == 0) return at::zeros_like(self);
  const Tensor g = restore_reduced_dims(grad, self.dim(), IntArrayRef(dim), keepdim);
  if (!has_zero(self)) {
    return at::mul(g, conjugate(at::div(restore_reduced_dims(result, self.dim(), IntArrayRef(dim), keepdim), self)));
  }
  return at::mul(g, conjugate(product_of_others(self, dim)));
}

Tensor norm_backward(const Tensor& grad, const Tensor& self, const std::optional<Scalar>& p, const Tensor& norm) {
  return norm_backward(grad, self, p, norm, OptionalIntArrayRef(), true);
}

Tensor norm_backward(
    const Tensor& grad_in, const Tensor& self, const std::optional<Scalar>& p_in, const Tensor& norm_in, OptionalIntArrayRef dim,
    bool keepdim) {
  const double p = p_in ? p_in->toDouble() : 2.0;
  if (p == 0) return at::zeros_like(self);
  const Tensor grad = restore_reduced_dims(grad_in, self.dim(), dim, keepdim);
  const Tensor norm = restore_reduced_dims(norm_in, self.dim(), dim, keepdim);
  if (p == 1) return at::mul(at::sgn(self), grad);
  if (p == 2) return at::mul(self, zero_where(at::div(grad, norm), at::eq(norm, Scalar(0))));
  const Tensor magnitude = at::abs(self);
  if (p == std::numeric_limits<double>::infinity() || p == -std::numeric_limits<double>::infinity()) {
    const Tensor both_nan = at::logical_and(at::ne(magnitude, magnitude), at::ne(norm, norm));
    const Tensor mask = as_dtype_of(at::logical_or(at::eq(magnitude, norm), both_nan), grad);
    return at::mul(at::sgn(self), at::mul(at::div(mask, at::sum(mask, dim, true)), grad));
  }
  const Tensor zero = at::eq(norm, Scalar(0));
  if (p < 2) {
    const Tensor scaled = at::mul(at::sgn(self), zero_where(at::pow(magnitude, Scalar(p - 1)), at::eq(magnitude, Scalar(0))));
    return at::mul(scaled, at::mul(grad, zero_where(at::pow(norm, Scalar(1 - p)), zero)));
  }
  const Tensor scaled = at::mul(self, at::pow(magnitude, Scalar(p - 2)));
  return at::mul(scaled, zero_where(at::div(grad, at::pow(norm, Scalar(p - 1))), zero));
}

Tensor softmax_double_backward(const Tensor& grad, const Tensor& grad_output, int64_t dim, const Tensor& output) {
  const Tensor inner = at::sub(grad_output, at::sum(at::mul(grad_output, output), dim, true));
  return at::sub(at::mul(grad, inner), at::mul(grad_output, at::sum(at::mul(grad, output), dim, true)));
}

Tensor log_softmax_double_backward(const Tensor& grad, const Tensor& grad_output, int64_t dim, const Tensor& output) {
  return at::neg(at::mul(at::mul(grad, at::exp(output)), at::sum(grad_output, dim, true)));
}

Tensor cumsum_backward(const Tensor& grad, int64_t dim) {
  if (grad.dim() == 0 || grad.numel() <= 1) return grad;
  return at::flip(at::cumsum(at::flip(grad, dim), dim), dim);
}

// d result_k / d self_i = exp(self_i - result_k) for k >= i. The sum over k is formed in log space, positive and negative
// parts of grad apart.
Tensor logcumsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim) {
  if (grad.dim() == 0 || grad.numel() == 0) return grad;
  if (grad.is_complex()) {
    const Tensor logs = at::sub(at::log(grad), conj_of(result));
    return at::exp(at::add(conj_of(self), at::flip(at::logcumsumexp(at::flip(logs, dim), dim), dim)));
  }
  if (is_differentiated()) {
    const Tensor scaled = at::mul(grad, at::exp(at::neg(conj_of(result))));
    return at::mul(at::flip(at::cumsum(at::flip(scaled, dim), dim), dim), at::exp(conj_of(self)));
  }
  // In logarithms, so that large values do not overflow.
  const Tensor low = at::full({}, Scalar(-std::numeric_limits<double>::infinity()), grad.options());
  const auto part = [&](const Tensor& magnitude, const Tensor& used) {
    const Tensor log_grad = at::where(used, at::log(magnitude), low);
    const Tensor sum = at::flip(at::logcumsumexp(at::flip(at::sub(log_grad, result), dim), dim), dim);
    return at::exp(at::add(sum, self));
  };
  return at::sub(part(grad, at::gt(grad, Scalar(0))), part(at::neg(grad), at::lt(grad, Scalar(0))));
}

}  // namespace torch::autograd::generated

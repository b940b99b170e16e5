#include "autograd/derivatives/forward_functions.h"

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/derivatives/pointwise_functions.h"
#include "autograd/derivatives/reduce_functions.h"

namespace torch::autograd::generated {
namespace {

Tensor cast(const Tensor& t, ScalarType dtype) {
  return t.scalar_type() == dtype ? t : at::_to_copy(t, TensorOptions().dtype(dtype));
}

struct Normalized {
  DimVector dims;
  Tensor rstd;
  Tensor xhat;
};

Normalized normalized(const Tensor& input, IntArrayRef shape, double eps) {
  Normalized n;
  for (int64_t d = input.dim() - static_cast<int64_t>(shape.size()); d < input.dim(); ++d) n.dims.push_back(d);
  const Tensor centered = at::sub(input, at::mean(input, n.dims, true));
  n.rstd = at::rsqrt(at::add(at::mean(at::mul(centered, centered), n.dims, true), Scalar(eps)));
  n.xhat = at::mul(centered, n.rstd);
  return n;
}

}  // namespace

Tensor picked_tangent(const Tensor& t, int64_t dim, const Tensor& indices, bool keepdim) {
  if (t.dim() == 0) return t;
  if (keepdim) return at::gather(t, dim, indices);
  return at::squeeze(at::gather(t, dim, at::unsqueeze(indices, dim)), dim);
}

Tensor extreme_tangent(const Tensor& t, const Tensor& self, const Tensor& result, OptionalIntArrayRef dim, bool keepdim) {
  const Tensor value = restore_reduced_dims(result, self.dim(), dim, keepdim);
  const Tensor both_nan = at::logical_and(at::ne(self, self), at::ne(value, value));
  const Tensor weight = cast(at::logical_or(at::eq(self, value), both_nan), t.scalar_type());
  return at::div(at::sum(at::mul(t, weight), dim, keepdim), at::sum(weight, dim, keepdim));
}

Tensor nansum_tangent(const Tensor& t, const Tensor& self, OptionalIntArrayRef dim, bool keepdim) {
  return at::sum(keep_where(at::eq(self, self), t), dim, keepdim);
}

Tensor logsumexp_tangent(const Tensor& t, const Tensor& self, const Tensor& result, IntArrayRef dim, bool keepdim) {
  const Tensor part = at::exp(at::sub(self, restore_reduced_dims(result, self.dim(), dim, keepdim)));
  return at::sum(at::mul(t, part), dim, keepdim);
}

Tensor var_tangent(
    const Tensor& t, const Tensor& self, OptionalIntArrayRef dim, const std::optional<Scalar>& correction, bool keepdim) {
  const Tensor centered = at::sub(self, at::mean(self, dim, true));
  const Tensor product = at::sum(at::mul(t, conj_of(centered)), dim, keepdim);
  int64_t count = self.numel();
  if (dim.has_value() && !dim->empty()) {
    count = 1;
    for (const int64_t d : *dim) count *= self.dim() == 0 ? 1 : self.size(d);
  }
  const double freedom = static_cast<double>(count) - (correction ? correction->toDouble() : 1.0);
  return at::mul(product.is_complex() ? at::real(product) : product, Scalar(2.0 / freedom));
}

Tensor std_tangent(
    const Tensor& t, const Tensor& self, const Tensor& std, OptionalIntArrayRef dim, const std::optional<Scalar>& correction,
    bool keepdim) {
  const Tensor tangent = at::div(var_tangent(t, self, dim, correction, keepdim), at::mul(std, Scalar(2)));
  return at::masked_fill(tangent, at::eq(std, Scalar(0)), Scalar(0));
}

Tensor softmax_tangent(const Tensor& t, const Tensor& result, int64_t dim) {
  const Tensor weighted = at::mul(cast(t, result.scalar_type()), result);
  return at::sub(weighted, at::mul(result, at::sum(weighted, dim, true)));
}

Tensor log_softmax_tangent(const Tensor& t, const Tensor& result, int64_t dim) {
  const Tensor direction = cast(t, result.scalar_type());
  return at::sub(direction, at::sum(at::mul(direction, at::exp(result)), dim, true));
}

Tensor layer_norm_input_tangent(
    const Tensor& t, const Tensor& input, IntArrayRef normalized_shape, const std::optional<Tensor>& weight, double eps) {
  const Normalized n = normalized(input, normalized_shape, eps);
  const Tensor along = at::mul(n.xhat, at::mean(at::mul(t, n.xhat), n.dims, true));
  const Tensor tangent = at::mul(at::sub(at::sub(t, at::mean(t, n.dims, true)), along), n.rstd);
  return weight.has_value() && weight->defined() ? at::mul(tangent, *weight) : tangent;
}

Tensor layer_norm_weight_tangent(const Tensor& t, const Tensor& input, IntArrayRef normalized_shape, double eps) {
  return at::mul(normalized(input, normalized_shape, eps).xhat, t);
}

Tensor scaled(const Tensor& t, const Scalar& alpha) {
  return alpha.equal(1) ? t : at::mul(t, alpha);
}

Tensor channel_tangent(const Tensor& t, int64_t dims, int64_t channel) {
  DimVector sizes(static_cast<size_t>(dims), 1);
  sizes[static_cast<size_t>(channel)] = t.numel();
  return at::reshape(t, sizes);
}

Tensor as_strided_tangent(
    const Tensor& t, const Tensor& self, IntArrayRef size, IntArrayRef stride, std::optional<int64_t> storage_offset) {
  const int64_t offset = storage_offset.value_or(self.storage_offset());
  return at::as_strided(t, size, stride, offset - self.storage_offset() + t.storage_offset());
}

Tensor polar_angle_tangent(const Tensor& t, const Tensor& result) {
  return at::mul(result, at::complex(at::zeros_like(t), t));
}

}  // namespace torch::autograd::generated

// Gradients of selections, scans and reductions, by composition: differentiable through what they call.
#include <cmath>
#include <numbers>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/core/view.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/composite/kernels.h"
#include "aten/ops/composite/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/rearrange/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/scan/ops.h"
#include "aten/ops/shared/arguments.h"
#include "aten/ops/softmax/ops.h"
#include "aten/ops/sort/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

// Whether an element is zero; on meta none is known to be.
bool has_zero(const Tensor& t) {
  return !t.is_meta() && at::item(at::any(at::eq(t, Scalar(0)))).toBool();
}

Tensor conjugate(const Tensor& t) {
  return t.is_complex() ? at::conj_physical(t) : t;
}

}  // namespace

// --- selections ---
Tensor value_selecting_reduction_backward(const Tensor& grad, int64_t dim, const Tensor& indices, IntArrayRef sizes,
                                          bool keepdim) {
  if (sizes.empty()) return grad;
  dim = maybe_wrap_dim(dim, static_cast<int64_t>(sizes.size()));
  const Tensor g = keepdim ? grad : at::unsqueeze(grad, dim), i = keepdim ? indices : at::unsqueeze(indices, dim);
  return at::scatter(at::new_zeros(grad, sizes), dim, i, g);
}

Tensor index_select_backward(const Tensor& grad, IntArrayRef self_sizes, int64_t dim, const Tensor& index) {
  Tensor result = at::new_zeros(grad, self_sizes);
  return at::index_add_(result, dim, index, grad);
}

Tensor gather_backward(const Tensor& grad, const Tensor& self, int64_t dim, const Tensor& index, bool) {
  Tensor result = at::new_zeros(grad, self.sizes());
  return at::scatter_add_(result, dim, index, grad);
}

Tensor masked_select_backward(const Tensor& grad, const Tensor& input, const Tensor& mask) {
  return at::masked_scatter(at::new_zeros(grad, broadcast_shapes(input.sizes(), mask.sizes())), mask, grad);
}

Tensor unfold_backward(const Tensor& grad_in, IntArrayRef input_sizes, int64_t dim, int64_t size, int64_t step) {
  const auto rank = static_cast<int64_t>(input_sizes.size());
  dim = maybe_wrap_dim(dim, rank);
  const int64_t length = rank == 0 ? 1 : input_sizes[static_cast<size_t>(dim)];
  TORCH_CHECK(step > 0 && size >= 0 && size <= length, "unfold_backward: expected a step above 0 and a size up to ",
              length, ", but got ", step, " and ", size);
  const int64_t count = (length - size) / step + 1;
  DimVector expected(input_sizes.begin(), input_sizes.end());
  if (rank > 0) expected[static_cast<size_t>(dim)] = count;
  expected.push_back(size);
  TORCH_CHECK(grad_in.sizes() == IntArrayRef(expected), "unfold_backward: expected grad_in of size ",
              IntArrayRef(expected), ", but got ", grad_in.sizes());
  if (rank == 0) return at::sum(grad_in, IntArrayRef{0});
  if (step >= size) {
    // Windows that do not overlap are places of their own.
    Tensor result = at::new_zeros(grad_in, input_sizes), windows = at::unfold(result, dim, size, step);
    at::copy_(windows, grad_in);
    return result;
  }
  const TensorOptions longs = TensorOptions(kLong).device(grad_in.device());
  const Tensor begins = at::arange(0, count * step, step, longs), within = at::arange(size, longs);
  const Tensor places = at::reshape(at::add(at::unsqueeze(begins, 1), within), {-1});
  const Tensor windows = at::flatten(at::movedim(grad_in, -1, dim + 1), dim, dim + 1);
  return at::index_add(at::new_zeros(grad_in, input_sizes), dim, places, windows);
}

// --- reductions and scans ---
Tensor trace_backward(const Tensor& grad, IntArrayRef sizes) {
  TORCH_CHECK(sizes.size() == 2, "expected matrix input");
  return at::mul(at::eye(sizes[0], sizes[1], grad.options()), grad);
}

Tensor cummaxmin_backward(const Tensor& grad, const Tensor& input, const Tensor& indices, int64_t dim) {
  if (input.numel() == 0) return input;
  return at::scatter_add(at::zeros_like(input), dim, indices, grad);
}

namespace {

// The sums from each element on.
Tensor sums_to_the_end(const Tensor& t, int64_t dim) {
  if (t.dim() == 0 || t.numel() <= 1) return t;
  return at::flip(at::cumsum(at::flip(t, dim), dim), dim);
}

}  // namespace

// d result_k / d self_i = result_k / self_i for k >= i; where zeros forbid the division, the products are formed row by
// row.
Tensor cumprod_backward(const Tensor& grad, const Tensor& input, int64_t dim, const Tensor& output) {
  if (input.dim() == 0 || input.numel() <= 1) return grad;
  if (!has_zero(input)) return at::div(sums_to_the_end(at::mul(grad, conjugate(output)), dim), conjugate(input));
  const int64_t n = input.size(dim);
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < n; ++i) {
    // prod_{j < i} input_j * sum_{k >= i} grad_k * prod_{i < j <= k} input_j
    Tensor after = at::ones_like(at::narrow(input, dim, i, 1));
    if (i + 1 < n) after = at::cat({after, at::cumprod(at::narrow(input, dim, i + 1, n - i - 1), dim)}, dim);
    Tensor part = at::sum(at::mul(at::narrow(grad, dim, i, n - i), conjugate(after)), dim, true);
    if (i > 0) part = at::mul(part, conjugate(at::prod(at::narrow(input, dim, 0, i), dim, true)));
    parts.push_back(part);
  }
  return at::cat(parts, dim);
}

namespace {

// The segments of segment_reduce over dimension `axis` of data, of which there is one more: that of elements in none.
class Segments {
 public:
  Segments(const Tensor& data, const std::optional<Tensor>& lengths, const std::optional<Tensor>& offsets, int64_t axis)
      : axis_(axis) {
    const bool by_lengths = given(lengths);
    TORCH_CHECK(by_lengths || given(offsets), "_segment_reduce_backward: expected lengths or offsets");
    const Tensor numbers = at::to(by_lengths ? *lengths : *offsets, kLong);
    TORCH_CHECK(numbers.dim() == axis + 1 && numbers.dim() <= data.dim() && (by_lengths || numbers.size(axis) > 0),
                "_segment_reduce_backward: expected lengths or offsets of ", axis + 1, " dimensions, but got size ",
                numbers.sizes(), " for data of size ", data.sizes());
    const int64_t count = numbers.size(axis) - (by_lengths ? 0 : 1);
    const Tensor ends = by_lengths ? at::cumsum(numbers, axis) : at::narrow(numbers, axis, 1, count);
    lengths_ = by_lengths ? numbers : at::diff(numbers, 1, axis);
    DimVector sizes(ends.sizes().begin(), ends.sizes().end());
    sizes.back() = data.size(axis);
    const Tensor places = at::expand(at::arange(Scalar(sizes.back()), numbers.options()), sizes);
    const Tensor of_place = at::searchsorted(at::contiguous(ends), at::contiguous(places), false, /*right=*/true);
    index_ = at::expand(trailing(of_place, data), data.sizes());
    lengths_ = trailing(lengths_, data);
  }
  const Tensor& lengths() const { return lengths_; }
  // Of a number for each segment that of its elements; 0 for those of none.
  Tensor spread(const Tensor& t) const {
    DimVector sizes(t.sizes().begin(), t.sizes().end());
    sizes[static_cast<size_t>(axis_)] = 1;
    return at::gather(at::cat({t, at::zeros(sizes, t.options())}, axis_), axis_, index_);
  }
  // The sums over the segments.
  Tensor sum(const Tensor& t, int64_t segments) const {
    DimVector sizes(t.sizes().begin(), t.sizes().end());
    sizes[static_cast<size_t>(axis_)] = segments + 1;
    return at::narrow(at::scatter_add(at::zeros(sizes, t.options()), axis_, index_, t), axis_, 0, segments);
  }

 private:
  static Tensor trailing(Tensor t, const Tensor& data) {
    while (t.dim() < data.dim()) t = at::unsqueeze(t, -1);
    return t;
  }
  int64_t axis_;
  Tensor lengths_, index_;
};

}  // namespace

// `data`'s gradient of segment_reduce: each element's share of what its segment got.
Tensor segment_reduce_backward(const Tensor& grad, const Tensor& output, const Tensor& data, std::string_view reduce,
                               const std::optional<Tensor>& lengths, const std::optional<Tensor>& offsets, int64_t axis,
                               const std::optional<Scalar>& initial) {
  TORCH_CHECK(reduce == "sum" || reduce == "mean" || reduce == "max" || reduce == "min" || reduce == "prod",
              "_segment_reduce_backward: unsupported reduction ", reduce);
  TORCH_CHECK(grad.sizes() == output.sizes() && grad.scalar_type() == output.scalar_type(),
              "_segment_reduce_backward: expected grad like output, but got ", grad.sizes(), " and ", output.sizes());
  axis = maybe_wrap_dim(axis, data.dim());
  const Segments segments(data, lengths, offsets, axis);
  if (reduce == "sum") return segments.spread(grad);
  if (reduce == "mean") return segments.spread(at::div(grad, at::clamp_min(segments.lengths(), Scalar(1))));
  const int64_t count = output.size(axis);
  if (reduce != "prod") {
    const Tensor best = at::detach(data);
    const Tensor chosen =
        at::to(at::logical_or(at::eq(best, segments.spread(at::detach(output))), at::isnan(best)), grad.scalar_type());
    const Tensor shares = at::clamp_min(segments.sum(chosen, count), Scalar(1));
    return at::mul(segments.spread(at::div(grad, shares)), chosen);
  }
  const Tensor zero = at::eq(at::detach(data), Scalar(0));
  const Tensor others = at::masked_fill(data, zero, Scalar(1));
  const Tensor plain = at::div(segments.spread(at::mul(grad, output)), others);
  if (!has_zero(at::detach(data))) return plain;
  // Where one element of a segment is zero, its gradient is the product of the others, which have none.
  const Tensor zeros = segments.spread(segments.sum(at::to(zero, grad.scalar_type()), count));
  const Tensor product = at::segment_reduce(others, "prod", lengths, std::nullopt, offsets, axis, true, initial);
  const Tensor alone = at::logical_and(zero, at::eq(zeros, Scalar(1)));
  return at::where(alone, segments.spread(at::mul(grad, product)),
                   at::masked_fill(plain, at::gt(zeros, Scalar(0)), Scalar(0)));
}

// --- activations ---
// d x F(x) / dx = F(x) + x f(x) with the normal distribution's F and density f
Tensor infinitely_differentiable_gelu_backward(const Tensor& grad, const Tensor& self) {
  const Tensor density = at::mul(at::exp(at::mul(at::square(self), Scalar(-0.5))),
                                 Scalar(std::numbers::inv_sqrtpi * std::numbers::sqrt2 / 2));
  const Tensor below =
      at::mul(at::add(at::erf(at::mul(self, Scalar(std::numbers::sqrt2 / 2))), Scalar(1)), Scalar(0.5));
  return at::mul(grad, at::add(below, at::mul(self, density)));
}

Tensor masked_softmax_backward(const Tensor& grad_output, const Tensor& output, const Tensor& mask,
                               std::optional<int64_t> dim) {
  TORCH_CHECK(mask.scalar_type() == kBool, "Mask should be a boolean tensor");
  TORCH_CHECK(grad_output.sizes() == output.sizes(), "_masked_softmax_backward: expected grad_output of size ",
              output.sizes(), ", but got ", grad_output.sizes());
  const Tensor hidden = mask.sizes() == output.sizes() ? mask : at::expand(mask, output.sizes());
  const Tensor grad =
      at::_softmax_backward_data(grad_output, output, dim.value_or(output.dim() - 1), output.scalar_type());
  return at::masked_fill(grad, hidden, Scalar(0));
}

// The tangent of glu_backward from those of its gradient and its input.
Tensor glu_backward_jvp(const Tensor& grad_x, const Tensor& grad_glu, const Tensor& x, const Tensor& dgrad_glu,
                        const Tensor& dx, int64_t dim) {
  TORCH_CHECK(x.dim() > 0, "glu_backward_jvp: glu does not support 0-dimensional tensors");
  dim = maybe_wrap_dim(dim, x.dim());
  const int64_t half = x.size(dim) / 2;
  TORCH_CHECK(x.size(dim) % 2 == 0, "glu_backward_jvp: Halving dimension must be even, but dimension ", dim,
              " is size ", x.size(dim));
  TORCH_CHECK(grad_x.sizes() == x.sizes() && dx.sizes() == x.sizes() && grad_glu.sizes() == dgrad_glu.sizes(),
              "glu_backward_jvp: expected grad_x and dx of size ", x.sizes(), ", and dgrad_glu of that of grad_glu");
  const Tensor a = at::narrow(x, dim, 0, half), b = at::narrow(x, dim, half, half);
  const Tensor da = at::narrow(dx, dim, 0, half), db = at::narrow(dx, dim, half, half);
  const Tensor gate = at::sigmoid(b), closed = at::rsub(gate, Scalar(1));
  const Tensor slope = at::mul(gate, closed);  // of the gate
  const Tensor bend = at::mul(slope, at::sub(closed, gate));
  const Tensor first = at::add(at::mul(dgrad_glu, gate), at::mul(at::mul(grad_glu, slope), db));
  const Tensor second = at::add(at::mul(at::add(at::mul(dgrad_glu, a), at::mul(grad_glu, da)), slope),
                                at::mul(at::mul(at::mul(grad_glu, a), bend), db));
  return at::cat({first, second}, dim);
}

}  // namespace at::native

#include "autograd/derivatives/index_functions.h"

#include "aten/core/view.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/scan/ops.h"
#include "aten/ops/sort/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/derivatives/pointwise_functions.h"

namespace torch::autograd::generated {
namespace {

c10::List<std::optional<Tensor>> index_list(const std::vector<Tensor>& indices) {
  c10::List<std::optional<Tensor>> list;
  for (const Tensor& t : indices) list.push_back(t.defined() ? std::optional<Tensor>(t) : std::nullopt);
  return list;
}

// Zeros of `sizes` with `part` in the corner at 0. One element may be a vector on one side and no dimension on the other.
Tensor padded(const Tensor& part, IntArrayRef sizes) {
  if (part.numel() == 0) return at::zeros(sizes, part.options());
  if (sizes.empty()) return at::reshape(part, sizes);
  Tensor t = part.dim() == 0 ? at::unsqueeze(part, 0) : part;
  for (int64_t d = 0; d < t.dim(); ++d) {
    const int64_t missing = sizes[static_cast<size_t>(d)] - t.size(d);
    if (missing == 0) continue;
    DimVector rest(t.sizes().begin(), t.sizes().end());
    rest[static_cast<size_t>(d)] = missing;
    t = at::cat({t, at::zeros(rest, t.options())}, d);
  }
  return t;
}

Tensor narrowed_to(const Tensor& t, IntArrayRef sizes) {
  if (t.dim() == 0) return at::reshape(t, sizes);
  if (sizes.empty()) return at::select(t, 0, 0);
  Tensor r = t;
  for (int64_t d = 0; d < t.dim(); ++d) {
    if (r.size(d) != sizes[static_cast<size_t>(d)]) r = at::narrow(r, d, 0, sizes[static_cast<size_t>(d)]);
  }
  return r;
}

}  // namespace

Tensor embedding_dense_double_backward(const Tensor& grad, const Tensor& indices, int64_t padding_idx, bool scale_grad_by_freq) {
  const Tensor flat = at::reshape(indices, IntArrayRef(-1));
  Tensor rows = at::index_select(grad, 0, flat);
  if (scale_grad_by_freq) {
    const Tensor none = at::zeros({grad.size(0)}, grad.options());
    const Tensor counts = at::index_add(none, 0, flat, at::ones(flat.sizes(), grad.options()));
    rows = at::div(rows, at::unsqueeze(at::index_select(counts, 0, flat), 1));
  }
  if (padding_idx >= 0) rows = at::masked_fill(rows, at::unsqueeze(at::eq(flat, Scalar(padding_idx)), 1), Scalar(0));
  DimVector sizes(indices.sizes().begin(), indices.sizes().end());
  sizes.push_back(grad.size(1));
  return at::reshape(rows, sizes);
}

Tensor index_backward(const Tensor& grad, IntArrayRef sizes, const std::vector<Tensor>& indices) {
  return at::index_put(at::zeros(sizes, grad.options()), index_list(indices), grad, true);
}

Tensor index_put_self_backward(const Tensor& grad, const std::vector<Tensor>& indices, bool accumulate) {
  return accumulate ? grad : at::index_put(grad, index_list(indices), at::zeros({}, grad.options()), false);
}

Tensor index_put_values_backward(const Tensor& grad, const std::vector<Tensor>& indices, IntArrayRef value_sizes) {
  return at::sum_to_size(at::index(grad, index_list(indices)), value_sizes);
}

Tensor masked_fill_value_backward(const Tensor& grad, const Tensor& mask) {
  return at::sum(at::where(mask, grad, at::zeros({}, grad.options())));
}

Tensor masked_scatter_source_backward(const Tensor& grad, const Tensor& mask, IntArrayRef source_sizes) {
  const Tensor used = at::masked_select(grad, mask);
  int64_t n = 1;
  for (int64_t s : source_sizes) n *= s;
  return at::reshape(padded(used, IntArrayRef(n)), source_sizes);
}

Tensor masked_select_backward(const Tensor& grad, IntArrayRef sizes, const Tensor& mask) {
  const Tensor wide = at::expand(mask, broadcast_shapes(sizes, mask.sizes()));
  return at::sum_to_size(at::masked_scatter(at::zeros(wide.sizes(), grad.options()), wide, grad), sizes);
}

Tensor put_self_backward(const Tensor& grad, const Tensor& index, bool accumulate) {
  return accumulate ? grad : at::put(grad, index, at::zeros(index.sizes(), grad.options()), false);
}

Tensor take_backward(const Tensor& grad, IntArrayRef sizes, const Tensor& index) {
  return at::put(at::zeros(sizes, grad.options()), index, grad, true);
}

Tensor index_select_backward(const Tensor& grad, IntArrayRef sizes, int64_t dim, const Tensor& index) {
  Tensor result = at::zeros(sizes, grad.options());
  return at::index_add_(result, dim, index, grad);
}

Tensor index_source_backward(const Tensor& grad, int64_t dim, const Tensor& index, IntArrayRef source_sizes) {
  return at::reshape(at::index_select(grad, dim, index), source_sizes);
}

Tensor index_add_source_backward(
    const Tensor& grad, int64_t dim, const Tensor& index, IntArrayRef source_sizes, const Scalar& alpha) {
  const Tensor part = index_source_backward(grad, dim, index, source_sizes);
  return !alpha.isComplex() && alpha.toDouble() == 1 ? part : at::mul(part, alpha);
}

Tensor gather_backward(const Tensor& grad, IntArrayRef sizes, int64_t dim, const Tensor& index) {
  Tensor result = at::zeros(sizes, grad.options());
  return at::scatter_add_(result, dim, index, grad);
}

Tensor scatter_src_backward(const Tensor& grad, int64_t dim, const Tensor& index, IntArrayRef src_sizes) {
  return padded(at::gather(grad, dim, index), src_sizes);
}

Tensor scatter_value_reduce_backward(const Tensor& grad, int64_t dim, const Tensor& index, const Scalar& value, std::string_view reduce) {
  return reduce == "add" ? grad : at::scatter(grad, dim, index, conj_of(value), reduce);
}

std::tuple<Tensor, Tensor> scatter_reduce_backward(
    const Tensor& grad, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce,
    bool include_self, const Tensor& result) {
  if (self.numel() == 0) return {at::zeros_like(self), at::zeros_like(src)};
  if (index.numel() == 0) return {grad, at::zeros_like(src)};
  const Tensor used = narrowed_to(src, index.sizes());
  const Tensor grad_at = at::gather(grad, dim, index);
  Tensor grad_self, grad_src;
  if (reduce == "sum") {
    grad_self = grad;
    grad_src = grad_at;
  } else if (reduce == "mean") {
    const Tensor start = include_self ? at::ones_like(self) : at::zeros_like(self);
    const Tensor count = at::scatter_add(start, dim, index, at::ones(index.sizes(), grad.options()));
    grad_self = at::div(grad, at::masked_fill(count, at::eq(count, Scalar(0)), Scalar(1)));
    grad_src = at::gather(grad_self, dim, index);
  } else if (reduce == "prod") {
    const Tensor base = include_self ? self : at::scatter(self, dim, index, Scalar(1));
    const Tensor zeros = at::scatter_add(
        at::_to_copy(at::eq(base, Scalar(0)), grad.options()), dim, index, at::_to_copy(at::eq(used, Scalar(0)), grad.options()));
    // The product of the elements that are not zero serves where the element itself is the only zero of its place.
    const Tensor base_one = at::masked_fill(base, at::eq(base, Scalar(0)), Scalar(1));
    const Tensor used_one = at::masked_fill(used, at::eq(used, Scalar(0)), Scalar(1));
    const Tensor product = at::scatter_reduce(base_one, dim, index, used_one, "prod", true);
    const auto others = [&](const Tensor& value, const Tensor& value_one, const Tensor& total, const Tensor& zero_count) {
      const Tensor without = at::sub(zero_count, at::_to_copy(at::eq(value, Scalar(0)), grad.options()));
      return at::masked_fill(conj_of(at::div(total, value_one)), at::ne(without, Scalar(0)), Scalar(0));
    };
    grad_self = at::mul(grad, others(base, base_one, product, zeros));
    grad_src = at::mul(grad_at, others(used, used_one, at::gather(product, dim, index), at::gather(zeros, dim, index)));
  } else {
    const Tensor value = at::gather(result, dim, index);
    const Tensor self_hit = at::_to_copy(at::eq(self, result), grad.options());
    const Tensor src_hit = at::_to_copy(at::eq(used, value), grad.options());
    const Tensor start = include_self ? self_hit : at::scatter(self_hit, dim, index, Scalar(0));
    const Tensor count = at::clamp_min(at::scatter_add(start, dim, index, src_hit), Scalar(1));
    const Tensor share = at::div(grad, count);
    grad_self = at::mul(self_hit, share);
    grad_src = at::mul(src_hit, at::gather(share, dim, index));
  }
  if (!include_self) grad_self = at::scatter(grad_self, dim, index, Scalar(0));
  return {grad_self, padded(grad_src, src.sizes())};
}

std::tuple<Tensor, Tensor> index_reduce_backward(
    const Tensor& grad, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce,
    bool include_self, const Tensor& result) {
  if (source.numel() == 0) return {grad, at::zeros_like(source)};
  dim = maybe_wrap_dim(dim, self.dim());
  Tensor from = source, spread;
  if (self.dim() == 0) {
    from = at::reshape(source, IntArrayRef());
    spread = at::reshape(index, IntArrayRef());
  } else {
    DimVector shape(static_cast<size_t>(self.dim()), 1);
    if (source.dim() == 0) from = at::reshape(source, shape);
    shape[static_cast<size_t>(dim)] = index.numel();
    spread = at::expand(at::reshape(index, shape), from.sizes());
  }
  auto [grad_self, grad_from] = scatter_reduce_backward(grad, self, dim, spread, from, reduce, include_self, result);
  return {grad_self, at::reshape(grad_from, source.sizes())};
}

std::vector<Tensor> cat_backward(const Tensor& grad, const std::vector<DimVector>& sizes, int64_t dim) {
  std::vector<Tensor> parts;
  parts.reserve(sizes.size());
  dim = maybe_wrap_dim(dim, grad.dim());
  int64_t start = 0;
  for (const DimVector& s : sizes) {
    // Tensors of size [0] are joined with tensors of any rank.
    if (s.size() == 1 && s[0] == 0) {
      parts.push_back(at::zeros({0}, grad.options()));
      continue;
    }
    const int64_t n = s[static_cast<size_t>(dim)];
    parts.push_back(at::narrow(grad, dim, start, n));
    start += n;
  }
  return parts;
}

namespace {

// The segments of segment_reduce over dimension `axis` of data, of which there is one more: that of elements in none.
class Segments {
 public:
  Segments(const Tensor& data, const std::optional<Tensor>& lengths, const std::optional<Tensor>& offsets, int64_t axis)
      : axis_(axis) {
    const bool by_lengths = lengths.has_value() && lengths->defined();
    const Tensor numbers = at::to(by_lengths ? *lengths : *offsets, kLong);
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

Tensor segment_reduce_grad(const Tensor& grad, const Tensor& result, const Tensor& data, std::string_view reduce,
                           const std::optional<Tensor>& lengths, const std::optional<Tensor>& offsets, int64_t axis,
                           const std::optional<Scalar>& initial) {
  if (axis < 0) axis += data.dim();
  const Segments segments(data, lengths, offsets, axis);
  if (reduce == "sum") return segments.spread(grad);
  if (reduce == "mean") return segments.spread(at::div(grad, at::clamp_min(segments.lengths(), Scalar(1))));
  const int64_t count = result.size(axis);
  if (reduce != "prod") {
    const Tensor best = at::detach(data);
    const Tensor chosen =
        at::to(at::logical_or(at::eq(best, segments.spread(at::detach(result))), at::isnan(best)), grad.scalar_type());
    const Tensor shares = at::clamp_min(segments.sum(chosen, count), Scalar(1));
    return at::mul(segments.spread(at::div(grad, shares)), chosen);
  }
  const Tensor zero = at::eq(at::detach(data), Scalar(0));
  const Tensor others = at::masked_fill(data, zero, Scalar(1));
  const Tensor plain = at::div(segments.spread(at::mul(grad, result)), others);
  if (!at::item(at::any(zero)).toBool()) return plain;
  // Where one element of a segment is zero, its gradient is the product of the others, which have none.
  const Tensor zeros = segments.spread(segments.sum(at::to(zero, grad.scalar_type()), count));
  const Tensor product = at::segment_reduce(others, "prod", lengths, std::nullopt, offsets, axis, true, initial);
  const Tensor alone = at::logical_and(zero, at::eq(zeros, Scalar(1)));
  return at::where(alone, segments.spread(at::mul(grad, product)),
                   at::masked_fill(plain, at::gt(zeros, Scalar(0)), Scalar(0)));
}

}  // namespace torch::autograd::generated

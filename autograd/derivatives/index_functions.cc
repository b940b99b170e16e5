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
    const Tensor none = at::new_zeros(grad, {grad.size(0)});
    const Tensor counts = at::index_add(none, 0, flat, at::ones(flat.sizes(), grad.options()));
    rows = at::div(rows, at::unsqueeze(at::index_select(counts, 0, flat), 1));
  }
  if (padding_idx >= 0) rows = at::masked_fill(rows, at::unsqueeze(at::eq(flat, Scalar(padding_idx)), 1), Scalar(0));
  DimVector sizes(indices.sizes().begin(), indices.sizes().end());
  sizes.push_back(grad.size(1));
  return at::reshape(rows, sizes);
}

Tensor index_backward(const Tensor& grad, IntArrayRef sizes, const std::vector<Tensor>& indices) {
  return at::index_put(at::new_zeros(grad, sizes), index_list(indices), grad, true);
}

Tensor index_put_self_backward(const Tensor& grad, const std::vector<Tensor>& indices, bool accumulate) {
  if (accumulate) return grad;
  // Of jagged gradients, too, which zeros has no kernel for.
  const Tensor zero = at::zeros({}, grad.options().layout(at::kStrided));
  return at::index_put(grad, index_list(indices), zero, false);
}

Tensor index_put_values_backward(const Tensor& grad, const std::vector<Tensor>& indices, IntArrayRef value_sizes) {
  return at::sum_to_size(at::index(grad, index_list(indices)), value_sizes);
}

Tensor masked_fill_value_backward(const Tensor& grad, const Tensor& mask) {
  return at::sum(at::where(mask, grad, at::zeros({}, grad.options())));
}

Tensor masked_select_backward(const Tensor& grad, IntArrayRef sizes, const Tensor& mask) {
  const Tensor wide = at::expand(mask, broadcast_shapes(sizes, mask.sizes()));
  return at::sum_to_size(at::masked_scatter(at::new_zeros(grad, wide.sizes()), wide, grad), sizes);
}

Tensor put_self_backward(const Tensor& grad, const Tensor& index, bool accumulate) {
  return accumulate ? grad : at::put(grad, index, at::new_zeros(grad, index.sizes()), false);
}

Tensor take_backward(const Tensor& grad, IntArrayRef sizes, const Tensor& index) {
  return at::put(at::new_zeros(grad, sizes), index, grad, true);
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
  Tensor result = at::new_zeros(grad, sizes);
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
      parts.push_back(at::new_zeros(grad, {0}));
      continue;
    }
    const int64_t n = s[static_cast<size_t>(dim)];
    parts.push_back(at::narrow(grad, dim, start, n));
    start += n;
  }
  return parts;
}

}  // namespace torch::autograd::generated

#include "aten/extension/expand_utils.h"

#include <algorithm>

#include "aten/core/view.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"

namespace at {
namespace {

using Maybe = c10::MaybeOwned<Tensor>;

Maybe expanded(const Tensor& t, IntArrayRef sizes) {
  if (t.sizes() == sizes) return Maybe::borrowed(t);
  return Maybe::owned(at::expand(t, sizes));
}

}  // namespace

DimVector infer_size_dimvector(IntArrayRef a, IntArrayRef b) { return broadcast_shapes(a, b); }
std::vector<int64_t> infer_size(IntArrayRef a, IntArrayRef b) {
  const DimVector sizes = broadcast_shapes(a, b);
  return {sizes.begin(), sizes.end()};
}

bool is_expandable_to(IntArrayRef shape, IntArrayRef desired) {
  if (shape.size() > desired.size()) return false;
  for (size_t i = 1; i <= shape.size(); ++i) {
    const int64_t size = shape[shape.size() - i];
    if (size != 1 && size != desired[desired.size() - i]) return false;
  }
  return true;
}

bool are_expandable(IntArrayRef shape1, IntArrayRef shape2) {
  for (size_t i = 1; i <= std::min(shape1.size(), shape2.size()); ++i) {
    const int64_t a = shape1[shape1.size() - i], b = shape2[shape2.size() - i];
    if (a != b && a != 1 && b != 1) return false;
  }
  return true;
}

Maybe expand_inplace(const Tensor& tensor, const Tensor& to_expand) { return expanded(to_expand, tensor.sizes()); }

std::tuple<Maybe, Maybe> expand_inplace(const Tensor& tensor, const Tensor& to_expand1, const Tensor& to_expand2) {
  return {expanded(to_expand1, tensor.sizes()), expanded(to_expand2, tensor.sizes())};
}

std::tuple<Maybe, Maybe> expand_outplace(const Tensor& a, const Tensor& b) {
  const DimVector sizes = broadcast_shapes(a.sizes(), b.sizes());
  return {expanded(a, sizes), expanded(b, sizes)};
}

std::tuple<Maybe, Maybe, Maybe> expand_outplace(const Tensor& a, const Tensor& b, const Tensor& c) {
  const DimVector sizes = broadcast_shapes(broadcast_shapes(a.sizes(), b.sizes()), c.sizes());
  return {expanded(a, sizes), expanded(b, sizes), expanded(c, sizes)};
}

std::vector<Tensor> expand_outplace(TensorList to_expand) {
  DimVector sizes;
  for (const Tensor& t : to_expand) {
    if (t.defined()) sizes = broadcast_shapes(sizes, t.sizes());
  }
  std::vector<Tensor> result;
  result.reserve(to_expand.size());
  for (const Tensor& t : to_expand) result.push_back(t.defined() ? *expanded(t, sizes) : t);
  return result;
}

Maybe expand_size(const Tensor& to_expand, IntArrayRef sizes) { return expanded(to_expand, sizes); }

Tensor sum_to(Tensor tensor, IntArrayRef shape, bool always_return_non_view) {
  TORCH_CHECK(is_expandable_to(shape, tensor.sizes()), "sum_to: shape ", shape, " does not broadcast to ",
              tensor.sizes());
  const int64_t leading = tensor.dim() - static_cast<int64_t>(shape.size());
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < tensor.dim(); ++d) {
    if (d < leading || (shape[static_cast<size_t>(d - leading)] == 1 && tensor.size(d) != 1)) dims.push_back(d);
  }
  if (!dims.empty()) tensor = at::sum(tensor, dims, /*keepdim=*/true);
  if (leading > 0) tensor = at::view(tensor, shape);
  return dims.empty() && always_return_non_view ? at::clone(tensor) : tensor;
}

}  // namespace at

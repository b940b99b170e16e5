// Elements of jagged tensors by index tensors: those of the values. index and index_put stand above autograd.
#include "aten/nested/nested_parts.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/kernels.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

using Indices = c10::List<std::optional<Tensor>>;

// Positions from 0 to `sizes`, which negative ones count from the end of, as int64.
Tensor checked(const Tensor& index, const Tensor& sizes, const char* problem) {
  const Tensor places = at::where(at::lt(index, 0), at::add(index, sizes), index);
  const Tensor outside = at::logical_or(at::lt(places, 0), at::ge(places, sizes));
  TORCH_CHECK_INDEX(!at::any(outside).item<bool>(), problem);
  return places;
}

// What indices of a jagged tensor mean for its values: a part and a place in it are one place there.
Indices of_values(const char* op, const Tensor& self, const Indices& indices) {
  TORCH_CHECK_NOT_IMPLEMENTED(self.is_nested() && nested::is_jagged(self), op,
                              ": not implemented for nested tensors of the strided layout");
  const size_t own = static_cast<size_t>(nested::jagged_of(self).dim);
  TORCH_CHECK_INDEX(indices.size() <= static_cast<size_t>(self.dim()), op,
                    ": too many indices for tensor of dimension ", self.dim());
  for (size_t d = 0; d <= own; ++d) {
    const std::optional<Tensor> index = d < indices.size() ? indices.get(d) : std::nullopt;
    TORCH_CHECK_NOT_IMPLEMENTED(
        index.has_value() && index->defined() && !index->is_nested() &&
            isIntegralType(index->scalar_type(), /*includeBool=*/false) && index->scalar_type() != kByte,
        op, ": a jagged tensor takes integer index tensors for its dimensions 0 to ", own, ", the ragged one");
  }
  const auto position = [&](size_t d) { return at::to(*indices.get(d), kLong); };
  const Tensor offsets = at::to(at::_nested_get_offsets(self), kLong), given = at::_nested_get_lengths(self);
  const Tensor begins = at::slice(offsets, 0, 0, -1);
  const Tensor lengths = given.defined() ? at::to(given, kLong) : at::sub(at::slice(offsets, 0, 1), begins);
  const Tensor part = checked(position(0), at::full({}, begins.size(0), begins.options()),
                              "Some indices in the batch dimension are out of bounds!");
  const Tensor place =
      checked(position(own), at::index(lengths, {part}), "Some indices in the ragged dimension are out of bounds!");
  Indices result;
  for (size_t d = 1; d < indices.size(); ++d)
    result.push_back(d == own ? std::optional<Tensor>(at::add(at::index(begins, {part}), place)) : indices.get(d));
  return result;
}

}  // namespace

Tensor index_nested(const Tensor& self, const Indices& indices) {
  return at::index(at::_nested_get_values(self), of_values("index", self, indices));
}

Tensor index_put_nested(const Tensor& self, const Indices& indices, const Tensor& values, bool accumulate) {
  const Indices places = of_values("index_put", self, indices);
  return nested::on_values(self, 0, [&](const Tensor& t) { return at::index_put(t, places, values, accumulate); });
}

Tensor& index_put_nested_(Tensor& self, const Indices& indices, const Tensor& values, bool accumulate) {
  const Indices places = of_values("index_put_", self, indices);
  Tensor buffer = nested::impl_of("index_put_", self).buffer();
  at::index_put_(buffer, places, values, accumulate);
  return self;
}

}  // namespace at::native

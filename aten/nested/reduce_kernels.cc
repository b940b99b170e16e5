// Nested tensors: reductions. All stand above autograd. Those of jagged tensors go along the values, along the ragged
// dimension by rows that are padded, and along the first dimension only together with the ragged one.
#include <algorithm>
#include <functional>
#include <limits>
#include <tuple>

#include "aten/core/empty.h"
#include "aten/nested/nested_parts.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/nested/kernels.h"
#include "aten/ops/reduce/kernels.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

using Dims = DimVector;
using TwoTensors = std::tuple<Tensor, Tensor>;

// f(part, dims in the part) of a strided nested tensor, for dims of which none is the first.
Tensor each_part_reduced(const char* op, const Tensor& self, OptionalIntArrayRef dim,
                         const std::function<Tensor(const Tensor&, IntArrayRef)>& f) {
  const std::string what =
      c10::str(op, ": a nested tensor is reduced along dimensions of its parts, not along dimension 0");
  TORCH_CHECK(dim.has_value() && !dim->empty(), what);
  Dims dims;
  for (const int64_t d : *dim) dims.push_back(nested::dim_in_part(self, d, what.c_str()));
  return nested::each_part(self, [&](const Tensor& part) { return f(part, dims); });
}

// Which dimensions of a jagged tensor a reduction goes along.
struct Along {
  bool parts = false, ragged = false;
  Dims values;  // of the values, in order, the ragged one too
};

Along along(const char* op, const Tensor& self, IntArrayRef dim) {
  const int64_t ragged = nested::jagged_of(self).dim;
  Along result;
  bool others = false;
  std::vector<bool> asked(static_cast<size_t>(self.dim()), dim.empty());
  for (const int64_t d : dim) asked[static_cast<size_t>(maybe_wrap_dim(d, self.dim()))] = true;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (!asked[static_cast<size_t>(d)]) continue;
    if (d > 0) result.values.push_back(d - 1);
    result.parts |= d == 0;
    result.ragged |= d == ragged;
    others |= d != 0 && d != ragged;
  }
  TORCH_CHECK(
      !result.parts || result.ragged, op,
      "(): reducing along the batch dimension but not the ragged dimension is not supported for nested tensors");
  TORCH_CHECK(!result.ragged || result.parts || !others, op,
              "(): reducing along a ragged and non-batch dimension is not supported for nested tensors");
  return result;
}

// f of each tensor of a result.
template <class F>
Tensor each_result(const Tensor& t, const F& f) {
  return f(t);
}
template <class F>
TwoTensors each_result(const TwoTensors& t, const F& f) {
  return {f(std::get<0>(t)), f(std::get<1>(t))};
}

// The rows of a jagged tensor, padded with a number of its dtype.
Tensor padded_rows(const Tensor& self, const Scalar& padding) {
  const Tensor rows = at::to_padded_tensor(self, 0);
  if (!padding.isBoolean() && padding.equal(0)) return rows;
  const Jagged& jagged = nested::jagged_of(self);
  Dims sizes(static_cast<size_t>(rows.dim()), 1);
  sizes[0] = rows.size(0);
  sizes[static_cast<size_t>(jagged.dim)] = rows.size(jagged.dim);
  const Tensor behind = empty_contiguous(sizes, kBool);
  bool* place = static_cast<bool*>(behind.data_ptr());
  for (const int64_t length : jagged.ragged->length) {
    for (int64_t i = 0; i < rows.size(jagged.dim); ++i) *place++ = i >= length;
  }
  return at::masked_fill(rows, at::to(behind, rows.device(), kBool), padding);
}

// f(tensor, dims, keepdim) of a jagged tensor along these dimensions; `padding` changes no result of f.
template <class F>
auto reduced(const char* op, const Tensor& self, IntArrayRef dim, bool keepdim, const Scalar& padding, const F& f)
    -> decltype(f(self, dim, keepdim)) {
  TORCH_CHECK_NOT_IMPLEMENTED(nested::is_jagged(self), op,
                              " is not implemented for nested tensors of the strided layout");
  const Along dims = along(op, self, dim);
  const int64_t ragged = nested::jagged_of(self).dim;
  if (dims.parts) {
    const auto result = f(nested::packed_values(self), IntArrayRef(dims.values), keepdim);
    return each_result(result, [&](const Tensor& t) { return keepdim ? at::unsqueeze(t, 0) : t; });
  }
  if (dims.ragged) return f(padded_rows(self, padding), IntArrayRef(ragged), keepdim);
  const auto in_front =
      std::count_if(dims.values.begin(), dims.values.end(), [&](int64_t d) { return d < ragged - 1; });
  const auto result = f(at::_nested_get_values(self), IntArrayRef(dims.values), keepdim);
  return each_result(
      result, [&](const Tensor& t) { return nested::with_values(t, self, keepdim ? ragged : ragged - in_front); });
}

// The number that is below all others of a dtype, or above them.
template <class T>
Scalar bound(bool lowest) {
  return lowest ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
}
Scalar extreme(ScalarType dtype, bool lowest) {
  switch (dtype) {
    case kBool:
      return Scalar(!lowest);
    case kByte:
      return bound<uint8_t>(lowest);
    case kChar:
      return bound<int8_t>(lowest);
    case kShort:
      return bound<int16_t>(lowest);
    case kInt:
      return bound<int32_t>(lowest);
    case kLong:
      return bound<int64_t>(lowest);
    default:
      return lowest ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  }
}

IntArrayRef dims_or_all(OptionalIntArrayRef dim) {
  return dim.has_value() ? IntArrayRef(*dim) : IntArrayRef();
}

Tensor all_elements(const char* op, const Tensor& self) {
  TORCH_CHECK_NOT_IMPLEMENTED(nested::is_jagged(self), op,
                              " is not implemented for nested tensors of the strided layout");
  return nested::packed_values(self);
}

}  // namespace

// --- sums ---
Tensor sum_nested(const Tensor& self, std::optional<ScalarType> dtype) {
  if (nested::is_jagged(self)) return at::sum(nested::packed_values(self), dtype);
  return at::sum(at::_nested_values(nested::packed(self)), dtype);
}
Tensor sum_dim_nested(const Tensor& self, OptionalIntArrayRef dim, bool keepdim, std::optional<ScalarType> dtype) {
  const auto sum = [&](const Tensor& t, IntArrayRef dims, bool keep) { return at::sum(t, dims, keep, dtype); };
  if (nested::is_jagged(self)) return reduced("sum", self, dims_or_all(dim), keepdim, 0, sum);
  return each_part_reduced("sum", self, dim, [&](const Tensor& t, IntArrayRef dims) { return sum(t, dims, keepdim); });
}

Tensor mean_nested(const Tensor& self, std::optional<ScalarType> dtype) {
  if (nested::is_jagged(self)) return at::mean(nested::packed_values(self), dtype);
  return at::mean(at::_nested_values(nested::packed(self)), dtype);
}

namespace {

// Along the ragged dimension alone: sums over lengths, the sums of 16-bit numbers in more bits.
Tensor mean_of_rows(const Tensor& self, bool keepdim, std::optional<ScalarType> dtype) {
  const Jagged& jagged = nested::jagged_of(self);
  const ScalarType type = dtype.value_or(self.scalar_type());
  const bool narrow = type == kHalf || type == kBFloat16;
  const Tensor sums = at::sum(padded_rows(self, 0), IntArrayRef(jagged.dim), true, narrow ? kFloat : type);
  Dims sizes(static_cast<size_t>(self.dim()), 1);
  sizes[0] = self.size(0);
  const Tensor own_lengths = at::to(nested::vector_of(jagged.ragged->length), self.device(), kLong),
               lengths = at::reshape(own_lengths, sizes);
  const Tensor result = at::div(sums, lengths);
  const Tensor means = narrow ? at::to(result, type) : result;
  return keepdim ? means : at::squeeze(means, jagged.dim);
}

}  // namespace

Tensor mean_dim_nested(const Tensor& self, OptionalIntArrayRef dim, bool keepdim, std::optional<ScalarType> dtype) {
  const auto mean = [&](const Tensor& t, IntArrayRef dims, bool keep) { return at::mean(t, dims, keep, dtype); };
  if (nested::is_jagged(self)) {
    const Along dims = along("mean", self, dims_or_all(dim));
    if (dims.ragged && !dims.parts) return mean_of_rows(self, keepdim, dtype);
    return reduced("mean", self, dims_or_all(dim), keepdim, 0, mean);
  }
  return each_part_reduced("mean", self, dim,
                           [&](const Tensor& t, IntArrayRef dims) { return mean(t, dims, keepdim); });
}

Tensor prod_nested(const Tensor& self, std::optional<ScalarType> dtype) {
  return at::prod(all_elements("prod", self), dtype);
}
Tensor prod_dim_nested(const Tensor& self, int64_t dim, bool keepdim, std::optional<ScalarType> dtype) {
  return reduced("prod", self, dim, keepdim, 1,
                 [&](const Tensor& t, IntArrayRef dims, bool keep) { return at::prod(t, dims[0], keep, dtype); });
}

// --- whether all or any are set ---
Tensor all_nested(const Tensor& self) {
  return at::all(all_elements("all", self));
}
Tensor any_nested(const Tensor& self) {
  return at::any(all_elements("any", self));
}
Tensor all_dims_nested(const Tensor& self, OptionalIntArrayRef dim, bool keepdim) {
  return reduced("all", self, dims_or_all(dim), keepdim, 1,
                 [](const Tensor& t, IntArrayRef dims, bool keep) { return at::all(t, dims, keep); });
}
Tensor any_dims_nested(const Tensor& self, OptionalIntArrayRef dim, bool keepdim) {
  return reduced("any", self, dims_or_all(dim), keepdim, 0,
                 [](const Tensor& t, IntArrayRef dims, bool keep) { return at::any(t, dims, keep); });
}
Tensor all_dim_nested(const Tensor& self, int64_t dim, bool keepdim) {
  return all_dims_nested(self, IntArrayRef(dim), keepdim);
}
Tensor any_dim_nested(const Tensor& self, int64_t dim, bool keepdim) {
  return any_dims_nested(self, IntArrayRef(dim), keepdim);
}

// --- the largest and the smallest ---
Tensor amax_nested(const Tensor& self, IntArrayRef dim, bool keepdim) {
  return reduced("amax", self, dim, keepdim, extreme(self.scalar_type(), true),
                 [](const Tensor& t, IntArrayRef dims, bool keep) { return at::amax(t, dims, keep); });
}
Tensor amin_nested(const Tensor& self, IntArrayRef dim, bool keepdim) {
  return reduced("amin", self, dim, keepdim, extreme(self.scalar_type(), false),
                 [](const Tensor& t, IntArrayRef dims, bool keep) { return at::amin(t, dims, keep); });
}
Tensor max_nested(const Tensor& self) {
  return at::max(all_elements("max", self));
}
Tensor min_nested(const Tensor& self) {
  return at::min(all_elements("min", self));
}
TwoTensors max_dim_nested(const Tensor& self, int64_t dim, bool keepdim) {
  return reduced("max", self, dim, keepdim, extreme(self.scalar_type(), true),
                 [](const Tensor& t, IntArrayRef dims, bool keep) { return at::max(t, dims[0], keep); });
}
TwoTensors min_dim_nested(const Tensor& self, int64_t dim, bool keepdim) {
  return reduced("min", self, dim, keepdim, extreme(self.scalar_type(), false),
                 [](const Tensor& t, IntArrayRef dims, bool keep) { return at::min(t, dims[0], keep); });
}
Tensor argmax_nested(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  if (!dim.has_value()) return at::argmax(all_elements("argmax", self));
  return reduced("argmax", self, *dim, keepdim, extreme(self.scalar_type(), true),
                 [](const Tensor& t, IntArrayRef dims, bool keep) { return at::argmax(t, dims[0], keep); });
}
Tensor argmin_nested(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  if (!dim.has_value()) return at::argmin(all_elements("argmin", self));
  return reduced("argmin", self, *dim, keepdim, extreme(self.scalar_type(), false),
                 [](const Tensor& t, IntArrayRef dims, bool keep) { return at::argmin(t, dims[0], keep); });
}

}  // namespace at::native

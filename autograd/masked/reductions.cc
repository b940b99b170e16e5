#include "autograd/masked/reductions.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/linalg/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/scan/ops.h"
#include "aten/ops/softmax/ops.h"
#include "aten/ops/sort/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"

namespace torch::masked {
namespace {

using at::IntArrayRef;
using at::OptionalIntArrayRef;
using at::ScalarType;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The dimensions from 0 on, in order.
std::vector<int64_t> dims_of(OptionalIntArrayRef dim, int64_t ndim) {
  std::vector<int64_t> dims;
  if (!dim.has_value() || dim->empty()) {
    for (int64_t d = 0; d < ndim; ++d) dims.push_back(d);
    return dims;
  }
  const int64_t size = std::max<int64_t>(ndim, 1);
  for (const int64_t d : *dim) {
    TORCH_CHECK_INDEX(d < size && d >= -size, "Dimension out of range (expected to be in range of [", -size, ", ",
                      size - 1, "], but got ", d, ")");
    const int64_t positive = d < 0 ? d + size : d;
    TORCH_CHECK(std::find(dims.begin(), dims.end(), positive) == dims.end(), "dim=", d,
                " appears multiple times in the list of dims");
    dims.push_back(positive);
  }
  std::sort(dims.begin(), dims.end());
  return dims;
}

int64_t dim_of(int64_t dim, int64_t ndim) {
  return dims_of(IntArrayRef(dim), ndim)[0];
}

void check_strided(const char* name, const Tensor& input) {
  TORCH_CHECK_VALUE(input.layout() == at::kStrided, "masked ", name, " expects strided tensor (got ", input.layout(),
                    " tensor)");
}

Tensor in(ScalarType dtype, const Tensor& t) {
  return t.scalar_type() == dtype ? t : at::_to_copy(t, at::TensorOptions().dtype(dtype));
}

// The mask, of bool and the input's sizes.
Tensor full_mask(const Tensor& input, const Tensor& mask) {
  TORCH_CHECK_INDEX(mask.dim() <= input.dim(), "masked operator: expected a mask of at most the input's ", input.dim(),
                    " dimensions, but got ", mask.dim());
  return in(at::kBool, at::expand(mask, input.sizes()));
}

Tensor filled(const char* name, const Tensor& input, const Tensor& mask, const at::Scalar& identity) {
  check_strided(name, input);
  if (!mask.defined()) return input;
  return at::masked_fill(input, at::logical_not(full_mask(input, mask)), identity);
}

// Below, and above, everything of the dtype.
at::Scalar lowest(const Tensor& input) {
  switch (input.scalar_type()) {
    case at::kBool:
    case at::kByte:
      return 0;
    case at::kChar:
      return std::numeric_limits<int8_t>::min();
    case at::kShort:
      return std::numeric_limits<int16_t>::min();
    case at::kInt:
      return std::numeric_limits<int32_t>::min();
    case at::kLong:
      return std::numeric_limits<int64_t>::min();
    default:
      return -kInfinity;
  }
}
at::Scalar highest(const Tensor& input) {
  switch (input.scalar_type()) {
    case at::kBool:
      return 1;
    case at::kByte:
      return std::numeric_limits<uint8_t>::max();
    case at::kChar:
      return std::numeric_limits<int8_t>::max();
    case at::kShort:
      return std::numeric_limits<int16_t>::max();
    case at::kInt:
      return std::numeric_limits<int32_t>::max();
    case at::kLong:
      return std::numeric_limits<int64_t>::max();
    default:
      return kInfinity;
  }
}

ScalarType sum_type(const Tensor& input, std::optional<ScalarType> dtype) {
  if (dtype.has_value()) return *dtype;
  return c10::isIntegralType(input.scalar_type(), /*includeBool=*/true) ? at::kLong : input.scalar_type();
}

bool is_inexact(ScalarType dtype) {
  return c10::isFloatingType(dtype) || c10::isComplexType(dtype);
}

// How many elements take part.
Tensor count_of(const Tensor& input, const Tensor& mask, IntArrayRef dims, bool keepdim) {
  const Tensor taken = mask.defined() ? full_mask(input, mask)
                                      : at::ones(input.sizes(), at::TensorOptions(at::kBool).device(input.device()));
  return at::sum(taken, dims, keepdim);
}

}  // namespace

Tensor sum(const Tensor& input, OptionalIntArrayRef dim, bool keepdim, std::optional<ScalarType> dtype,
           const Tensor& mask) {
  const std::vector<int64_t> dims = dims_of(dim, input.dim());
  return at::sum(filled("sum", input, mask, 0), IntArrayRef(dims), keepdim, sum_type(input, dtype));
}

Tensor prod(const Tensor& input, OptionalIntArrayRef dim, bool keepdim, std::optional<ScalarType> dtype,
            const Tensor& mask) {
  const std::vector<int64_t> dims = dims_of(dim, input.dim());
  Tensor result = in(sum_type(input, dtype), filled("prod", input, mask, 1));
  for (size_t i = dims.size(); i-- > 0;) result = at::prod(result, dims[i], keepdim);
  return result;
}

Tensor amax(const Tensor& input, OptionalIntArrayRef dim, bool keepdim, std::optional<ScalarType> dtype,
            const Tensor& mask) {
  const std::vector<int64_t> dims = dims_of(dim, input.dim());
  return in(dtype.value_or(input.scalar_type()), at::amax(filled("amax", input, mask, lowest(input)), dims, keepdim));
}

Tensor amin(const Tensor& input, OptionalIntArrayRef dim, bool keepdim, std::optional<ScalarType> dtype,
            const Tensor& mask) {
  const std::vector<int64_t> dims = dims_of(dim, input.dim());
  return in(dtype.value_or(input.scalar_type()), at::amin(filled("amin", input, mask, highest(input)), dims, keepdim));
}

Tensor argmax(const Tensor& input, std::optional<int64_t> dim, bool keepdim, const Tensor& mask) {
  return at::argmax(filled("argmax", input, mask, lowest(input)), dim, keepdim);
}

Tensor argmin(const Tensor& input, std::optional<int64_t> dim, bool keepdim, const Tensor& mask) {
  return at::argmin(filled("argmin", input, mask, highest(input)), dim, keepdim);
}

Tensor mean(const Tensor& input, OptionalIntArrayRef dim, bool keepdim, std::optional<ScalarType> dtype,
            const Tensor& mask) {
  check_strided("mean", input);
  const ScalarType type = dtype.value_or(input.scalar_type());
  TORCH_CHECK_VALUE(is_inexact(type), "mean(): Could not infer output dtype. ",
                    dtype.has_value() ? "Optional" : "Input",
                    " dtype must be either a floating point or complex dtype. Got: ", c10::toString(type));
  const std::vector<int64_t> dims = dims_of(dim, input.dim());
  return at::div(sum(input, dim, keepdim, type, mask), count_of(input, mask, dims, keepdim));
}

Tensor median(const Tensor& input, int64_t dim, bool keepdim, std::optional<ScalarType> dtype, const Tensor& mask) {
  const int64_t d = dim_of(dim, input.dim());
  const bool exact = !input.is_floating_point();
  const Tensor numbers =
      filled("median", exact ? in(at::kFloat, input) : input, mask, std::numeric_limits<double>::quiet_NaN());
  const Tensor result = std::get<0>(at::nanmedian(numbers, d, keepdim));
  if (!exact) return result;
  TORCH_CHECK_VALUE(!at::any(at::isnan(result)).item<bool>(),
                    "masked median expects no fully masked out rows if dtype is not floating point");
  return in(dtype.value_or(input.scalar_type()), result);
}

Tensor logsumexp(const Tensor& input, OptionalIntArrayRef dim, bool keepdim, std::optional<ScalarType> dtype,
                 const Tensor& mask) {
  const std::vector<int64_t> dims = dims_of(dim, input.dim());
  return in(dtype.value_or(input.scalar_type()),
            at::logsumexp(filled("logsumexp", input, mask, lowest(input)), IntArrayRef(dims), keepdim));
}

Tensor logaddexp(const Tensor& input, const Tensor& other, std::optional<ScalarType> dtype, const Tensor& input_mask,
                 const Tensor& other_mask) {
  return in(dtype.value_or(input.scalar_type()), at::logaddexp(filled("logaddexp", input, input_mask, lowest(input)),
                                                               filled("logaddexp", other, other_mask, lowest(other))));
}

Tensor norm(const Tensor& input, double ord, OptionalIntArrayRef dim, bool keepdim, std::optional<ScalarType> dtype,
            const Tensor& mask) {
  const std::vector<int64_t> dims = dims_of(dim, input.dim());
  return at::linalg_vector_norm(filled("norm", input, mask, ord == -kInfinity ? kInfinity : 0.0), ord,
                                IntArrayRef(dims), keepdim, dtype.value_or(input.scalar_type()));
}

Tensor var(const Tensor& input, OptionalIntArrayRef dim, double correction, bool keepdim,
           std::optional<ScalarType> dtype, const Tensor& mask) {
  check_strided("std/var", input);
  const std::vector<int64_t> dims = dims_of(dim, input.dim());
  const ScalarType type = dtype.value_or(is_inexact(input.scalar_type()) ? input.scalar_type() : at::kFloat);
  const ScalarType work = is_inexact(type) ? type : at::kFloat;
  const Tensor taken = mask.defined() ? full_mask(input, mask) : mask;
  const Tensor count = count_of(input, taken, dims, true);
  const Tensor away = at::sub(input, at::div(sum(input, dim, true, type, taken), count));
  const Tensor total = sum(at::mul(away, at::conj(away)), dim, keepdim, work, taken);
  const Tensor freedom =
      at::clamp_min(at::sub(in(c10::toRealValueType(work), at::reshape(count, total.sizes())), correction), 0);
  return in(type, at::div(total, freedom));
}

Tensor std(const Tensor& input, OptionalIntArrayRef dim, double correction, bool keepdim,
           std::optional<ScalarType> dtype, const Tensor& mask) {
  return at::sqrt(var(input, dim, correction, keepdim, dtype, mask));
}

Tensor cumsum(const Tensor& input, int64_t dim, std::optional<ScalarType> dtype, const Tensor& mask) {
  return at::cumsum(filled("cumsum", input, mask, 0), dim_of(dim, input.dim()), dtype.value_or(input.scalar_type()));
}

Tensor cumprod(const Tensor& input, int64_t dim, std::optional<ScalarType> dtype, const Tensor& mask) {
  return at::cumprod(filled("cumprod", input, mask, 1), dim_of(dim, input.dim()), dtype.value_or(input.scalar_type()));
}

Tensor softmax(const Tensor& input, int64_t dim, std::optional<ScalarType> dtype, const Tensor& mask) {
  return at::softmax(filled("softmax", input, mask, lowest(input)), dim_of(dim, input.dim()),
                     dtype.value_or(input.scalar_type()));
}

Tensor log_softmax(const Tensor& input, int64_t dim, std::optional<ScalarType> dtype, const Tensor& mask) {
  return at::log_softmax(filled("log_softmax", input, mask, lowest(input)), dim_of(dim, input.dim()),
                         dtype.value_or(input.scalar_type()));
}

Tensor softmin(const Tensor& input, int64_t dim, std::optional<ScalarType> dtype, const Tensor& mask) {
  return at::softmax(at::neg(filled("softmin", input, mask, highest(input))), dim_of(dim, input.dim()),
                     dtype.value_or(input.scalar_type()));
}

Tensor normalize(const Tensor& input, double ord, int64_t dim, double eps, std::optional<ScalarType> dtype,
                 const Tensor& mask) {
  const Tensor length = norm(input, ord, IntArrayRef(dim), true, dtype, mask);
  return at::div(filled("normalize", input, mask, 0), at::clamp_min(length, eps));
}

}  // namespace torch::masked

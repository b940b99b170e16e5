#include "utils/testing/make_tensor.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "utils/repr/repr.h"

namespace torch::testing {
namespace {

using at::Tensor;

// What a dtype can hold; `end` is excluded for integers.
struct Limits {
  double least, end, tiny;
};

template <class T>
Limits of_float() {
  return {-static_cast<double>(std::numeric_limits<T>::max()), static_cast<double>(std::numeric_limits<T>::max()),
          static_cast<double>(std::numeric_limits<T>::min())};
}
template <class T>
Limits of_integer() {
  return {static_cast<double>(std::numeric_limits<T>::min()), static_cast<double>(std::numeric_limits<T>::max()) + 1,
          1};
}

Limits limits_of(at::ScalarType dtype) {
  switch (dtype) {
    case at::kBool:
      return {0, 2, 1};
    case at::kByte:
      return of_integer<uint8_t>();
    case at::kChar:
      return of_integer<int8_t>();
    case at::kShort:
      return of_integer<int16_t>();
    case at::kInt:
      return of_integer<int32_t>();
    case at::kLong:
      return of_integer<int64_t>();
    case at::kHalf:
      return of_float<c10::Half>();
    case at::kBFloat16:
      return of_float<c10::BFloat16>();
    case at::kFloat:
    case at::kComplexFloat:
      return of_float<float>();
    case at::kDouble:
    case at::kComplexDouble:
      return of_float<double>();
    default:
      TORCH_CHECK_TYPE(false, "The requested dtype '", repr(dtype),
                       "' is not supported by torch.testing.make_tensor().");
  }
}

// As Python shows a number.
std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  return value == std::floor(value) && std::abs(value) < 1e15 ? std::to_string(static_cast<int64_t>(value))
                                                              : c10::str(value);
}

// Differences beyond the dtype's largest number are drawn by halves.
void draw_uniform(Tensor tensor, double low, double high, double largest) {
  if (high - low > largest) {
    tensor.uniform_(low / 2, high / 2).mul_(2);
  } else {
    tensor.uniform_(low, high);
  }
}

}  // namespace

at::Tensor make_tensor(at::IntArrayRef shape, at::ScalarType dtype, at::Device device,
                       const MakeTensorOptions& options) {
  const Limits limits = limits_of(dtype);
  const bool is_integer = at::isIntegralType(dtype, /*includeBool=*/true);
  double low = options.low.value_or(dtype == at::kBool ? 0 : -9);
  double high = options.high.value_or(dtype == at::kBool ? 2 : is_integer ? 10 : 9);
  TORCH_CHECK_VALUE(!(options.noncontiguous && options.memory_format),
                    "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
                    "noncontiguous=True and memory_format=",
                    repr(options.memory_format.value_or(at::MemoryFormat::Contiguous)));
  TORCH_CHECK_VALUE(
      !(options.requires_grad && is_integer),
      "`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype=", repr(dtype));
  TORCH_CHECK_VALUE(!std::isnan(low) && !std::isnan(high), "`low` and `high` cannot be NaN, but got low=",
                    number_text(low), " and high=", number_text(high));
  TORCH_CHECK_VALUE(low < high || (low == high && !is_integer), "`low` must be less than `high`, but got ",
                    number_text(low), " >= ", number_text(high));
  TORCH_CHECK_VALUE(high >= limits.least && low < limits.end, "The value interval specified by `low` and `high` is [",
                    number_text(low), ", ", number_text(high), "), but ", repr(dtype), " only supports [",
                    number_text(limits.least), ", ", number_text(limits.end), ")");
  low = std::clamp(low, limits.least, limits.end);
  high = std::clamp(high, limits.least, limits.end);

  const c10::NoGradGuard no_grad;
  std::vector<int64_t> sizes = shape.vec();
  int64_t elements = 1;
  for (const int64_t size : sizes) elements *= size;
  const bool noncontiguous = options.noncontiguous && elements > 1;
  if (noncontiguous) sizes.back() *= 2;
  const at::TensorOptions given = at::TensorOptions(dtype).device(device);
  Tensor result;
  if (is_integer) {
    // The bound of int64 is a number that it does not have.
    const double end = std::ceil(high);
    const int64_t last = end >= 0x1p63 ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(end);
    result = at::randint(static_cast<int64_t>(std::ceil(low)), last, sizes, given);
  } else {
    result = at::empty(sizes, given);
    draw_uniform(at::isComplexType(dtype) ? at::view_as_real(result) : result, low, high, limits.end);
  }
  if (noncontiguous) {
    // By one off the start, which also shows offsets that were forgotten.
    result = at::slice(result, -1, 1, std::nullopt, 2);
  } else if (options.memory_format) {
    result = at::clone(result, options.memory_format);
  }
  if (options.exclude_zero) result.masked_fill_(at::eq(result, 0), limits.tiny);
  if (options.requires_grad) result.requires_grad_();
  return result;
}

}  // namespace torch::testing

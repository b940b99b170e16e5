// Numbers, reductions, sorting.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "aten/aten.h"
#include "export/onnx/boxed.h"
#include "export/onnx/callables.h"
#include "export/onnx/runtime.h"

namespace torch::onnx {
namespace {

using c10::ScalarType;

// Beyond the range: the largest number, or infinity (not a number where there is none).
Tensor to_float8(const Tensor& x, ScalarType dtype, bool saturate) {
  const double largest = dtype == ScalarType::Float8_e4m3fn ? 448 : dtype == ScalarType::Float8_e4m3fnuz ? 240 : 57344;
  const bool has_infinity = dtype == ScalarType::Float8_e5m2;
  const Tensor wide = at::to(x, ScalarType::Float);
  if (saturate) return at::to(at::clamp(wide, -largest, largest), dtype);
  const Tensor rounded = at::to(at::to(at::clamp(wide, -largest, largest), dtype), ScalarType::Float);
  // Halfway to the number that would be next rounds to the largest.
  const double ulp = dtype == ScalarType::Float8_e4m3fn ? 32 : dtype == ScalarType::Float8_e4m3fnuz ? 16 : 8192;
  const Tensor beyond = at::gt(at::abs(wide), largest + ulp / 2);
  const Tensor outside = has_infinity ? at::mul(at::sign(wide), INFINITY) : at::full_like(wide, NAN);
  return at::to(at::where(beyond, outside, rounded), dtype);
}

Tensor shift_right(const Tensor& x, const Tensor& by) {
  const Tensor bits = at::to(x, ScalarType::Long), shift = at::to(by, ScalarType::Long);
  // The first step clears the sign, so that the others bring zeros.
  const Tensor half = at::bitwise_and(at::bitwise_right_shift(bits, 1), INT64_MAX);
  const Tensor shifted = at::bitwise_right_shift(half, at::clamp(at::sub(shift, 1), 0, 63));
  return at::to(at::where(at::eq(shift, 0), bits, shifted), ScalarType::UInt64);
}

Tensor prod(const Tensor& x, const Ints& axes, bool keep) {
  std::vector<bool> chosen(static_cast<size_t>(x.dim()), axes.empty());
  for (const int64_t axis : axes) chosen[static_cast<size_t>(axis_of(x, axis))] = true;
  Tensor out = x;
  for (int64_t d = x.dim(); d-- > 0;) {
    if (chosen[static_cast<size_t>(d)]) out = at::prod(out, d, keep, x.scalar_type());
  }
  return out;
}
Tensor unless_empty(const Tensor& axes, const Tensor& reduced, const Tensor& x) {
  return axes.numel() == 0 ? x : reduced;
}

Tensor last_extreme(const Tensor& x, int64_t axis, bool keep, bool largest) {
  const Tensor turned = at::flip(x, {axis_of(x, axis)});
  const Tensor found = largest ? at::argmax(turned, axis, keep) : at::argmin(turned, axis, keep);
  return at::rsub(found, x.size(axis) - 1);
}
// Each place has what was before it, the first one `first`.
Tensor moved_on(const Tensor& x, int64_t axis, const c10::Scalar& first) {
  axis = axis_of(x, axis);
  if (x.size(axis) == 0) return x;
  Ints sizes(x.sizes().begin(), x.sizes().end());
  sizes[static_cast<size_t>(axis)] = 1;
  return at::cat({at::full(sizes, first, x.options()), at::narrow(x, axis, 0, x.size(axis) - 1)}, axis);
}
// Of equal ones the first.
std::tuple<Tensor, Tensor> top_k(const Tensor& x, int64_t k, int64_t axis, bool largest) {
  axis = axis_of(x, axis);
  TORCH_CHECK_VALUE(k >= 0 && k <= x.size(axis), "the ", k, " first of ", x.size(axis));
  const auto sorted = at::sort(x, /*stable=*/true, axis, largest);
  return {at::narrow(std::get<0>(sorted), axis, 0, k), at::narrow(std::get<1>(sorted), axis, 0, k)};
}

// Values, the place where each occurs first, the number among them of each element, and how often each occurs.
std::tuple<Tensor, Tensor, Tensor, Tensor> unique(const Tensor& x, std::optional<int64_t> axis, bool sorted) {
  const Tensor rows = axis.has_value() ? x : x.reshape({-1});
  const int64_t d = axis.has_value() ? axis_of(x, *axis) : 0;
  auto [values, inverse, counts] = at::unique_dim(rows, d, true, true, true);
  const int64_t n = rows.size(d), found = values.size(d);
  const auto options = at::TensorOptions().dtype(ScalarType::Long);
  Tensor first = at::scatter_reduce(at::full({found}, n, options), 0, inverse, at::arange(0, n, options), "amin");
  if (!sorted) {
    const Tensor order = at::argsort(first);
    const Tensor rank = at::scatter(at::empty({found}, options), 0, order, at::arange(0, found, options));
    values = at::index_select(values, d, order), first = at::index_select(first, 0, order);
    counts = at::index_select(counts, 0, order), inverse = at::index_select(rank, 0, inverse);
  }
  return {values, first, inverse, counts};
}

Tensor hardmax(const Tensor& x, int64_t axis) {
  axis = axis_of(x, axis);
  return at::scatter(at::zeros_like(x), axis, at::argmax(x, axis, true), 1);
}

constexpr OwnCallable kCallables[] = {
    {"onnx::hardmax(Tensor x, int axis) -> Tensor", boxed<&hardmax>},
    {"onnx::last_extreme(Tensor x, int axis, bool keep, bool largest) -> Tensor", boxed<&last_extreme>},
    {"onnx::moved_on(Tensor x, int axis, Scalar first) -> Tensor", boxed<&moved_on>},
    {"onnx::prod(Tensor x, int[] axes, bool keep) -> Tensor", boxed<&prod>},
    {"onnx::shift_right(Tensor x, Tensor by) -> Tensor", boxed<&shift_right>},
    {"onnx::to_float8(Tensor x, ScalarType dtype, bool saturate) -> Tensor", boxed<&to_float8>},
    {"onnx::top_k(Tensor x, int k, int axis, bool largest) -> (Tensor, Tensor)", boxed<&top_k>},
    {"onnx::unique(Tensor x, int? axis, bool sorted) -> (Tensor, Tensor, Tensor, Tensor)", boxed<&unique>},
    {"onnx::unless_empty(Tensor axes, Tensor reduced, Tensor x) -> Tensor", boxed<&unless_empty>},
};

}  // namespace

c10::ArrayRef<OwnCallable> math_callables() {
  return kCallables;
}

}  // namespace torch::onnx

// Quantization by arithmetic: sums of products are whole numbers below 2^53, which double holds.
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

// A scale or zero point as it lies over x: one number, one an index of the axis, or one a block along it.
Tensor spread(const Tensor& q, const Tensor& x, int64_t axis, int64_t block) {
  if (q.numel() == 1 && block == 0) return q.reshape({});
  axis = axis_of(x, axis);
  if (block == 0) {
    TORCH_CHECK_VALUE(q.dim() == 1 && q.size(0) == x.size(axis), "scales of sizes ", q.sizes(), " for axis ", axis,
                      " of sizes ", x.sizes());
    Ints sizes(x.sizes().size(), 1);
    sizes[static_cast<size_t>(axis)] = q.size(0);
    return q.reshape(sizes);
  }
  TORCH_CHECK_VALUE(block > 0 && q.dim() == x.dim() && q.size(axis) == (x.size(axis) + block - 1) / block,
                    "scales of sizes ", q.sizes(), " for blocks of ", block, " along axis ", axis, " of sizes ",
                    x.sizes());
  const Tensor number = at::arange(0, x.size(axis), at::TensorOptions().dtype(ScalarType::Long));
  return at::index_select(q, axis, at::div(number, block, "floor"));
}
std::pair<double, double> range_of(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Byte:
      return {0, 255};
    case ScalarType::Char:
      return {-128, 127};
    case ScalarType::UInt16:
      return {0, 65535};
    case ScalarType::Short:
      return {-32768, 32767};
    case ScalarType::Int:
      return {-2147483648.0, 2147483647.0};
    default:
      TORCH_CHECK_NOT_IMPLEMENTED(false, "quantization to ", dtype);
  }
}
Tensor saturated(const Tensor& x, ScalarType dtype) {
  const auto [low, high] = range_of(dtype);
  return at::to(at::to(at::clamp(x, low, high), ScalarType::Long), dtype);
}

Tensor quantize(const Tensor& x, const Tensor& scale, const MaybeTensor& zero, int64_t axis, int64_t block,
                ScalarType dtype, bool saturate) {
  const ScalarType compute = scale.scalar_type() == ScalarType::Double ? ScalarType::Double : ScalarType::Float;
  const Tensor by = at::to(spread(scale, x, axis, block), compute);
  const Tensor parts = at::div(at::to(x, compute), by);
  if (c10::isFloat8Type(dtype)) {
    const double largest = dtype == ScalarType::Float8_e4m3fn     ? 448
                           : dtype == ScalarType::Float8_e4m3fnuz ? 240
                                                                  : 57344;
    return at::to(saturate ? at::clamp(parts, -largest, largest) : parts, dtype);
  }
  Tensor rounded = at::to(at::round(parts), ScalarType::Double);
  if (zero.has_value()) rounded = at::add(rounded, at::to(spread(*zero, x, axis, block), ScalarType::Double));
  return saturated(rounded, dtype);
}
Tensor dequantize(const Tensor& x, const Tensor& scale, const MaybeTensor& zero, int64_t axis, int64_t block,
                  ScalarType dtype) {
  const ScalarType compute = dtype == ScalarType::Double ? ScalarType::Double : ScalarType::Float;
  Tensor value = at::to(x, compute);
  if (zero.has_value()) value = at::sub(value, at::to(spread(*zero, x, axis, block), compute));
  return at::to(at::mul(value, at::to(spread(scale, x, axis, block), compute)), dtype);
}
std::tuple<Tensor, Tensor, Tensor> dynamic_quantize(const Tensor& x) {
  TORCH_CHECK_VALUE(x.numel() > 0, "dynamic quantization of nothing");
  const Tensor low = at::clamp(at::min(x), std::nullopt, 0), high = at::clamp(at::max(x), 0);
  const Tensor range = at::div(at::sub(high, low), 255);
  const Tensor scale = at::where(at::eq(range, 0), at::ones_like(range), range);
  const Tensor zero = saturated(at::round(at::div(at::neg(low), scale)), ScalarType::Byte);
  return {quantize(x, scale, zero, 0, 0, ScalarType::Byte, true), scale, zero};
}

// As double, without its zero point: one number, or one a row of a matrix (its first dimension for a weight).
Tensor centered(const Tensor& x, const MaybeTensor& zero, bool first) {
  const Tensor wide = at::to(x, ScalarType::Double);
  if (!zero.has_value()) return wide;
  const Tensor z = at::to(*zero, ScalarType::Double);
  if (z.numel() == 1) return at::sub(wide, z.reshape({}));
  TORCH_CHECK_VALUE(first && z.dim() == 1 && x.dim() > 0 && z.size(0) == x.size(0), "zero points of sizes ", z.sizes(),
                    " for sizes ", x.sizes());
  Ints sizes(x.sizes().size(), 1);
  sizes[0] = z.size(0);
  return at::sub(wide, z.reshape(sizes));
}
// Of a row of the first factor, or a column of the second.
Tensor over_matrix(const Tensor& q, bool rows) {
  if (q.numel() == 1) return q.reshape({});
  return q.dim() == 1 && rows ? q.unsqueeze(-1) : q;
}
Tensor matmul_integer(const Tensor& a, const Tensor& b, const MaybeTensor& a_zero, const MaybeTensor& b_zero) {
  const auto wide = [](const Tensor& x, const MaybeTensor& zero, bool rows) {
    const Tensor own = at::to(x, ScalarType::Double);
    return zero.has_value() ? at::sub(own, over_matrix(at::to(*zero, ScalarType::Double), rows)) : own;
  };
  return at::to(at::matmul(wide(a, a_zero, true), wide(b, b_zero, false)), ScalarType::Int);
}
Tensor qlinear_matmul(const Tensor& a, const Tensor& a_scale, const Tensor& a_zero, const Tensor& b,
                      const Tensor& b_scale, const Tensor& b_zero, const Tensor& y_scale, const Tensor& y_zero) {
  const auto wide = [](const Tensor& q, bool rows) { return over_matrix(at::to(q, ScalarType::Double), rows); };
  const Tensor product = at::matmul(at::sub(at::to(a, ScalarType::Double), wide(a_zero, true)),
                                    at::sub(at::to(b, ScalarType::Double), wide(b_zero, false)));
  const Tensor scaled = at::mul(at::mul(product, wide(a_scale, true)), wide(b_scale, false));
  const Tensor rounded = at::round(at::div(scaled, wide(y_scale, true)));
  return saturated(at::add(rounded, wide(y_zero, true)), y_zero.scalar_type());
}
Tensor conv_integer(const Tensor& x, const Tensor& weight, Ints strides, Ints pads, Ints dilations, int64_t groups,
                    const std::string& auto_pad) {
  TORCH_CHECK_VALUE(x.dim() > 2 && weight.dim() == x.dim() && groups > 0, "a convolution of sizes ", x.sizes(),
                    " with a weight of sizes ", weight.sizes(), " in ", groups, " groups");
  TORCH_CHECK_NOT_IMPLEMENTED(auto_pad == "NOTSET" || auto_pad == "VALID", "auto_pad of an integer convolution");
  const auto n = static_cast<size_t>(x.dim() - 2);
  if (strides.empty()) strides.assign(n, 1);
  if (dilations.empty()) dilations.assign(n, 1);
  if (pads.empty() || auto_pad == "VALID") pads.assign(2 * n, 0);
  TORCH_CHECK_VALUE(strides.size() == n && dilations.size() == n && pads.size() == 2 * n, "a convolution of ", n,
                    " dimensions with strides ", strides, ", dilations ", dilations, " and pads ", pads);
  constexpr int64_t kLargest = INT32_MAX;
  for (const Ints* list : {&strides, &dilations, &pads}) {
    for (const int64_t one : *list) {
      TORCH_CHECK_VALUE(one >= (list == &pads ? 0 : 1) && one <= kLargest, "a convolution with ", one);
    }
  }
  Ints pairs;
  for (size_t d = n; d-- > 0;) pairs.insert(pairs.end(), {pads[d], pads[n + d]});
  return at::convolution(at::constant_pad_nd(x, pairs, 0), weight, std::nullopt, strides, Ints(n, 0), dilations, false,
                         Ints(n, 0), groups);
}
Tensor requantize(const Tensor& sums, const MaybeTensor& bias, const Tensor& x_scale, const Tensor& w_scale,
                  const Tensor& y_scale, const Tensor& y_zero) {
  Ints sizes(sums.sizes().size(), 1);
  sizes[1] = -1;
  const auto wide = [](const Tensor& t) { return at::to(t, ScalarType::Double); };
  Tensor total = sums;
  if (bias.has_value()) total = at::add(total, wide(*bias).reshape(sizes));
  const Tensor factor = at::div(at::mul(wide(x_scale).reshape({}), wide(w_scale)), wide(y_scale).reshape({}));
  total = at::mul(total, factor.numel() == 1 ? factor.reshape({}) : factor.reshape(sizes));
  return saturated(at::add(at::round(total), wide(y_zero).reshape({})), y_zero.scalar_type());
}

constexpr OwnCallable kCallables[] = {
    {"onnx::centered(Tensor x, Tensor? zero, bool first) -> Tensor", boxed<&centered>},
    {"onnx::conv_integer(Tensor x, Tensor weight, int[] strides, int[] pads, int[] dilations, int groups, str "
     "auto_pad) "
     "-> Tensor",
     boxed<&conv_integer>},
    {"onnx::dequantize(Tensor x, Tensor scale, Tensor? zero, int axis, int block, ScalarType dtype) -> Tensor",
     boxed<&dequantize>},
    {"onnx::dynamic_quantize(Tensor x) -> (Tensor, Tensor, Tensor)", boxed<&dynamic_quantize>},
    {"onnx::matmul_integer(Tensor a, Tensor b, Tensor? a_zero, Tensor? b_zero) -> Tensor", boxed<&matmul_integer>},
    {"onnx::qlinear_matmul(Tensor a, Tensor a_scale, Tensor a_zero, Tensor b, Tensor b_scale, Tensor b_zero, "
     "Tensor y_scale, Tensor y_zero) -> Tensor",
     boxed<&qlinear_matmul>},
    {"onnx::quantize(Tensor x, Tensor scale, Tensor? zero, int axis, int block, ScalarType dtype, bool saturate) -> "
     "Tensor",
     boxed<&quantize>},
    {"onnx::requantize(Tensor sums, Tensor? bias, Tensor x_scale, Tensor w_scale, Tensor y_scale, Tensor y_zero) -> "
     "Tensor",
     boxed<&requantize>},
};

}  // namespace

c10::ArrayRef<OwnCallable> quantized_callables() {
  return kCallables;
}

}  // namespace torch::onnx

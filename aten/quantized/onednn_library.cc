// The operators of torch.ops.onednn that compute with bytes in dense tensors: convolutions and linear layers with what
// follows them.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "aten/core/library.h"
#include "aten/cpu/matrix/integer.h"
#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/quantized/onednn_shapes.h"
#include "aten/quantized/prepacked_integers.h"
#include "aten/quantized/quantized_parts.h"
#include "c10/util/accumulate.h"

namespace at::quantized {
namespace {

using MaybeTensor = std::optional<Tensor>;
using MaybeDtype = std::optional<ScalarType>;
using Scalars = std::vector<std::optional<Scalar>>;

// Scale and zero point of bytes, signed or not.
struct Bytes {
  double scale = 1;
  int64_t zero_point = 0;
};

// What follows the sums of a layer.
struct Epilogue {
  std::string binary = "none";  // none, sum, add
  Tensor other;                 // of sum and add: bytes by `of_other`, or numbers
  Bytes of_other;
  double alpha = 1;
  std::string unary = "none";  // none, relu, hardtanh, hardswish, swish, leaky_relu, gelu, tanh, sigmoid
  Scalars scalars;
  std::string algorithm;
};

// --- bytes ---
// Unsigned bytes that stand for the same: those of signed ones plus 128.
Tensor unsigned_bytes(const char* op, const Tensor& x, int64_t& zero_point) {
  const bool is_signed = x.scalar_type() == kChar;
  TORCH_CHECK(is_signed || x.scalar_type() == kByte, op, ": expected an input of dtype Byte or Char, but got ",
              x.scalar_type());
  const int64_t least = is_signed ? -128 : 0;
  TORCH_CHECK(zero_point >= least && zero_point <= least + 255, op, ": expected a zero point in [", least, ", ",
              least + 255, "], but got ", zero_point);
  if (!is_signed) return x;
  zero_point += 128;
  return at::bitwise_xor(at::view(x, kByte), Scalar(128));
}

std::vector<float> channel_scales(const char* op, const Tensor& scale, const Tensor& zero_point, int64_t channels) {
  TORCH_CHECK(scale.is_floating_point() && (scale.numel() == 1 || scale.numel() == channels), op, ": expected 1 or ",
              channels, " scales of the weight, but got ", scale.toString(), " of sizes ", scale.sizes());
  if (zero_point.defined() && zero_point.numel() > 0) {
    TORCH_CHECK_NOT_IMPLEMENTED(!at::any(at::ne(zero_point, Scalar(0))).item<bool>(), op,
                                ": only weights whose zero points are 0");
  }
  const Tensor dense = native::dense(scale, kFloat);
  const float* const from = dense.const_data_ptr<float>();
  std::vector<float> all(static_cast<size_t>(channels), from[0]);
  if (dense.numel() > 1) std::copy_n(from, channels, all.begin());
  return all;
}

std::vector<float> channel_bias(const char* op, const MaybeTensor& bias, int64_t channels) {
  std::vector<float> all(static_cast<size_t>(channels));
  if (!bias.has_value() || !bias->defined()) return all;
  TORCH_CHECK(bias->numel() == channels && bias->is_floating_point(), op, ": expected a bias of ", channels,
              " numbers, but got ", bias->toString(), " of sizes ", bias->sizes());
  const Tensor dense = native::dense(at::detach(*bias), kFloat);
  std::copy_n(dense.const_data_ptr<float>(), channels, all.begin());
  return all;
}

double number(const char* op, const Scalars& scalars, size_t i, double otherwise) {
  if (i >= scalars.size() || !scalars[i].has_value()) return otherwise;
  TORCH_CHECK(!scalars[i]->isComplex(), op, ": expected real numbers for the activation");
  return scalars[i]->toDouble();
}

Tensor activated(const char* op, const Tensor& x, const Epilogue& e) {
  if (e.unary == "none" || e.unary.empty()) return x;
  if (e.unary == "relu") return at::relu(x);
  if (e.unary == "hardtanh") {
    return at::clamp(x, Scalar(number(op, e.scalars, 0, -1)), Scalar(number(op, e.scalars, 1, 1)));
  }
  if (e.unary == "hardswish") return at::hardswish(x);
  if (e.unary == "swish") return at::silu(x);
  if (e.unary == "leaky_relu") return at::leaky_relu(x, Scalar(number(op, e.scalars, 0, 0.01)));
  if (e.unary == "gelu") return at::gelu(x, e.algorithm == "tanh" ? "tanh" : "none");
  if (e.unary == "tanh") return at::tanh(x);
  if (e.unary == "sigmoid") return at::sigmoid(x);
  TORCH_CHECK_NOT_IMPLEMENTED(false, op, ": the activation '", e.unary, "'");
}

// The range that numbers have after the activation, where it only clamps.
std::optional<std::pair<double, double>> clamped_to(const char* op, const Epilogue& e) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (e.unary == "none" || e.unary.empty()) return std::pair(-kInfinity, kInfinity);
  if (e.unary == "relu") return std::pair(0.0, kInfinity);
  if (e.unary == "hardtanh") return std::pair(number(op, e.scalars, 0, -1), number(op, e.scalars, 1, 1));
  return std::nullopt;
}

Tensor quantized(const Tensor& x, const Bytes& as, ScalarType dtype) {
  const int64_t least = dtype == kChar ? -128 : 0;
  const Tensor q = at::add(at::round(at::mul(x, Scalar(1.0 / as.scale))), Scalar(as.zero_point));
  return at::to(at::clamp(q, Scalar(least), Scalar(least + 255)), dtype);
}

Tensor dequantized(const Tensor& q, const Bytes& as) {
  if (q.is_floating_point()) return at::to(q, kFloat);
  return at::mul(at::sub(at::to(q, kFloat), Scalar(as.zero_point)), Scalar(as.scale));
}

// Gives a layer's result. `sums` runs it into memory of a given dtype: [batch, places..., channels], dense, of which
// `logical` makes the result's order of dimensions. `memory` brings another tensor into that order.
template <class Run, class Logical, class Memory>
Tensor finish(const char* op, const Bytes& x, const std::vector<float>& scales, const std::vector<float>& bias,
              const Bytes& output, MaybeDtype output_dtype, const Epilogue& e, IntArrayRef sizes, const Run& run,
              const Logical& logical, const Memory& memory) {
  const ScalarType dtype = layer_dtype(op, output_dtype);
  const bool bytes = dtype == kByte || dtype == kChar;
  std::vector<float> factors(scales.size());
  for (size_t i = 0; i < scales.size(); ++i) factors[i] = static_cast<float>(x.scale) * scales[i];
  matrix::IntegerResult to;
  to.factor = factors.data();
  to.after = bias.data();
  const auto range = clamped_to(op, e);
  const bool other_is_bytes = e.other.defined() && !e.other.is_floating_point();
  if (bytes && range.has_value() && (!e.other.defined() || (other_is_bytes && e.alpha == 1))) {
    TORCH_CHECK(output.scale > 0 && std::isfinite(output.scale), op, ": expected a positive output scale, but got ",
                output.scale);
    const int64_t shift = dtype == kChar ? 128 : 0, zero = output.zero_point + shift;
    TORCH_CHECK(zero >= 0 && zero <= 255, op, ": expected an output zero point in [", -shift, ", ", 255 - shift,
                "], but got ", output.zero_point);
    const auto place = [&](double bound) {
      const double q = std::nearbyint(bound / output.scale) + static_cast<double>(zero);
      return static_cast<int32_t>(std::clamp(q, 0.0, 255.0));
    };
    const Tensor result = empty_contiguous(sizes, kByte);
    to.to = matrix::IntegerResult::To::kIntegers;
    to.data = result.data_ptr<uint8_t>();
    to.inverse = static_cast<float>(1.0 / output.scale);
    to.zero_point = static_cast<int32_t>(zero);
    to.least = place(range->first);
    to.most = place(range->second);
    Bytes other = e.of_other;
    Tensor added;
    if (other_is_bytes) {
      added = native::dense(memory(unsigned_bytes(op, e.other, other.zero_point)));
      TORCH_CHECK(added.sizes() == sizes, op, ": expected another tensor of the result's size, but got ",
                  e.other.sizes());
      to.add = added.const_data_ptr<uint8_t>();
      to.add_scale = static_cast<float>(other.scale);
      to.add_zero_point = static_cast<int32_t>(other.zero_point);
    }
    run(to);
    const Tensor q = dtype == kChar ? at::view(at::bitwise_xor(result, Scalar(128)), kChar) : result;
    return fresh(logical(q));
  }
  const Tensor numbers = empty_contiguous(sizes, kFloat);
  to.to = matrix::IntegerResult::To::kNumbers;
  to.data = numbers.data_ptr<float>();
  run(to);
  Tensor y = logical(numbers);
  if (e.other.defined()) y = at::add(y, dequantized(e.other, e.of_other), Scalar(e.alpha));
  y = activated(op, y, e);
  return bytes ? quantized(y, output, dtype) : at::to(y, dtype);
}

// --- convolutions ---
struct Geometry {
  IntArrayRef stride, padding, dilation;
  int64_t groups;
};

Tensor convolve(const char* op, const Tensor& qx, Bytes x, const Tensor& qw, const Tensor& w_scale,
                const Tensor& w_zero_point, const MaybeTensor& bias, const Geometry& g, const Bytes& output,
                MaybeDtype output_dtype, const Epilogue& e) {
  const DimVector of_result = convolution_sizes(op, qx, qw, g.stride, g.padding, g.dilation, g.groups);
  const Tensor bytes = unsigned_bytes(op, qx, x.zero_point);
  const auto weights = integer_weights(op, qw, g.groups);
  // Channels innermost.
  DimVector sizes{of_result[0]};
  for (size_t i = 2; i < of_result.size(); ++i) sizes.push_back(of_result[i]);
  sizes.push_back(of_result[1]);
  const Tensor input = native::dense(channels_innermost(bytes));
  matrix::Convolution c;
  c.dims = static_cast<int>(qx.dim() - 2);
  c.batch = qx.size(0);
  c.groups = g.groups;
  c.in_channels = qx.size(1);
  c.out_channels = qw.size(0);
  const auto along = [](IntArrayRef list, int i) { return list[list.size() == 1 ? 0 : static_cast<size_t>(i)]; };
  for (int i = 0; i < c.dims; ++i) {
    const int d = 3 - c.dims + i;
    c.input[d] = qx.size(2 + i);
    c.output[d] = of_result[static_cast<size_t>(2 + i)];
    c.kernel[d] = qw.size(2 + i);
    c.dilation[d] = along(g.dilation, i);
    c.stride[d] = along(g.stride, i);
    c.padding[d] = along(g.padding, i);
  }
  const auto run = [&](const matrix::IntegerResult& to) {
    weights->convolve(c, input.const_data_ptr<uint8_t>(), static_cast<int32_t>(x.zero_point), to);
  };
  return finish(op, x, channel_scales(op, w_scale, w_zero_point, c.out_channels),
                channel_bias(op, bias, c.out_channels), output, output_dtype, e, sizes, run, channels_second,
                [&](const Tensor& t) {
                  TORCH_CHECK(t.dim() == qx.dim(), op, ": expected another tensor of ", qx.dim(),
                              " dimensions, but got ", t.dim());
                  return channels_innermost(t);
                });
}

Tensor qconv_prepack(const Tensor& weight, const Tensor&, double, int64_t, IntArrayRef, IntArrayRef, IntArrayRef,
                     int64_t groups, const std::optional<std::vector<int64_t>>&) {
  return prepack_integers("onednn::qconv_prepack", weight, groups);
}

Tensor qconv_pointwise(const Tensor& qx, double x_scale, int64_t x_zero_point, const Tensor& qw, const Tensor& w_scale,
                       const Tensor& w_zero_point, const MaybeTensor& bias, IntArrayRef stride, IntArrayRef padding,
                       IntArrayRef dilation, int64_t groups, double output_scale, int64_t output_zero_point,
                       MaybeDtype output_dtype, std::string attr, Scalars scalars,
                       std::optional<std::string> algorithm) {
  Epilogue e;
  e.unary = std::move(attr);
  e.scalars = std::move(scalars);
  e.algorithm = algorithm.value_or("");
  return convolve("onednn::qconv_pointwise", qx, {x_scale, x_zero_point}, qw, w_scale, w_zero_point, bias,
                  {stride, padding, dilation, groups}, {output_scale, output_zero_point}, output_dtype, e);
}
Tensor qconv_pointwise_tensor(const Tensor& qx, const Tensor& x_scale, const Tensor& x_zero_point, const Tensor& qw,
                              const Tensor& w_scale, const Tensor& w_zero_point, const MaybeTensor& bias,
                              IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, int64_t groups,
                              double output_scale, int64_t output_zero_point, MaybeDtype output_dtype, std::string attr,
                              Scalars scalars, std::optional<std::string> algorithm) {
  return qconv_pointwise(qx, at::item(x_scale).toDouble(), at::item(x_zero_point).toLong(), qw, w_scale, w_zero_point,
                         bias, stride, padding, dilation, groups, output_scale, output_zero_point, output_dtype,
                         std::move(attr), std::move(scalars), std::move(algorithm));
}

Epilogue binary_epilogue(const char* op, const MaybeTensor& other, const Bytes& of_other, const std::string& binary,
                         double alpha, std::string unary, Scalars scalars, std::string algorithm) {
  TORCH_CHECK(binary == "none" || binary == "sum" || binary == "add", op, ": the binary operation '", binary,
              "' is not none, sum or add");
  Epilogue e;
  e.unary = std::move(unary);
  e.scalars = std::move(scalars);
  e.algorithm = std::move(algorithm);
  e.binary = binary;
  if (binary == "none") return e;
  TORCH_CHECK(other.has_value() && other->defined(), op, ": '", binary, "' needs another tensor");
  e.other = *other;
  e.of_other = of_other;
  e.alpha = alpha;
  return e;
}

Tensor qconv_pointwise_binary(const Tensor& qx, double x_scale, int64_t x_zero_point, const Tensor& qw,
                              const Tensor& w_scale, const Tensor& w_zero_point, const Tensor& qaccum,
                              const MaybeTensor& bias, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                              int64_t groups, double output_scale, int64_t output_zero_point, MaybeDtype output_dtype,
                              double accum_scale, int64_t accum_zero_point, std::string binary_attr,
                              std::optional<Scalar> alpha, std::optional<std::string> unary_attr, Scalars unary_scalars,
                              std::optional<std::string> unary_algorithm) {
  const char* const op = "onednn::qconv_pointwise";
  const Epilogue e = binary_epilogue(op, qaccum, {accum_scale, accum_zero_point}, binary_attr,
                                     alpha.has_value() ? alpha->toDouble() : 1, unary_attr.value_or("none"),
                                     std::move(unary_scalars), unary_algorithm.value_or(""));
  return convolve(op, qx, {x_scale, x_zero_point}, qw, w_scale, w_zero_point, bias, {stride, padding, dilation, groups},
                  {output_scale, output_zero_point}, output_dtype, e);
}

// Into the other tensor, which is the result then, where it is added and has the result's dtype.
Tensor qconv_pointwise_into(const Tensor& qx, double x_scale, int64_t x_zero_point, const Tensor& qw,
                            const Tensor& w_scale, const Tensor& w_zero_point, Tensor qaccum, const MaybeTensor& bias,
                            IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, int64_t groups,
                            double output_scale, int64_t output_zero_point, MaybeDtype output_dtype, double accum_scale,
                            int64_t accum_zero_point, std::string binary_attr, std::optional<Scalar> alpha,
                            std::optional<std::string> unary_attr, Scalars unary_scalars,
                            std::optional<std::string> unary_algorithm) {
  const bool sum = binary_attr == "sum";
  const Tensor result = qconv_pointwise_binary(
      qx, x_scale, x_zero_point, qw, w_scale, w_zero_point, qaccum, bias, stride, padding, dilation, groups,
      output_scale, output_zero_point, output_dtype, accum_scale, accum_zero_point, std::move(binary_attr), alpha,
      std::move(unary_attr), std::move(unary_scalars), std::move(unary_algorithm));
  if (!sum || qaccum.scalar_type() != result.scalar_type()) return result;
  at::copy_(qaccum, result);
  return qaccum;
}
Tensor qconv_pointwise_into_tensor(const Tensor& qx, const Tensor& x_scale, const Tensor& x_zero_point,
                                   const Tensor& qw, const Tensor& w_scale, const Tensor& w_zero_point, Tensor qaccum,
                                   const MaybeTensor& bias, IntArrayRef stride, IntArrayRef padding,
                                   IntArrayRef dilation, int64_t groups, double output_scale, int64_t output_zero_point,
                                   MaybeDtype output_dtype, double accum_scale, int64_t accum_zero_point,
                                   std::string binary_attr, std::optional<Scalar> alpha,
                                   std::optional<std::string> unary_attr, Scalars unary_scalars,
                                   std::optional<std::string> unary_algorithm) {
  return qconv_pointwise_into(qx, at::item(x_scale).toDouble(), at::item(x_zero_point).toLong(), qw, w_scale,
                              w_zero_point, std::move(qaccum), bias, stride, padding, dilation, groups, output_scale,
                              output_zero_point, output_dtype, accum_scale, accum_zero_point, std::move(binary_attr),
                              std::move(alpha), std::move(unary_attr), std::move(unary_scalars),
                              std::move(unary_algorithm));
}

// --- element by element ---
enum class Arithmetic { kAdd, kAddRelu, kMul };
template <Arithmetic A>
Tensor arithmetic(const Tensor& self, double self_scale, int64_t self_zero_point, const Tensor& other,
                  double other_scale, int64_t other_zero_point, double output_scale, int64_t output_zero_point,
                  ScalarType output_dtype) {
  const char* const op = A == Arithmetic::kMul ? "onednn::qmul" : "onednn::qadd";
  TORCH_CHECK(!c10::isComplexType(output_dtype), op, ": expected an output_dtype of bytes or real numbers, but got ",
              output_dtype);
  const Tensor a = dequantized(self, {self_scale, self_zero_point}),
               b = dequantized(other, {other_scale, other_zero_point});
  Tensor result = A == Arithmetic::kMul ? at::mul(a, b) : at::add(a, b);
  if (A == Arithmetic::kAddRelu) result = at::relu(result);
  if (output_dtype != kByte && output_dtype != kChar) return at::to(result, output_dtype);
  return quantized(result, {output_scale, output_zero_point}, output_dtype);
}

// --- weights of half precision ---
Tensor linear_prepack_fp16(const Tensor& weight, const std::optional<std::vector<int64_t>>&) {
  TORCH_CHECK(weight.dim() == 2 && weight.scalar_type() == kHalf,
              "onednn::linear_prepack_fp16: expected a weight of 2 dimensions and dtype Half, but got ",
              weight.toString(), " of sizes ", weight.sizes());
  return at::clone(weight);
}
template <bool kRelu>
Tensor linear_dynamic_fp16(const Tensor& x, const Tensor& w, const MaybeTensor& bias) {
  TORCH_CHECK(x.scalar_type() == kFloat, "onednn::linear_dynamic_fp16: expected an input of dtype Float, but got ",
              x.scalar_type());
  const Tensor y = at::linear(x, at::to(w, kFloat), bias);
  return kRelu ? at::relu(y) : y;
}

// --- linear layers ---
Tensor qlinear_prepack(const Tensor& weight, const std::optional<std::vector<int64_t>>&) {
  TORCH_CHECK(weight.dim() == 2, "onednn::qlinear_prepack: expected a weight of 2 dimensions, but got sizes ",
              weight.sizes());
  return prepack_integers("onednn::qlinear_prepack", weight, 1);
}

Tensor multiply(const Tensor& qx, Bytes x, const Tensor& qw, const Tensor& w_scale, const Tensor& w_zero_point,
                const MaybeTensor& bias, const Bytes& output, MaybeDtype output_dtype, const Epilogue& e) {
  const char* const op = "onednn::qlinear_pointwise";
  const DimVector sizes = linear_sizes(op, qx, qw);
  const Tensor bytes = native::dense(unsigned_bytes(op, qx, x.zero_point));
  const auto weights = integer_weights(op, qw, 1);
  const int64_t rows = c10::multiply_integers(qx.sizes().slice(0, qx.sizes().size() - 1));
  const auto run = [&](const matrix::IntegerResult& to) {
    weights->multiply(rows, bytes.const_data_ptr<uint8_t>(), static_cast<int32_t>(x.zero_point), to);
  };
  const auto same = [](const Tensor& t) { return t; };
  return finish(op, x, channel_scales(op, w_scale, w_zero_point, qw.size(0)), channel_bias(op, bias, qw.size(0)),
                output, output_dtype, e, sizes, run, same, same);
}

Tensor qlinear_pointwise(const Tensor& qx, double x_scale, int64_t x_zero_point, const Tensor& qw,
                         const Tensor& w_scale, const Tensor& w_zero_point, const MaybeTensor& bias,
                         double output_scale, int64_t output_zero_point, MaybeDtype output_dtype,
                         std::string post_op_name, Scalars post_op_args, std::string post_op_algorithm) {
  Epilogue e;
  e.unary = std::move(post_op_name);
  e.scalars = std::move(post_op_args);
  e.algorithm = std::move(post_op_algorithm);
  return multiply(qx, {x_scale, x_zero_point}, qw, w_scale, w_zero_point, bias, {output_scale, output_zero_point},
                  output_dtype, e);
}
Tensor qlinear_pointwise_tensor(const Tensor& qx, const Tensor& x_scale, const Tensor& x_zero_point, const Tensor& qw,
                                const Tensor& w_scale, const Tensor& w_zero_point, const MaybeTensor& bias,
                                double output_scale, int64_t output_zero_point, MaybeDtype output_dtype,
                                std::string post_op_name, Scalars post_op_args, std::string post_op_algorithm) {
  return qlinear_pointwise(qx, at::item(x_scale).toDouble(), at::item(x_zero_point).toLong(), qw, w_scale, w_zero_point,
                           bias, output_scale, output_zero_point, output_dtype, std::move(post_op_name),
                           std::move(post_op_args), std::move(post_op_algorithm));
}
Tensor qlinear_pointwise_binary(const Tensor& qx, double x_scale, int64_t x_zero_point, const Tensor& qw,
                                const Tensor& w_scale, const Tensor& w_zero_point, const MaybeTensor& other,
                                const MaybeTensor& bias, double output_scale, int64_t output_zero_point,
                                MaybeDtype output_dtype, double other_scale, int64_t other_zp,
                                std::string binary_post_op, double binary_alpha, std::string unary_post_op,
                                Scalars unary_post_op_args, std::string unary_post_op_algorithm) {
  const Epilogue e =
      binary_epilogue("onednn::qlinear_pointwise", other, {other_scale, other_zp}, binary_post_op, binary_alpha,
                      std::move(unary_post_op), std::move(unary_post_op_args), std::move(unary_post_op_algorithm));
  return multiply(qx, {x_scale, x_zero_point}, qw, w_scale, w_zero_point, bias, {output_scale, output_zero_point},
                  output_dtype, e);
}
Tensor qlinear_pointwise_binary_tensor(const Tensor& qx, const Tensor& x_scale, const Tensor& x_zero_point,
                                       const Tensor& qw, const Tensor& w_scale, const Tensor& w_zero_point,
                                       const MaybeTensor& other, const MaybeTensor& bias, double output_scale,
                                       int64_t output_zero_point, MaybeDtype output_dtype, double other_scale,
                                       int64_t other_zp, std::string binary_post_op, double binary_alpha,
                                       std::string unary_post_op, Scalars unary_post_op_args,
                                       std::string unary_post_op_algorithm) {
  return qlinear_pointwise_binary(qx, at::item(x_scale).toDouble(), at::item(x_zero_point).toLong(), qw, w_scale,
                                  w_zero_point, other, bias, output_scale, output_zero_point, output_dtype, other_scale,
                                  other_zp, std::move(binary_post_op), binary_alpha, std::move(unary_post_op),
                                  std::move(unary_post_op_args), std::move(unary_post_op_algorithm));
}

}  // namespace

TORCH_LIBRARY(onednn, m) {
  const std::string x = "(Tensor qx, float x_scale, int x_zero_point, ",
                    tensor_x = "(Tensor qx, Tensor x_scale, Tensor x_zero_point, ",
                    w = "Tensor qw, Tensor w_scale, Tensor w_zero_point, ", bias = "Tensor? bias, ",
                    geometry = "int[] stride, int[] padding, int[] dilation, int groups, ",
                    output = "float output_scale, int output_zero_point, ScalarType? output_dtype, ",
                    unary = "str attr, Scalar?[] scalars, str? algorithm) -> Tensor",
                    accum =
                        "float accum_scale, int accum_zero_point, str binary_attr, Scalar? alpha, str? unary_attr, "
                        "Scalar?[] unary_scalars, str? unary_algorithm) -> Tensor";
  m.def(
      "qconv_prepack(Tensor weight, Tensor w_scales, float x_scale, int x_zp, int[] stride, int[] padding, "
      "int[] dilation, int groups, int[]? x_shape=None) -> Tensor");
  for (const std::string name : {"qconv1d", "qconv2d", "qconv3d", "qconv"}) {
    m.def(name + "_pointwise" + x + w + bias + geometry + output + unary);
  }
  for (const std::string name : {"qconv2d", "qconv"}) {
    m.def(name + "_pointwise.tensor" + tensor_x + w + bias + geometry + output + unary);
  }
  m.def("qconv2d_pointwise.binary" + x + w + "Tensor(a!) qaccum, " + bias + geometry + output + accum);
  m.def("qconv2d_pointwise.binary_tensor" + tensor_x + w + "Tensor(a!) qaccum, " + bias + geometry + output + accum);
  // Of this library: the same, which writes to nothing.
  m.def("qconv_pointwise.binary" + x + w + "Tensor qaccum, " + bias + geometry + output + accum);
  for (const std::string name : {"qadd", "qadd_relu", "qmul"}) {
    m.def(name +
          ".tensor(Tensor self, float self_scale, int self_zero_point, Tensor other, float other_scale, "
          "int other_zero_point, float output_scale, int output_zero_point, ScalarType output_dtype) -> Tensor");
  }
  m.def("linear_prepack_fp16(Tensor weight, int[]? x_shape) -> Tensor");
  for (const std::string relu : {"", "_relu"}) {
    m.def("linear" + relu + "_dynamic_fp16(Tensor x, Tensor w, Tensor? bias) -> Tensor");
  }
  const std::string post = "str post_op_name, Scalar?[] post_op_args, str post_op_algorithm) -> Tensor";
  const std::string posts =
      "float other_scale, int other_zp, str binary_post_op, float binary_alpha, str unary_post_op, "
      "Scalar?[] unary_post_op_args, str unary_post_op_algorithm) -> Tensor";
  m.def("qlinear_prepack(Tensor weight, int[]? x_shape) -> Tensor");
  m.def("qlinear_pointwise" + x + w + bias + output + post);
  m.def("qlinear_pointwise.tensor" + tensor_x + w + bias + output + post);
  m.def("qlinear_pointwise.binary" + x + w + "Tensor? other, " + bias + output + posts);
  m.def("qlinear_pointwise.binary_tensor" + tensor_x + w + "Tensor? other, " + bias + output + posts);
}

TORCH_LIBRARY_IMPL(onednn, CPU, m) {
  m.impl("qconv_prepack", &qconv_prepack);
  for (const std::string name : {"qconv1d", "qconv2d", "qconv3d", "qconv"}) {
    m.impl(name + "_pointwise", &qconv_pointwise);
  }
  for (const std::string name : {"qconv2d", "qconv"}) m.impl(name + "_pointwise.tensor", &qconv_pointwise_tensor);
  m.impl("qconv2d_pointwise.binary", &qconv_pointwise_into);
  m.impl("qconv2d_pointwise.binary_tensor", &qconv_pointwise_into_tensor);
  m.impl("qconv_pointwise.binary", &qconv_pointwise_binary);
  m.impl("qadd.tensor", &arithmetic<Arithmetic::kAdd>);
  m.impl("qadd_relu.tensor", &arithmetic<Arithmetic::kAddRelu>);
  m.impl("qmul.tensor", &arithmetic<Arithmetic::kMul>);
  m.impl("linear_prepack_fp16", &linear_prepack_fp16);
  m.impl("linear_dynamic_fp16", &linear_dynamic_fp16<false>);
  m.impl("linear_relu_dynamic_fp16", &linear_dynamic_fp16<true>);
  m.impl("qlinear_prepack", &qlinear_prepack);
  m.impl("qlinear_pointwise", &qlinear_pointwise);
  m.impl("qlinear_pointwise.tensor", &qlinear_pointwise_tensor);
  m.impl("qlinear_pointwise.binary", &qlinear_pointwise_binary);
  m.impl("qlinear_pointwise.binary_tensor", &qlinear_pointwise_binary_tensor);
}

}  // namespace at::quantized

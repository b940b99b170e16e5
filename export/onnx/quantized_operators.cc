// Whole numbers that stand for others by a scale and a zero point.
#include "export/onnx/emitter.h"

namespace torch::onnx {
namespace {

using c10::ScalarType;

int64_t block_size(Emitter& e) {
  const int64_t size = e.i("block_size", 0);
  e.check(size >= 0 && size <= INT32_MAX, "block_size is ", size);
  return size;
}
void quantize_linear(Emitter& e) {
  const Item x = e.in(0), scale = e.in(1), zero = e.in_or_absent(2);
  ScalarType dtype = zero.absent() ? ScalarType::Byte : zero.dtype;
  if (e.has_attribute("output_dtype") && e.i("output_dtype") != 0) dtype = e.dtype_named("output_dtype");
  if (e.has_attribute("precision")) e.supported(e.i("precision") == 0, "precision");
  const bool saturate = e.i("saturate", 1) != 0;
  e.out(e.call("onnx::quantize", {x, scale, zero, e.i("axis", 1), block_size(e), dtype, saturate}, dtype));
}
void dequantize_linear(Emitter& e) {
  const Item x = e.in_of_any_width(0), scale = e.in(1), zero = e.in_of_any_width(2);
  e.check(!x.absent(), "input 0 is missing");
  ScalarType dtype = scale.dtype;
  if (e.has_attribute("output_dtype") && e.i("output_dtype") != 0) dtype = e.dtype_named("output_dtype");
  e.out(e.call("onnx::dequantize", {x, scale, zero, e.i("axis", 1), block_size(e), dtype}, dtype));
}
void dynamic_quantize_linear(Emitter& e) {
  e.outputs = e.call_for("onnx::dynamic_quantize", {e.in(0)}, {ScalarType::Byte, ScalarType::Float, ScalarType::Byte});
}
void matmul_integer(Emitter& e) {
  e.out(e.call("onnx::matmul_integer", {e.in(0), e.in(1), e.in_or_absent(2), e.in_or_absent(3)}, ScalarType::Int));
}
void qlinear_matmul(Emitter& e) {
  const ScalarType dtype = e.dtype(7);
  e.out(
      e.call("onnx::qlinear_matmul", {e.in(0), e.in(1), e.in(2), e.in(3), e.in(4), e.in(5), e.in(6), e.in(7)}, dtype));
}
// The integer convolutions are the float ones of what is left without the zero points: exact up to 2^24.
Item convolved(Emitter& e, const Item& x, const Item& weight) {
  const std::string auto_pad = e.choice("auto_pad", "NOTSET", {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"});
  e.ignore({"kernel_shape"});
  const int64_t groups = e.i("group", 1);
  return e.call("onnx::conv_integer", {x, weight, e.is("strides"), e.is("pads"), e.is("dilations"), groups, auto_pad},
                ScalarType::Double);
}
void conv_integer(Emitter& e) {
  const Item x = e.call("onnx::centered", {e.in(0), e.in_or_absent(2), false}, ScalarType::Double);
  const Item weight = e.call("onnx::centered", {e.in(1), e.in_or_absent(3), true}, ScalarType::Double);
  e.out(e.cast(convolved(e, x, weight), ScalarType::Int));
}
void qlinear_conv(Emitter& e) {
  const Item x = e.call("onnx::centered", {e.in(0), e.in(2), false}, ScalarType::Double);
  const Item weight = e.call("onnx::centered", {e.in(3), e.in(5), true}, ScalarType::Double);
  const ScalarType dtype = e.dtype(7);
  e.out(e.call("onnx::requantize", {convolved(e, x, weight), e.in_or_absent(8), e.in(1), e.in(4), e.in(6), e.in(7)},
               dtype));
}

constexpr Operator kOperators[] = {
    {"ConvInteger", 10, conv_integer},
    {"DequantizeLinear", 10, dequantize_linear},
    {"DynamicQuantizeLinear", 11, dynamic_quantize_linear},
    {"MatMulInteger", 10, matmul_integer},
    {"QLinearConv", 10, qlinear_conv},
    {"QLinearMatMul", 10, qlinear_matmul},
    {"QuantizeLinear", 10, quantize_linear},
};

}  // namespace

c10::ArrayRef<Operator> quantized_operators() {
  return kOperators;
}

}  // namespace torch::onnx

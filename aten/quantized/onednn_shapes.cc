#include "aten/quantized/onednn_shapes.h"

#include <string>
#include <utility>
#include <vector>

#include "aten/core/library.h"
#include "aten/core/structured.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/conv/kernels.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"

namespace at::quantized {

void check_integer_weight(const char* op, const Tensor& weight, int64_t groups) {
  TORCH_CHECK(weight.scalar_type() == kChar && weight.layout() == Layout::Strided, op,
              ": expected a weight of dtype Char, but got ", weight.toString());
  TORCH_CHECK(weight.dim() >= 2 && weight.dim() <= 5, op, ": expected a weight of 2 to 5 dimensions, but got sizes ",
              weight.sizes());
  TORCH_CHECK(groups > 0 && weight.size(0) % groups == 0, op, ": ", weight.size(0),
              " channels of the weight do not divide into ", groups, " groups");
}

namespace {

void check_bytes(const char* op, const Tensor& x) {
  TORCH_CHECK(x.scalar_type() == kByte || x.scalar_type() == kChar, op,
              ": expected an input of dtype Byte or Char, but got ", x.scalar_type());
}

}  // namespace

DimVector convolution_sizes(const char* op, const Tensor& qx, const Tensor& qw, IntArrayRef stride, IntArrayRef padding,
                            IntArrayRef dilation, int64_t groups) {
  TORCH_CHECK(qx.dim() >= 3 && qx.dim() <= 5 && qw.dim() == qx.dim(), op,
              ": expected an input and a weight of the same 3 to 5 dimensions, but got sizes ", qx.sizes(), " and ",
              qw.sizes());
  check_bytes(op, qx);
  check_integer_weight(op, qw, groups);
  TORCH_CHECK(qx.size(1) == qw.size(1) * groups, op, ": Given groups=", groups, ", weight of size ", qw.sizes(),
              ", expected an input of size ", qx.sizes(), " to have ", qw.size(1) * groups, " channels, but it has ",
              qx.size(1));
  return native::convolution_meta(at::view(qx, kByte), at::view(qw, kByte), std::nullopt, stride, padding, dilation,
                                  false, DimVector(stride.size(), 0), groups)
      .sizes;
}

DimVector linear_sizes(const char* op, const Tensor& qx, const Tensor& qw) {
  TORCH_CHECK(qw.dim() == 2 && qx.dim() >= 1 && qx.size(-1) == qw.size(1), op,
              ": expected an input with as many columns as the weight has, but got sizes ", qx.sizes(), " and ",
              qw.sizes());
  check_bytes(op, qx);
  check_integer_weight(op, qw, 1);
  DimVector sizes(qx.sizes().begin(), qx.sizes().end());
  sizes.back() = qw.size(0);
  return sizes;
}

ScalarType layer_dtype(const char* op, std::optional<ScalarType> output_dtype) {
  const ScalarType dtype = output_dtype.value_or(kByte);
  TORCH_CHECK(dtype == kByte || dtype == kChar || dtype == kFloat || dtype == kBFloat16 || dtype == kHalf, op,
              ": expected an output_dtype of Byte, Char, Float, BFloat16 or Half, but got ", dtype);
  return dtype;
}

Tensor channels_second(const Tensor& inner) {
  DimVector order{0, inner.dim() - 1};
  for (int64_t i = 2; i < inner.dim(); ++i) order.push_back(i - 1);
  return at::permute(inner, order);
}
Tensor channels_innermost(const Tensor& t) {
  DimVector order{0};
  for (int64_t i = 2; i < t.dim(); ++i) order.push_back(i);
  order.push_back(1);
  return at::permute(t, order);
}

// --- Meta tensors ---
namespace {

using MaybeTensor = std::optional<Tensor>;
using MaybeDtype = std::optional<ScalarType>;
using Scalars = std::vector<std::optional<Scalar>>;

Tensor empty_meta(IntArrayRef sizes, ScalarType dtype) {
  return empty_contiguous(sizes, dtype, Device(DeviceType::Meta));
}

// Of the sums, with another tensor added to them.
Tensor layer_result(const char* op, const Tensor& sums, const MaybeTensor& other, const std::string& binary,
                    MaybeDtype output_dtype) {
  const ScalarType dtype = layer_dtype(op, output_dtype);
  TORCH_CHECK(binary == "none" || binary == "sum" || binary == "add", op, ": the binary operation '", binary,
              "' is not none, sum or add");
  Tensor y = sums;
  if (binary != "none") {
    TORCH_CHECK(other.has_value() && other->defined(), op, ": '", binary, "' needs another tensor");
    y = at::add(y, at::to(*other, kFloat));
  }
  return at::to(y, dtype);
}

Tensor convolution(const char* op, const Tensor& qx, const Tensor& qw, IntArrayRef stride, IntArrayRef padding,
                   IntArrayRef dilation, int64_t groups, const MaybeTensor& other, const std::string& binary,
                   MaybeDtype output_dtype) {
  DimVector sizes = convolution_sizes(op, qx, qw, stride, padding, dilation, groups), inner{sizes[0]};
  for (size_t i = 2; i < sizes.size(); ++i) inner.push_back(sizes[i]);
  inner.push_back(sizes[1]);
  return layer_result(op, channels_second(empty_meta(inner, kFloat)), other, binary, output_dtype);
}

constexpr const char* kConvolution = "onednn::qconv_pointwise";
constexpr const char* kLinear = "onednn::qlinear_pointwise";

// `Number` and `Zero`: the input's scale and zero point, numbers or tensors of one.
template <class Number, class Zero>
Tensor qconv_pointwise(const Tensor& qx, Number, Zero, const Tensor& qw, const Tensor&, const Tensor&,
                       const MaybeTensor&, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                       int64_t groups, double, int64_t, MaybeDtype output_dtype, std::string, Scalars,
                       std::optional<std::string>) {
  return convolution(kConvolution, qx, qw, stride, padding, dilation, groups, {}, "none", output_dtype);
}
template <class Number, class Zero>
Tensor qconv_pointwise_into(const Tensor& qx, Number, Zero, const Tensor& qw, const Tensor&, const Tensor&,
                            Tensor qaccum, const MaybeTensor&, IntArrayRef stride, IntArrayRef padding,
                            IntArrayRef dilation, int64_t groups, double, int64_t, MaybeDtype output_dtype, double,
                            int64_t, std::string binary_attr, std::optional<Scalar>, std::optional<std::string>,
                            Scalars, std::optional<std::string>) {
  const Tensor result =
      convolution(kConvolution, qx, qw, stride, padding, dilation, groups, qaccum, binary_attr, output_dtype);
  return binary_attr == "sum" && qaccum.scalar_type() == result.scalar_type() ? qaccum : result;
}
Tensor qconv_pointwise_binary(const Tensor& qx, double, int64_t, const Tensor& qw, const Tensor&, const Tensor&,
                              const Tensor& qaccum, const MaybeTensor&, IntArrayRef stride, IntArrayRef padding,
                              IntArrayRef dilation, int64_t groups, double, int64_t, MaybeDtype output_dtype, double,
                              int64_t, std::string binary_attr, std::optional<Scalar>, std::optional<std::string>,
                              Scalars, std::optional<std::string>) {
  return convolution(kConvolution, qx, qw, stride, padding, dilation, groups, qaccum, binary_attr, output_dtype);
}

template <class Number, class Zero>
Tensor qlinear_pointwise(const Tensor& qx, Number, Zero, const Tensor& qw, const Tensor&, const Tensor&,
                         const MaybeTensor&, double, int64_t, MaybeDtype output_dtype, std::string, Scalars,
                         std::string) {
  return layer_result(kLinear, empty_meta(linear_sizes(kLinear, qx, qw), kFloat), {}, "none", output_dtype);
}
template <class Number, class Zero>
Tensor qlinear_pointwise_binary(const Tensor& qx, Number, Zero, const Tensor& qw, const Tensor&, const Tensor&,
                                const MaybeTensor& other, const MaybeTensor&, double, int64_t, MaybeDtype output_dtype,
                                double, int64_t, std::string binary_post_op, double, std::string, Scalars,
                                std::string) {
  return layer_result(kLinear, empty_meta(linear_sizes(kLinear, qx, qw), kFloat), other, binary_post_op, output_dtype);
}

Tensor qconv_prepack(const Tensor& weight, const Tensor&, double, int64_t, IntArrayRef, IntArrayRef, IntArrayRef,
                     int64_t groups, const std::optional<std::vector<int64_t>>&) {
  check_integer_weight("onednn::qconv_prepack", weight, groups);
  return empty_meta(weight.sizes(), kChar);
}
Tensor qlinear_prepack(const Tensor& weight, const std::optional<std::vector<int64_t>>&) {
  TORCH_CHECK(weight.dim() == 2, "onednn::qlinear_prepack: expected a weight of 2 dimensions, but got sizes ",
              weight.sizes());
  check_integer_weight("onednn::qlinear_prepack", weight, 1);
  return empty_meta(weight.sizes(), kChar);
}

Tensor arithmetic(const Tensor& self, double, int64_t, const Tensor& other, double, int64_t, double, int64_t,
                  ScalarType output_dtype) {
  TORCH_CHECK(!c10::isComplexType(output_dtype), "onednn: expected an output_dtype of bytes or real numbers, but got ",
              output_dtype);
  return at::to(at::add(at::to(self, kFloat), at::to(other, kFloat)), output_dtype);
}

Tensor linear_prepack_fp16(const Tensor& weight, const std::optional<std::vector<int64_t>>&) {
  TORCH_CHECK(weight.dim() == 2 && weight.scalar_type() == kHalf,
              "onednn::linear_prepack_fp16: expected a weight of 2 dimensions and dtype Half, but got ",
              weight.toString(), " of sizes ", weight.sizes());
  return at::clone(weight);
}
Tensor linear_dynamic_fp16(const Tensor& x, const Tensor& w, const MaybeTensor& bias) {
  TORCH_CHECK(x.scalar_type() == kFloat, "onednn::linear_dynamic_fp16: expected an input of dtype Float, but got ",
              x.scalar_type());
  return at::linear(x, at::to(w, kFloat), bias);
}

}  // namespace

TORCH_LIBRARY_IMPL(onednn, Meta, m) {
  m.impl("qconv_prepack", &qconv_prepack);
  for (const std::string name : {"qconv1d", "qconv2d", "qconv3d", "qconv"}) {
    m.impl(name + "_pointwise", &qconv_pointwise<double, int64_t>);
  }
  for (const std::string name : {"qconv2d", "qconv"}) {
    m.impl(name + "_pointwise.tensor", &qconv_pointwise<const Tensor&, const Tensor&>);
  }
  m.impl("qconv2d_pointwise.binary", &qconv_pointwise_into<double, int64_t>);
  m.impl("qconv2d_pointwise.binary_tensor", &qconv_pointwise_into<const Tensor&, const Tensor&>);
  m.impl("qconv_pointwise.binary", &qconv_pointwise_binary);
  for (const std::string name : {"qadd", "qadd_relu", "qmul"}) m.impl(name + ".tensor", &arithmetic);
  m.impl("linear_prepack_fp16", &linear_prepack_fp16);
  for (const std::string relu : {"", "_relu"}) m.impl("linear" + relu + "_dynamic_fp16", &linear_dynamic_fp16);
  m.impl("qlinear_prepack", &qlinear_prepack);
  m.impl("qlinear_pointwise", &qlinear_pointwise<double, int64_t>);
  m.impl("qlinear_pointwise.tensor", &qlinear_pointwise<const Tensor&, const Tensor&>);
  m.impl("qlinear_pointwise.binary", &qlinear_pointwise_binary<double, int64_t>);
  m.impl("qlinear_pointwise.binary_tensor", &qlinear_pointwise_binary<const Tensor&, const Tensor&>);
}

}  // namespace at::quantized

// torch.ops.onednn: layers on dense bytes, against the same of numbers.
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "aten/core/empty.h"
#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/conv/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/quantized/prepacked_integers.h"
#include "aten/testing/testing.h"
#include "c10/dispatch/registry.h"
#include "c10/value/list.h"
#include "gtest/gtest.h"

namespace {

using at::Tensor;
using at::testing::expect_error;
using at::testing::sample;
using at::testing::tensor_of;
using c10::IValue;
using Ints = std::vector<int64_t>;

Tensor meta_of(const Tensor& t) {
  return at::empty_with_strides(t.sizes(), t.strides(), t.scalar_type(), c10::Device(c10::DeviceType::Meta));
}

// Of Meta tensors a call has the same sizes, strides and dtype.
Tensor call(const std::string& name, c10::Stack stack) {
  const size_t dot = name.find('.');
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("onednn::" + name.substr(0, dot),
                                                                 dot == std::string::npos ? "" : name.substr(dot + 1));
  c10::Stack meta;
  for (const IValue& v : stack) meta.push_back(v.isTensor() ? IValue(meta_of(v.toTensor())) : v);
  op.callBoxed(stack);
  Tensor result = stack.at(0).toTensor();
  op.callBoxed(meta);
  const Tensor shape = meta.at(0).toTensor();
  EXPECT_TRUE(shape.is_meta()) << name;
  EXPECT_EQ(shape.sizes(), result.sizes()) << name;
  EXPECT_EQ(shape.scalar_type(), result.scalar_type()) << name;
  if (shape.numel() > 0) EXPECT_EQ(shape.strides(), result.strides()) << name;
  return result;
}

Tensor bytes(const Tensor& x, double scale, int64_t zero, at::ScalarType dtype = at::kByte) {
  const int64_t least = dtype == at::kChar ? -128 : 0;
  return at::clamp(at::round(x / scale) + zero, least, least + 255).to(dtype);
}
Tensor numbers(const Tensor& q, double scale, int64_t zero) {
  return (q.to(at::kFloat) - zero) * scale;
}

// Of numbers: at most one step from the same as bytes.
void expect_near(const Tensor& got, const Tensor& want, double scale, int64_t zero, const std::string& what) {
  const Tensor expected = bytes(want, scale, zero, got.scalar_type());
  ASSERT_EQ(got.sizes(), expected.sizes()) << what;
  EXPECT_LE(at::testing::values((got.to(at::kLong) - expected.to(at::kLong)).abs().max())[0], 1) << what;
}

IValue scalars(const std::vector<double>& all) {
  c10::List<std::optional<at::Scalar>> list;
  for (const double x : all) list.push_back(at::Scalar(x));
  return IValue(list);
}

struct Layer {
  Tensor weight, q, scales, zeros = at::zeros({1}, at::kLong), bias;
  explicit Layer(at::IntArrayRef sizes) {
    const Tensor w = sample(sizes, at::kFloat, 5);
    std::vector<double> steps;
    for (int64_t i = 0; i < sizes[0]; ++i) steps.push_back(0.015 + 0.002 * static_cast<double>(i % 5));
    scales = tensor_of(steps, {sizes[0]});
    at::DimVector column(sizes.size(), 1);
    column[0] = sizes[0];
    q = at::clamp(at::round(w / scales.reshape(column)), -127, 127).to(at::kChar);
    weight = q.to(at::kFloat) * scales.reshape(column);
    bias = sample({sizes[0]}, at::kFloat, 6);
  }
};

TEST(OneDnnOperators, ConvolveBytes) {
  for (const int64_t dims : {1, 2, 3}) {
    at::DimVector size{2, 4}, kernel{6, 2};
    for (int64_t d = 0; d < dims; ++d) size.push_back(6 - d), kernel.push_back(3);
    const Layer layer(kernel);
    const Ints stride(dims, 2), padding(dims, 1), dilation(dims, 1), none(dims, 0);
    for (const auto dtype : {at::kByte, at::kChar}) {
      const int64_t zero = dtype == at::kByte ? 60 : -12;
      const Tensor qx = bytes(sample(size), 0.02, zero, dtype), x = numbers(qx, 0.02, zero);
      const Tensor want = at::convolution(x, layer.weight, layer.bias, stride, padding, dilation, false, none, 2);
      const Tensor packed =
          call("qconv_prepack", {layer.q, layer.scales, 0.02, zero, stride, padding, dilation, 2, IValue()});
      EXPECT_TRUE(at::equal(packed, layer.q));
      for (const Tensor& weight : {packed, layer.q}) {
        const auto conv = [&](const IValue& to, const std::string& unary, const IValue& args, double scale,
                              int64_t out_zero, const IValue& bias) {
          return call("qconv_pointwise", {qx, 0.02, zero, weight, layer.scales, layer.zeros, bias, stride, padding,
                                          dilation, 2, scale, out_zero, to, unary, args, IValue()});
        };
        expect_near(conv(at::kByte, "none", scalars({}), 0.1, 100, layer.bias), want, 0.1, 100, "none");
        expect_near(conv(at::kChar, "none", scalars({}), 0.1, -3, layer.bias), want, 0.1, -3, "signed");
        expect_near(conv(at::kByte, "relu", scalars({}), 0.05, 3, layer.bias), at::relu(want), 0.05, 3, "relu");
        expect_near(conv(at::kByte, "hardtanh", scalars({-1, 2}), 0.05, 40, layer.bias), at::hardtanh(want, -1, 2),
                    0.05, 40, "hardtanh");
        expect_near(conv(at::kByte, "hardswish", scalars({}), 0.05, 40, layer.bias), at::hardswish(want), 0.05, 40,
                    "hardswish");
        expect_near(conv(at::kByte, "swish", scalars({}), 0.05, 40, layer.bias), at::silu(want), 0.05, 40, "swish");
        EXPECT_TRUE(at::allclose(conv(at::kFloat, "relu", scalars({}), 1, 0, layer.bias), at::relu(want), 1e-4, 1e-4));
        EXPECT_TRUE(at::allclose(conv(at::kFloat, "none", scalars({}), 1, 0, IValue()),
                                 want - layer.bias.reshape(dims == 1   ? Ints{6, 1}
                                                           : dims == 2 ? Ints{6, 1, 1}
                                                                       : Ints{6, 1, 1, 1}),
                                 1e-4, 1e-4));
        // With another tensor, bytes or numbers.
        const Tensor other = sample(want.sizes(), at::kFloat, 9), qother = bytes(other, 0.03, 90);
        const auto added = [&](const Tensor& accum, const IValue& to) {
          return call(
              "qconv_pointwise.binary",
              {qx, 0.02, zero, weight, layer.scales, layer.zeros, accum, layer.bias, stride, padding,     dilation,
               2,  0.1,  80,   to,     0.03,         90,          "sum", 1.0,        "relu", scalars({}), IValue()});
        };
        const Tensor sum = at::relu(want + numbers(qother, 0.03, 90));
        expect_near(added(qother, at::kByte), sum, 0.1, 80, "sum");
        EXPECT_TRUE(at::allclose(added(qother, at::kFloat), sum, 1e-4, 1e-4));
        expect_near(added(other, at::kByte), at::relu(want + other), 0.1, 80, "sum of numbers");
      }
    }
  }
}

// The other tensor becomes the result.
TEST(OneDnnOperators, AddInPlace) {
  const Layer layer({4, 2, 1, 1});
  const Tensor qx = bytes(sample({1, 2, 3, 3}), 0.02, 60);
  const Ints ones{1, 1}, none{0, 0};
  for (const bool tensors : {false, true}) {
    const Tensor accum = bytes(sample({1, 4, 3, 3}, at::kFloat, 4), 0.04, 50), before = accum.clone();
    c10::Stack stack{qx,   0.02,  60,   layer.q, layer.scales, layer.zeros, before,    layer.bias,
                     ones, none,  ones, 1,       0.1,          20,          at::kByte, 0.04,
                     50,   "sum", 1.0,  "none",  scalars({}),  IValue()};
    const Tensor want = call("qconv_pointwise.binary", stack);
    stack[6] = accum;
    if (tensors) stack[1] = tensor_of({0.02}, {1}), stack[2] = tensor_of({60}, {1}, at::kLong);
    EXPECT_TRUE(call(tensors ? "qconv2d_pointwise.binary_tensor" : "qconv2d_pointwise.binary", stack).is_same(accum));
    EXPECT_TRUE(at::equal(accum, want));
  }
}

TEST(OneDnnOperators, ElementByElement) {
  const Tensor a = bytes(sample({3, 5}), 0.02, 60), b = bytes(sample({3, 5}, at::kFloat, 2), 0.03, 40);
  const Tensor x = numbers(a, 0.02, 60), y = numbers(b, 0.03, 40);
  const auto run = [&](const std::string& name, at::ScalarType dtype) {
    return call(name + ".tensor", {a, 0.02, 60, b, 0.03, 40, 0.05, 30, dtype});
  };
  expect_near(run("qadd", at::kByte), x + y, 0.05, 30, "qadd");
  expect_near(run("qadd_relu", at::kByte), at::relu(x + y), 0.05, 30, "qadd_relu");
  expect_near(run("qmul", at::kChar), x * y, 0.05, 30, "qmul");
  EXPECT_TRUE(at::allclose(run("qadd", at::kFloat), x + y, 1e-6, 1e-6));
  const Tensor half = sample({4, 5}).to(at::kHalf), packed = call("linear_prepack_fp16", {half, IValue()});
  EXPECT_TRUE(at::equal(call("linear_relu_dynamic_fp16", {x, packed, IValue()}),
                        at::relu(call("linear_dynamic_fp16", {x, packed, IValue()}))));
  EXPECT_TRUE(
      at::allclose(call("linear_dynamic_fp16", {x, packed, IValue()}), at::linear(x, half.to(at::kFloat)), 1e-5, 1e-5));
}

// Many channels and places, as vectors and what is left over; padding that is no byte of 0.
TEST(OneDnnOperators, LargerConvolutions) {
  for (const int64_t channels : {3, 16, 33, 64}) {
    for (const int64_t zero : {0, 113}) {
      const Layer layer({channels + 5, channels, 3, 3});
      const Tensor qx = bytes(sample({2, channels, 11, 14}), 0.02, zero), x = numbers(qx, 0.02, zero);
      const Tensor want = at::conv2d(x, layer.weight, layer.bias, {1, 1}, {1, 1});
      const Tensor other = bytes(sample(want.sizes(), at::kFloat, 4), 0.04, 50);
      const Ints ones{1, 1};
      const auto conv = [&](const Tensor& in, const Tensor& accum) {
        return call(
            "qconv_pointwise.binary",
            {in,           0.02,
             zero,         call("qconv_prepack", {layer.q, layer.scales, 0.02, zero, ones, ones, ones, 1, IValue()}),
             layer.scales, layer.zeros,
             accum,        layer.bias,
             ones,         ones,
             ones,         1,
             0.2,          20,
             at::kByte,    0.04,
             50,           "sum",
             1.0,          "none",
             scalars({}),  IValue()});
      };
      const Tensor got = conv(qx, other);
      expect_near(got, want + numbers(other, 0.04, 50), 0.2, 20, "sum");
      const Tensor last =
          conv(qx.contiguous(at::MemoryFormat::ChannelsLast), other.contiguous(at::MemoryFormat::ChannelsLast));
      EXPECT_TRUE(at::equal(last, got));
      EXPECT_TRUE(last.is_contiguous(at::MemoryFormat::ChannelsLast));
    }
  }
}

TEST(OneDnnOperators, LinearLayers) {
  const Layer layer({7, 20});
  for (const auto dtype : {at::kByte, at::kChar}) {
    const int64_t zero = dtype == at::kByte ? 70 : 5;
    const Tensor qx = bytes(sample({2, 3, 20}), 0.02, zero, dtype), x = numbers(qx, 0.02, zero);
    const Tensor want = at::linear(x, layer.weight, layer.bias);
    const Tensor packed = call("qlinear_prepack", {layer.q, IValue()});
    const Tensor scale = tensor_of({0.02}, {1}), zeros = tensor_of({static_cast<double>(zero)}, {1}, at::kLong);
    expect_near(call("qlinear_pointwise", {qx, 0.02, zero, packed, layer.scales, layer.zeros, layer.bias, 0.1, 90,
                                           at::kByte, "relu", scalars({}), ""}),
                at::relu(want), 0.1, 90, "relu");
    EXPECT_TRUE(
        at::allclose(call("qlinear_pointwise.tensor", {qx, scale, zeros, packed, layer.scales, layer.zeros, layer.bias,
                                                       1.0, 0, at::kFloat, "gelu", scalars({}), "tanh"}),
                     at::gelu(want, "tanh"), 1e-4, 1e-4));
    const Tensor other = sample(want.sizes(), at::kFloat, 3);
    EXPECT_TRUE(at::allclose(
        call("qlinear_pointwise.binary", {qx, 0.02, zero, packed, layer.scales, layer.zeros, other, layer.bias, 1.0, 0,
                                          at::kFloat, 1.0, 0, "add", 0.5, "none", scalars({}), ""}),
        want + other * 0.5, 1e-4, 1e-4));
    expect_near(call("qlinear_pointwise.binary_tensor",
                     {qx, scale, zeros, packed, layer.scales, layer.zeros, bytes(other, 0.03, 80), layer.bias, 0.1, 90,
                      at::kByte, 0.03, 80, "sum", 1.0, "none", scalars({}), ""}),
                want + numbers(bytes(other, 0.03, 80), 0.03, 80), 0.1, 90, "sum");
  }
}

// What a weight keeps is not used once it was written to.
TEST(OneDnnOperators, WeightsMayChange) {
  const Layer layer({4, 8});
  const Tensor packed = call("qlinear_prepack", {layer.q, IValue()}), qx = bytes(sample({3, 8}), 0.02, 60);
  const auto run = [&](const Tensor& w) {
    return call("qlinear_pointwise",
                {qx, 0.02, 60, w, layer.scales, layer.zeros, IValue(), 1.0, 0, at::kFloat, "none", scalars({}), ""});
  };
  const Tensor before = run(packed);
  packed.mul_(-1);
  EXPECT_TRUE(at::equal(run(packed), -before));
  EXPECT_TRUE(at::equal(run(packed.detach()), -before));
}

// testdata/onednn_operators.txt has PyTorch's schemas.
TEST(OneDnnOperators, HavePyTorchsNamesAndArguments) {
  std::ifstream file("aten/quantized/testdata/onednn_operators.txt");
  int found = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const auto schema = c10::parse_schema(line);
    const auto own = c10::Dispatcher::singleton().findSchema(schema.operator_name());
    ASSERT_TRUE(own.has_value()) << line;
    EXPECT_EQ(own->schema().str(), schema.str());
    ++found;
  }
  EXPECT_EQ(found, 39);
}

TEST(OneDnnOperators, RefuseBadArguments) {
  const Layer layer({4, 8});
  const Tensor qx = bytes(sample({3, 8}), 0.02, 60);
  const auto linear = [&](const Tensor& x, int64_t zero, const Tensor& w, const Tensor& scales, const Tensor& zeros,
                          double out_scale, const std::string& unary) {
    return call("qlinear_pointwise",
                {x, 0.02, zero, w, scales, zeros, IValue(), out_scale, 0, at::kByte, unary, scalars({}), ""});
  };
  expect_error<c10::Error>(
      [&] {
        linear(sample({3, 8}), 60, layer.q, layer.scales, layer.zeros, 0.1, "none");
      },
      "dtype Byte or Char");
  expect_error<c10::Error>([&] { linear(qx, 300, layer.q, layer.scales, layer.zeros, 0.1, "none"); },
                           "zero point in [0, 255]");
  expect_error<c10::Error>([&] { linear(qx, 60, layer.weight, layer.scales, layer.zeros, 0.1, "none"); }, "dtype Char");
  expect_error<c10::Error>([&] { linear(qx, 60, layer.q, at::ones({3}), layer.zeros, 0.1, "none"); }, "1 or 4 scales");
  expect_error<c10::NotImplementedError>(
      [&] { linear(qx, 60, layer.q, layer.scales, at::ones({1}, at::kLong), 0.1, "none"); }, "zero points are 0");
  expect_error<c10::Error>([&] { linear(qx, 60, layer.q, layer.scales, layer.zeros, 0.0, "none"); },
                           "positive output scale");
  expect_error<c10::NotImplementedError>([&] { linear(qx, 60, layer.q, layer.scales, layer.zeros, 0.1, "softmax"); },
                                         "'softmax'");
  expect_error<c10::Error>([&] { linear(qx.slice(1, 1), 60, layer.q, layer.scales, layer.zeros, 0.1, "none"); },
                           "as many columns");
  expect_error<c10::Error>(
      [&] {
        call("qconv_prepack", {layer.q, layer.scales, 1.0, 0, Ints{1}, Ints{0}, Ints{1}, 3, IValue()});
      },
      "do not divide into 3 groups");
}

}  // namespace

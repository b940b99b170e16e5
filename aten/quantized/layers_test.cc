// Products and convolutions of torch.ops.quantized: integers as PyTorch 2.15 rounds them, where many lie between two.
#include <string>
#include <vector>

#include "aten/aten.h"
#include "aten/testing/testing.h"
#include "c10/dispatch/registry.h"
#include "c10/parallel/parallel.h"
#include "c10/testing/message_of.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace {

using at::Tensor;
using at::testing::tensor_of;
using c10::testing::message_of;
using ::testing::HasSubstr;
using c10::IValue;
using Numbers = std::vector<double>;
using Ints = std::vector<int64_t>;

constexpr double kScale = 0.03092620785780779;
constexpr int64_t kZero = 62;

template <class... A>
Tensor call(const std::string& name, const std::string& overload, A... arguments) {
  c10::Stack stack{IValue(arguments)...};
  c10::Dispatcher::singleton().findSchemaOrThrow(("quantized::" + name).c_str(), overload.c_str()).callBoxed(stack);
  return stack[0].toTensor();
}
template <class... A>
IValue pack(const std::string& name, A... arguments) {
  c10::Stack stack{IValue(arguments)...};
  c10::Dispatcher::singleton().findSchemaOrThrow(("quantized::" + name).c_str(), "").callBoxed(stack);
  return stack[0];
}
Numbers ints_of(const Tensor& q) {
  return at::testing::values(q.int_repr());
}
Tensor input(const Numbers& values, at::IntArrayRef sizes) {
  return at::_make_per_tensor_quantized_tensor(tensor_of(values, sizes, at::kByte), kScale, kZero);
}
Tensor weight(const Numbers& values, at::IntArrayRef sizes, int64_t zero_point = 0) {
  return at::_make_per_tensor_quantized_tensor(tensor_of(values, sizes, at::kChar), 0.1, zero_point);
}

TEST(QuantizedLayers, MultiplyAsRecorded) {
  const Tensor x = input(
      {218, 109, 247, 33, 231, 167, 245, 101, 107, 180, 112, 102, 179, 7, 1, 126, 152, 229, 126, 162, 69, 108, 77, 133},
      {4, 6});
  const Numbers w = {-1, -3, 3, -1, -2, -3, -3, 2,  2,  0,  0, -1, -3, 1,  3,
                     -2, 3,  1, -3, -2, 3,  -2, -1, -1, -2, 3, -2, -2, -2, 2};
  Numbers steps;
  for (const float k : {-1.0f, 19.0f, 12.0f, -4.0f, 0.0f}) steps.push_back(k * static_cast<float>(kScale) * 0.05f);
  const Tensor bias = tensor_of(steps, {5});
  EXPECT_EQ(ints_of(call("linear", "", x, pack("linear_prepack", weight(w, {5, 6}), bias), kScale, kZero)),
            (Numbers{25, 52, 143, 40, 1, 12, 21, 20, 0, 2, 0, 0, 35, 0, 37, 0, 58, 58, 7, 80}));
  const Tensor channels = at::_make_per_channel_quantized_tensor(
      tensor_of(w, {5, 6}, at::kChar), tensor_of({0.1, 0.05, 0.2, 0.3, 0.1}, {5}, at::kDouble),
      tensor_of({0, 1, -2, 0, 3}, {5}, at::kLong), 0);
  const IValue packed = pack("linear_prepack", channels, bias);
  EXPECT_EQ(ints_of(call("linear_relu", "", x, packed, kScale, kZero)),
            (Numbers{62, 62, 255, 62, 62, 62, 62, 168, 62, 62, 62, 62, 135, 62, 62, 62, 62, 174, 62, 62}));
  at::testing::expect_close(
      call("linear_with_input_q_dq_qweight_dq_output_fp32", "", x.dequantize(), kScale, kZero, packed),
      tensor_of(
          {-1.1334455013275146, -1.1179823875427246, 12.822005271911621, -2.075148582458496,  -7.762477874755859,
           -1.5571345090866089, -1.356114149093628,  3.29054856300354,   -7.5954766273498535, -6.24709415435791,
           -2.723052501678467,  -1.6282647848129272, 2.2699835300445557, -7.5119757652282715, -3.7637195587158203,
           -1.9560825824737549, -0.5149213671684265, 3.4761056900024414, -5.099731922149658,  -2.2607057094573975},
          {4, 5}),
      1e-7, 0);
  // Of several dimensions, of one, and of none of the first.
  EXPECT_EQ(call("linear", "", x.reshape({2, 2, 6}), packed, kScale, kZero).sizes(), (at::IntArrayRef{2, 2, 5}));
  EXPECT_EQ(call("linear", "", x[0], packed, kScale, kZero).sizes(), (at::IntArrayRef{5}));
  EXPECT_EQ(call("linear", "", x.slice(0, 0, 0), packed, kScale, kZero).sizes(), (at::IntArrayRef{0, 5}));
  EXPECT_EQ(ints_of(call("linear", "", x.t().contiguous().t(), packed, kScale, kZero)),
            ints_of(call("linear", "", x, packed, kScale, kZero)));
}

TEST(QuantizedLayers, ConvolveAsRecorded) {
  const Tensor x =
      input({168, 15, 237, 72, 22, 43, 210, 75, 104, 7, 162, 177, 95, 75, 213, 47, 63, 31, 218, 148, 124, 116, 37, 167},
            {1, 2, 4, 3});
  const Numbers w = {2, 1, -3, -2, 0, -3, -1, 0, 0, 1, -2, 2, 0, 1, -1, 0, -3, 2, -1, -2, -2, -2, 0, 3};
  const Ints ones{1, 1}, padding{1, 0};
  const Numbers expected = {36, 40, 81, 40, 0,  40, 58, 0,  68, 62, 28, 105, 50, 99, 16,
                            54, 98, 78, 70, 84, 65, 77, 19, 77, 62, 85, 0,   35, 93, 39};
  const IValue packed = pack("conv2d_prepack", weight(w, {3, 2, 2, 2}), IValue(), ones, padding, ones, 1);
  const Tensor result = call("conv2d", "new", x, packed, kScale, kZero);
  EXPECT_EQ(ints_of(result), expected);
  EXPECT_EQ(result.strides(), (at::IntArrayRef{30, 1, 6, 3}));
  const Tensor last = x.contiguous(at::MemoryFormat::ChannelsLast);
  EXPECT_EQ(ints_of(call("conv2d", "new", last, packed, kScale, kZero)), expected);
  EXPECT_EQ(ints_of(call("conv2d_relu", "new", x,
                         pack("conv2d_prepack", weight(w, {3, 2, 2, 2}, 2), IValue(), ones, padding, ones, 1), kScale,
                         kZero)),
            (Numbers{62, 62, 69, 62, 62, 62, 62, 62, 62, 62, 62, 62, 62, 62, 62,
                     62, 62, 62, 62, 62, 62, 62, 62, 62, 62, 62, 62, 62, 78, 62}));
  const Tensor back = weight(w, {3, 2, 2, 2}).transpose(0, 1).contiguous();
  EXPECT_EQ(ints_of(call("conv_transpose2d", "", x,
                         pack("conv_transpose2d_prepack", back, IValue(), Ints{2, 1}, padding, padding, ones, 1),
                         kScale, kZero)),
            (Numbers{27, 54,  4,  27, 64, 60, 54, 69, 60, 72, 79, 66, 92, 33, 46, 48, 2,  20, 41, 54, 51,
                     60, 102, 42, 73, 46, 0,  39, 38, 91, 2,  97, 62, 62, 58, 57, 62, 72, 61, 58, 62, 92,
                     72, 72,  17, 80, 50, 70, 62, 62, 70, 84, 68, 34, 48, 85, 51, 55, 58, 72, 62, 79, 66,
                     64, 61,  60, 72, 56, 0,  39, 22, 58, 47, 78, 81, 72, 68, 15, 32, 64, 68, 79, 23, 70}));
  EXPECT_EQ(call("conv2d", "new", x.slice(0, 0, 0), packed, kScale, kZero).sizes(), (at::IntArrayRef{0, 3, 5, 2}));
}

TEST(QuantizedLayers, RefuseZeroPointsThatAreNoBytes) {
  const Tensor bytes = tensor_of({80, 90}, {1, 2}, at::kByte), w = tensor_of({1, 2, 3, 4}, {2, 2}, at::kChar);
  const auto text = [](const auto& call) { return message_of([&] { call(); }); };
  const IValue packed = pack("linear_prepack", weight({1, 2, 3, 4}, {2, 2}, -128), IValue());
  for (const int64_t zero : {int64_t{-1}, int64_t{256}, INT64_MIN}) {
    const Tensor x = at::_make_per_tensor_quantized_tensor(bytes, kScale, zero);
    EXPECT_THAT(text([&] { call("linear", "", x, packed, kScale, kZero); }),
                HasSubstr("quantized::linear: expected a zero point of the input within [0, 255], but got " +
                          std::to_string(zero)));
  }
  const Tensor scales = tensor_of({1, 1}, {2}, at::kDouble);
  for (const int64_t zero : {int64_t{-129}, int64_t{128}, int64_t{1} << 32}) {
    const std::string refusal = "quantized::linear_prepack: expected zero points of the weight within [-128, 127], "
                                "but got " + std::to_string(zero);
    EXPECT_THAT(text([&] {
                  pack("linear_prepack", at::_make_per_tensor_quantized_tensor(w, 0.1, zero), IValue());
                }),
                HasSubstr(refusal));
    const Tensor zeros = at::full({2}, zero, at::kLong);
    EXPECT_THAT(text([&] {
                  pack("linear_prepack", at::_make_per_channel_quantized_tensor(w, scales, zeros, 0), IValue());
                }),
                HasSubstr(refusal));
  }
}

TEST(QuantizedLayers, KeepTheirWeights) {
  const Tensor x = input({80, 90}, {1, 2}), w = weight({1, 2, 3, 4}, {2, 2});
  const IValue packed = pack("linear_prepack", w, IValue());
  w.fill_(0);
  EXPECT_EQ(ints_of(call("linear", "", x, packed, kScale, kZero)), (Numbers{69, 79}));
}

// Sums beyond 16 bits and beyond what float holds exactly.
TEST(QuantizedLayers, SumsAreExact) {
  const Tensor a = at::full({2, 3000}, -128, at::kChar), b = at::full({3000, 3}, 127, at::kChar);
  EXPECT_EQ(at::testing::values(at::_int_mm(a, b)), Numbers(6, -128.0 * 127 * 3000));
  EXPECT_EQ(at::testing::values(at::_int_mm(a, at::full({3, 3000}, -128, at::kChar).t())), Numbers(6, 16384.0 * 3000));
  EXPECT_EQ(at::testing::values(at::_int_mm(a.slice(1, 0, 0), b.slice(0, 0, 0))), Numbers(6, 0));
  EXPECT_EQ(at::_int_mm(a.slice(0, 0, 0), b).sizes(), (at::IntArrayRef{0, 3}));
}

}  // namespace

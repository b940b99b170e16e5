// Functions of quantized tensors, against what PyTorch recorded (testdata/record_functional.py).
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <torch/torch.h>
#include "aten/testing/testing.h"
#include "c10/testing/message_of.h"
#include "gtest/gtest.h"
#include "quantization/eager/quantized_functional.h"
#include "utils/serialize/safetensors.h"

namespace torch::nn::quantized {
namespace {

namespace F = nn::functional;
namespace Q = ao::nn::quantized::functional;
using at::Tensor;
using at::testing::sample;
using c10::testing::message_of;
using nlohmann::json;

Tensor bytes(const Tensor& x, double scale = 0.03, int64_t zero_point = 110) {
  return at::quantize_per_tensor(x, scale, zero_point, at::kQUInt8);
}

TEST(QuantizedFunctional, GivesPyTorchsIntegers) {
  const c10::NoGradGuard no_grad;
  json facts;
  std::ifstream("quantization/testdata/functional.json") >> facts;
  const safetensors::File tensors("quantization/testdata/functional.safetensors");
  const auto input = [&](const char* name) { return bytes(tensors.get(name)); };
  const auto weight = [&](const char* name) {
    return at::quantize_per_tensor(at::mul(tensors.get(name), 0.4), 0.015, 0, at::kQInt8);
  };
  const Tensor image = input("image"), signal = input("signal"), volume = input("volume"), rows = input("rows");
  const Tensor signed_image = at::quantize_per_tensor(tensors.get("image"), 0.03, -9, at::kQInt8);
  const Tensor w1 = weight("weight1"), w2 = weight("weight2"), w3 = weight("weight3"), w = weight("weight");
  const Tensor channels =
      at::quantize_per_channel(at::mul(tensors.get("weight2"), 0.4), at::to(at::linspace(0.01, 0.02, 6), at::kDouble),
                               at::zeros({6}, at::kLong), 0, at::kQInt8);
  const Tensor b6 = tensors.get("bias6"), b5 = tensors.get("bias5");
  using Sizes = std::vector<int64_t>;
  using Factors = std::vector<double>;

  const std::map<std::string, std::function<Tensor()>> calls{
      {"avg_pool2d", [&] { return Q::avg_pool2d(image, F::AvgPool2dFuncOptions(2)); }},
      {"avg_pool2d padded",
       [&] {
         return Q::avg_pool2d(
             image,
             F::AvgPool2dFuncOptions({3, 2}).stride({2, 1}).padding({1, 0}).ceil_mode(true).count_include_pad(false));
       }},
      {"avg_pool2d divided",
       [&] { return Q::avg_pool2d(signed_image, F::AvgPool2dFuncOptions(3).divisor_override(7)); }},
      {"avg_pool3d", [&] { return Q::avg_pool3d(volume, F::AvgPool3dFuncOptions(2).stride(1).padding(1)); }},
      {"adaptive_avg_pool2d",
       [&] {
         return Q::adaptive_avg_pool2d(image, F::AdaptiveAvgPool2dFuncOptions({3, 4}));
       }},
      {"adaptive_avg_pool3d",
       [&] {
         return Q::adaptive_avg_pool3d(volume, F::AdaptiveAvgPool3dFuncOptions({1, 2, 3}));
       }},
      {"max_pool1d", [&] { return Q::max_pool1d(signal, F::MaxPool1dFuncOptions(3).stride(2).padding(1)); }},
      {"max_pool2d", [&] { return Q::max_pool2d(image, F::MaxPool2dFuncOptions(2)); }},
      {"max_pool2d dilated",
       [&] {
         return Q::max_pool2d(signed_image,
                              F::MaxPool2dFuncOptions(2).stride(1).padding(1).dilation(2).ceil_mode(true));
       }},
      {"conv1d",
       [&] { return Q::conv1d(signal, w1, F::Conv1dFuncOptions().bias(b6).stride(2).padding(1), 0.08, 120); }},
      {"conv2d", [&] { return Q::conv2d(image, w2, F::Conv2dFuncOptions().groups(2)); }},
      {"conv2d channels",
       [&] {
         const auto options = F::Conv2dFuncOptions().bias(b6).stride({1, 2}).padding({1, 0}).dilation({2, 1}).groups(2);
         return Q::conv2d(image, channels, options, 0.05, 100);
       }},
      {"conv3d", [&] { return Q::conv3d(volume, w3, F::Conv3dFuncOptions().stride(2), 0.1, 90); }},
      {"linear", [&] { return Q::linear(rows, w, b5); }},
      {"linear scaled", [&] { return Q::linear(rows, w, {}, 0.07, 60); }},
      {"interpolate",
       [&] {
         return Q::interpolate(image, F::InterpolateFuncOptions().scale_factor(Factors{2, 2}));
       }},
      {"interpolate bilinear",
       [&] {
         return Q::interpolate(
             image, F::InterpolateFuncOptions().size(Sizes{9, 5}).mode(torch::kBilinear).align_corners(false));
       }},
      {"interpolate volume",
       [&] {
         return Q::interpolate(volume, F::InterpolateFuncOptions().size(Sizes{2, 5, 3}));
       }},
      {"upsample",
       [&] {
         return Q::upsample(image, UpsampleOptions().size(Sizes{4, 7}));
       }},
      {"upsample_nearest",
       [&] {
         return Q::upsample_nearest(image, Upsampling2dOptions().scale_factor(Factors{1.5, 1.5}));
       }},
      {"upsample_bilinear",
       [&] {
         return Q::upsample_bilinear(image, Upsampling2dOptions().size(Sizes{8, 11}));
       }},
      {"celu", [&] { return Q::celu(image, 0.021, 70); }},
      {"celu alpha", [&] { return Q::celu(signed_image, 0.021, 3, 0.6); }},
      {"elu", [&] { return Q::elu(image, 0.021, 70); }},
      {"elu alpha", [&] { return Q::elu(signed_image, 0.021, 3, 0.6); }},
      {"leaky_relu", [&] { return Q::leaky_relu(image); }},
      {"leaky_relu scaled", [&] { return Q::leaky_relu(image, 0.3, false, 0.021, 40); }},
      {"leaky_relu scale alone", [&] { return Q::leaky_relu(image, 0.3, false, 0.021); }},
      {"leaky_relu inplace", [&] { return Q::leaky_relu(at::clone(image), 0.2, true); }},
      {"hardtanh", [&] { return Q::hardtanh(image); }},
      {"hardtanh inplace", [&] { return Q::hardtanh(at::clone(signed_image), -0.4, 0.7, true); }},
      {"clamp", [&] { return Q::clamp(image, -0.5, 0.25); }},
      {"hardswish", [&] { return Q::hardswish(image, 0.021, 30); }},
      {"hardsigmoid", [&] { return Q::hardsigmoid(image); }},
      {"hardsigmoid signed", [&] { return Q::hardsigmoid(signed_image); }},
      {"threshold", [&] { return Q::threshold(image, 0.3, -0.2); }},
  };
  EXPECT_EQ(calls.size(), facts.size());
  for (const auto& [name, call] : calls) {
    SCOPED_TRACE(name);
    const json& fact = facts.at(name);
    const Tensor got = call(), want = tensors.get(name);
    EXPECT_EQ(got.scalar_type(), fact["signed"].get<bool>() ? at::kQInt8 : at::kQUInt8);
    EXPECT_DOUBLE_EQ(at::q_scale(got), std::strtod(fact["scale"].get<std::string>().c_str(), nullptr));
    EXPECT_EQ(at::q_zero_point(got), fact["zero_point"].get<int64_t>());
    ASSERT_EQ(got.sizes(), want.sizes());
    const Tensor apart = at::abs(at::sub(at::to(at::int_repr(got), at::kInt), at::to(want, at::kInt)));
    EXPECT_LE(at::testing::values(at::max(apart))[0], 1);
    // Numbers halfway between two integers.
    EXPECT_LT(at::testing::values(at::mean(at::to(apart, at::kFloat)))[0], 0.02);
  }
}

TEST(QuantizedFunctional, InPlace) {
  const c10::NoGradGuard no_grad;
  const Tensor x = bytes(sample({2, 3}, at::kFloat, 1));
  for (const auto& f : std::vector<std::function<Tensor(const Tensor&, bool)>>{
           [](const Tensor&t, bool inplace) { return Q::hardtanh(t, -0.2, 0.3, inplace); },
           [](const Tensor&t, bool inplace) { return Q::leaky_relu(t, 0.2, inplace); }}) {
    const Tensor self = at::clone(x), want = f(x, false), got = f(self, true);
    EXPECT_TRUE(got.is_same(self));
    EXPECT_TRUE(at::equal(got, want));
    EXPECT_FALSE(at::equal(x, want));
  }
  const Tensor self = at::clone(x);
  EXPECT_TRUE(Q::hardsigmoid(self, true).is_same(self));
  EXPECT_EQ(at::q_scale(self), 1.0 / 256);
}

TEST(QuantizedFunctional, RefusesFloatTensors) {
  const Tensor x = sample({1, 2, 4, 4});
  const auto message = [](const std::function<void()>& f) { return message_of<c10::ValueError>(f); };
  const std::map<std::string, std::function<void()>> calls{
      {"avg_pool2d", [&] { Q::avg_pool2d(x, F::AvgPool2dFuncOptions(2)); }},
      {"avg_pool3d", [&] { Q::avg_pool3d(x, F::AvgPool3dFuncOptions(2)); }},
      {"functional.adaptive_avg_pool2d", [&] { Q::adaptive_avg_pool2d(x, F::AdaptiveAvgPool2dFuncOptions(2)); }},
      {"functional.adaptive_avg_pool3d", [&] { Q::adaptive_avg_pool3d(x, F::AdaptiveAvgPool3dFuncOptions(2)); }},
      {"linear", [&] { Q::linear(x, x); }},
      {"celu", [&] { Q::celu(x, 0.1, 0); }},
      {"elu", [&] { Q::elu(x, 0.1, 0); }},
      {"leaky_relu", [&] { Q::leaky_relu(x, 0.1, false, 0.1, 0); }},
      {"hardtanh", [&] { Q::hardtanh(x); }},
      {"clamp", [&] { Q::clamp(x, 0, 1); }},
      {"hardswish", [&] { Q::hardswish(x, 0.1, 0); }},
      {"hardsigmoid", [&] { Q::hardsigmoid(x); }},
      {"threshold", [&] { Q::threshold(x, 0, 0); }},
  };
  for (const auto& [name, call] : calls) {
    EXPECT_EQ(message(call), "Input to 'quantized." + name + "' must be quantized!");
  }
  const std::string interpolate = "Input to 'quantized.interpolate' must be quantized!";
  EXPECT_EQ(message([&] { Q::interpolate(x); }), interpolate);
  EXPECT_EQ(message([&] { Q::upsample(x, UpsampleOptions()); }), interpolate);
  EXPECT_EQ(message([&] { Q::upsample_nearest(x, Upsampling2dOptions()); }), interpolate);
  EXPECT_EQ(message([&] { Q::upsample_bilinear(x, Upsampling2dOptions()); }), interpolate);
  EXPECT_EQ(message([&] { Q::hardtanh(Tensor()); }), "Input to 'quantized.hardtanh' must be quantized!");
  // These take them.
  EXPECT_TRUE(at::equal(Q::max_pool2d(x, F::MaxPool2dFuncOptions(2)), at::max_pool2d(x, 2)));
  EXPECT_TRUE(at::equal(Q::leaky_relu(x), at::leaky_relu(x)));
}

TEST(QuantizedFunctional, RefusesOtherArguments) {
  const Tensor x = bytes(sample({1, 2, 4, 4})), floats = at::dequantize(x);
  const Tensor w = at::quantize_per_tensor(sample({2, 2, 3, 3}), 0.1, 0, at::kQInt8);
  const auto unsupported = [](const std::function<void()>& f) { return message_of<c10::NotImplementedError>(f); };
  EXPECT_EQ(unsupported([&] { Q::conv2d(floats, w); }), "Only torch.quint8 is supported for activation tensor!");
  EXPECT_EQ(unsupported([&] { Q::conv2d(w, w); }), "Only torch.quint8 is supported for activation tensor!");
  EXPECT_EQ(unsupported([&] { Q::conv2d(x, x); }), "Only torch.qint8 is supported for weight tensor!");
  EXPECT_EQ(unsupported([&] { Q::conv2d(x, Tensor()); }), "Only torch.qint8 is supported for weight tensor!");
  EXPECT_EQ(unsupported([&] { Q::conv2d(x, w, F::Conv2dFuncOptions().padding(torch::kSame)); }),
            "quantized.conv2d: only padding by numbers is supported");
  EXPECT_EQ(message_of<c10::ValueError>([&] { Q::conv1d(x, w); }), "Input shape must be `(N, C, L)`!");
  EXPECT_EQ(message_of<c10::ValueError>([&] { Q::conv2d(x[0], w); }), "Input shape must be `(N, C, H, W)`!");
  EXPECT_EQ(message_of<c10::ValueError>([&] { Q::conv3d(x, w); }), "Input shape must be `(N, C, D, H, W)`!");
  EXPECT_EQ(message_of<c10::ValueError>([&] { Q::leaky_relu(x, 0.1, true, 0.1, 3); }), "Cannot rescale with `inplace`");
  EXPECT_THROW(Q::conv2d(x, at::quantize_per_tensor(sample({2, 3, 3, 3}), 0.1, 0, at::kQInt8)), c10::Error);
  EXPECT_THROW(Q::linear(x, w), c10::Error);
  EXPECT_THROW(Q::interpolate(x), c10::ValueError);
  EXPECT_THROW(Q::interpolate(x, F::InterpolateFuncOptions().size(std::vector<int64_t>{3, 3}).mode(torch::kBicubic)),
               c10::NotImplementedError);
}

}  // namespace
}  // namespace torch::nn::quantized

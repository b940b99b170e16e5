// Quantized CUDA tensors give what quantized CPU tensors give, bit by bit.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "aten/aten.h"
#include "aten/core/printing.h"
#include "aten/testing/testing.h"
#include "c10/cuda/testing.h"
#include "tests/cuda_on_host/runtime/standin.h"

namespace {

using at::Tensor;

const at::Device kGpu(at::kCUDA, 0);

// In one order of execution: each test in a process of its own.
void once(const std::function<void()>& body) {
  c10::cuda::testing::in_own_process([&] {
    cuda_standin::reset();
    body();
    EXPECT_EQ(cuda_standin::misuse(), "");
  });
}

void expect_same(const Tensor& got, const Tensor& expected, const std::string& what) {
  SCOPED_TRACE(what);
  EXPECT_TRUE(got.is_cuda());
  ASSERT_EQ(got.scalar_type(), expected.scalar_type());
  EXPECT_EQ(got.sizes(), expected.sizes());
  EXPECT_EQ(got.strides(), expected.strides());
  const Tensor here = got.to(at::kCPU);
  EXPECT_TRUE(at::equal(here, expected)) << here << "\nexpected\n" << expected;
}

Tensor numbers() {
  Tensor x = at::linspace(-9, 9, 60, at::kFloat).reshape({3, 4, 5});
  x.flatten()[7].fill_(std::numeric_limits<float>::infinity());
  x.flatten()[8].fill_(-std::numeric_limits<float>::infinity());
  x.flatten()[9].fill_(std::numeric_limits<float>::quiet_NaN());
  return x;
}

// One number for all, and one a channel: whole zero points, and others.
std::vector<Tensor> quantized(const Tensor& x, const at::Device& device) {
  const Tensor there = x.to(device);
  std::vector<Tensor> all;
  for (const auto dtype : {at::kQUInt8, at::kQInt8, at::kQInt32}) {
    all.push_back(at::quantize_per_tensor(there, 0.13, 3, dtype));
    const Tensor scales = at::tensor({0.1, 0.25, 0.07, 0.5}, at::kDouble), zeros = at::tensor({0, 3, 7, 1}, at::kLong);
    all.push_back(at::quantize_per_channel(there, scales.to(device), zeros.to(device), 1, dtype));
    all.push_back(at::quantize_per_channel(there, scales, zeros.to(at::kFloat) + 0.25, 1, dtype));
  }
  for (const auto dtype : {at::kQUInt4x2, at::kQUInt2x4}) all.push_back(at::quantize_per_tensor(there, 0.7, 1, dtype));
  return all;
}

TEST(CudaQuantized, NumbersAndIntegers) {
  once([] {
    const std::vector<Tensor> here = quantized(numbers(), at::kCPU), there = quantized(numbers(), kGpu);
    for (size_t i = 0; i < here.size(); ++i) {
      const bool whole_bytes = i < 9;  // the others have no text
      const std::string name = whole_bytes ? at::to_string(here[i], 80) : at::toString(here[i].scalar_type());
      EXPECT_TRUE(there[i].key_set().has(c10::DispatchKey::QuantizedCUDA));
      EXPECT_EQ(there[i].qscheme(), here[i].qscheme());
      expect_same(at::int_repr(there[i]), at::int_repr(here[i]), name);
      expect_same(at::dequantize(there[i]), at::dequantize(here[i]), name);
      if (whole_bytes) EXPECT_EQ(at::to_string(there[i].to(at::kCPU), 80), name);
      // There and back.
      expect_same(here[i].to(kGpu), here[i], name);
      expect_same(at::clone(there[i]), here[i], name);
      EXPECT_TRUE(at::equal(here[i].to(kGpu), there[i]));
      if (here[i].qscheme() != at::kPerTensorAffine) {
        EXPECT_TRUE(there[i].q_per_channel_scales().is_cuda());
        expect_same(there[i].q_per_channel_zero_points(), here[i].q_per_channel_zero_points(), name);
        EXPECT_EQ(there[i].q_per_channel_axis(), 1);
      } else {
        EXPECT_EQ(there[i].q_scale(), here[i].q_scale());
        EXPECT_EQ(there[i].q_zero_point(), here[i].q_zero_point());
      }
    }
  });
}

TEST(CudaQuantized, Factories) {
  once([] {
    const auto on_gpu = at::TensorOptions(kGpu).dtype(at::kQUInt8);
    Tensor made = at::_empty_affine_quantized({2, 3, 2, 2}, on_gpu, 0.5, 4, at::MemoryFormat::ChannelsLast);
    EXPECT_TRUE(made.is_cuda());
    EXPECT_TRUE(made.is_contiguous(at::MemoryFormat::ChannelsLast));
    made.fill_(1.25);
    expect_same(
        at::int_repr(made),
        at::int_repr(
            at::_empty_affine_quantized({2, 3, 2, 2}, at::kQUInt8, 0.5, 4, at::MemoryFormat::ChannelsLast).fill_(1.25)),
        "fill_");
    const Tensor scales = at::tensor({0.5, 2.0}, at::kDouble), zeros = at::tensor({1, 2}, at::kLong);
    Tensor channels = at::_empty_per_channel_affine_quantized({2, 2}, scales, zeros, 0, on_gpu);
    EXPECT_TRUE(channels.q_per_channel_scales().is_cuda());
    channels.copy_(at::tensor({1.0f, 2.0f, 3.0f, 4.0f}).reshape({2, 2}));  // from the CPU
    EXPECT_EQ(at::testing::values(channels.int_repr()), (std::vector<double>{3, 5, 4, 4}));
    EXPECT_TRUE(at::empty_like(channels).is_cuda());
    EXPECT_TRUE(at::empty_quantized({2, 4}, channels).is_cuda());
    Tensor back = at::_empty_per_channel_affine_quantized({2, 2}, scales, zeros, 0, at::kQUInt8);
    back.copy_(channels);
    EXPECT_TRUE(back.q_per_channel_scales().is_cpu());
    EXPECT_TRUE(at::equal(back, channels.to(at::kCPU)));
    const Tensor dynamic =
        at::quantize_per_tensor_dynamic(at::linspace(-1, 2, 9, at::kFloat).to(kGpu), at::kQInt8, true);
    expect_same(dynamic, at::quantize_per_tensor_dynamic(at::linspace(-1, 2, 9, at::kFloat), at::kQInt8, true),
                "dynamic");
    const Tensor made_of = at::_make_per_tensor_quantized_tensor(at::tensor({1, 2}, at::kByte).to(kGpu), 2, 1);
    EXPECT_EQ(at::testing::values(made_of.dequantize()), (std::vector<double>{0, 2}));
    EXPECT_THROW(at::quantize_per_tensor(at::ones({2}, at::TensorOptions(kGpu).dtype(at::kFloat)), 1, 300, at::kQUInt8),
                 c10::Error);
  });
}

TEST(CudaQuantized, Operators) {
  once([] {
    using Function = std::function<Tensor(const Tensor&)>;
    const std::vector<std::pair<const char*, Function>> functions = {
        {"relu", [](const Tensor& q) { return at::relu(q); }},
        {"sigmoid", [](const Tensor& q) { return at::sigmoid(q); }},
        {"tanh", [](const Tensor& q) { return at::tanh(q); }},
        {"hardtanh", [](const Tensor& q) { return at::hardtanh(q, -1, 2); }},
        {"clamp", [](const Tensor& q) { return at::clamp(q, -1, 2); }},
        {"threshold", [](const Tensor& q) { return at::threshold(q, 0.5, 1); }},
        {"leaky_relu", [](const Tensor& q) { return at::leaky_relu(q, 0.1); }},
        {"max", [](const Tensor& q) { return at::max(q); }},
        {"mean",
         [](const Tensor& q) {
           return at::mean(q, {2, 3});
         }},
        {"mean of others", [](const Tensor& q) { return at::mean(q, {1}); }},
        {"transpose", [](const Tensor& q) { return q.transpose(1, 2); }},
        {"view",
         [](const Tensor& q) {
           return q.view({4, -1});
         }},
        {"slice", [](const Tensor& q) { return q.slice(3, 1, 5, 2); }},
        {"contiguous", [](const Tensor& q) { return q.transpose(1, 3).contiguous(); }},
        {"cat",
         [](const Tensor& q) {
           return at::cat({q, q}, 1);
         }},
        {"flip", [](const Tensor& q) { return at::flip(q, {3}); }},
        {"max_pool2d",
         [](const Tensor& q) {
           return at::max_pool2d(q, {2, 2});
         }},
        {"avg_pool2d",
         [](const Tensor& q) {
           return at::avg_pool2d(q, {3, 3}, {1, 1}, {1, 1});
         }},
        {"adaptive_avg_pool2d",
         [](const Tensor& q) {
           return at::adaptive_avg_pool2d(q, {2, 3});
         }},
        {"upsample_nearest2d",
         [](const Tensor& q) {
           return at::upsample_nearest2d(q, {7, 9});
         }},
        {"upsample_bilinear2d",
         [](const Tensor& q) {
           return at::upsample_bilinear2d(q, {7, 9}, true);
         }},
        {"index_select",
         [](const Tensor& q) {
           return q.index_select(3, at::tensor({2, 0}, at::kLong).to(q.device()));
         }},
        {"masked_fill", [](const Tensor& q) { return q.masked_fill(q.gt(0), 1.5); }},
        {"pad",
         [](const Tensor& q) {
           return at::constant_pad_nd(q, {1, 1}, 0.5);
         }},
    };
    const Tensor x = at::linspace(-4, 4, 96, at::kFloat).reshape({2, 2, 4, 6});
    for (const auto dtype : {at::kQUInt8, at::kQInt8}) {
      const Tensor here = at::quantize_per_tensor(x, 0.05, 5, dtype), there = here.to(kGpu);
      for (const auto& [name, f] : functions) expect_same(f(there), f(here), name);
    }
  });
}

}  // namespace

// What chooses the kernel of scaled dot product attention, and causal masks that are no tensors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "aten/aten.h"
#include "aten/core/context.h"
#include "autograd/autograd.h"
#include "autograd/factories.h"
#include "c10/testing/message_of.h"
#include "nn/attention/bias.h"
#include "nn/attention/sdpa_kernel.h"
#include "nn/functional/attention.h"

namespace torch::nn::attention {
namespace {

namespace F = torch::nn::functional;
using at::Tensor;
using c10::testing::message_of;
using ::testing::HasSubstr;

// The kernel that a recorded call used, by its node.
SDPBackend used(double dropout = 0.0, const Tensor& mask = {}) {
  const Tensor q = torch::ones({1, 2, 4, 8}).requires_grad_();
  const Tensor y = F::scaled_dot_product_attention(q, q, q, mask, dropout);
  return y.grad_fn()->name().find("FlashAttention") != std::string::npos ? SDPBackend::FLASH_ATTENTION
                                                                         : SDPBackend::MATH;
}

std::string error(double dropout = 0.0) {
  return message_of([=] { used(dropout); });
}

TEST(SdpaKernel, ChoosesWhatIsEnabled) {
  EXPECT_EQ(used(), SDPBackend::FLASH_ATTENTION);
  EXPECT_EQ(used(0.5), SDPBackend::MATH);
  EXPECT_EQ(used(0, torch::zeros({4, 4}).requires_grad_()), SDPBackend::MATH);
  {
    const sdpa_kernel math(SDPBackend::MATH);
    EXPECT_EQ(used(), SDPBackend::MATH);
    {
      const sdpa_kernel flash(SDPBackend::FLASH_ATTENTION);
      EXPECT_EQ(used(), SDPBackend::FLASH_ATTENTION);
      EXPECT_EQ(error(0.5), "No available kernel. Aborting execution.");
      EXPECT_FALSE(at::globalContext().userEnabledMathSDP());
    }
    EXPECT_EQ(used(), SDPBackend::MATH);
    EXPECT_FALSE(can_use_flash_attention({torch::ones({2, 2}), {}, {}, {}}));
  }
  {
    const sdpa_kernel others(std::vector{SDPBackend::EFFICIENT_ATTENTION, SDPBackend::CUDNN_ATTENTION});
    EXPECT_THAT(error(), HasSubstr("No viable backend for scaled_dot_product_attention was found."));
  }
  EXPECT_TRUE(at::globalContext().userEnabledMathSDP() && at::globalContext().userEnabledCuDNNSDP());
  EXPECT_EQ(used(), SDPBackend::FLASH_ATTENTION);
}

TEST(SdpaKernel, SetsPriorities) {
  const at::sdp::PriorityOrder before = at::sdp::priority_order();
  {
    const sdpa_kernel ordered(std::vector{SDPBackend::MATH, SDPBackend::FLASH_ATTENTION}, /*set_priority=*/true);
    EXPECT_EQ(used(), SDPBackend::MATH);
    EXPECT_EQ(at::sdp::priority_order(),
              (at::sdp::PriorityOrder{SDPBackend::MATH, SDPBackend::FLASH_ATTENTION, SDPBackend::EFFICIENT_ATTENTION,
                                      SDPBackend::CUDNN_ATTENTION, SDPBackend::OVERRIDEABLE}));
    const sdpa_kernel unordered(std::vector{SDPBackend::FLASH_ATTENTION, SDPBackend::MATH});
    EXPECT_EQ(used(), SDPBackend::MATH);
  }
  EXPECT_EQ(at::sdp::priority_order(), before);
  EXPECT_THAT(message_of([&] { at::sdp::set_priority_order({}); }), HasSubstr("expected each of the 5 backends once"));
}

TEST(SdpaKernel, SaysWhatACallCanUse) {
  const Tensor q = torch::ones({1, 2, 4, 8});
  EXPECT_TRUE(is_flash_attention_available());
  EXPECT_TRUE(can_use_flash_attention({q, q, q, {}}));
  EXPECT_FALSE(can_use_flash_attention({q, q, q, {}, 0.1}, true));
  EXPECT_FALSE(can_use_flash_attention({q, q, q, torch::zeros({4, 4}).requires_grad_()}));
  EXPECT_FALSE(can_use_efficient_attention({q, q, q, {}}));
  EXPECT_FALSE(can_use_cudnn_attention({q, q, q, {}}));
}

TEST(CausalBias, IsTheMaskOfItsVariant) {
  const auto mask = [](const CausalBias& bias) { return bias.materialize().to(at::kLong); };
  EXPECT_TRUE(at::equal(mask(causal_upper_left(2, 3)), torch::tensor({1, 0, 0, 1, 1, 0}).view({2, 3})));
  EXPECT_TRUE(at::equal(mask(causal_lower_right(2, 4)), torch::tensor({1, 1, 1, 0, 1, 1, 1, 1}).view({2, 4})));
  std::ostringstream printed, expected;
  printed << causal_upper_left(2, 3);
  expected << causal_upper_left(2, 3).materialize();
  EXPECT_EQ(printed.str(), expected.str());
  at::manual_seed(1);
  const Tensor q = at::randn({2, 4, 3, 8}).requires_grad_(), k = at::randn({2, 2, 7, 8}), v = at::randn({2, 2, 7, 5});
  for (const CausalBias& bias : {causal_upper_left(3, 7), causal_lower_right(3, 7)}) {
    const Tensor y = F::scaled_dot_product_attention(q, k, v, bias, 0.0, false, 0.3, true);
    const Tensor expected_y = F::scaled_dot_product_attention(q, k, v, bias.materialize(), 0.0, false, 0.3, true);
    EXPECT_TRUE(at::allclose(y, expected_y, 1e-5, 1e-6));
    EXPECT_TRUE(
        at::allclose(autograd::grad({y.sum()}, {q})[0], autograd::grad({expected_y.sum()}, {q})[0], 1e-4, 1e-5));
  }
  // Queries before the first key of lower right see none.
  const Tensor all = F::scaled_dot_product_attention(k, q.slice(1, 0, 2), q.slice(1, 0, 2), causal_lower_right(7, 3));
  EXPECT_TRUE(at::equal(all.slice(2, 0, 4), at::zeros({2, 2, 4, 8})));
  EXPECT_EQ(
      message_of<c10::ValueError>([&] { F::scaled_dot_product_attention(q, q, q, causal_upper_left(3, 3), 0, true); }),
      "CausalBias should not be used with causal=True");
}

}  // namespace
}  // namespace torch::nn::attention

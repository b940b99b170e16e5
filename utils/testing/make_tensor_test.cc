#include "utils/testing/make_tensor.h"

#include <gtest/gtest.h>

#include <cmath>

#include "aten/aten.h"
#include "c10/core/cpu_generator.h"
#include "c10/testing/message_of.h"
#include "utils/testing/assert_close.h"

namespace torch::testing {
namespace {

using at::Tensor;
using c10::testing::message_of;

TEST(MakeTensor, DrawsPyTorchsValues) {
  // torch.testing.make_tensor (2.15) after torch.manual_seed(0), in this order.
  at::manual_seed(0);
  const AssertCloseOptions shown{.rtol = 0, .atol = 1e-4};
  assert_close(make_tensor({4}, at::kFloat), torch::tensor({-0.0674, 4.8280, -7.4074, -6.6235}), shown);
  assert_close(make_tensor({4}, at::kLong), torch::tensor({2, -2, -4, 0}));
  assert_close(at::view_as_real(make_tensor({3}, at::kComplexFloat)),
               torch::tensor({{-0.7987, 2.3815}, {-2.7199, -1.7691}, {-8.5981, -5.9605}}), shown);
  assert_close(at::to(make_tensor({3}, at::kHalf), at::kFloat), torch::tensor({-3.7109, 0.3335, 3.5586}), shown);
  assert_close(make_tensor({3}, at::kBool), torch::tensor({false, false, true}));
  assert_close(make_tensor({3}, at::kFloat, at::kCPU, {.low = -2, .high = 5, .exclude_zero = true}),
               torch::tensor({2.7713, 4.4064, 0.7797}), shown);
}

TEST(MakeTensor, BoundsAndLayouts) {
  const Tensor numbers = make_tensor({1000}, at::kLong, at::kCPU, {.exclude_zero = true});
  EXPECT_EQ(at::eq(numbers, 0).sum().item<int64_t>(), 0);
  EXPECT_EQ(numbers.min().item<int64_t>(), -9);
  EXPECT_EQ(numbers.max().item<int64_t>(), 9);
  EXPECT_GE(make_tensor({100}, at::kByte, at::kCPU, {.low = 250.5, .high = 1000}).min().item<int64_t>(), 251);
  EXPECT_EQ(make_tensor({100}, at::kByte).min().item<int64_t>() >= 0, true);
  EXPECT_TRUE(at::isfinite(make_tensor({100}, at::kHalf, at::kCPU, {.low = -1e9, .high = 1e9})).all().item<bool>());
  Tensor part = make_tensor({3, 4}, at::kFloat, at::kCPU, {.noncontiguous = true});
  EXPECT_EQ(part.strides(), at::IntArrayRef({8, 2}));
  EXPECT_EQ(part.storage_offset(), 1);
  part = make_tensor({3, 1}, at::kFloat, at::kCPU, {.noncontiguous = true});
  EXPECT_EQ(part.stride(0), 2);
  EXPECT_TRUE(make_tensor({1}, at::kFloat, at::kCPU, {.noncontiguous = true}).is_contiguous());
  EXPECT_TRUE(make_tensor({2, 3, 4, 5}, at::kFloat, at::kCPU, {.memory_format = at::MemoryFormat::ChannelsLast})
                  .is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_TRUE(make_tensor({2}, at::kDouble, at::kCPU, {.requires_grad = true}).requires_grad());
}

TEST(MakeTensor, Errors) {
  const auto said = [](at::ScalarType dtype, const MakeTensorOptions& options) {
    return message_of([&] { make_tensor({3}, dtype, at::kCPU, options); });
  };
  EXPECT_EQ(said(at::kFloat, {.low = NAN}), "`low` and `high` cannot be NaN, but got low=nan and high=9");
  EXPECT_EQ(said(at::kFloat, {.low = 5, .high = 1}), "`low` must be less than `high`, but got 5 >= 1");
  EXPECT_EQ(said(at::kInt, {.requires_grad = true}),
            "`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype=torch.int32");
  EXPECT_EQ(said(at::kByte, {.low = -500, .high = -300}),
            "The value interval specified by `low` and `high` is [-500, -300), but torch.uint8 only supports [0, 256)");
  EXPECT_EQ(said(at::kFloat, {.noncontiguous = true, .memory_format = at::MemoryFormat::ChannelsLast}),
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got noncontiguous=True and "
            "memory_format=torch.channels_last");
  EXPECT_THROW(make_tensor({3}, at::kQInt8), c10::TypeError);
}

}  // namespace
}  // namespace torch::testing

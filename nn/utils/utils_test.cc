#include "nn/utils/utils.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"

namespace torch::nn::utils {
namespace {

at::Tensor with_grad(std::vector<int64_t> sizes, double value) {
  at::Tensor p = at::zeros(sizes);
  p.set_requires_grad(true);
  p.mutable_grad() = at::full(sizes, value);
  return p;
}

float first(const at::Tensor& t) {
  return t.data_ptr<float>()[0];
}

TEST(ClipGradNorm, ScalesAllTogether) {
  const std::vector<at::Tensor> ps{with_grad({4}, 3.0), with_grad({2, 2}, 4.0)};
  // sqrt(4 * 9 + 4 * 16) = 10
  EXPECT_NEAR(clip_grad_norm_(ps, 5.0), 10.0, 1e-6);
  EXPECT_NEAR(first(ps[0].grad()), 1.5, 1e-6);
  EXPECT_NEAR(first(ps[1].grad()), 2.0, 1e-6);
  EXPECT_NEAR(clip_grad_norm_(ps, 100.0), 5.0, 1e-5);
  EXPECT_NEAR(first(ps[0].grad()), 1.5, 1e-6);
}

TEST(ClipGradNorm, OtherNorms) {
  const std::vector<at::Tensor> ps{with_grad({4}, 3.0), with_grad({2}, -4.0)};
  EXPECT_NEAR(clip_grad_norm_(ps, 1e9, 1.0), 20.0, 1e-5);
  EXPECT_NEAR(clip_grad_norm_(ps, 2.0, std::numeric_limits<double>::infinity()), 4.0, 1e-6);
  EXPECT_NEAR(first(ps[1].grad()), -2.0, 1e-5);
}

TEST(ClipGradNorm, ParametersWithoutGradients) {
  at::Tensor none = at::zeros({3});
  EXPECT_EQ(clip_grad_norm_(std::vector<at::Tensor>{none}, 1.0), 0.0);
  EXPECT_EQ(clip_grad_norm_(std::vector<at::Tensor>{}, 1.0), 0.0);
  EXPECT_NEAR(clip_grad_norm_(with_grad({1}, 2.0), 1.0), 2.0, 1e-6);
}

TEST(ClipGradNorm, NonFinite) {
  const at::Tensor p = with_grad({2}, std::numeric_limits<double>::infinity());
  try {
    clip_grad_norm_(p, 1.0, 2.0, /*error_if_nonfinite=*/true);
    ADD_FAILURE();
  } catch (const c10::Error& e) {
    EXPECT_EQ(e.msg().rfind("The total norm of order 2 for gradients from `parameters` is non-finite, ", 0), 0u);
  }
  EXPECT_TRUE(std::isinf(first(p.grad())));
  EXPECT_TRUE(std::isinf(clip_grad_norm_(p, 1.0)));
}

TEST(ClipGradValue, CutsEachElement) {
  const std::vector<at::Tensor> ps{with_grad({2}, 3.0), with_grad({2}, -0.25)};
  clip_grad_value_(ps, 0.5);
  EXPECT_EQ(first(ps[0].grad()), 0.5f);
  EXPECT_EQ(first(ps[1].grad()), -0.25f);
}

TEST(ConvertParameters, RoundTrip) {
  const std::vector<at::Tensor> ps{at::full({2, 3}, 1.0), at::full({}, 2.0), at::full({2}, 3.0)};
  at::Tensor v = parameters_to_vector(ps);
  ASSERT_EQ(v.sizes(), c10::IntArrayRef({9}));
  EXPECT_EQ(v.data_ptr<float>()[6], 2.0f);
  EXPECT_EQ(v.data_ptr<float>()[8], 3.0f);
  at::fill_(v, 7.0);
  vector_to_parameters(v, ps);
  EXPECT_EQ(first(ps[0]), 7.0f);
  EXPECT_EQ(first(ps[1]), 7.0f);
  EXPECT_THROW(vector_to_parameters(at::zeros({8}), ps), c10::Error);
  EXPECT_THROW(vector_to_parameters(at::zeros({3, 3}), ps), c10::Error);
}

}  // namespace
}  // namespace torch::nn::utils

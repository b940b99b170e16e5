// Kernels of programs: TensorIterator, cpu_kernel and Vectorized.
#include <ATen/TensorIterator.h>
#include <ATen/cpu/vec/functional.h>
#include <ATen/cpu/vec/vec.h>
#include <ATen/native/TensorIterator.h>
#include <ATen/native/cpu/Loops.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "c10/testing/message_of.h"

namespace {

using c10::testing::message_of;
using at::native::cpu_kernel;

torch::Tensor scaled_sum(const torch::Tensor& a, const torch::Tensor& b, torch::Tensor out = {}) {
  auto iter = at::TensorIteratorConfig()
                  .add_output(out)
                  .add_input(a)
                  .add_input(b)
                  .promote_inputs_to_common_dtype(true)
                  .cast_common_dtype_to_outputs(true)
                  .enforce_safe_casting_to_output(true)
                  .build();
  AT_DISPATCH_ALL_TYPES(iter.common_dtype(), "scaled_sum", [&] {
    cpu_kernel(iter, [](scalar_t x, scalar_t y) -> scalar_t { return static_cast<scalar_t>(2 * x + y); });
  });
  return iter.output();
}

TEST(TensorIterator, BroadcastsPromotesAndCasts) {
  torch::Tensor a = torch::rand({3, 1, 4}), b = torch::rand({5, 1});
  EXPECT_TRUE(torch::allclose(scaled_sum(a, b), 2 * a + b));
  EXPECT_TRUE(torch::allclose(scaled_sum(a.transpose(0, 2), torch::rand({3}).zero_()), 2 * a.transpose(0, 2)));
  torch::Tensor whole = torch::arange(4);
  EXPECT_EQ(scaled_sum(whole, torch::ones({4})).scalar_type(), torch::kFloat);
  EXPECT_EQ(scaled_sum(whole, torch::ones({}, torch::kDouble)).scalar_type(), torch::kDouble);
  torch::Tensor out = torch::empty({0}, torch::kDouble);
  EXPECT_TRUE(scaled_sum(whole, whole, out).is_same(out));
  EXPECT_TRUE(torch::equal(out, (3 * whole).to(torch::kDouble)));
  torch::Tensor large = torch::rand({300, 500});
  EXPECT_TRUE(torch::allclose(scaled_sum(large.t(), large.t()), 3 * large.t()));
  EXPECT_EQ(scaled_sum(torch::empty({0, 3}), torch::empty({3})).sizes(), (std::vector<int64_t>{0, 3}));
}

TEST(TensorIterator, RefusesWhatDoesNotFit) {
  torch::Tensor x = torch::ones({4}), whole = torch::zeros({4}, torch::kLong);
  EXPECT_EQ(message_of([&] { scaled_sum(x, x, whole); }),
            "result type Float can't be cast to the desired output type Long");
  EXPECT_THROW(scaled_sum(x, torch::ones({3})), c10::Error);
  torch::Tensor out = x.narrow(0, 1, 2);
  EXPECT_THROW(scaled_sum(x.narrow(0, 0, 2), x.narrow(0, 2, 2), out), c10::Error);
  torch::Tensor one = torch::ones({1});
  EXPECT_THROW(scaled_sum(x, x, one.expand({4})), c10::Error);
  torch::Tensor result;
  EXPECT_EQ(message_of([&] { at::TensorIteratorConfig().add_output(result).add_input(x).add_input(whole).build(); }),
            "Found dtype Long but expected Float");
  EXPECT_THROW(at::TensorIteratorConfig().add_input(x).add_output(result), c10::Error);
  EXPECT_THROW(at::TensorIteratorConfig().add_output(result).add_input(torch::Tensor()).build(), c10::Error);
  auto iter = at::TensorIteratorConfig().add_output(result).add_input(x).build();
  EXPECT_EQ(message_of([&] { cpu_kernel(iter, [](double v) { return v; }); }),
            "cpu_kernel: operand 0 has dtype Float, the function's is Double");
  EXPECT_THROW(cpu_kernel(iter, [](float a, float b) { return a + b; }), c10::Error);
  EXPECT_THROW(at::TensorIteratorConfig().resize_outputs(false).add_output(x).add_input(torch::ones({2, 4})).build(),
               c10::Error);
}

TEST(TensorIterator, Forms) {
  torch::Tensor a = torch::rand({3, 4}), b = torch::rand({4}), out;
  auto binary = at::TensorIterator::binary_op(out, a, b);
  EXPECT_EQ(binary.ntensors(), 3);
  EXPECT_EQ(binary.ninputs(), 2);
  EXPECT_EQ(binary.numel(), 12);
  EXPECT_EQ(binary.shape(), (std::vector<int64_t>{3, 4}));
  EXPECT_FALSE(binary.is_contiguous());
  at::native::cpu_serial_kernel(binary, [](float x, float y) { return x - y; });
  EXPECT_TRUE(torch::equal(binary.output(), a - b));

  auto comparison = at::TensorIterator::comparison_op(out, a, b);
  cpu_kernel(comparison, [](float x, float y) -> bool { return x < y; });
  EXPECT_TRUE(torch::equal(comparison.output(), a < b));

  torch::Tensor filled = torch::empty({2, 3}, torch::kLong);
  auto nullary = at::TensorIterator::nullary_op(filled);
  int64_t next = 0;
  at::native::cpu_serial_kernel(nullary, [&]() -> int64_t { return next++; });
  EXPECT_TRUE(torch::equal(filled, torch::arange(6).view({2, 3})));

  double sum = 0;
  auto reading = at::TensorIteratorConfig().add_input(a).build();
  at::native::cpu_serial_kernel(reading, [&](float x) -> void { sum += x; });
  EXPECT_NEAR(sum, a.sum().item<double>(), 1e-5);

  torch::Tensor low, high;
  auto both = at::TensorIteratorConfig().add_output(low).add_output(high).add_input(a).add_input(b).build();
  at::native::cpu_kernel_multiple_outputs(both, [](float x, float y) -> std::tuple<float, float> {
    return {std::min(x, y), std::max(x, y)};
  });
  EXPECT_TRUE(torch::equal(both.output(0), torch::minimum(a, b)));
  EXPECT_TRUE(torch::equal(both.output(1), torch::maximum(a, b)));

  int64_t visited = 0;
  at::TensorIterator::unary_op(out, a).for_each(
      [&](char**, const int64_t*, int64_t size0, int64_t size1) { visited += size0 * size1; });
  EXPECT_EQ(visited, 12);
}

TEST(TensorIterator, FormsThatMakeIntegersFloat) {
  const torch::Tensor a = torch::tensor({1, 2}), b = torch::tensor({4, 4}, torch::kInt);
  torch::Tensor out;
  auto divided = at::TensorIterator::binary_float_op(out, a, b);
  at::native::cpu_kernel(divided, [](float x, float y) -> float { return x / y; });
  EXPECT_TRUE(torch::equal(divided.output(), torch::tensor({0.25f, 0.5f})));
  torch::Tensor whole = torch::empty({2}, torch::kLong);
  EXPECT_THROW(at::TensorIterator::binary_float_op(whole, a, b), c10::Error);
  auto halved = at::TensorIterator::unary_float_op(out, a);
  at::native::cpu_kernel(halved, [](float x) -> float { return x / 2; });
  EXPECT_TRUE(torch::equal(halved.output(), torch::tensor({0.5f, 1.f})));
  auto sums = at::TensorIterator::borrowing_binary_op(whole, a, b);
  at::native::cpu_kernel(sums, [](int64_t x, int64_t y) -> int64_t { return x + y; });
  EXPECT_TRUE(torch::equal(whole, torch::tensor({5, 6})));
  auto filled = at::TensorIterator::borrowing_nullary_op(whole);
  at::native::cpu_kernel(filled, []() -> int64_t { return 7; });
  EXPECT_TRUE(torch::equal(whole, torch::tensor({7, 7})));
}

TEST(TensorIterator, VectorKernels) {
  using Vec = at::vec::Vectorized<float>;
  torch::Tensor a = torch::rand({1003}), b = torch::rand({1003}), out;
  auto iter = at::TensorIterator::binary_op(out, a, b);
  at::native::cpu_kernel_vec(iter, [](float x, float y) { return x * y; }, [](Vec x, Vec y) { return x * y; });
  EXPECT_TRUE(torch::equal(iter.output(), a * b));
  torch::Tensor wide = torch::rand({30, 2});
  auto strided = at::TensorIterator::unary_op(out, wide.select(1, 1));
  at::native::cpu_kernel_vec(strided, [](float x) { return -x; }, [](Vec x) { return x.neg(); });
  EXPECT_TRUE(torch::equal(strided.output(), -wide.select(1, 1)));
}

TEST(Vectorized, Elements) {
  using Vec = at::vec::Vectorized<float>;
  const Vec x = Vec::arange(0.f), y(2.f);
  float out[Vec::size()];
  (x * y + Vec(1.f)).store(out);
  for (int i = 0; i < Vec::size(); ++i) EXPECT_EQ(out[i], 2.f * static_cast<float>(i) + 1.f);
  EXPECT_EQ(Vec::blendv(x, y, x > Vec(3.f))[4], 2.f);
  EXPECT_EQ(Vec::blendv(x, y, x > Vec(3.f))[3], 3.f);
  EXPECT_EQ(Vec::blend<2>(x, y)[1], 2.f);
  EXPECT_EQ(x.eq(Vec(1.f))[1], 1.f);
  EXPECT_EQ(((x > y) & y)[3], 2.f);
  EXPECT_EQ(x.pow(y)[3], 9.f);
  EXPECT_FLOAT_EQ(x.exp()[1], std::exp(1.f));
  EXPECT_EQ(x.zero_mask(), 1);
  EXPECT_EQ(Vec::set(x, y, 2)[1], 2.f);
  EXPECT_EQ(clamp(x, Vec(1.f), Vec(2.f))[0], 1.f);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(maximum(Vec(nan), y)[0]) && std::isnan(minimum(y, Vec(nan))[0]));
  EXPECT_TRUE(Vec(nan).has_inf_nan());
  using Half = at::vec::Vectorized<c10::Half>;
  EXPECT_EQ(Half::size(), 16);
  EXPECT_EQ(static_cast<float>(Half(c10::Half(4.f)).sqrt()[7]), 2.f);

  std::vector<float> v(21), w(21);
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>(i);
  at::vec::map([](Vec a) { return a * Vec(2.f); }, w.data(), v.data(), 21);
  EXPECT_EQ(w[20], 40.f);
  EXPECT_EQ(at::vec::reduce_all([](Vec a, Vec b) { return a + b; }, v.data(), 21), 210.f);
  EXPECT_EQ(at::vec::reduce_all([](Vec a, Vec b) { return maximum(a, b); }, v.data(), 3), 2.f);
}

}  // namespace

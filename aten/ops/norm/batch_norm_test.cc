// Batch and group normalization against the definitions, in double.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/norm/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/testing/testing.h"

namespace at {
namespace {

constexpr double kEps = 1e-5;

// Values without a pattern that the operators share.
Tensor values(std::vector<int64_t> sizes, ScalarType dtype = kFloat) {
  std::vector<double> numbers(static_cast<size_t>(checked_numel(sizes)));
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = std::sin(1.7 * static_cast<double>(i)) + 0.1 * static_cast<double>(i % 5);
  }
  return testing::tensor_of(numbers, sizes, dtype);
}

double element(const Tensor& t, int64_t i) {
  return testing::values(t)[static_cast<size_t>(i)];
}

// Normalizes each group of elements that share key(n, c), and scales by channel.
template <typename Key>
void check(const Tensor& x, const Tensor& y, const Tensor& weight, const Tensor& bias, int64_t groups, const Key& key,
           double tolerance) {
  const int64_t c_count = x.size(1);
  const int64_t inner = x.numel() / (x.size(0) * c_count);
  std::vector<double> sum(static_cast<size_t>(groups)), square(sum), count(sum);
  std::vector<double> data;
  for (int64_t i = 0; i < x.numel(); ++i) data.push_back(element(x, i));
  const auto group_of = [&](int64_t i) { return static_cast<size_t>(key(i / inner / c_count, i / inner % c_count)); };
  for (int64_t i = 0; i < x.numel(); ++i) {
    sum[group_of(i)] += data[static_cast<size_t>(i)];
    count[group_of(i)] += 1;
  }
  for (int64_t i = 0; i < x.numel(); ++i) {
    const size_t g = group_of(i);
    square[g] += std::pow(data[static_cast<size_t>(i)] - sum[g] / count[g], 2);
  }
  for (int64_t i = 0; i < x.numel(); ++i) {
    const size_t g = group_of(i);
    const int64_t c = i / inner % c_count;
    const double z = (data[static_cast<size_t>(i)] - sum[g] / count[g]) / std::sqrt(square[g] / count[g] + kEps);
    EXPECT_NEAR(element(y, i), z * element(weight, c) + element(bias, c), tolerance) << i;
  }
}

TEST(BatchNorm, TrainingMatchesTheDefinition) {
  for (const auto& sizes : {std::vector<int64_t>{6, 3}, {4, 3, 5}, {2, 3, 4, 5}, {2, 3, 2, 2, 3}}) {
    const Tensor x = values(sizes);
    const Tensor w = values({3});
    const Tensor b = values({3});
    check(
        x, at::batch_norm(x, w, b, std::nullopt, std::nullopt, true, 0.1, kEps, true), w, b, 3,
        [](int64_t, int64_t c) { return c; }, 1e-5);
  }
  const Tensor x = values({4, 3, 5}, kBFloat16);
  const Tensor y = at::batch_norm(x, std::nullopt, std::nullopt, std::nullopt, std::nullopt, true, 0.1, kEps, true);
  EXPECT_EQ(y.scalar_type(), kBFloat16);
  check(
      x, y, at::ones({3}), at::zeros({3}), 3, [](int64_t, int64_t c) { return c; }, 0.02);
}

TEST(BatchNorm, RunningStatistics) {
  const Tensor x = values({4, 2, 5});
  const Tensor mean = at::zeros({2});
  const Tensor var = at::ones({2});
  at::batch_norm(x, std::nullopt, std::nullopt, mean, var, true, 0.25, kEps, true);
  for (int64_t c = 0; c < 2; ++c) {
    double sum = 0;
    double square = 0;
    for (int64_t n = 0; n < 4; ++n) {
      for (int64_t i = 0; i < 5; ++i) sum += element(x, (n * 2 + c) * 5 + i);
    }
    for (int64_t n = 0; n < 4; ++n) {
      for (int64_t i = 0; i < 5; ++i) square += std::pow(element(x, (n * 2 + c) * 5 + i) - sum / 20, 2);
    }
    EXPECT_NEAR(element(mean, c), 0.25 * sum / 20, 1e-6);
    EXPECT_NEAR(element(var, c), 0.75 + 0.25 * square / 19, 1e-6);
  }
  const Tensor before = at::clone(mean);
  const Tensor y = at::batch_norm(x, std::nullopt, std::nullopt, mean, var, false, 0.25, kEps, true);
  EXPECT_EQ(element(mean, 0), element(before, 0));
  EXPECT_NEAR(element(y, 7), (element(x, 7) - element(mean, 1)) / std::sqrt(element(var, 1) + kEps), 1e-5);
}

TEST(BatchNorm, RunningStatisticsStayWhereResultsCannotBeWritten) {
  const Tensor x = values({4, 2}), mean = values({2}), var = at::ones({2});
  Tensor out = at::empty({4, 2}), save_mean = at::empty({2}), wrong = at::empty({2}, TensorOptions(kLong));
  const double before = element(mean, 1);
  EXPECT_THROW(at::native_batch_norm_out(out, save_mean, wrong, x, {}, {}, mean, var, true, 0.5, kEps), c10::Error);
  EXPECT_EQ(element(mean, 1), before);
  EXPECT_EQ(element(var, 1), 1);
  // Nor where the second of them cannot: two elements at one place.
  EXPECT_THROW(at::native_batch_norm(x, {}, {}, mean, at::expand(at::ones({1}), {2}), true, 0.5, kEps), c10::Error);
  EXPECT_EQ(element(mean, 1), before);
  Tensor save_invstd = at::empty({2});
  at::native_batch_norm_out(out, save_mean, save_invstd, x, {}, {}, mean, var, true, 0.5, kEps);
  EXPECT_NEAR(element(mean, 1), 0.5 * before + 0.5 * element(save_mean, 1), 1e-6);
  EXPECT_NE(element(var, 1), 1);
}

TEST(BatchNorm, Errors) {
  const Tensor x = values({4, 3});
  const auto message = [&](auto&& f) -> std::string {
    try {
      f();
    } catch (const Error& e) {
      return e.msg();
    }
    return "";
  };
  EXPECT_EQ(message([&] { at::batch_norm(x, at::ones({2}), {}, {}, {}, true, 0.1, kEps, true); }),
            "batch_norm: weight should contain 3 elements not 2");
  EXPECT_NE(message([&] { at::batch_norm(x, {}, {}, {}, {}, false, 0.1, kEps, true); }), "");
  EXPECT_NE(message([&] { at::batch_norm(at::ones({3}), {}, {}, {}, {}, true, 0.1, kEps, true); }), "");
  EXPECT_THROW(at::batch_norm(values({4, 3}, kLong), {}, {}, {}, {}, true, 0.1, kEps, true), c10::NotImplementedError);
}

TEST(GroupNorm, MatchesTheDefinition) {
  for (const int64_t groups : {1, 2, 4}) {
    const Tensor x = values({3, 4, 2, 3});
    const Tensor w = values({4});
    const Tensor b = values({4});
    check(
        x, at::group_norm(x, groups, w, b, kEps), w, b, 3 * groups,
        [&](int64_t n, int64_t c) { return n * groups + c / (4 / groups); }, 1e-5);
  }
  EXPECT_THROW(at::group_norm(values({3, 4}), 3), Error);
  EXPECT_THROW(at::group_norm(values({3, 4}), 0), Error);
  EXPECT_EQ(at::group_norm(at::ones({0, 4, 2}), 2).numel(), 0);
}

}  // namespace
}  // namespace at

// Batch and group normalization against the definitions, in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/norm/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
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

// Memory in other orders than the sizes: channels last of 3 to 5 dimensions, a slice of a larger tensor, a transposed
// batch.
std::vector<Tensor> layouts(const Tensor& x) {
  std::vector<Tensor> result{x};
  DimVector order{0};
  for (int64_t d = 2; d < x.dim(); ++d) order.push_back(d);
  order.push_back(1);
  result.push_back(at::movedim(at::contiguous(at::permute(x, order)), -1, 1));
  result.push_back(at::slice(at::cat({x, at::neg(x)}, 1), 1, 0, x.size(1)));
  result.push_back(at::transpose(at::contiguous(at::transpose(x, 0, 1)), 0, 1));
  return result;
}

TEST(BatchNorm, EveryLayoutAndDtypeGivesTheSame) {
  for (const auto& sizes :
       {std::vector<int64_t>{7, 3}, {4, 5, 9}, {3, 20, 5, 4}, {2, 3, 2, 2, 3}, {1, 2, 1500}, {700, 3, 1}, {2, 1, 70}}) {
    const int64_t channels = sizes[1];
    const Tensor w = values({channels}, kDouble), b = at::neg(w), mean = at::cos(w), var = at::exp(w);
    const Tensor x = values(sizes, kDouble), g = at::cos(x);
    for (bool training : {true, false}) {
      const auto [y, m, r] =
          at::native_batch_norm(x, w, b, training ? std::nullopt : std::optional<Tensor>(mean),
                                training ? std::nullopt : std::optional<Tensor>(var), training, 0.1, kEps);
      const auto [gx, gw, gb] =
          at::native_batch_norm_backward(g, x, w, mean, var, m, r, training, kEps, {true, true, true});
      for (ScalarType type : {kDouble, kFloat, kHalf, kBFloat16}) {
        const double near = type == kDouble ? 1e-11 : type == kFloat ? 2e-5 : type == kHalf ? 2e-2 : 0.15;
        for (const Tensor& in : layouts(at::to(x, type))) {
          for (const Tensor& grad : layouts(at::to(g, type))) {
            const Tensor mean_in = at::clone(mean), var_in = at::clone(var);
            const auto [out, save_mean, save_invstd] =
                at::native_batch_norm(in, w, b, mean_in, var_in, training, 0.1, kEps);
            EXPECT_TRUE(at::allclose(at::to(out, kDouble), y, near, near));
            EXPECT_EQ(out.scalar_type(), type);
            const auto [gx2, gw2, gb2] = at::native_batch_norm_backward(grad, in, w, mean, var, save_mean, save_invstd,
                                                                        training, kEps, {true, true, true});
            EXPECT_TRUE(at::allclose(at::to(gx2, kDouble), gx, near, near)) << type << training << in.sizes();
            // Sums of rounded elements.
            const double sum = near * static_cast<double>(x.numel() / channels);
            EXPECT_TRUE(at::allclose(at::to(gw2, kDouble), gw, near, sum));
            EXPECT_TRUE(at::allclose(at::to(gb2, kDouble), gb, near, sum));
          }
        }
      }
    }
  }
}

// By the definition, with each sum written out.
TEST(BatchNorm, GradientsMatchTheDefinition) {
  const int64_t n = 5, c = 3, s = 7;
  const Tensor x = values({n, c, s}, kDouble), g = at::cos(values({n, c, s}, kDouble)), w = values({c}, kDouble);
  const auto [y, mean, invstd] = at::native_batch_norm(x, w, {}, {}, {}, true, 0.1, kEps);
  const auto [gx, gw, gb] =
      at::native_batch_norm_backward(g, x, w, {}, {}, mean, invstd, true, kEps, {true, true, true});
  for (int64_t k = 0; k < c; ++k) {
    const double m = element(mean, k), r = element(invstd, k), count = static_cast<double>(n * s);
    double sum_g = 0, sum_gxhat = 0;
    const auto each = [&](auto&& f) {
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < s; ++j) f((i * c + k) * s + j);
      }
    };
    each([&](int64_t at) {
      sum_g += element(g, at);
      sum_gxhat += element(g, at) * (element(x, at) - m) * r;
    });
    EXPECT_NEAR(element(gw, k), sum_gxhat, 1e-12);
    EXPECT_NEAR(element(gb, k), sum_g, 1e-12);
    each([&](int64_t at) {
      const double xhat = (element(x, at) - m) * r;
      EXPECT_NEAR(element(gx, at), element(w, k) * r * (element(g, at) - sum_g / count - xhat * sum_gxhat / count),
                  1e-12);
    });
  }
}

TEST(BatchNorm, OneNaNReachesItsChannelOnly) {
  for (bool last : {false, true}) {
    Tensor x = values({4, 3, 5, 2});
    if (last) x = at::contiguous(x, MemoryFormat::ChannelsLast);
    Tensor one = at::select(at::select(at::select(at::select(x, 0, 1), 0, 2), 0, 3), 0, 1);
    at::fill_(one, std::nan(""));
    const auto [y, mean, invstd] = at::native_batch_norm(x, {}, {}, {}, {}, true, 0.1, kEps);
    const auto [gx, gw, gb] =
        at::native_batch_norm_backward(at::ones_like(x), x, {}, {}, {}, mean, invstd, true, kEps, {true, true, true});
    for (const Tensor& t : {y, gx}) {
      EXPECT_TRUE(at::item(at::all(at::isnan(at::select(t, 1, 2)))).toBool());
      EXPECT_FALSE(at::item(at::any(at::isnan(at::narrow(t, 1, 0, 2)))).toBool());
    }
    EXPECT_TRUE(std::isnan(element(mean, 2)) && std::isnan(element(gw, 2)));
    // With given statistics it stays one element, and the gradient does not see it.
    const Tensor zero = at::zeros({3}), unit = at::ones({3});
    const Tensor z = at::batch_norm(x, {}, {}, zero, unit, false, 0.1, kEps, false);
    EXPECT_EQ(at::item(at::sum(at::isnan(z))).toLong(), 1);
    EXPECT_FALSE(at::item(at::any(at::isnan(std::get<0>(at::native_batch_norm_backward(
        at::ones_like(x), x, {}, zero, unit, {}, {}, false, kEps, {true, false, false}))))).toBool());
  }
}

TEST(BatchNorm, EmptyAndMeta) {
  const Tensor none = at::ones({0, 3, 2});
  EXPECT_EQ(at::batch_norm(none, {}, {}, {}, {}, true, 0.1, kEps, false).sizes(), none.sizes());
  EXPECT_EQ(at::batch_norm(at::ones({2, 0}), {}, {}, {}, {}, true, 0.1, kEps, false).numel(), 0);
  const auto [gx, gw, gb] = at::native_batch_norm_backward(none, none, {}, {}, {}, at::zeros({3}), at::ones({3}), true,
                                                           kEps, {true, true, true});
  EXPECT_EQ(gx.sizes(), none.sizes());
  EXPECT_EQ(element(gb, 1), 0);
  const Tensor meta = at::empty({2, 3, 4}, TensorOptions(kHalf).device(kMeta));
  const auto [y, mean, invstd] = at::native_batch_norm(meta, {}, {}, {}, {}, true, 0.1, kEps);
  EXPECT_EQ(y.sizes(), meta.sizes());
  EXPECT_EQ(mean.scalar_type(), kHalf);
  EXPECT_TRUE(
      std::get<0>(at::native_batch_norm_backward(y, meta, {}, {}, {}, mean, invstd, true, kEps, {true, false, false}))
          .is_meta());
}

TEST(BatchNorm, StatisticsOf16Bits) {
  const Tensor x = values({3, 4, 2}, kBFloat16), w = values({4}, kBFloat16), wide = values({4});
  for (const bool training : {true, false}) {
    const auto dtypes = [&](const Tensor& weight, const Tensor& running) {
      const auto [y, mean, invstd] =
          at::native_batch_norm(x, weight, {}, running, at::ones_like(running), training, 0.1, kEps);
      EXPECT_EQ(y.scalar_type(), kBFloat16);
      EXPECT_EQ(mean.scalar_type(), invstd.scalar_type());
      return mean.scalar_type();
    };
    EXPECT_EQ(dtypes(w, at::zeros({4}, kBFloat16)), kBFloat16);
    EXPECT_EQ(dtypes(w, at::zeros({4})), kFloat);
    EXPECT_EQ(dtypes(wide, at::zeros({4}, kBFloat16)), kFloat);
  }
  const auto [y, mean, rstd] = at::native_group_norm(x, wide, {}, 3, 4, 2, 2, kEps);
  EXPECT_EQ(y.scalar_type(), kBFloat16);
  EXPECT_EQ(mean.scalar_type(), kFloat);
  EXPECT_EQ(std::get<2>(at::native_group_norm(x, w, {}, 3, 4, 2, 2, kEps)).scalar_type(), kBFloat16);
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

// Every layout and dtype, short and long channels, against the definition; gradients against those in double.
TEST(GroupNorm, LayoutsAndDtypesWithGradients) {
  for (const auto& sizes : {std::vector<int64_t>{3, 12}, {2, 12, 5}, {2, 12, 9, 11}, {1, 12, 40, 37}}) {
    const Tensor exact = values(sizes, kDouble), w = values({12}, kDouble), b = values({12}, kDouble),
                 g = at::sin(at::mul(exact, 3.0));
    const auto [y, mean, rstd] = at::_fused_group_norm(exact, w, b, 3, kEps);
    const auto [gx, gw, gb] = at::_fused_group_norm_backward(g, exact, w, mean, rstd, 3, {true, true, true});
    check(exact, y, w, b, 3 * sizes[0], [](int64_t n, int64_t c) { return n * 3 + c / 4; }, 1e-10);
    // The gradient of sum(g y) along x, by difference.
    const Tensor step = at::mul(at::cos(at::mul(exact, 5.0)), 1e-5);
    const auto total = [&](const Tensor& x) {
      return testing::values(at::sum(at::mul(g, at::group_norm(x, 3, w, b, kEps))))[0];
    };
    EXPECT_NEAR((total(at::add(exact, step)) - total(at::sub(exact, step))) / 2,
                testing::values(at::sum(at::mul(gx, step)))[0], 1e-9);
    const auto near = [&](const Tensor& got, const Tensor& want, double tolerance) {
      ASSERT_EQ(got.sizes(), want.sizes());
      const std::vector<double> a = testing::values(got), c = testing::values(want);
      double most = 1;
      for (double v : c) most = std::max(most, std::abs(v));
      for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], c[i], tolerance * most) << i;
    };
    for (ScalarType type : {kDouble, kFloat, kHalf, kBFloat16}) {
      const double tolerance = type == kDouble ? 1e-12 : type == kFloat ? 1e-5 : type == kHalf ? 4e-3 : 3e-2;
      for (const bool last : {false, true}) {
        if (last && sizes.size() != 4) continue;
        const Tensor x = at::to(last ? at::clone(exact, MemoryFormat::ChannelsLast) : exact, type),
                     grad = at::to(g, type);
        const Tensor wt = at::to(w, type);
        const auto [out, m, r] = at::_fused_group_norm(x, wt, at::to(b, type), 3, kEps);
        near(out, y, tolerance);
        EXPECT_EQ(out.is_contiguous(), !last);
        const auto [hx, hw, hb] = at::_fused_group_norm_backward(grad, x, wt, m, r, 3, {true, true, true});
        near(hx, gx, tolerance);
        near(hw, gw, tolerance);
        near(hb, gb, tolerance);
        near(at::instance_norm(x, wt, {}, {}, {}, true, 0.1, kEps, false), at::group_norm(exact, 12, w, {}, kEps),
             tolerance * (sizes.size() == 2 ? 0 : 1) + 1e-12);
      }
    }
  }
}

// A mean far from zero leaves the deviation its digits.
TEST(GroupNorm, NearlyConstantGroups) {
  const Tensor small = values({2, 4, 6, 7});
  for (const bool last : {false, true}) {
    const Tensor x = at::add(last ? at::clone(small, MemoryFormat::ChannelsLast) : small, 1000);
    const Tensor want = at::group_norm(at::to(x, kDouble), 2, {}, {}, kEps);
    testing::expect_close(at::to(at::group_norm(x, 2, {}, {}, kEps), kDouble), want, 0, 2e-3);
  }
}

}  // namespace
}  // namespace at

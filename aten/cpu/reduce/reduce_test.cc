#include "aten/cpu/reduce/reduce.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "aten/cpu/rows/rows.h"
#include "c10/parallel/parallel.h"
#include "c10/util/bfloat16.h"
#include "c10/util/complex.h"
#include "c10/util/half.h"
#include "gtest/gtest.h"

namespace at::cpu {
namespace {

using c10::ScalarType;

// An array with any strides, its reduction by plain loops over logical positions, and the same by the engine.
struct Layout {
  std::vector<int64_t> sizes, strides;  // in elements
};

Layout contiguous(std::vector<int64_t> sizes) {
  Layout l{sizes, std::vector<int64_t>(sizes.size())};
  int64_t s = 1;
  for (int d = static_cast<int>(sizes.size()) - 1; d >= 0; --d) {
    l.strides[d] = s;
    s *= sizes[d];
  }
  return l;
}
Layout permuted(Layout l, std::vector<int> order) {
  Layout r;
  for (int d : order) {
    r.sizes.push_back(l.sizes[d]);
    r.strides.push_back(l.strides[d]);
  }
  return r;
}

int64_t extent(const Layout& l) {
  int64_t e = 1;
  for (size_t d = 0; d < l.sizes.size(); ++d) {
    if (l.sizes[d] == 0) return 1;
    e += (l.sizes[d] - 1) * l.strides[d];
  }
  return e;
}

// Calls f(output number, input offset, logical position among the reduced) for every element.
template <class F>
void walk(const Layout& l, unsigned mask, const F& f) {
  int64_t n = 1;
  for (int64_t s : l.sizes) n *= s;
  for (int64_t i = 0; i < n; ++i) {
    int64_t rest = i, out = 0, out_step = 1, pos = 0, pos_step = 1, off = 0;
    for (int d = static_cast<int>(l.sizes.size()) - 1; d >= 0; --d) {
      const int64_t k = rest % l.sizes[d];
      rest /= l.sizes[d];
      off += k * l.strides[d];
      if (mask >> d & 1) {
        pos += k * pos_step;
        pos_step *= l.sizes[d];
      } else {
        out += k * out_step;
        out_step *= l.sizes[d];
      }
    }
    f(out, off, pos);
  }
}

int64_t outputs(const Layout& l, unsigned mask) {
  int64_t n = 1;
  for (size_t d = 0; d < l.sizes.size(); ++d) n *= mask >> d & 1 ? 1 : l.sizes[d];
  return n;
}

template <class T>
void run(const ReduceKernel* kernel, const Layout& l, unsigned mask, const T* in, void* out0, int64_t size0, void* out1,
         int64_t size1, const ReduceParams& params) {
  ASSERT_NE(kernel, nullptr);
  const int n = static_cast<int>(l.sizes.size());
  std::vector<int64_t> strides(n), s0(n), s1(n);
  bool reduced[8] = {};
  int64_t step = 1;
  for (int d = n - 1; d >= 0; --d) {
    strides[d] = l.strides[d] * static_cast<int64_t>(sizeof(T));
    reduced[d] = mask >> d & 1;
    if (!reduced[d]) {
      s0[d] = step * size0;
      s1[d] = step * size1;
      step *= l.sizes[d];
    }
  }
  ReduceArgs args{in, n, l.sizes.data(), strides.data(), reduced, {out0, out1}, {s0.data(), s1.data()}};
  reduce(*kernel, args, params);
}

std::vector<Layout> layouts() {
  return {
      contiguous({}),
      contiguous({1}),
      contiguous({7}),
      contiguous({1000}),
      contiguous({5000}),
      contiguous({3, 5}),
      contiguous({40, 130}),
      contiguous({300, 70}),
      permuted(contiguous({300, 70}), {1, 0}),
      contiguous({4, 3, 5, 6}),
      permuted(contiguous({4, 5, 6, 33}), {0, 3, 1, 2}),
      permuted(contiguous({9, 2, 65}), {2, 0, 1}),
      {{17, 19}, {40, 2}},
      {{17, 19}, {0, 1}},
      {{17, 19}, {1, 0}},
      {{6, 1, 33}, {33, 5, 1}},
      contiguous({0, 4}),
      contiguous({4, 0}),
      contiguous({700, 400}),
      permuted(contiguous({700, 400}), {1, 0}),
      contiguous({3, 100000}),
      contiguous({100000, 3}),
      contiguous({1003, 8}),
      contiguous({35, 4}),
      contiguous({517, 2}),
  };
}

template <class T>
std::vector<T> values(int64_t n, unsigned seed, bool with_nan = false) {
  std::mt19937 gen(seed);
  std::vector<T> v(static_cast<size_t>(n));
  for (auto& x : v) {
    if constexpr (std::is_integral_v<T>) {
      x = static_cast<T>(static_cast<int>(gen() % 21) - (std::is_signed_v<T> ? 10 : 0));
    } else if constexpr (c10::is_complex_v<T>) {
      using R = decltype(x.real());
      x = T(static_cast<R>(static_cast<int>(gen() % 2001) - 1000) / 500, static_cast<R>(static_cast<int>(gen() % 2001) - 1000) / 500);
    } else {
      x = static_cast<T>(static_cast<float>(static_cast<int>(gen() % 2001) - 1000) / 500.0f);
      if (with_nan && gen() % 300 == 0) x = static_cast<T>(std::numeric_limits<float>::quiet_NaN());
    }
  }
  return v;
}

template <class F>
void each_case(const F& f) {
  for (const Layout& l : layouts()) {
    for (unsigned mask = 0; mask < 1u << l.sizes.size(); ++mask) f(l, mask);
  }
}

template <class T>
void check_sum(ScalarType type, double rtol) {
  unsigned seed = 1;
  each_case([&](const Layout& l, unsigned mask) {
    const auto x = values<T>(extent(l), seed++);
    const int64_t m = outputs(l, mask);
    std::vector<double> expected(m), magnitude(m), got(m, -1);
    walk(l, mask, [&](int64_t o, int64_t off, int64_t) {
      const double v = static_cast<double>(x[off]);
      expected[o] += v;
      magnitude[o] += std::fabs(v);
    });
    ReduceParams params;
    params.out_type = ScalarType::Double;
    run(sum_kernel(type), l, mask, x.data(), got.data(), 8, nullptr, 8, params);
    for (int64_t o = 0; o < m; ++o) ASSERT_NEAR(got[o], expected[o], rtol * magnitude[o] + 1e-12) << seed << " " << mask;
  });
}

TEST(Reduce, SumFloat) { check_sum<float>(ScalarType::Float, 1e-6); }
TEST(Reduce, SumDouble) { check_sum<double>(ScalarType::Double, 1e-15); }
TEST(Reduce, SumHalf) { check_sum<c10::Half>(ScalarType::Half, 1e-6); }
TEST(Reduce, SumBFloat16) { check_sum<c10::BFloat16>(ScalarType::BFloat16, 1e-6); }
TEST(Reduce, SumInt8) { check_sum<int8_t>(ScalarType::Char, 0); }
TEST(Reduce, SumInt32) { check_sum<int32_t>(ScalarType::Int, 0); }
TEST(Reduce, SumUint8) { check_sum<uint8_t>(ScalarType::Byte, 0); }
TEST(Reduce, SumInt16) { check_sum<int16_t>(ScalarType::Short, 0); }
TEST(Reduce, SumInt64) { check_sum<int64_t>(ScalarType::Long, 0); }

TEST(Reduce, SumsOfNarrowIntegersOutgrowTheirLanes) {
  const int64_t n = (int64_t{1} << 22) + 77;
  const std::vector<uint8_t> bytes(n, 255);
  const std::vector<int16_t> shorts(n, -32768);
  EXPECT_EQ(integer_row_sum(bytes.data(), n), 255 * n);
  EXPECT_EQ(integer_row_sum(shorts.data(), n), -32768 * n);
}

TEST(Reduce, SumComplexAndNan) {
  const Layout l = contiguous({5, 40});
  auto x = values<c10::complex<float>>(200, 3);
  double re = 0, im = 0;
  for (const auto& v : x) re += v.real(), im += v.imag();
  c10::complex<float> out;
  ReduceParams params;
  params.out_type = ScalarType::ComplexFloat;
  run(sum_kernel(ScalarType::ComplexFloat), l, 3, x.data(), &out, 8, nullptr, 8, params);
  EXPECT_NEAR(out.real(), re, 1e-5);
  EXPECT_NEAR(out.imag(), im, 1e-5);

  auto y = values<float>(200, 4, true);
  y[0] = std::numeric_limits<float>::quiet_NaN();
  double expected = 0;
  for (float v : y) expected += v == v ? v : 0;
  float got = 0;
  params.out_type = ScalarType::Float;
  run(nansum_kernel(ScalarType::Float), l, 3, y.data(), &got, 4, nullptr, 8, params);
  EXPECT_NEAR(got, expected, 1e-5);
  run(sum_kernel(ScalarType::Float), l, 3, y.data(), &got, 4, nullptr, 8, params);
  EXPECT_TRUE(std::isnan(got));
}

// The error of a sum of 2^24 elements stays at that of a few roundings, in both directions of walking: of equal numbers,
// whose errors all have one sign, up to those of the additions that a lane of the narrowest vectors does in a block.
TEST(Reduce, SumErrorDoesNotGrow) {
  constexpr int64_t kN = 1 << 24;
  std::vector<float> x(kN, 0.1f);
  const double exact = static_cast<double>(0.1f) * kN;
  ReduceParams params;
  params.out_type = ScalarType::Float;
  float got = 0;
  run(sum_kernel(ScalarType::Float), contiguous({kN}), 1, x.data(), &got, 4, nullptr, 8, params);
  EXPECT_NEAR(got, exact, exact * 4e-7);
  float columns[8];
  run(sum_kernel(ScalarType::Float), contiguous({kN / 8, 8}), 1, x.data(), columns, 4, nullptr, 8, params);
  for (float c : columns) EXPECT_NEAR(c, exact / 8, exact / 8 * 4e-7);
  std::vector<float> y(kN);
  std::mt19937 gen(7);
  double sum = 0, error = 0;
  for (float& v : y) {
    v = static_cast<float>(gen() % 1000) * 1e-3f - 0.4f;
    const double t = sum + v;
    error += (sum - t) + v;
    sum = t;
  }
  run(sum_kernel(ScalarType::Float), contiguous({kN}), 1, y.data(), &got, 4, nullptr, 8, params);
  EXPECT_NEAR(got, sum + error, std::fabs(sum) * 1e-7);
}

TEST(Reduce, SumIsIndependentOfThreads) {
  const auto x = values<float>(1 << 20, 5);
  ReduceParams params;
  params.out_type = ScalarType::Float;
  const int before = at::get_num_threads();
  for (const Layout& l : {contiguous({1 << 20}), contiguous({1 << 17, 8}), contiguous({1 << 10, 1 << 10})}) {
    for (unsigned mask = 1; mask < 1u << l.sizes.size(); ++mask) {
      std::vector<float> one(outputs(l, mask)), more(one.size());
      at::set_num_threads(1);
      run(sum_kernel(ScalarType::Float), l, mask, x.data(), one.data(), 4, nullptr, 8, params);
      at::set_num_threads(3);
      run(sum_kernel(ScalarType::Float), l, mask, x.data(), more.data(), 4, nullptr, 8, params);
      EXPECT_EQ(one, more);
    }
  }
  at::set_num_threads(before);
}

template <class T>
void check_extreme(ScalarType type, bool nans) {
  unsigned seed = 100;
  each_case([&](const Layout& l, unsigned mask) {
    bool empty = false;
    for (size_t d = 0; d < l.sizes.size(); ++d) empty |= l.sizes[d] == 0;
    if (empty) return;
    const auto x = values<T>(extent(l), seed++, nans);
    const int64_t m = outputs(l, mask);
    for (bool max : {true, false}) {
      std::vector<double> best(m);
      std::vector<int64_t> where(m, -1), position(m, -7);
      walk(l, mask, [&](int64_t o, int64_t off, int64_t pos) {
        const double v = static_cast<double>(x[off]);
        const bool first = where[o] < 0;
        if (first || (best[o] == best[o] && (v != v || (max ? v > best[o] : v < best[o])))) {
          best[o] = v;
          where[o] = pos;
        }
      });
      std::vector<T> value(m), only(m);
      run(max ? argmax_kernel(type) : argmin_kernel(type), l, mask, x.data(), value.data(), sizeof(T), position.data(), 8, {});
      run(max ? max_kernel(type) : min_kernel(type), l, mask, x.data(), only.data(), sizeof(T), nullptr, 8, {});
      for (int64_t o = 0; o < m; ++o) {
        ASSERT_EQ(position[o], where[o]) << seed << " " << mask << " " << max;
        const double v = static_cast<double>(value[o]), w = static_cast<double>(only[o]);
        ASSERT_TRUE(v == best[o] || (v != v && best[o] != best[o]));
        ASSERT_TRUE(w == best[o] || (w != w && best[o] != best[o])) << w << " " << best[o];
      }
    }
  });
}

TEST(Reduce, ExtremeFloat) { check_extreme<float>(ScalarType::Float, false); }
TEST(Reduce, ExtremeFloatNan) { check_extreme<float>(ScalarType::Float, true); }
TEST(Reduce, ExtremeDoubleNan) { check_extreme<double>(ScalarType::Double, true); }
TEST(Reduce, ExtremeHalf) { check_extreme<c10::Half>(ScalarType::Half, true); }
TEST(Reduce, ExtremeBFloat16) { check_extreme<c10::BFloat16>(ScalarType::BFloat16, true); }
TEST(Reduce, ExtremeInt64) { check_extreme<int64_t>(ScalarType::Long, false); }
TEST(Reduce, ExtremeUint8) { check_extreme<uint8_t>(ScalarType::Byte, false); }

template <class T>
void check_moments(ScalarType type, double tol) {
  unsigned seed = 200;
  each_case([&](const Layout& l, unsigned mask) {
    auto x = values<T>(extent(l), seed++);
    const int64_t m = outputs(l, mask);
    std::vector<double> sum(m), square(m), count(m);
    walk(l, mask, [&](int64_t o, int64_t off, int64_t) { sum[o] += static_cast<double>(x[off]), count[o] += 1; });
    walk(l, mask, [&](int64_t o, int64_t off, int64_t) {
      const double d = static_cast<double>(x[off]) - sum[o] / count[o];
      square[o] += d * d;
    });
    std::vector<T> var(m), mean(m);
    ReduceParams params;
    run(moments_kernel(type), l, mask, x.data(), var.data(), sizeof(T), mean.data(), sizeof(T), params);
    for (int64_t o = 0; o < m; ++o) {
      const double v = static_cast<double>(var[o]);
      if (count[o] <= 1) {
        ASSERT_TRUE(std::isnan(v)) << v;
      } else {
        ASSERT_NEAR(v, square[o] / (count[o] - 1), tol * (1 + square[o] / (count[o] - 1)));
        ASSERT_NEAR(static_cast<double>(mean[o]), sum[o] / count[o], tol);
      }
    }
  });
}

TEST(Reduce, MomentsFloat) { check_moments<float>(ScalarType::Float, 1e-6); }
TEST(Reduce, MomentsDouble) { check_moments<double>(ScalarType::Double, 2e-12); }
TEST(Reduce, MomentsHalf) { check_moments<c10::Half>(ScalarType::Half, 1e-3); }

TEST(Reduce, MomentsFarFromZero) {
  std::vector<float> x(100000);
  for (size_t i = 0; i < x.size(); ++i) x[i] = 10000.0f + static_cast<float>(i % 3);
  float var = 0, mean = 0;
  run(moments_kernel(ScalarType::Float), contiguous({100000}), 1, x.data(), &var, 4, &mean, 4, {});
  EXPECT_NEAR(var, 0.66667, 2e-5);
  EXPECT_NEAR(mean, 10001, 1e-3);
}

// Columns whose first rows say little about the rest: another mean, nothing but one number, numbers that are no numbers.
TEST(Reduce, MomentsOfColumnsThatChange) {
  constexpr int64_t kRows = 1000, kCols = 70;
  std::vector<float> x(kRows * kCols);
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  for (int64_t kind = 0; kind < 6; ++kind) {
    for (int64_t i = 0; i < kRows; ++i) {
      for (int64_t j = 0; j < kCols; ++j) {
        const float early = i < 100 ? 1.0f : 0.0f, v = normal(random);
        const float all[] = {v + 1000 * early, v + 5000, early * 3, 7.1f, 1e4f + v * 1e-3f, early == 0 ? v : 0.0f};
        x[static_cast<size_t>(i * kCols + j)] = j == 33 ? all[kind] : kind == 0 ? v + static_cast<float>(j) : v;
      }
    }
    std::vector<float> var(kCols), mean(kCols);
    run(moments_kernel(ScalarType::Float), contiguous({kRows, kCols}), 1, x.data(), var.data(), 4, mean.data(), 4, {});
    for (int64_t j = 0; j < kCols; ++j) {
      double sum = 0, square = 0;
      for (int64_t i = 0; i < kRows; ++i) sum += static_cast<double>(x[static_cast<size_t>(i * kCols + j)]);
      for (int64_t i = 0; i < kRows; ++i) {
        const double off = static_cast<double>(x[static_cast<size_t>(i * kCols + j)]) - sum / kRows;
        square += off * off;
      }
      ASSERT_NEAR(var[static_cast<size_t>(j)], square / (kRows - 1), 1e-6 * square / (kRows - 1)) << kind << " " << j;
      ASSERT_NEAR(mean[static_cast<size_t>(j)], sum / kRows, 1e-7 * (1 + std::fabs(sum / kRows))) << kind << " " << j;
    }
  }
  x[500 * kCols + 3] = std::numeric_limits<float>::quiet_NaN();
  x[900 * kCols + 4] = std::numeric_limits<float>::infinity();
  std::vector<float> var(kCols), mean(kCols);
  run(moments_kernel(ScalarType::Float), contiguous({kRows, kCols}), 1, x.data(), var.data(), 4, mean.data(), 4, {});
  EXPECT_TRUE(std::isnan(var[3]) && std::isnan(mean[3]) && std::isnan(var[4]));
  EXPECT_EQ(mean[4], std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isfinite(var[5]) && std::isfinite(mean[5]));
}

TEST(Reduce, Logical) {
  each_case([&](const Layout& l, unsigned mask) {
    auto x = values<float>(extent(l), 9);
    for (auto& v : x) v = std::fabs(v) < 0.02f ? 0.0f : v;
    const int64_t m = outputs(l, mask);
    std::vector<int64_t> nonzero(m), total(m), got(m);
    std::vector<uint8_t> all(m, 9), any(m, 9);
    walk(l, mask, [&](int64_t o, int64_t off, int64_t) { nonzero[o] += x[off] != 0, total[o] += 1; });
    run(count_nonzero_kernel(ScalarType::Float), l, mask, x.data(), got.data(), 8, nullptr, 8, {});
    run(all_kernel(ScalarType::Float), l, mask, x.data(), all.data(), 1, nullptr, 8, {});
    run(any_kernel(ScalarType::Float), l, mask, x.data(), any.data(), 1, nullptr, 8, {});
    ASSERT_EQ(got, nonzero);
    for (int64_t o = 0; o < m; ++o) {
      ASSERT_EQ(all[o], nonzero[o] == total[o]);
      ASSERT_EQ(any[o], nonzero[o] > 0);
    }
  });
}

TEST(Reduce, NormsAndLogSumExp) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  each_case([&](const Layout& l, unsigned mask) {
    const auto x = values<float>(extent(l), 11);
    const int64_t m = outputs(l, mask);
    for (double p : {0.0, 1.0, 2.0, 3.0, kInf, -kInf}) {
      std::vector<double> expected(m, p == -kInf ? kInf : 0.0), got(m);
      walk(l, mask, [&](int64_t o, int64_t off, int64_t) {
        const double a = std::fabs(static_cast<double>(x[off]));
        double& e = expected[o];
        if (p == kInf) {
          e = std::max(e, a);
        } else if (p == -kInf) {
          e = std::min(e, a);
        } else {
          e += p == 0 ? (a != 0) : std::pow(a, p);
        }
      });
      ReduceParams params;
      params.out_type = ScalarType::Double;
      params.p = p;
      run(norm_kernel(ScalarType::Float, p), l, mask, x.data(), got.data(), 8, nullptr, 8, params);
      for (int64_t o = 0; o < m; ++o) {
        const double e = p == 2 || p == 3 ? std::pow(expected[o], 1 / p) : expected[o];
        if (std::isinf(e)) {
          ASSERT_EQ(got[o], e);
        } else {
          ASSERT_NEAR(got[o], e, 1e-6 * (1 + e)) << p;
        }
      }
    }
    std::vector<double> sum(m), got(m);
    walk(l, mask, [&](int64_t o, int64_t off, int64_t) { sum[o] += std::exp(static_cast<double>(x[off])); });
    ReduceParams params;
    params.out_type = ScalarType::Double;
    run(logsumexp_kernel(ScalarType::Float), l, mask, x.data(), got.data(), 8, nullptr, 8, params);
    for (int64_t o = 0; o < m; ++o) {
      if (sum[o] == 0) {
        ASSERT_EQ(got[o], -kInf);
      } else {
        ASSERT_NEAR(got[o], std::log(sum[o]), 1e-5);
      }
    }
  });
}

TEST(Reduce, Prod) {
  each_case([&](const Layout& l, unsigned mask) {
    auto x = values<double>(extent(l), 13);
    for (auto& v : x) v = 1 + v / 1e5;
    const int64_t m = outputs(l, mask);
    std::vector<double> expected(m, 1.0), got(m);
    walk(l, mask, [&](int64_t o, int64_t off, int64_t) { expected[o] *= x[off]; });
    ReduceParams params;
    params.out_type = ScalarType::Double;
    run(prod_kernel(ScalarType::Double), l, mask, x.data(), got.data(), 8, nullptr, 8, params);
    for (int64_t o = 0; o < m; ++o) ASSERT_NEAR(got[o], expected[o], 1e-9 * expected[o]);
  });
}

}  // namespace
}  // namespace at::cpu

#include "aten/cpu/lapack/lapack.h"

#include <algorithm>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "aten/cpu/isa.h"
#include "aten/cpu/lapack/routines.h"
#include "aten/cpu/lapack/small.h"
#include "gtest/gtest.h"

namespace {

using namespace at::cpu::lapack;

// As the operators call it. A thread sanitizer would see races between the threads of OpenBLAS.
[[maybe_unused]] const bool kOneThread = (use_one_thread(), true);

template <class T>
std::vector<T> numbers(int count, unsigned seed) {
  std::mt19937 bits(seed);
  std::uniform_real_distribution<Real<T>> uniform(-1, 1);
  std::vector<T> all(static_cast<size_t>(count));
  for (T& x : all) {
    x = T(uniform(bits));
    if constexpr (is_complex<T>) x.imag(uniform(bits));
  }
  return all;
}

template <class T>
double distance(T x, T y) {
  return static_cast<double>(magnitude(x - y));
}

template <class T>
class LapackTest : public ::testing::Test {};
using Types = ::testing::Types<float, double, c10::complex<float>, c10::complex<double>>;
TYPED_TEST_SUITE(LapackTest, Types);

// |PA - LU| and the residuals of systems, on both sides of the size from which LAPACK is called.
TYPED_TEST(LapackTest, LuSolves) {
  using T = TypeParam;
  const double tolerance = std::is_same_v<Real<T>, float> ? 2e-3 : 1e-10;
  for (int n : {1, 2, 5, 8, 9, 20}) {
    for (char trans : {'N', 'T', 'C'}) {
      const std::vector<T> a = numbers<T>(n * n, 1), b = numbers<T>(n * 3, 100);
      std::vector<T> lu = a, x = b;
      std::vector<int> pivots(static_cast<size_t>(n));
      ASSERT_EQ(getrf(n, n, lu.data(), n, pivots.data()), 0);
      ASSERT_EQ(getrs(trans, n, 3, lu.data(), n, pivots.data(), x.data(), n), 0);
      for (int c = 0; c < 3; ++c) {
        for (int i = 0; i < n; ++i) {
          T sum(0);
          for (int j = 0; j < n; ++j) {
            const T element = trans == 'N' ? a[static_cast<size_t>(i + j * n)] : a[static_cast<size_t>(j + i * n)];
            sum += (trans == 'C' ? conjugate(element) : element) * x[static_cast<size_t>(j + c * n)];
          }
          ASSERT_LT(distance(sum, b[static_cast<size_t>(i + c * n)]), tolerance) << n << trans;
        }
      }
    }
  }
}

TYPED_TEST(LapackTest, CholeskyOfBothTriangles) {
  using T = TypeParam;
  const double tolerance = std::is_same_v<Real<T>, float> ? 1e-3 : 1e-10;
  for (int n : {1, 3, 8, 12}) {
    const std::vector<T> x = numbers<T>(n * n, 1);
    std::vector<T> a(x.size());
    const auto product = [&](int i, int j) {
      T sum(i == j ? 1 : 0);
      for (int k = 0; k < n; ++k)
        sum += x[static_cast<size_t>(i + k * n)] * conjugate(x[static_cast<size_t>(j + k * n)]);
      return sum;
    };
    for (int i = 0; i < n * n; ++i) a[static_cast<size_t>(i)] = product(i % n, i / n);
    for (char uplo : {'L', 'U'}) {
      std::vector<T> factor = a;
      ASSERT_EQ(potrf(uplo, n, factor.data(), n), 0);
      const auto l = [&](int i, int j) {
        if (j > i) return T(0);
        return uplo == 'L' ? factor[static_cast<size_t>(i + j * n)] : conjugate(factor[static_cast<size_t>(j + i * n)]);
      };
      for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
          T sum(0);
          for (int k = 0; k < n; ++k) sum += l(i, k) * conjugate(l(j, k));
          ASSERT_LT(distance(sum, a[static_cast<size_t>(i + j * n)]), tolerance) << n << uplo;
        }
      }
    }
    a[0] = T(-1);
    EXPECT_EQ(potrf('L', n, a.data(), n), 1);
  }
}

TYPED_TEST(LapackTest, TriangularSystemsFromBothSides) {
  using T = TypeParam;
  const double tolerance = std::is_same_v<Real<T>, float> ? 1e-3 : 1e-10;
  for (int n : {1, 4, 8, 11}) {
    std::vector<T> a = numbers<T>(n * n, 1);
    for (int i = 0; i < n; ++i) a[static_cast<size_t>(i + i * n)] = T(3);
    for (T& x : a) x = x / T(2);
    for (char uplo : {'L', 'U'}) {
      for (char trans : {'N', 'T', 'C'}) {
        for (char diag : {'N', 'U'}) {
          const std::vector<T> b = numbers<T>(n * 2, 50);
          std::vector<T> x = b;
          trsm('L', uplo, trans, diag, n, 2, a.data(), n, x.data(), n);
          const auto element = [&](int i, int j) {
            const int r = trans == 'N' ? i : j, c = trans == 'N' ? j : i;
            if (r == c && diag == 'U') return T(1);
            if (uplo == 'L' ? c > r : r > c) return T(0);
            const T value = a[static_cast<size_t>(r + c * n)];
            return trans == 'C' ? conjugate(value) : value;
          };
          for (int c = 0; c < 2; ++c) {
            for (int i = 0; i < n; ++i) {
              T sum(0);
              for (int j = 0; j < n; ++j) sum += element(i, j) * x[static_cast<size_t>(j + c * n)];
              ASSERT_LT(distance(sum, b[static_cast<size_t>(i + c * n)]), tolerance) << n << uplo << trans << diag;
            }
          }
        }
      }
    }
  }
}

TYPED_TEST(LapackTest, SingularMatricesNameTheirPivot) {
  using T = TypeParam;
  for (int n : {3, 10}) {
    std::vector<T> zero(static_cast<size_t>(n * n), T(0));
    zero[0] = T(1);
    std::vector<int> pivots(static_cast<size_t>(n));
    EXPECT_EQ(getrf(n, n, zero.data(), n, pivots.data()), 2);
    EXPECT_EQ(pivots[static_cast<size_t>(n - 1)], n);
  }
}

// A v = lambda v with complex pairs of a real matrix.
TYPED_TEST(LapackTest, Eigenvectors) {
  using T = TypeParam;
  using Complex = c10::complex<Real<T>>;
  const int n = 7;
  const std::vector<T> a = numbers<T>(n * n, 1);
  std::vector<T> work = a;
  std::vector<Complex> values(n), vectors(n * n), alone(n);
  Workspace<T> w;
  ASSERT_EQ(geev(n, work.data(), n, values.data(), vectors.data(), n, w), 0);
  for (int k = 0; k < n; ++k) {
    for (int i = 0; i < n; ++i) {
      Complex sum(0);
      for (int j = 0; j < n; ++j) {
        sum += Complex(a[static_cast<size_t>(i + j * n)]) * vectors[static_cast<size_t>(j + k * n)];
      }
      ASSERT_LT(distance(sum, values[static_cast<size_t>(k)] * vectors[static_cast<size_t>(i + k * n)]), 1e-3);
    }
  }
}

// --- Batches: what is computed several matrices at once is what LAPACK gives one by one ---
template <class T>
class BatchTest : public ::testing::Test {};
TYPED_TEST_SUITE(BatchTest, Types);

template <class F>
void for_each_isa(const F& f) {
  const auto best = at::cpu::isa();
  for (const auto isa : {at::cpu::Isa::kAvx512, at::cpu::Isa::kAvx2, at::cpu::Isa::kSse4, at::cpu::Isa::kBaseline}) {
    if (isa < best) continue;
    at::cpu::limit_isa(isa);
    f();
  }
  at::cpu::limit_isa(best);
}

template <class T>
void expect_near(const std::vector<T>& got, const std::vector<T>& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  double scale = 1;
  for (const T& x : want) scale = std::max(scale, static_cast<double>(magnitude(x)));
  for (size_t i = 0; i < got.size(); ++i) ASSERT_LE(distance(got[i], want[i]), tolerance * scale) << i;
}

template <class T>
Real<T> real_part(T x) {
  if constexpr (is_complex<T>) {
    return x.real();
  } else {
    return x;
  }
}

template <class T>
constexpr double kBatchTolerance = std::is_same_v<Real<T>, float> ? 1e-3 : 1e-11;

constexpr int kSizes[] = {1, 2, 3, 7, 8, 9, 16, 23, 24, 25};
constexpr int kCounts[] = {0, 1, 7, 8, 9, 16, 37};

TYPED_TEST(BatchTest, LuAndItsSolutions) {
  using T = TypeParam;
  for_each_isa([] {
    for (const int n : kSizes) {
      for (const int count : kCounts) {
        const std::vector<T> a = numbers<T>(n * n * count, static_cast<unsigned>(n + count));
        std::vector<T> lu = a, want = a;
        std::vector<int> pivots(static_cast<size_t>(n * count)), info(static_cast<size_t>(count), -1);
        std::vector<int> expected = pivots;
        getrf_batch(count, count, n, n, lu.data(), pivots.data(), info.data());
        for (int k = 0; k < count; ++k) {
          EXPECT_EQ(getrf(n, n, want.data() + k * n * n, n, expected.data() + k * n), info[static_cast<size_t>(k)]);
        }
        ASSERT_EQ(pivots, expected) << n << " " << count;
        expect_near(lu, want, kBatchTolerance<T>);
        for (const char trans : {'N', 'T', 'C'}) {
          for (const int sides : {1, 4, 6, 40}) {
            const std::vector<T> b = numbers<T>(n * sides * count, 5);
            std::vector<T> x = b, y = b;
            getrs_batch(trans, count, count, n, sides, want.data(), pivots.data(), x.data());
            for (int k = 0; k < count; ++k) {
              getrs(trans, n, sides, want.data() + k * n * n, n, pivots.data() + k * n, y.data() + k * n * sides, n);
            }
            expect_near(x, y, 20 * kBatchTolerance<T>);
          }
        }
      }
    }
  });
}

TYPED_TEST(BatchTest, SingularMatricesAreToldApart) {
  using T = TypeParam;
  for_each_isa([] {
    constexpr int n = 9, count = 21;
    std::vector<T> a = numbers<T>(n * n * count, 1);
    std::vector<int> pivots(n * count), info(count), expected(count);
    for (int k = 0; k < count; ++k) {
      for (int i = 0; i < n && k % 3 != 0; ++i) a[static_cast<size_t>(k * n * n + k % n * n + i)] = T(0);
    }
    std::vector<T> lu = a;
    getrf_batch(count, count, n, n, lu.data(), pivots.data(), info.data());
    for (int k = 0; k < count; ++k) {
      EXPECT_EQ(info[static_cast<size_t>(k)], k % 3 != 0 ? k % n + 1 : 0);
      expected[static_cast<size_t>(k)] = getrf(n, n, a.data() + k * n * n, n, pivots.data());
    }
    EXPECT_EQ(info, expected);
    expect_near(lu, a, kBatchTolerance<T>);
  });
}

TYPED_TEST(BatchTest, CholeskyAndTriangles) {
  using T = TypeParam;
  for_each_isa([] {
    for (const int n : kSizes) {
      for (const int count : kCounts) {
        // Positive definite by its diagonal, but for every fifth, whose last minor is not.
        std::vector<T> a = numbers<T>(n * n * count, 3);
        for (int k = 0; k < count; ++k) {
          T* const m = a.data() + k * n * n;
          for (int i = 0; i < n; ++i) {
            for (int j = 0; j < i; ++j) m[j + i * n] = conjugate(m[i + j * n]);
            m[i + i * n] = T(static_cast<Real<T>>(n + 1));
          }
          if (k % 5 == 4) m[n * n - 1] = T(-1);
        }
        for (const char uplo : {'L', 'U'}) {
          std::vector<T> factor = a, want = a;
          std::vector<int> info(static_cast<size_t>(count), -1);
          potrf_batch(uplo, count, count, n, factor.data(), info.data());
          for (int k = 0; k < count; ++k) {
            EXPECT_EQ(info[static_cast<size_t>(k)], potrf(uplo, n, want.data() + k * n * n, n)) << n << " " << k;
            if (k % 5 == 4) {
              EXPECT_EQ(info[static_cast<size_t>(k)], n);
              // What is left of it is not stated.
              std::copy_n(want.data() + k * n * n, n * n, factor.data() + k * n * n);
            }
          }
          expect_near(factor, want, kBatchTolerance<T>);
          for (const int sides : {1, 5, 35}) {
            const std::vector<T> b = numbers<T>(n * sides * count, 7);
            std::vector<T> x = b, y = b, u = b, v = b, r = b, s = b;
            potrs_batch(uplo, count, count, n, sides, a.data(), x.data());
            trsm_batch('L', uplo, 'U', count, count, n, sides, a.data(), u.data());
            const std::vector<T> right = numbers<T>(sides * sides * count, 9);
            trsm_batch('R', uplo, 'U', count, count, n, sides, right.data(), r.data());
            for (int k = 0; k < count; ++k) {
              const int64_t at = int64_t{k} * n * sides;
              potrs(uplo, n, sides, a.data() + k * n * n, n, y.data() + at, n);
              trsm('L', uplo, 'N', 'U', n, sides, a.data() + k * n * n, n, v.data() + at, n);
              trsm('R', uplo, 'N', 'U', n, sides, right.data() + int64_t{k} * sides * sides, sides, s.data() + at, n);
            }
            expect_near(x, y, kBatchTolerance<T>);
            expect_near(u, v, 20 * kBatchTolerance<T>);
            EXPECT_EQ(r, s);
          }
        }
      }
    }
  });
}

// Values as LAPACK has them, ascending; A v = lambda v of orthonormal v. The other triangle is not read.
TYPED_TEST(BatchTest, EigenvaluesAndVectors) {
  using T = TypeParam;
  using R = Real<T>;
  for_each_isa([] {
    for (const int n : kSizes) {
      for (const int count : {1, 8, 21}) {
        std::vector<T> a = numbers<T>(n * n * count, static_cast<unsigned>(n));
        for (int k = 0; k < count; ++k) {
          // Of all sizes, and some with equal values: multiples of the identity, one of rank 1, zero.
          const R scale = k % 4 == 1 ? R(1e-30) : k % 4 == 2 ? R(1e15) : R(1);
          for (int j = 0; j < n; ++j) {
            for (int i = j; i < n; ++i) {
              T& lower = a[static_cast<size_t>(k * n * n + i + j * n)];
              if (i == j) lower = T(real_part(lower));
              if (k % 7 == 3) lower = T(i == j ? R(3) : R(0));
              if (k % 7 == 4) lower = T(R(1));
              if (k % 7 == 5) lower = T(R(0));
              lower = lower * T(scale);
            }
          }
        }
        std::vector<T> full = a;
        for (int k = 0; k < count; ++k) {
          T* const m = full.data() + k * n * n;
          for (int j = 0; j < n; ++j) {
            for (int i = 0; i < j; ++i) m[i + j * n] = conjugate(m[j + i * n]);
          }
        }
        for (const char uplo : {'L', 'U'}) {
          std::vector<T> vectors = uplo == 'L' ? a : full, alone = vectors, want = vectors;
          if (uplo == 'U') {
            for (int k = 0; k < count; ++k) {
              for (int j = 0; j < n; ++j) {
                for (int i = j + 1; i < n; ++i) vectors[static_cast<size_t>(k * n * n + i + j * n)] = T(R(77));
              }
            }
          }
          std::vector<R> values(static_cast<size_t>(n * count)), only = values, expected = values;
          std::vector<int> info(static_cast<size_t>(count), -1);
          syevd_batch(true, uplo, count, count, n, vectors.data(), values.data(), info.data());
          EXPECT_EQ(info, std::vector<int>(static_cast<size_t>(count)));
          syevd_batch(false, uplo, count, count, n, alone.data(), only.data(), info.data());
          Workspace<T> w;
          const R tolerance = 40 * static_cast<R>(n) * std::numeric_limits<R>::epsilon();
          for (int k = 0; k < count; ++k) {
            syevd(false, uplo, n, want.data() + k * n * n, n, expected.data() + k * n, w);
            const T *const m = full.data() + k * n * n, *const v = vectors.data() + k * n * n;
            R norm(0);
            for (int i = 0; i < n * n; ++i) norm = std::max(norm, magnitude(m[i]));
            for (int i = 0; i < n; ++i) {
              const R value = values[static_cast<size_t>(k * n + i)];
              ASSERT_NEAR(value, expected[static_cast<size_t>(k * n + i)], tolerance * norm) << n << " " << k;
              ASSERT_NEAR(value, only[static_cast<size_t>(k * n + i)], tolerance * norm);
              if (i > 0) ASSERT_LE(values[static_cast<size_t>(k * n + i - 1)], value);
              for (int j = 0; j < n; ++j) {
                T product(0), inner(0);
                for (int l = 0; l < n; ++l) {
                  product += m[j + l * n] * v[l + i * n];
                  inner += conjugate(v[l + j * n]) * v[l + i * n];
                }
                ASSERT_LE(magnitude(product - T(value) * v[j + i * n]), tolerance * norm) << n << " " << k;
                ASSERT_LE(magnitude(inner - T(R(i == j))), tolerance) << n << " " << k;
              }
            }
          }
        }
      }
    }
  });
}

// --- Large matrices, by halves ---
template <class T>
class BlockedTest : public ::testing::Test {};
using RealTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(BlockedTest, RealTypes);

// What LAPACK gives by itself, with a leading dimension that is larger than the matrix.
TYPED_TEST(BlockedTest, LuSolutionsAndTriangles) {
  using T = TypeParam;
  const double tolerance = std::is_same_v<T, float> ? 2e-3 : 1e-10;
  const std::vector<std::pair<int, int>> sizes{{9, 9},     {32, 32},   {33, 33},   {64, 64},
                                               {150, 150}, {257, 257}, {130, 200}, {200, 97}};
  for (const auto& [m, n] : sizes) {
    const int ld = m + 3, few = std::min(m, n);
    std::vector<T> a = numbers<T>(ld * n, static_cast<unsigned>(m)), want = a;
    for (int i = 0; i < few; ++i) a[static_cast<size_t>(i + i * ld)] += T(4);
    want = a;
    std::vector<int> pivots(static_cast<size_t>(few)), expected = pivots;
    ASSERT_EQ(getrf(m, n, a.data(), ld, pivots.data()), 0);
    int info = -1;
    Routines<T>::getrf(&m, &n, want.data(), &ld, expected.data(), &info);
    ASSERT_EQ(info, 0);
    EXPECT_EQ(pivots, expected);
    expect_near(a, want, tolerance);
    if (m != n) continue;
    for (const int sides : {1, 8, 33, 150}) {
      for (const char trans : {'N', 'T'}) {
        const std::vector<T> b = numbers<T>(ld * sides, 3);
        std::vector<T> x = b, y = b;
        getrs(trans, n, sides, want.data(), ld, expected.data(), x.data(), ld);
        Routines<T>::getrs(&trans, &n, &sides, want.data(), &ld, expected.data(), y.data(), &ld, &info, 1);
        expect_near(x, y, tolerance);
        for (const char uplo : {'L', 'U'}) {
          std::vector<T> u = b, v = b, triangle = want;
          // The diagonal of the upper factor keeps both triangles well conditioned.
          for (int j = 0; j < n; ++j) {
            for (int i = 0; i < n; ++i) {
              if (i != j) triangle[static_cast<size_t>(i + j * ld)] /= T(20);
            }
          }
          trsm('L', uplo, trans, 'N', n, sides, triangle.data(), ld, u.data(), ld);
          const char side = 'L', diag = 'N';
          const T one(1), *const t = triangle.data();
          Routines<T>::trsm(&side, &uplo, &trans, &diag, &n, &sides, &one, t, &ld, v.data(), &ld, 1, 1, 1, 1);
          expect_near(u, v, tolerance);
        }
      }
    }
  }
}

// Zeros on the diagonal, and what one over overflows: as divisions have it.
TYPED_TEST(BlockedTest, DiagonalsThatHaveNoInverse) {
  using T = TypeParam;
  constexpr int n = 12, sides = 20;
  for (const T diagonal : {T(0), std::numeric_limits<T>::denorm_min()}) {
    std::vector<T> a = numbers<T>(n * n, 4), b = numbers<T>(n * sides, 5), want = b;
    a[5 * n + 5] = diagonal;
    trsm('L', 'L', 'N', 'N', n, sides, a.data(), n, b.data(), n);
    const char side = 'L', uplo = 'L', trans = 'N', diag = 'N';
    const T one(1);
    Routines<T>::trsm(&side, &uplo, &trans, &diag, &n, &sides, &one, a.data(), &n, want.data(), &n, 1, 1, 1, 1);
    for (int c = 0; c < sides; ++c) {
      for (int i = 0; i < 5; ++i) EXPECT_LT(distance(b[c * n + i], want[c * n + i]), 1e-2);
      for (int i = 5; i < n; ++i) EXPECT_FALSE(std::isfinite(b[c * n + i]) && std::abs(b[c * n + i]) < 1e4);
    }
  }
}

TYPED_TEST(BlockedTest, TheFirstZeroPivotIsTold) {
  using T = TypeParam;
  constexpr int n = 150;
  for (const int zero : {0, 40, 149}) {
    std::vector<T> a = numbers<T>(n * n, 8);
    for (int i = 0; i < n; ++i) a[static_cast<size_t>(zero * n + i)] = T(0);
    std::vector<int> pivots(n);
    EXPECT_EQ(getrf(n, n, a.data(), n, pivots.data()), zero + 1);
  }
}

}  // namespace

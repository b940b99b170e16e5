#include "aten/cpu/lapack/lapack.h"

#include <random>
#include <vector>

#include "aten/cpu/lapack/small.h"
#include "gtest/gtest.h"

namespace {

using namespace at::cpu::lapack;

template <class T>
T number(int seed) {
  std::mt19937 bits(static_cast<unsigned>(seed));
  std::uniform_real_distribution<double> uniform(-1, 1);
  const double re = uniform(bits), im = uniform(bits);
  if constexpr (is_complex<T>) {
    return {static_cast<Real<T>>(re), static_cast<Real<T>>(im)};
  } else {
    return static_cast<T>(re);
  }
}

template <class T>
std::vector<T> matrix(int m, int n, int seed = 0) {
  std::vector<T> a(static_cast<size_t>(m * n));
  for (int i = 0; i < m * n; ++i) a[static_cast<size_t>(i)] = number<T>(i + seed);
  return a;
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
      const std::vector<T> a = matrix<T>(n, n), b = matrix<T>(n, 3, 100);
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
    const std::vector<T> x = matrix<T>(n, n);
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
    std::vector<T> a = matrix<T>(n, n);
    for (int i = 0; i < n; ++i) a[static_cast<size_t>(i + i * n)] = T(3);
    for (T& x : a) x = x / T(2);
    for (char uplo : {'L', 'U'}) {
      for (char trans : {'N', 'T', 'C'}) {
        for (char diag : {'N', 'U'}) {
          const std::vector<T> b = matrix<T>(n, 2, 50);
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
  const std::vector<T> a = matrix<T>(n, n);
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

}  // namespace

// Norms, ranks, pseudoinverses, least squares, powers and exponentials, products.
#include "aten/ops/linalg/ops.h"

#include <cmath>
#include <limits>
#include <optional>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/testing/testing.h"

namespace {

using namespace at;
using namespace at::testing;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr ScalarType kTypes[] = {kFloat, kDouble, kComplexFloat, kComplexDouble};

Tensor numbers(IntArrayRef sizes, ScalarType dtype = kDouble, unsigned seed = 1) {
  if (!isComplexType(dtype)) return sample(sizes, dtype, seed);
  const ScalarType real = toRealValueType(dtype);
  return at::complex(sample(sizes, real, seed), sample(sizes, real, seed + 1));
}

void expect_near(const Tensor& a, const Tensor& b, double scale = 1) {
  ASSERT_EQ(sizes(a), sizes(b));
  if (a.numel() == 0) return;
  const double tolerance = (toRealValueType(a.scalar_type()) == kFloat ? 2e-4 : 1e-11) * scale;
  double largest = 1;
  for (double x : values(at::abs(b))) largest = std::max(largest, x);
  for (double x : values(at::abs(at::sub(a, b)))) ASSERT_LT(x, tolerance * largest);
}

Tensor small_matrix() {
  return tensor_of({1, -2, 3, 4}, {2, 2}, kDouble);
}

TEST(LinalgProductsTest, LeastSquares) {
  for (ScalarType type : kTypes) {
    for (const char* driver : {"gels", "gelsy", "gelsd", "gelss"}) {
      const Tensor A = numbers({2, 6, 3}, type), B = numbers({2, 6, 2}, type, 4);
      const auto [X, residuals, rank, S] = at::linalg_lstsq(A, B, std::nullopt, driver);
      // What is left is orthogonal to the columns.
      const Tensor left = at::sub(at::matmul(A, X), B);
      expect_near(at::matmul(at::adjoint(A), left), at::zeros_like(X), 10);
      const std::string name = driver;
      if (name != "gelsy") expect_near(residuals, at::sum(at::square(at::abs(left)), IntArrayRef{-2}));
      if (name != "gels") EXPECT_EQ(values(rank), (std::vector<double>{3, 3}));
      if (name == "gelsd" || name == "gelss") expect_near(S, at::linalg_svdvals(A));
    }
    const Tensor wide = numbers({3, 5}, type), b = numbers({3}, type, 2);
    const Tensor x = std::get<0>(at::linalg_lstsq(wide, b));
    expect_near(at::mv(wide, x), b, 10);
    expect_near(x, at::mv(at::linalg_pinv(wide, 1e-6), b), 10);
  }
  const Tensor ones = at::ones({3, 2}, blank({}).options());
  EXPECT_EQ(values(std::get<2>(at::linalg_lstsq(ones, at::narrow(ones, 1, 0, 1), std::nullopt, "gelsy"))),
            std::vector<double>{1});
  EXPECT_EQ(std::get<2>(at::linalg_lstsq(small_matrix(), small_matrix())).numel(), device().is_cuda() ? 0 : 1);
  EXPECT_EQ(values(std::get<0>(at::linalg_lstsq(blank({0, 2}, kDouble), blank({0, 1}, kDouble)))),
            (std::vector<double>{0, 0}));
  expect_error<Error>(
      [] {
        at::linalg_lstsq(numbers({3, 2}), numbers({4, 1}));
      },
      "torch.linalg.lstsq: input.size(-2) should match other.size(-2)");
  expect_error<Error>(
      [] {
        at::linalg_lstsq(numbers({3, 2}), numbers({3, 1}), std::nullopt, "x");
      },
      "parameter `driver` should be one of (gels, gelsy, gelsd, gelss)");
  expect_error<Error>([] { at::linalg_lstsq(numbers({3}), numbers({3})); },
                      "torch.linalg.lstsq: input must have at least 2 dimensions.");
}

TEST(LinalgProductsTest, Pseudoinverses) {
  for (ScalarType type : kTypes) {
    for (const Tensor& A : layouts(numbers({2, 5, 3}, type))) {
      const Tensor P = at::linalg_pinv(A);
      expect_near(at::matmul(A, at::matmul(P, A)), at::clone(A), 10);
      expect_near(at::matmul(P, at::matmul(A, P)), P, 10);
      expect_near(at::pinverse(A), P);
      expect_near(at::linalg_pinv(A, 1e-5), P);
    }
    const Tensor half = numbers({3, 3}, type), hermitian = at::add(half, at::adjoint(half));
    expect_near(at::linalg_pinv(hermitian, 1e-6, true), at::linalg_inv(hermitian), 100);
  }
  const Tensor both = at::expand(at::eye(2, 2, blank({}, kDouble).options()), {2, 2, 2});
  const Tensor P = at::linalg_pinv(both, tensor_of({0.5, 2}, {2}, kDouble), std::nullopt);
  EXPECT_EQ(values(P), (std::vector<double>{1, 0, 0, 1, 0, 0, 0, 0}));
  expect_error<Error>([] { at::linalg_pinv(numbers({3})); },
                      "linalg.pinv(Double{[3]}): expected a tensor with 2 or more dimensions of float, double, cfloat "
                      "or cdouble types");
  expect_error<Error>(
      [] {
        at::linalg_pinv(numbers({2, 2}), numbers({}, kComplexFloat), std::nullopt);
      },
      "torch.linalg.pinv: atol tensor of complex type is not supported. Got ComplexFloat");
}

TEST(LinalgProductsTest, Ranks) {
  const Tensor A = at::matmul(numbers({2, 4, 2}), numbers({2, 2, 5}, kDouble, 3));
  EXPECT_EQ(values(at::linalg_matrix_rank(A)), (std::vector<double>{2, 2}));
  EXPECT_EQ(at::linalg_matrix_rank(A).scalar_type(), kLong);
  const Tensor diagonal = at::diag(tensor_of({3, 2, 1}, {3}, kDouble));
  EXPECT_EQ(values(at::linalg_matrix_rank(diagonal, 1.5)), std::vector<double>{2});
  EXPECT_EQ(values(at::linalg_matrix_rank(diagonal, std::optional<double>(), std::optional<double>(0.9), true)),
            std::vector<double>{1});
  EXPECT_EQ(values(at::linalg_matrix_rank(diagonal, tensor_of({0.5, 2.5}, {2}, kDouble))), (std::vector<double>{3, 1}));
  expect_error<Error>([] { at::linalg_matrix_rank(numbers({3})); },
                      "torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions.");
}

TEST(LinalgProductsTest, Norms) {
  const Tensor x = tensor_of({3, -4, 0}, {3}, kDouble);
  expect_close(at::linalg_vector_norm(x), {5}, 1e-12);
  expect_close(at::linalg_vector_norm(x, 1), {7}, 1e-12);
  expect_close(at::linalg_vector_norm(x, 0), {2}, 1e-12);
  expect_close(at::linalg_vector_norm(x, kInfinity), {4}, 1e-12);
  expect_close(at::linalg_vector_norm(x, -kInfinity), {0}, 1e-12);
  expect_close(at::linalg_vector_norm(x, 3), {std::cbrt(91.0)}, 1e-12);
  EXPECT_EQ(at::linalg_vector_norm(sample({3}), 2, {}, false, kDouble).scalar_type(), kDouble);
  EXPECT_EQ(at::linalg_vector_norm(numbers({3}, kComplexFloat)).scalar_type(), kFloat);
  const Tensor A = small_matrix();
  expect_close(at::linalg_matrix_norm(A, 1), {6}, 1e-12);
  expect_close(at::linalg_matrix_norm(A, -1), {4}, 1e-12);
  expect_close(at::linalg_matrix_norm(A, kInfinity), {7}, 1e-12);
  expect_close(at::linalg_matrix_norm(A, -kInfinity), {3}, 1e-12);
  expect_close(at::linalg_matrix_norm(A), {std::sqrt(30.0)}, 1e-12);
  const std::vector<double> s = values(at::linalg_svdvals(A));
  expect_close(at::linalg_matrix_norm(A, 2), {s[0]}, 1e-12);
  expect_close(at::linalg_matrix_norm(A, -2), {s[1]}, 1e-12);
  expect_close(at::linalg_matrix_norm(A, "nuc"), {s[0] + s[1]}, 1e-12);
  expect_close(at::nuclear_norm(A), {s[0] + s[1]}, 1e-12);
  const Tensor t = numbers({3, 4, 5});
  for (double ord : {1.0, -1.0, 2.0, -2.0, kInfinity, -kInfinity}) {
    const Tensor moved = at::linalg_matrix_norm(at::movedim(t, 0, 2), ord, {1, 2});
    expect_near(at::linalg_matrix_norm(t, ord, {2, 0}), moved);
    EXPECT_EQ(sizes(at::linalg_matrix_norm(t, ord, {2, 0}, true)), (std::vector<int64_t>{1, 4, 1}));
  }
  expect_close(at::linalg_norm(A, 1), {6}, 1e-12);
  expect_close(at::linalg_norm(A), {std::sqrt(30.0)}, 1e-12);
  expect_close(at::linalg_norm(A, "nuc"), {s[0] + s[1]}, 1e-12);
  EXPECT_EQ(sizes(at::linalg_norm(t, 1, IntArrayRef{1}, true)), (std::vector<int64_t>{3, 1, 5}));
  EXPECT_EQ(values(at::linalg_matrix_norm(blank({2, 0, 3}, kDouble), 2)), (std::vector<double>{0, 0}));
}

TEST(LinalgProductsTest, NormsThatDoNotExist) {
  expect_error<NotImplementedError>(
      [] { at::linalg_vector_norm(sample({3}, kInt)); },
      "linalg.vector_norm: Expected a floating point or complex tensor as input. Got Int");
  expect_error<Error>([] { at::linalg_vector_norm(blank({0}), kInfinity); },
                      "linalg.vector_norm cannot compute the inf norm on an empty tensor");
  expect_error<Error>(
      [] {
        at::linalg_vector_norm(blank({0, 2}), -1, IntArrayRef{0});
      },
      "linalg.vector_norm cannot compute the -1 norm on the dimension 0");
  expect_error<Error>([] { at::linalg_vector_norm(sample({3}, kDouble), 2, {}, false, kFloat); },
                      "should be convertible without narrowing");
  expect_error<Error>([] { at::linalg_vector_norm(sample({3}), 2, {}, false, kComplexFloat); },
                      "dtype should be real for real inputs");
  expect_error<Error>([] { at::linalg_matrix_norm(small_matrix(), 3); }, "linalg.matrix_norm: Order 3 not supported.");
  expect_error<Error>([] { at::linalg_matrix_norm(small_matrix(), "x"); },
                      "linalg.matrix_norm: Order x not supported.");
  expect_error<Error>(
      [] {
        at::linalg_matrix_norm(small_matrix(), 1, {0, 0});
      },
      "linalg.matrix_norm: dims must be different. Got (0, 0)");
  expect_error<Error>([] { at::linalg_matrix_norm(small_matrix(), 1, {0}); },
                      "linalg.matrix_norm: dim must be a 2-tuple. Got 0");
  expect_error<Error>([] { at::linalg_norm(sample({3, 3, 3}), 2); }, "the input must be 1D or 2D. Got 3D.");
  expect_error<Error>(
      [] {
        at::linalg_norm(sample({3, 3, 3}), std::nullopt, IntArrayRef{0, 1, 2});
      },
      "it must be of length 1 or 2. Got [0, 1, 2]");
}

TEST(LinalgProductsTest, ConditionNumbers) {
  const Tensor A = at::diag(tensor_of({4, 2}, {2}, kDouble));
  expect_close(at::linalg_cond(A), {2}, 1e-12);
  expect_close(at::linalg_cond(A, -2), {0.5}, 1e-12);
  expect_close(at::linalg_cond(A, 1), {2}, 1e-12);
  expect_close(at::linalg_cond(A, "fro"), {std::sqrt(20.0) * std::sqrt(1 / 16.0 + 1 / 4.0)}, 1e-12);
  expect_close(at::linalg_cond(A, "nuc"), {6 * 0.75}, 1e-12);
  EXPECT_EQ(values(at::linalg_cond(at::zeros_like(A), 1)), std::vector<double>{kInfinity});
  EXPECT_EQ(values(at::linalg_cond(blank({2, 0, 0}, kDouble), 1)), (std::vector<double>{0, 0}));
  expect_error<ValueError>([&] { at::linalg_cond(A, 3); }, "linalg.cond got an invalid norm type: 3");
  expect_error<Error>(
      [] {
        at::linalg_cond(numbers({2, 3}), 1);
      },
      "linalg.cond(ord=1): A must be batches of square matrices, but they are 2 by 3 matrices");
}

TEST(LinalgProductsTest, Powers) {
  const Tensor A = tensor_of({1, 1, 0, 1}, {2, 2}, kLong);
  EXPECT_EQ(values(at::matrix_power(A, 13)), (std::vector<double>{1, 13, 0, 1}));
  EXPECT_EQ(values(at::linalg_matrix_power(A, 0)), (std::vector<double>{1, 0, 0, 1}));
  const Tensor x = numbers({2, 3, 3});
  expect_near(at::matmul(at::linalg_matrix_power(x, -3), at::linalg_matrix_power(x, 3)),
              at::clone(at::expand(at::eye(3, 3, x.options()), {2, 3, 3})), 1e3);
  expect_near(at::linalg_matrix_power(x, 5), at::matmul(x, at::matmul(at::matmul(x, x), at::matmul(x, x))));
  expect_error<Error>(
      [] {
        at::linalg_matrix_power(numbers({2, 3}), 2);
      },
      "linalg.matrix_power: A must be batches of square matrices, but they are 2 by 3 matrices");
}

TEST(LinalgProductsTest, Exponentials) {
  for (ScalarType type : kTypes) {
    const Tensor A = numbers({3, 5, 5}, type);
    // Matrices of different sizes in one batch, against eigenvalues.
    const Tensor scales = at::to(tensor_of({0.001, 1, 4}, {3, 1, 1}, kDouble), toRealValueType(type));
    const Tensor x = at::mul(A, scales);
    const auto [L, V] = at::linalg_eig(x);
    const Tensor expected = at::matmul(V, at::matmul(at::diag_embed(at::exp(L)), at::linalg_inv(V)));
    const Tensor actual = at::linalg_matrix_exp(x);
    for (int64_t i = 0; i < 3; ++i)
      expect_near(at::to(at::select(actual, 0, i), L.scalar_type()), at::select(expected, 0, i), 100);
    expect_near(at::matrix_exp(x), actual);
  }
  expect_near(at::linalg_matrix_exp(at::zeros({2, 2}, blank({}).options())), at::eye(2, 2, blank({}).options()));
  EXPECT_EQ(at::linalg_matrix_exp(sample({2, 2}, kBFloat16)).scalar_type(), kBFloat16);
  // Many squarings: small matrices are computed in double, larger ones keep to the rounding of their largest element.
  for (const int64_t n : {5, 40}) {
    const Tensor x = at::mul(sample({n, n}, kFloat), Scalar(60.0 / static_cast<double>(n)));
    const Tensor exact = at::linalg_matrix_exp(at::to(x, kDouble)), error = at::abs(at::sub(at::to(at::linalg_matrix_exp(x), kDouble), exact));
    const Tensor bound = n == 5 ? at::mul(at::abs(exact), Scalar(0x1p-23)) : at::mul(at::amax(at::abs(exact)), Scalar(4e-6));
    EXPECT_TRUE(at::all(at::le(error, bound)).item<bool>()) << n;
  }
  expect_error<NotImplementedError>(
      [] {
        at::linalg_matrix_exp(sample({2, 2}, kInt));
      },
      "linalg.matrix_exp: Expected a floating point or complex tensor as input. Got Int");
}

TEST(LinalgProductsTest, Chains) {
  const Tensor a = numbers({2, 7}), b = numbers({7, 3}), c = numbers({3, 5}), d = numbers({5});
  expect_near(at::linalg_multi_dot({a, b, c}), at::matmul(a, at::matmul(b, c)));
  expect_near(at::linalg_multi_dot({a, b, c, d}), at::matmul(a, at::matmul(b, at::matmul(c, d))));
  EXPECT_EQ(sizes(at::linalg_multi_dot({d, d})), (std::vector<int64_t>{}));
  expect_error<Error>([&] { at::linalg_multi_dot({a}); }, "multi_dot(): expected at least 2 tensors but got 1");
  expect_error<Error>(
      [&] {
        at::linalg_multi_dot({a, a});
      },
      "multi_dot(): tensors 0 and 1 with shapes [2, 7] and [2, 7] cannot be multiplied");
  expect_error<Error>(
      [&] {
        at::linalg_multi_dot({a, numbers({7}), a});
      },
      "multi_dot(): tensor 1 must be 2D but got 1D");
  expect_error<Error>(
      [&] {
        at::linalg_multi_dot({numbers({2, 2, 2}), a});
      },
      "multi_dot(): the first tensor must be 1D or 2D but got 3D");
}

TEST(LinalgProductsTest, ProductsOfVectors) {
  EXPECT_EQ(values(at::linalg_cross(tensor_of({1, 0, 0}, {3}), tensor_of({0, 1, 0}, {3}))),
            (std::vector<double>{0, 0, 1}));
  EXPECT_EQ(sizes(at::linalg_cross(numbers({3, 4, 1}), numbers({3, 1, 2}), 0)), (std::vector<int64_t>{3, 4, 2}));
  expect_error<Error>([] { at::linalg_cross(numbers({3}), numbers({4})); },
                      "linalg.cross: inputs dimension -1 must have length 3. Got 3 and 4");
  expect_error<Error>(
      [] {
        at::linalg_cross(numbers({3}), numbers({2, 3}));
      },
      "linalg.cross: inputs must have the same number of dimensions.");
  const Tensor x = numbers({2, 3}, kComplexDouble), y = numbers({2, 3}, kComplexDouble, 5);
  expect_near(at::linalg_vecdot(x, y), at::sum(at::mul(at::conj(x), y), IntArrayRef{-1}));
  expect_near(at::linalg_vecdot(at::select(x, 0, 0), at::select(y, 0, 0)), at::select(at::linalg_vecdot(x, y), 0, 0));
  expect_error<NotImplementedError>([] { at::linalg_vecdot(sample({3}, kInt), sample({3}, kInt)); },
                                    "linalg.vecdot: Expected a floating point");
  EXPECT_EQ(values(at::linalg_vander(tensor_of({1, 2}, {2}, kInt), 4)), (std::vector<double>{1, 1, 1, 1, 1, 2, 4, 8}));
  EXPECT_EQ(at::linalg_vander(tensor_of({1, 2}, {2}, kInt)).scalar_type(), kLong);
  expect_error<Error>([] { at::linalg_vander(numbers({3}), 1); }, "N must be greater than 1.");
  EXPECT_EQ(values(at::linalg_diagonal(small_matrix())), (std::vector<double>{1, 4}));
}

TEST(LinalgProductsTest, SystemsOfTensors) {
  const Tensor A = at::add(numbers({2, 3, 6}),
                           at::reshape(at::mul(at::eye(6, 6, blank({}, kDouble).options()), Scalar(5)), {2, 3, 6}));
  const Tensor inverse = at::linalg_tensorinv(A, 2);
  EXPECT_EQ(sizes(inverse), (std::vector<int64_t>{6, 2, 3}));
  const Tensor b = numbers({2, 3}, kDouble, 8), x = at::linalg_tensorsolve(A, b);
  expect_near(at::tensordot(A, x, {2}, {0}), b);
  expect_near(at::tensordot(inverse, b, {1, 2}, {0, 1}), x);
  expect_near(at::linalg_tensorsolve(at::movedim(A, 2, 0), b, IntArrayRef{0}), x);
  expect_error<Error>([&] { at::linalg_tensorinv(A, 0); }, "Expected a strictly positive integer for 'ind', but got 0");
  expect_error<Error>([&] { at::linalg_tensorinv(A, 1); }, "but got 18 != 2");
  expect_error<Error>([&] { at::linalg_tensorsolve(A, numbers({2})); }, "but got 18 != 2");
}

}  // namespace

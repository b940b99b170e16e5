#include <algorithm>
#include <cmath>
#include <limits>

#include "aten/core/empty.h"
#include "aten/ops/scan/ops.h"
#include "aten/testing/testing.h"

namespace at::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <class F>
std::vector<double> plain_scan(const Tensor& t, int64_t dim, const F& join) {
  auto v = values(t);
  int64_t inner = 1;
  for (int64_t d = dim + 1; d < t.dim(); ++d) inner *= t.sizes()[d];
  const int64_t n = t.sizes()[dim];
  for (int64_t start = 0; n > 0 && start < t.numel(); start += n * inner) {
    for (int64_t k = 0; k < inner; ++k) {
      for (int64_t i = 1; i < n; ++i) {
        const auto at = static_cast<size_t>(start + i * inner + k);
        v[at] = join(v[at - static_cast<size_t>(inner)], v[at]);
      }
    }
  }
  return v;
}

TEST(Scan, AgreesWithPlainLoopsInAllLayoutsAndDtypes) {
  for (ScalarType type : {ScalarType::Float, ScalarType::Double, ScalarType::BFloat16, ScalarType::Long, ScalarType::Int, ScalarType::Byte}) {
    for (const std::vector<int64_t>& shape :
         std::vector<std::vector<int64_t>>{{1}, {5}, {7, 9}, {3, 70, 2}, {2, 3, 100}, {0, 3}, {3, 0}}) {
      for (const Tensor& t : layouts(sample(shape, type, 41))) {
        for (int64_t dim = 0; dim < t.dim(); ++dim) {
          const double tol = 8 * tolerance(type);
          expect_close(at::cumsum(t, dim), plain_scan(t, dim, [](double a, double b) { return a + b; }), tol, tol);
          expect_close(std::get<0>(at::cummax(t, dim)), plain_scan(t, dim, [](double a, double b) { return std::max(a, b); }));
        }
      }
    }
  }
}

TEST(Scan, LongRows) {
  const Tensor t = sample({2, 100003}, ScalarType::Double, 42);
  expect_close(at::cumsum(t, 1), plain_scan(t, 1, [](double a, double b) { return a + b; }), 1e-10, 1e-9);
}

TEST(Scan, Others) {
  const Tensor t = tensor_of({1, 3, 3, 2}, {4});
  expect_close(at::cumprod(t, 0), {1, 3, 9, 18});
  expect_close(std::get<1>(at::cummax(t, 0)), {0, 1, 2, 2});
  expect_close(std::get<0>(at::cummin(tensor_of({3, kNan, 1}, {3}), 0)), {3, kNan, kNan});
  expect_close(std::get<1>(at::cummin(t, 0)), {0, 0, 0, 0});
  expect_close(at::logcumsumexp(tensor_of({0, 0, -INFINITY}, {3}), 0), {0, std::log(2.0), std::log(2.0)});
  EXPECT_EQ(at::cumsum(tensor_of({1, 1}, {2}, ScalarType::Bool), 0).scalar_type(), ScalarType::Long);
  expect_close(at::cumsum(tensor_of({1.5, 1.5}, {2}), 0, ScalarType::Long), {1, 2});
  expect_close(at::cumsum(tensor_of({4}, {}), 0), {4});
  expect_close(at::diff(t), {2, 0, -1});
  expect_close(at::diff(t, 2), {-2, -1});
  expect_close(at::trapezoid(t, Scalar(2)), {15});
  expect_close(at::cumulative_trapezoid(t), {2, 5, 7.5});
  // As PyTorch rounds: the sum less half of both ends.
  expect_close(at::trapezoid(tensor_of({4.938, 0.5005, 7.84, -6.355, -5.367}, {5}, ScalarType::Half), Scalar(2)), {3.5390625});
  // Sample points broadcast with y: a number, or one column, has no spacings.
  const Tensor y = tensor_of({1, 3, 3, 2}, {2, 2}), points = tensor_of({0, 2, 1, 5}, {2, 2});
  expect_close(at::trapezoid(y, points), {4, 10});
  expect_close(at::trapezoid(y, points, 0), {2, 7.5});
  expect_close(at::trapezoid(y, tensor_of({3}, {})), {0, 0});
  EXPECT_EQ(testing::sizes(at::cumulative_trapezoid(y, tensor_of({3}, {}))), (std::vector<int64_t>{2, 0}));
  expect_close(at::trapezoid(y, tensor_of({0, 2}, {1, 2})), {4, 5});
  Tensor inplace = tensor_of({1, 2}, {2});
  at::cumsum_(inplace, 0);
  expect_close(inplace, {1, 3});
}

TEST(Scan, BadArguments) {
  expect_error<IndexError>([] { at::cumsum(sample({3}), 1); }, "Dimension out of range");
  expect_error<Error>([] { at::cummax(sample({3}, ScalarType::ComplexFloat), 0); }, "not implemented for 'ComplexFloat'");
  expect_error<Error>([] { at::diff(sample({3}), -1); }, "order must be non-negative but got -1");
}

}  // namespace
}  // namespace at::testing

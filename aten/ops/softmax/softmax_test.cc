#include "aten/ops/softmax/ops.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "aten/core/empty.h"
#include "aten/testing/testing.h"

namespace at::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

// f(values of one row along dim) for every row; the row is replaced.
template <class F>
std::vector<double> by_rows(const Tensor& t, int64_t dim, const F& f) {
  std::vector<double> v = values(t);
  int64_t inner = 1;
  for (int64_t d = dim + 1; d < t.dim(); ++d) inner *= t.sizes()[d];
  const int64_t n = t.sizes()[dim];
  for (int64_t start = 0; n > 0 && start < t.numel(); start += n * inner) {
    for (int64_t k = 0; k < inner; ++k) {
      std::vector<double> row;
      for (int64_t i = 0; i < n; ++i) row.push_back(v[static_cast<size_t>(start + i * inner + k)]);
      f(row, start + k, inner);
      for (int64_t i = 0; i < n; ++i) v[static_cast<size_t>(start + i * inner + k)] = row[static_cast<size_t>(i)];
    }
  }
  return v;
}

void plain_softmax(std::vector<double>& row) {
  const double top = *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (double& x : row) sum += x = std::exp(x - top);
  for (double& x : row) x /= sum;
}

TEST(Softmax, AgreesWithPlainLoopsInAllLayoutsAndDtypes) {
  for (ScalarType type : {ScalarType::Float, ScalarType::Double, ScalarType::Half, ScalarType::BFloat16}) {
    for (const std::vector<int64_t>& shape :
         std::vector<std::vector<int64_t>>{{1}, {5}, {3, 17}, {2, 33, 3}, {4, 3, 70}, {2, 3, 4, 5}, {2, 1000}, {0, 3}, {3, 0}}) {
      for (const Tensor& t : layouts(sample(shape, type, 5))) {
        for (int64_t dim = 0; dim < t.dim(); ++dim) {
          const auto expected = by_rows(t, dim, [](std::vector<double>& row, int64_t, int64_t) { plain_softmax(row); });
          const double tol = tolerance(type);
          expect_close(at::softmax(t, dim), expected, tol * 2, tol);
          expect_close(at::_softmax(t, dim - t.dim(), false), expected, tol * 2, tol);
          const auto logs = by_rows(t, dim, [](std::vector<double>& row, int64_t, int64_t) {
            plain_softmax(row);
            for (double& x : row) x = std::log(x);
          });
          expect_close(at::log_softmax(t, dim), logs, tol * 4, tol * 4);
        }
      }
    }
  }
}

TEST(Softmax, Backward) {
  for (ScalarType type : {ScalarType::Float, ScalarType::Double, ScalarType::BFloat16}) {
    for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{{5}, {3, 17}, {2, 33, 3}, {2, 2000}}) {
      for (int64_t dim = 0; dim < static_cast<int64_t>(shape.size()); ++dim) {
        const Tensor y = at::softmax(sample(shape, type, 6), dim), g = sample(shape, type, 7);
        const auto yv = values(y), gv = values(g);
        const auto expected = by_rows(g, dim, [&](std::vector<double>& row, int64_t start, int64_t step) {
          double dot = 0;
          for (size_t i = 0; i < row.size(); ++i) dot += row[i] * yv[static_cast<size_t>(start) + i * static_cast<size_t>(step)];
          for (size_t i = 0; i < row.size(); ++i) row[i] = (row[i] - dot) * yv[static_cast<size_t>(start) + i * static_cast<size_t>(step)];
        });
        for (const Tensor& gl : layouts(g)) {
          expect_close(at::_softmax_backward_data(gl, y, dim, type), expected, 4 * tolerance(type), 4 * tolerance(type));
        }
        const Tensor ly = at::log_softmax(sample(shape, type, 6), dim);
        const auto lv = values(ly);
        const auto logs = by_rows(g, dim, [&](std::vector<double>& row, int64_t start, int64_t step) {
          double sum = 0;
          for (double x : row) sum += x;
          for (size_t i = 0; i < row.size(); ++i) row[i] -= std::exp(lv[static_cast<size_t>(start) + i * static_cast<size_t>(step)]) * sum;
        });
        expect_close(at::_log_softmax_backward_data(g, ly, dim, type), logs, 4 * tolerance(type), 8 * tolerance(type));
      }
    }
  }
}

// Rows whose logarithms are taken together: whole vectors of them and what is left, one of them without a result.
TEST(Softmax, ManyShortRows) {
  for (const ScalarType type : {ScalarType::Float, ScalarType::Double, ScalarType::Half}) {
    for (const int64_t rows : {1, 15, 16, 35}) {
      for (const int64_t n : {1, 31, 32, 512, 513}) {
        Tensor x = sample({rows, n}, type, 9);
        std::vector<double> v = values(x);
        if (rows > 1) v[static_cast<size_t>(n)] = kNan;
        x = tensor_of(v, {rows, n}, type);
        const auto logs = by_rows(x, 1, [](std::vector<double>& row, int64_t, int64_t) {
          if (std::isnan(row[0])) return row.assign(row.size(), kNan);
          plain_softmax(row);
          for (double& e : row) e = std::log(e);
        });
        expect_close(at::log_softmax(x, 1), logs, tolerance(type) * 4, tolerance(type) * 4);
      }
    }
  }
}

TEST(Softmax, ExtremeValues) {
  expect_close(at::softmax(tensor_of({1000, 1000, -kInf}, {3}), 0), {0.5, 0.5, 0});
  expect_close(at::softmax(tensor_of({1, kNan, 2}, {3}), 0), {kNan, kNan, kNan});
  expect_close(at::softmax(tensor_of({-kInf, -kInf}, {2}), 0), {kNan, kNan});
  expect_close(at::log_softmax(tensor_of({0, -1e30}, {2}), 0), {0, -1e30});
  expect_close(at::softmax(tensor_of({3}, {}), 0), {1});
  EXPECT_EQ(at::softmax(sample({3}, ScalarType::Half), 0, ScalarType::Float).scalar_type(), ScalarType::Float);
  expect_close(at::softmax(tensor_of({0, 0}, {2}, ScalarType::Long), 0, ScalarType::Float), {0.5, 0.5});
}

TEST(Softmax, BadArguments) {
  expect_error<IndexError>([] { at::softmax(sample({3}), 1); }, "Dimension out of range");
  expect_error<Error>([] { at::softmax(sample({3}, ScalarType::Long), 0); }, "not implemented for 'Long'");
  expect_error<Error>([] { at::_softmax_backward_data(sample({3}), sample({2}), 0, ScalarType::Float); }, "same size");
}

}  // namespace
}  // namespace at::testing

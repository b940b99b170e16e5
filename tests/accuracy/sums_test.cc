// How errors of sums grow: 2^24 elements, whole, over inner and outer dimensions, contiguous and transposed. Pairwise
// sums would be off by log2(n) = 24 half units in the worst case; these are within a unit or two.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "aten/aten.h"

namespace at::accuracy {
namespace {

constexpr int64_t kCount = int64_t{1} << 24;

// Positive numbers without a pattern in [0.5, 1.5) or, signed, in [-1, 1) with a sum that cancels.
Tensor numbers(ScalarType dtype, bool is_signed) {
  Tensor t = at::empty({kCount}, TensorOptions().dtype(dtype));
  uint64_t state = 88172645463325252u;
  const auto next = [&] {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    const double u = static_cast<double>(state >> 11) * 0x1p-53;
    return is_signed ? 2 * u - 1 : 0.5 + u;
  };
  if (dtype == kFloat) {
    for (int64_t i = 0; i < kCount; ++i) t.data_ptr<float>()[i] = static_cast<float>(next());
  } else {
    for (int64_t i = 0; i < kCount; ++i) t.data_ptr<double>()[i] = next();
  }
  return t;
}

template <class T>
double unit_of(double x) {
  const T a = static_cast<T>(std::fabs(x));
  return static_cast<double>(std::nextafter(a, std::numeric_limits<T>::infinity()) - a);
}

struct Sums {
  long double sum = 0, magnitude = 0, squares = 0;
};
template <class T>
Sums exact_sums(const T* x, int64_t n, int64_t step) {
  Sums s;
  for (int64_t i = 0; i < n; ++i) {
    const long double v = x[i * step];
    s.sum += v, s.magnitude += std::fabs(v), s.squares += v * v;
  }
  return s;
}

template <class T>
void check_sums(ScalarType dtype, double units, double cancelled) {
  for (bool is_signed : {false, true}) {
    const Tensor x = numbers(dtype, is_signed);
    const T* data = x.data_ptr<T>();
    const Sums all = exact_sums(data, kCount, 1);
    const auto close = [&](const Tensor& got, long double exact, long double magnitude, const char* what) {
      EXPECT_EQ(got.scalar_type(), dtype) << what;
      const double error = std::fabs(at::item(got).toDouble() - static_cast<double>(exact));
      // Of the result and, where terms cancel, of their magnitudes.
      EXPECT_LE(error, units * unit_of<T>(static_cast<double>(exact)) + cancelled * static_cast<double>(magnitude))
          << what << " signed " << is_signed;
    };
    close(at::sum(x), all.sum, all.magnitude, "sum");
    close(at::nansum(x), all.sum, all.magnitude, "nansum");
    close(at::mean(x), all.sum / kCount, all.magnitude / kCount, "mean");
    close(at::norm(x), std::sqrt(all.squares), std::sqrt(all.squares), "norm");
    close(at::norm(x, 1), all.magnitude, all.magnitude, "1-norm");
    // Four rows, four columns, and the same of the transposed memory.
    const int64_t part = kCount / 4;
    const Tensor rows = at::view(x, {4, part}), columns = at::view(x, {part, 4});
    const Tensor of_rows = at::sum(rows, 1), of_columns = at::sum(columns, 0);
    const Tensor of_rows_t = at::sum(at::t(rows), 0), of_columns_t = at::sum(at::t(columns), 1);
    for (int64_t i = 0; i < 4; ++i) {
      const Sums row = exact_sums(data + i * part, part, 1), column = exact_sums(data + i, part, 4);
      close(of_rows[i], row.sum, row.magnitude, "inner");
      close(of_columns[i], column.sum, column.magnitude, "outer");
      close(of_rows_t[i], row.sum, row.magnitude, "outer of a transposed tensor");
      close(of_columns_t[i], column.sum, column.magnitude, "inner of a transposed tensor");
    }
    const long double mean = all.sum / kCount;
    long double deviations = 0;
    for (int64_t i = 0; i < kCount; ++i) deviations += (data[i] - mean) * (data[i] - mean);
    close(at::var(x), deviations / (kCount - 1), deviations / kCount, "var");
    close(at::std(x), std::sqrt(deviations / (kCount - 1)), std::sqrt(deviations / kCount), "std");
  }
}

TEST(Sums, ErrorsOfFloatDoNotGrow) {
  // A thousandth of the last place of the magnitudes: short runs are added in float, the rest in double.
  check_sums<float>(kFloat, 1.01, 0x1p-34);
}
TEST(Sums, ErrorsOfDoubleDoNotGrow) {
  check_sums<double>(kDouble, 4, 0x1p-53);
}

// Every prefix, not only the last one.
TEST(Sums, ErrorsOfScansDoNotGrow) {
  const Tensor x = numbers(kFloat, false);
  const Tensor flat = at::cumsum(x, 0), columns = at::cumsum(at::view(x, {kCount / 4, 4}), 0);
  const float* data = x.data_ptr<float>();
  long double sum = 0, by_column[4] = {};
  double worst = 0, worst_column = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    sum += data[i];
    by_column[i % 4] += data[i];
    const double exact = static_cast<double>(sum), exact_column = static_cast<double>(by_column[i % 4]);
    worst = std::fmax(worst, std::fabs(flat.data_ptr<float>()[i] - exact) / unit_of<float>(exact));
    worst_column =
        std::fmax(worst_column, std::fabs(columns.data_ptr<float>()[i] - exact_column) / unit_of<float>(exact_column));
  }
  EXPECT_LE(worst, 1.01);
  EXPECT_LE(worst_column, 1.01);
  // exp and log of sums: log of the sum of 2^24 ones.
  const Tensor zeros = at::zeros({kCount});
  EXPECT_NEAR(at::item(at::logsumexp(zeros, 0)).toDouble(), 24 * std::log(2.0), 1e-6);
  const Tensor scan = at::logcumsumexp(zeros, 0);
  EXPECT_NEAR(scan.data_ptr<float>()[kCount - 1], 24 * std::log(2.0), 4e-6);
}

// Sixteen-bit numbers are added in a wider type: 2^15 halves of 1 would stop at 2048.
TEST(Sums, SixteenBitTypesAreAddedInAWiderType) {
  for (ScalarType dtype : {kHalf, kBFloat16}) {
    const Tensor x = at::ones({1 << 15, 3}, TensorOptions().dtype(dtype));
    EXPECT_EQ(at::item(at::sum(x, 0)[1]).toDouble(), 32768) << dtype;
    EXPECT_EQ(at::item(at::sum(at::t(x), 1)[1]).toDouble(), 32768) << dtype;
    EXPECT_EQ(at::item(at::mean(x)).toDouble(), 1) << dtype;
    EXPECT_EQ(at::item(at::cumsum(x, 0)[(1 << 15) - 1][2]).toDouble(), 32768) << dtype;
    EXPECT_NEAR(at::item(at::norm(x, 2, 0)[0]).toDouble(), std::sqrt(32768.0), 1) << dtype;
  }
}

// Empty dimensions: the identity where there is one, an error where there is none.
TEST(Sums, OfNothing) {
  const Tensor none = at::empty({3, 0, 2});
  EXPECT_EQ(at::item(at::sum(none)).toDouble(), 0);
  EXPECT_TRUE(at::equal(at::sum(none, 1), at::zeros({3, 2})));
  EXPECT_TRUE(at::equal(at::prod(none, 1), at::ones({3, 2})));
  EXPECT_EQ(at::sum(none, 0).sizes(), (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(at::sum(none, {0, 1}, true).sizes(), (std::vector<int64_t>{1, 1, 2}));
  EXPECT_TRUE(std::isnan(at::item(at::mean(none)).toDouble()));
  EXPECT_TRUE(std::isnan(at::item(at::var(none)).toDouble()));
  EXPECT_TRUE(std::isnan(at::item(at::median(none)).toDouble()));
  EXPECT_EQ(at::item(at::norm(none)).toDouble(), 0);
  EXPECT_EQ(at::item(at::logsumexp(none, {0, 1, 2})).toDouble(), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(at::item(at::all(none)).toBool());
  EXPECT_FALSE(at::item(at::any(none)).toBool());
  EXPECT_EQ(at::item(at::count_nonzero(none)).toLong(), 0);
  const std::vector<std::function<void()>> without_identity = {
      [&] { at::max(none); },
      [&] { at::min(none); },
      [&] { at::amax(none, 1); },
      [&] { at::amin(none, 1); },
      [&] { at::argmax(none); },
      [&] { at::argmin(none, 1); },
      [&] { at::max(none, 1); },
      [&] { at::median(none, 1); },
      [&] { at::aminmax(none); },
      [&] { at::mode(none, 1); },
      [&] { at::kthvalue(none, 1, 1); },
      [&] { at::norm(none, std::numeric_limits<double>::infinity()); },
  };
  for (size_t i = 0; i < without_identity.size(); ++i) EXPECT_THROW(without_identity[i](), c10::Error) << i;
  // A dimension of size 0 that is not reduced leaves an empty result.
  EXPECT_EQ(at::amax(none, 0).sizes(), (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(at::cumsum(none, 1).sizes(), none.sizes());
  EXPECT_EQ(at::cumprod(none, 0).sizes(), none.sizes());
  EXPECT_EQ(std::get<0>(at::cummax(none, 2)).sizes(), none.sizes());
  // A list of no dimensions means all of them.
  EXPECT_EQ(at::sum(at::ones({2, 3}), IntArrayRef{}).dim(), 0);
}

}  // namespace
}  // namespace at::accuracy

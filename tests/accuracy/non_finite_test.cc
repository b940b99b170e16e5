// NaN and infinities through every reduction: whatever the dtype, the length, the place among the elements and the layout, the
// result is what the same reduction of plain doubles gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "aten/aten.h"

namespace at::accuracy {
namespace {

using Values = std::vector<double>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

double sum_of(const Values& v) {
  double s = 0;
  for (const double x : v) s += x;
  return s;
}
double mean_of(const Values& v) { return sum_of(v) / static_cast<double>(v.size()); }
double square_of(const Values& v) {
  const double mean = mean_of(v);
  double s = 0;
  for (const double x : v) s += (x - mean) * (x - mean);
  return s;
}
double var_of(const Values& v) { return square_of(v) / static_cast<double>(v.size() - 1); }
bool any_nan(const Values& v) {
  return std::any_of(v.begin(), v.end(), [](double x) { return std::isnan(x); });
}
double max_of(const Values& v) { return any_nan(v) ? kNan : *std::max_element(v.begin(), v.end()); }
double min_of(const Values& v) { return any_nan(v) ? kNan : *std::min_element(v.begin(), v.end()); }
double middle_of(const Values& given) {
  if (any_nan(given)) return kNan;
  Values v = given;
  std::sort(v.begin(), v.end());
  return v[(v.size() - 1) / 2];
}
Values without_nan(const Values& v) {
  Values kept;
  std::copy_if(v.begin(), v.end(), std::back_inserter(kept), [](double x) { return !std::isnan(x); });
  return kept;
}
double norm_of(const Values& v, double p) {
  double s = 0;
  for (const double x : v) s += std::pow(std::fabs(x), p);
  return std::pow(s, 1 / p);
}
Values magnitudes(Values v) {
  for (double& x : v) x = std::fabs(x);
  return v;
}
double log_sum_exp_of(const Values& v) {
  const double top = max_of(v);
  if (!std::isfinite(top)) return top;
  double s = 0;
  for (const double x : v) s += std::exp(x - top);
  return top + std::log(s);
}
double product_of(const Values& v) {
  double p = 1;
  for (const double x : v) p *= x;
  return p;
}
double quantile_of(const Values& given) {
  if (any_nan(given)) return kNan;
  Values v = given;
  std::sort(v.begin(), v.end());
  const double rank = 0.25 * static_cast<double>(v.size() - 1);
  const double low = v[static_cast<size_t>(std::floor(rank))], high = v[static_cast<size_t>(std::ceil(rank))];
  const double part = rank - std::floor(rank);
  return part == 0 ? low : low + part * (high - low);
}

// A reduction of a matrix's rows (dim 1) or columns (dim 0).
struct Case {
  const char* name;
  Tensor (*run)(const Tensor&, int64_t dim);
  double (*plain)(const Values&);
  bool interpolates = false;  // between two elements, so that infinities may cancel; not for the 16-bit types
};

const std::optional<Scalar> kOne;

const Case kCases[] = {
    {"sum", [](const Tensor& t, int64_t d) { return at::sum(t, IntArrayRef(d)); }, sum_of},
    {"nansum", [](const Tensor& t, int64_t d) { return at::nansum(t, IntArrayRef(d)); },
     [](const Values& v) { return sum_of(without_nan(v)); }},
    {"mean", [](const Tensor& t, int64_t d) { return at::mean(t, IntArrayRef(d)); }, mean_of},
    {"nanmean", [](const Tensor& t, int64_t d) { return at::nanmean(t, IntArrayRef(d)); },
     [](const Values& v) { return mean_of(without_nan(v)); }},
    {"prod", [](const Tensor& t, int64_t d) { return at::prod(t, d); }, product_of},
    {"var", [](const Tensor& t, int64_t d) { return at::var(t, IntArrayRef(d), kOne); }, var_of},
    {"std", [](const Tensor& t, int64_t d) { return at::std(t, IntArrayRef(d), kOne); },
     [](const Values& v) { return std::sqrt(var_of(v)); }},
    {"var_mean", [](const Tensor& t, int64_t d) { return std::get<0>(at::var_mean(t, IntArrayRef(d), kOne)); }, var_of},
    {"mean of var_mean", [](const Tensor& t, int64_t d) { return std::get<1>(at::var_mean(t, IntArrayRef(d), kOne)); }, mean_of},
    {"amax", [](const Tensor& t, int64_t d) { return at::amax(t, IntArrayRef(d)); }, max_of},
    {"amin", [](const Tensor& t, int64_t d) { return at::amin(t, IntArrayRef(d)); }, min_of},
    {"max", [](const Tensor& t, int64_t d) { return std::get<0>(at::max(t, d)); }, max_of},
    {"min", [](const Tensor& t, int64_t d) { return std::get<0>(at::min(t, d)); }, min_of},
    {"aminmax", [](const Tensor& t, int64_t d) { return std::get<0>(at::aminmax(t, d)); }, min_of},
    {"max of aminmax", [](const Tensor& t, int64_t d) { return std::get<1>(at::aminmax(t, d)); }, max_of},
    {"argmax", [](const Tensor& t, int64_t d) { return at::gather(t, d, at::unsqueeze(at::argmax(t, d), d)); }, max_of},
    {"argmin", [](const Tensor& t, int64_t d) { return at::gather(t, d, at::unsqueeze(at::argmin(t, d), d)); }, min_of},
    {"median", [](const Tensor& t, int64_t d) { return std::get<0>(at::median(t, d)); }, middle_of},
    {"nanmedian", [](const Tensor& t, int64_t d) { return std::get<0>(at::nanmedian(t, d)); },
     [](const Values& v) { return without_nan(v).empty() ? kNan : middle_of(without_nan(v)); }},
    {"quantile", [](const Tensor& t, int64_t d) { return at::quantile(t, 0.25, d); }, quantile_of, true},
    {"nanquantile", [](const Tensor& t, int64_t d) { return at::nanquantile(t, 0.25, d); },
     [](const Values& v) { return without_nan(v).empty() ? kNan : quantile_of(without_nan(v)); }, true},
    {"logsumexp", [](const Tensor& t, int64_t d) { return at::logsumexp(t, IntArrayRef(d)); }, log_sum_exp_of},
    {"norm 1", [](const Tensor& t, int64_t d) { return at::norm(t, std::optional<Scalar>(1), IntArrayRef(d)); },
     [](const Values& v) { return sum_of(magnitudes(v)); }},
    {"norm 2", [](const Tensor& t, int64_t d) { return at::norm(t, std::optional<Scalar>(2), IntArrayRef(d)); },
     [](const Values& v) { return norm_of(v, 2); }},
    {"norm 3", [](const Tensor& t, int64_t d) { return at::norm(t, std::optional<Scalar>(3), IntArrayRef(d)); },
     [](const Values& v) { return norm_of(v, 3); }},
    {"norm inf", [](const Tensor& t, int64_t d) { return at::norm(t, std::optional<Scalar>(kInf), IntArrayRef(d)); },
     [](const Values& v) { return max_of(magnitudes(v)); }},
    {"norm -inf", [](const Tensor& t, int64_t d) { return at::norm(t, std::optional<Scalar>(-kInf), IntArrayRef(d)); },
     [](const Values& v) { return min_of(magnitudes(v)); }},
    {"norm 0", [](const Tensor& t, int64_t d) { return at::norm(t, std::optional<Scalar>(0), IntArrayRef(d)); },
     [](const Values& v) { return static_cast<double>(v.size() - static_cast<size_t>(std::count(v.begin(), v.end(), 0.0))); }},
    {"any", [](const Tensor& t, int64_t d) { return at::any(t, d); },
     [](const Values& v) { return std::any_of(v.begin(), v.end(), [](double x) { return x != 0; }) ? 1.0 : 0.0; }},
    {"all", [](const Tensor& t, int64_t d) { return at::all(t, d); },
     [](const Values& v) { return std::all_of(v.begin(), v.end(), [](double x) { return x != 0; }) ? 1.0 : 0.0; }},
    {"count_nonzero", [](const Tensor& t, int64_t d) { return at::count_nonzero(t, std::optional<int64_t>(d)); },
     [](const Values& v) { return static_cast<double>(v.size() - static_cast<size_t>(std::count(v.begin(), v.end(), 0.0))); }},
    {"last of cumsum", [](const Tensor& t, int64_t d) { return at::select(at::cumsum(t, d), d, -1); }, sum_of},
    {"last of cumprod", [](const Tensor& t, int64_t d) { return at::select(at::cumprod(t, d), d, -1); }, product_of},
    {"last of cummax", [](const Tensor& t, int64_t d) { return at::select(std::get<0>(at::cummax(t, d)), d, -1); }, max_of},
    {"last of cummin", [](const Tensor& t, int64_t d) { return at::select(std::get<0>(at::cummin(t, d)), d, -1); }, min_of},
    {"last of logcumsumexp", [](const Tensor& t, int64_t d) { return at::select(at::logcumsumexp(t, d), d, -1); }, log_sum_exp_of},
    {"sum of softmax", [](const Tensor& t, int64_t d) { return at::sum(at::softmax(t, d), IntArrayRef(d)); },
     [](const Values& v) { return std::isfinite(max_of(v)) ? 1.0 : kNan; }},
    {"sum of log_softmax", [](const Tensor& t, int64_t d) { return at::sum(at::log_softmax(t, d), IntArrayRef(d)); },
     [](const Values& v) {
       const double all = log_sum_exp_of(v);
       if (!std::isfinite(all)) return kNan;
       double s = 0;  // -inf where an element is
       for (const double x : v) s += x - all;
       return s;
     }},
};

double tolerance(ScalarType dtype) { return dtype == kHalf ? 1e-2 : dtype == kBFloat16 ? 6e-2 : dtype == kFloat ? 1e-4 : 1e-10; }

// Values near 1, so that products stay finite, with `special` at the places given.
Values row_of(int64_t n, double special, const std::vector<int64_t>& places) {
  Values v(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) v[static_cast<size_t>(i)] = 1 + static_cast<double>(i % 3 - 1) * 0.0078125;
  for (const int64_t place : places) v[static_cast<size_t>(place)] = special;
  return v;
}

// The rows as a matrix: contiguous, its columns contiguous, or with gaps; reduced along the dimension that comes with it.
struct Layout {
  Tensor tensor;
  int64_t dim;
  const char* name;
};
std::vector<Layout> layouts(const std::vector<Values>& rows, ScalarType dtype) {
  const auto m = static_cast<int64_t>(rows.size()), n = static_cast<int64_t>(rows[0].size());
  Tensor t = at::empty({m, n}, kDouble);
  for (int64_t i = 0; i < m; ++i) std::copy(rows[static_cast<size_t>(i)].begin(), rows[static_cast<size_t>(i)].end(), t.data_ptr<double>() + i * n);
  t = at::to(t, dtype);
  Tensor gaps = at::slice(at::zeros({m, 2 * n}, TensorOptions().dtype(dtype)), 1, 0, std::nullopt, 2);
  at::copy_(gaps, t);
  const Tensor columns = at::clone(at::transpose(t, 0, 1), MemoryFormat::Contiguous);
  return {{t, 1, "rows"}, {columns, 0, "columns"}, {at::transpose(columns, 0, 1), 1, "rows of a transposed"}, {gaps, 1, "rows with gaps"}};
}

void check(const Case& c, const std::vector<Values>& rows, ScalarType dtype) {
  for (const Layout& layout : layouts(rows, dtype)) {
    SCOPED_TRACE(std::string(c.name) + " of " + toString(dtype) + ", " + layout.name + ", length " + std::to_string(rows[0].size()));
    const Tensor got = at::contiguous(at::to(at::reshape(c.run(layout.tensor, layout.dim), {-1}), kDouble));
    ASSERT_EQ(got.numel(), static_cast<int64_t>(rows.size()));
    for (size_t i = 0; i < rows.size(); ++i) {
      if (c.interpolates && std::any_of(rows[i].begin(), rows[i].end(), [](double x) { return std::isinf(x); })) continue;
      const double expected = c.plain(rows[i]), actual = got.data_ptr<double>()[i];
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(actual)) << "row " << i << " gives " << actual << ", not NaN";
      } else if (std::isinf(expected)) {
        ASSERT_EQ(actual, expected) << "row " << i;
      } else {
        const double rounding = tolerance(dtype) * static_cast<double>(rows[i].size() > 40 ? 8 : 1);
        ASSERT_NEAR(actual, expected, rounding * (1 + std::fabs(expected))) << "row " << i;
      }
    }
  }
}

// Lengths around the blocks in which kernels walk.
const std::vector<int64_t> kLengths = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 128, 255, 257, 400, 1023, 1024, 1025, 1100};

TEST(NonFinite, ComesThroughEveryReduction) {
  for (const Case& c : kCases) {
    for (const ScalarType dtype : {kFloat, kDouble, kHalf, kBFloat16}) {
      if (c.interpolates && (dtype == kHalf || dtype == kBFloat16)) continue;
      for (const int64_t n : kLengths) {
        std::vector<Values> rows;
        for (const double special : {kNan, kInf, -kInf}) {
          for (const int64_t place : {int64_t{0}, n / 3, n / 2, n - 1}) rows.push_back(row_of(n, special, {place}));
        }
        rows.push_back(row_of(n, kNan, {0, n - 1}));
        if (n > 2) {
          rows.push_back(row_of(n, kInf, {0, n - 1}));
          rows.back()[1] = kNan;
          rows.push_back(row_of(n, kInf, {n - 1}));
          rows.back()[0] = -kInf;
        }
        rows.push_back(row_of(n, 0, {}));
        check(c, rows, dtype);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(NonFinite, ComesThroughLongRowsAndWholeTensors) {
  const int64_t n = 300000;  // shared between threads
  for (const double special : {kNan, kInf}) {
    for (const int64_t place : {int64_t{0}, n / 2 + 1, n - 1}) {
      const Values row = row_of(n, special, {place});
      const Tensor t = at::from_blob(const_cast<double*>(row.data()), {1, n}, kDouble);
      for (const Case& c : kCases) {
        const std::string name = c.name;
        if (name.find("prod") != std::string::npos || name.find("quantile") != std::string::npos) continue;
        SCOPED_TRACE(name);
        const double expected = c.plain(row), actual = at::item(at::reshape(c.run(t, 1), {})).toDouble();
        ASSERT_TRUE(std::isnan(expected) ? std::isnan(actual)
                                         : actual == expected || std::fabs(actual - expected) <= 1e-8 * std::fabs(expected))
            << "gives " << actual << ", not " << expected;
      }
    }
  }
}

TEST(Moments, OfEqualElementsAreExact) {
  for (const double value : {0.1, 3.3, -12345.678, 1e-3}) {
    for (const int64_t n : {1, 2, 17, 64, 257, 1025}) {
      for (const ScalarType dtype : {kFloat, kDouble, kHalf}) {
        const Tensor row = at::full({3, n}, Scalar(value), TensorOptions().dtype(dtype));
        const Tensor column = at::full({n, 130}, Scalar(value), TensorOptions().dtype(dtype));
        SCOPED_TRACE(std::to_string(value) + " of " + toString(dtype) + ", length " + std::to_string(n));
        const std::optional<Scalar> biased(0);
        EXPECT_EQ(at::item(at::max(at::var(row, IntArrayRef(1), biased))).toDouble(), 0);
        EXPECT_EQ(at::item(at::max(at::var(column, IntArrayRef(0), biased))).toDouble(), 0);
        EXPECT_EQ(at::item(at::max(at::abs(at::layer_norm(row, {n})))).toDouble(), 0);
        EXPECT_EQ(at::item(at::max(at::abs(at::batch_norm(at::reshape(column, {n, 130, 1}), {}, {}, {}, {}, true, 0.1, 1e-5, false)))).toDouble(), 0);
        EXPECT_EQ(at::item(at::max(at::abs(at::group_norm(row, 1)))).toDouble(), 0);
        const Tensor pixels = at::clone(at::expand(at::reshape(row, {3, n, 1, 1}), {3, n, 2, 3}), MemoryFormat::ChannelsLast);
        EXPECT_EQ(at::item(at::max(at::abs(at::group_norm(pixels, 1)))).toDouble(), 0);
      }
    }
  }
}

}  // namespace
}  // namespace at::accuracy

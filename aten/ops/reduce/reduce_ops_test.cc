#include <algorithm>
#include <cmath>
#include <string>
#include <limits>

#include "aten/ops/reduce/ops.h"
#include "aten/testing/testing.h"

namespace at::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The elements that each result of a reduction over `mask` sees, in logical order.
std::vector<std::vector<double>> groups(const Tensor& t, unsigned mask) {
  const std::vector<double> v = values(t);
  int64_t outputs = 1;
  for (int64_t d = 0; d < t.dim(); ++d) outputs *= mask >> d & 1 ? 1 : t.sizes()[d];
  std::vector<std::vector<double>> result(static_cast<size_t>(outputs));
  for (int64_t i = 0; i < t.numel(); ++i) {
    int64_t rest = i, out = 0, step = 1;
    for (int64_t d = t.dim() - 1; d >= 0; --d) {
      const int64_t k = rest % t.sizes()[d];
      rest /= t.sizes()[d];
      if (mask >> d & 1) continue;
      out += k * step;
      step *= t.sizes()[d];
    }
    result[static_cast<size_t>(out)].push_back(v[static_cast<size_t>(i)]);
  }
  return result;
}

using Plain = double (*)(const std::vector<double>&);
double plain_sum(const std::vector<double>& v) {
  double s = 0;
  for (double x : v) s += x;
  return s;
}
double plain_mean(const std::vector<double>& v) { return plain_sum(v) / static_cast<double>(v.size()); }
double plain_var(const std::vector<double>& v) {
  const double m = plain_mean(v);
  double s = 0;
  for (double x : v) s += (x - m) * (x - m);
  return v.empty() ? kNan : s / (static_cast<double>(v.size()) - 1);
}
double plain_std(const std::vector<double>& v) { return std::sqrt(plain_var(v)); }
double plain_max(const std::vector<double>& v) { return *std::max_element(v.begin(), v.end()); }
double plain_min(const std::vector<double>& v) { return *std::min_element(v.begin(), v.end()); }
double plain_norm(const std::vector<double>& v) {
  double s = 0;
  for (double x : v) s += x * x;
  return std::sqrt(s);
}
double plain_lse(const std::vector<double>& v) {
  double s = 0;
  for (double x : v) s += std::exp(x);
  return std::log(s);
}
double plain_any(const std::vector<double>& v) {
  for (double x : v) {
    if (x != 0) return 1;
  }
  return 0;
}
double plain_all(const std::vector<double>& v) {
  for (double x : v) {
    if (x == 0) return 0;
  }
  return 1;
}
double plain_count(const std::vector<double>& v) {
  double n = 0;
  for (double x : v) n += x != 0;
  return n;
}

struct Case {
  const char* name;
  Tensor (*run)(const Tensor&, IntArrayRef, bool);
  Plain plain;
  bool floating_only;
  bool needs_elements;
};

const Case kCases[] = {
    {"sum", [](const Tensor& t, IntArrayRef d, bool k) { return at::sum(t, d, k); }, plain_sum, false, false},
    {"nansum", [](const Tensor& t, IntArrayRef d, bool k) { return at::nansum(t, d, k); }, plain_sum, false, false},
    {"mean", [](const Tensor& t, IntArrayRef d, bool k) { return at::mean(t, d, k); }, plain_mean, true, false},
    {"nanmean", [](const Tensor& t, IntArrayRef d, bool k) { return at::nanmean(t, d, k); }, plain_mean, true, false},
    {"var", [](const Tensor& t, IntArrayRef d, bool k) { return at::var(t, d, std::optional<Scalar>(), k); }, plain_var, true, false},
    {"std", [](const Tensor& t, IntArrayRef d, bool k) { return at::std(t, d, std::optional<Scalar>(), k); }, plain_std, true, false},
    {"var_mean", [](const Tensor& t, IntArrayRef d, bool k) { return std::get<1>(at::var_mean(t, d, std::optional<Scalar>(), k)); },
     plain_mean, true, false},
    {"amax", [](const Tensor& t, IntArrayRef d, bool k) { return at::amax(t, d, k); }, plain_max, false, true},
    {"amin", [](const Tensor& t, IntArrayRef d, bool k) { return at::amin(t, d, k); }, plain_min, false, true},
    {"norm", [](const Tensor& t, IntArrayRef d, bool k) { return at::norm(t, std::optional<Scalar>(2), d, k); }, plain_norm, true, false},
    {"logsumexp", [](const Tensor& t, IntArrayRef d, bool k) { return at::logsumexp(t, d, k); }, plain_lse, true, false},
    {"any", [](const Tensor& t, IntArrayRef d, bool k) { return at::any(t, OptionalIntArrayRef(d), k); }, plain_any, false, false},
    {"all", [](const Tensor& t, IntArrayRef d, bool k) { return at::all(t, OptionalIntArrayRef(d), k); }, plain_all, false, false},
    {"count_nonzero", [](const Tensor& t, IntArrayRef d, bool) { return at::count_nonzero(t, d); },
     plain_count, false, false},
};

TEST(ReduceOps, AgreeWithPlainLoopsInAllLayoutsAndDtypes) {
  for (const Case& c : kCases) {
    for (ScalarType type : {ScalarType::Float, ScalarType::Double, ScalarType::Half, ScalarType::BFloat16, ScalarType::Long,
                            ScalarType::Int, ScalarType::Char, ScalarType::Byte, ScalarType::Bool}) {
      if (c.floating_only && !isFloatingType(type)) continue;
      for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{{7}, {4, 33}, {2, 3, 5, 4}, {0, 3}, {3, 0}}) {
        const Tensor base = sample(shape, type, 3);
        for (const Tensor& t : layouts(base)) {
          for (unsigned mask = 1; mask < 1u << shape.size(); ++mask) {
            std::vector<int64_t> dims;
            for (size_t d = 0; d < shape.size(); ++d) {
              if (mask >> d & 1) dims.push_back(static_cast<int64_t>(d) - (d % 2 ? static_cast<int64_t>(shape.size()) : 0));
            }
            const auto parts = groups(t, mask);
            if (c.needs_elements && (base.numel() == 0)) continue;
            std::vector<double> expected;
            for (const auto& p : parts) expected.push_back(c.plain(p));
            SCOPED_TRACE(std::string(c.name) + " " + toString(type) + " mask " + std::to_string(mask));
            const Tensor got = c.run(t, dims, false);
            const double tol = tolerance(got.scalar_type());
            expect_close(got, expected, tol * 4, tol * 4);
            if (std::string(c.name) == "count_nonzero") continue;
            const Tensor kept = c.run(t, dims, true);
            ASSERT_EQ(kept.dim(), t.dim());
            expect_close(kept, expected, tol * 4, tol * 4);
          }
        }
      }
    }
  }
}

TEST(ReduceOps, WholeTensorAndDtypeArgument) {
  const Tensor t = sample({6, 7}, ScalarType::Int);
  const std::vector<double> v = values(t);
  EXPECT_EQ(at::sum(t).scalar_type(), ScalarType::Long);
  expect_close(at::sum(t), {plain_sum(v)});
  expect_close(at::sum(t, ScalarType::Float), {plain_sum(v)});
  expect_close(at::mean(t, ScalarType::Double), {plain_mean(v)}, 1e-12);
  for (const int64_t n : {2, 4, 100}) {  // rows of float32 that lose the small number
    std::vector<double> row(static_cast<size_t>(n), 0x1p-30);
    row[0] = 1;
    const Tensor narrow = tensor_of(row, {1, n}, ScalarType::Float);
    expect_close(at::sum(narrow, -1, false, ScalarType::Double), {plain_sum(row)}, 1e-14);
    expect_close(at::mean(narrow, -1, false, ScalarType::Double), {plain_mean(row)}, 1e-14);
  }
  expect_close(at::max(t), {plain_max(v)});
  expect_close(at::min(t), {plain_min(v)});
  const Tensor halves = tensor_of({0.5, 0.5, 1.5}, {3});
  expect_close(at::sum(halves, ScalarType::Long), {1});
  EXPECT_EQ(at::sum(halves, ScalarType::Bool).scalar_type(), ScalarType::Bool);
  expect_close(at::prod(tensor_of({1, 2, 3, 4}, {4}, ScalarType::Long)), {24});
  expect_close(at::prod(tensor_of({1, 2, 3, 4}, {2, 2}), 0), {3, 8});
  expect_close(at::var(halves, false), {2.0 / 9});
  expect_close(at::sum(tensor_of({1, 2}, {2}, ScalarType::ComplexFloat)), {3});
  EXPECT_EQ(at::var(sample({5}, ScalarType::ComplexDouble)).scalar_type(), ScalarType::Double);
}

TEST(ReduceOps, ExtremesNameTheFirstAndPropagateNan) {
  const Tensor t = tensor_of({1, 5, 5, 2, kNan, 3, kNan, 9}, {2, 4});
  const auto [v, i] = at::max(t, 1);
  expect_close(v, {5, kNan});
  expect_close(i, {1, 0});
  expect_close(std::get<1>(at::min(t, 1, true)), {0, 0});
  expect_close(at::argmax(t), {4});
  expect_close(at::argmax(t, 0), {1, 0, 1, 1});
  expect_close(at::argmin(tensor_of({3, 1, 1}, {3})), {1});
  const auto [lo, hi] = at::aminmax(tensor_of({3, 1, 2}, {3}));
  expect_close(lo, {1});
  expect_close(hi, {3});
}

TEST(ReduceOps, LeastAndGreatestOfRows) {
  for (const ScalarType type : {kFloat, kDouble, kHalf, kBFloat16, kLong, kInt, kShort, kChar, kByte, kBool}) {
    for (const int64_t width : {1, 5, 16, 67, 1025, 9000}) {
      for (const bool nan : {false, true}) {
        if (nan && !isFloatingType(type)) continue;
        const Tensor whole = sample({3, width}, type, 5);
        std::vector<double> v = values(whole);
        if (nan) v[static_cast<size_t>(width - 1)] = v[static_cast<size_t>(width + width / 2)] = kNan;
        const Tensor x = tensor_of(v, {3, width}, type);
        std::vector<double> least, greatest;
        for (auto row = v.begin(); row != v.end(); row += width) {
          const bool has = std::any_of(row, row + width, [](double e) { return e != e; });
          least.push_back(has ? kNan : *std::min_element(row, row + width));
          greatest.push_back(has ? kNan : *std::max_element(row, row + width));
        }
        for (const Tensor& t : {x, tensor_of(v, {3, width, 1}, type)}) {
          const auto [low, high] = at::aminmax(t, 1);
          expect_close(low, least, 0, 0);
          expect_close(high, greatest, 0, 0);
        }
        const auto [low, high] = at::aminmax(x);
        expect_close(low, at::amin(x), 0, 0);
        expect_close(high, at::amax(x), 0, 0);
        expect_close(low, {nan ? kNan : *std::min_element(least.begin(), least.end())}, 0, 0);
      }
    }
  }
}

TEST(ReduceOps, MedianAndMode) {
  const Tensor t = tensor_of({5, 1, 4, 2, 3, 3, 1, 1, 9, 7}, {2, 5});
  expect_close(at::median(t), {3});
  expect_close(std::get<0>(at::median(t, 1)), {3, 3});
  expect_close(std::get<0>(at::mode(t, 1)), {1, 1});
  expect_close(at::median(tensor_of({1, kNan, 2}, {3})), {kNan});
  expect_close(at::nanmedian(tensor_of({1, kNan, 2}, {3})), {1});
}

TEST(ReduceOps, NormsOfEveryOrder) {
  const Tensor t = tensor_of({3, -4, 0, 1}, {2, 2});
  expect_close(at::norm(t, Scalar(0)), {3});
  expect_close(at::norm(t, Scalar(1)), {8});
  expect_close(at::norm(t), {std::sqrt(26.0)});
  for (const double p : {3.0, 4.0, 7.0, 16.0, 17.0, 2.5}) {
    const double want = std::pow(std::pow(3, p) + std::pow(4, p) + 1, 1 / p);
    expect_close(at::norm(t, Scalar(p)), {want});
    for (const Tensor& x : layouts(t)) expect_close(at::norm(x, Scalar(p)), {want});
    expect_close(at::norm(tensor_of(values(t), {2, 2}, kComplexDouble), Scalar(p)), {want}, 1e-12);
  }
  expect_close(at::norm(t, Scalar(std::numeric_limits<double>::infinity())), {4});
  expect_close(at::norm(t, Scalar(-std::numeric_limits<double>::infinity())), {0});
  expect_close(at::norm(t, std::optional<Scalar>(1), IntArrayRef(1)), {7, 1});
}

// Of numbers whose squares float does not hold.
TEST(ReduceOps, NormsOfExtremeNumbers) {
  for (const ScalarType type : {kFloat, kDouble, kBFloat16}) {
    for (const double scale : {1e20, 1e-25, 1.0, 0.0}) {
      for (const int64_t n : {2, 50, 3000}) {
        const Tensor x = tensor_of({3 * scale, -4 * scale}, {2, n}, type);
        const double want = scale * 5 * std::sqrt(static_cast<double>(n) / 2);
        for (const Tensor& t : layouts(x)) {
          expect_close(at::norm(t, std::optional<Scalar>(2), IntArrayRef(1)), {want, want}, tolerance(type), 0);
          expect_close(at::norm(t), {want * std::sqrt(2)}, tolerance(type), 0);
        }
      }
    }
  }
}

TEST(ReduceOps, OutAndEmpty) {
  const Tensor t = sample({3, 4});
  Tensor out = blank({0}, ScalarType::Float);
  at::sum_out(out, t, IntArrayRef(1));
  expect_close(out, at::sum(t, IntArrayRef(1)));
  Tensor wide = blank({3}, ScalarType::Double);
  at::sum_out(wide, t, IntArrayRef(1));
  expect_close(wide, at::sum(t, IntArrayRef(1)));
  const Tensor none = blank({0}, ScalarType::Float);
  expect_close(at::sum(none), {0});
  expect_close(at::prod(none), {1});
  expect_close(at::mean(none), {kNan});
  expect_close(at::sum(sample({}, ScalarType::Float)), values(sample({}, ScalarType::Float)));
}

TEST(ReduceOps, BadArguments) {
  const Tensor t = sample({3, 4});
  expect_error<IndexError>([&] { at::sum(t, IntArrayRef(2)); }, "Dimension out of range (expected to be in range of [-2, 1], but got 2)");
  expect_error<Error>([&] { at::sum(t, {0, -2}); }, "dim 0 appears multiple times in the list of dims");
  expect_error<NotImplementedError>([&] { at::mean(sample({3}, ScalarType::Long)); },
                                    "mean(): could not infer output dtype. Input dtype must be either");
  expect_error<IndexError>([&] { at::amax(sample({0, 2}), IntArrayRef(0)); }, "amax(): Expected reduction dim 0 to have non-zero size.");
  expect_error<Error>([&] { at::max(sample({0})); }, "max(): Expected reduction dim to be specified for input.numel() == 0.");
  expect_error<Error>([&] { at::max(sample({2}, ScalarType::ComplexFloat)); }, "\"max\" not implemented for 'ComplexFloat'");
  expect_error<Error>([&] { at::var(sample({3}, ScalarType::Int)); }, "only support floating point and complex dtypes");
  Tensor integers = blank({3}, ScalarType::Long);
  expect_error<Error>([&] { at::sum_out(integers, t, IntArrayRef(1)); }, "result type Float can't be cast to the desired output type Long");
}

}  // namespace
}  // namespace at::testing

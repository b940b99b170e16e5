#include "aten/cpu/special/special.h"

#include <gtest/gtest.h>

#include <math.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "aten/cpu/isa.h"
#include "aten/cpu/loops/loops.h"
#include "aten/cpu/special/loops.h"

namespace at::cpu::special {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct Checked {
  std::function<double(const double*)> run;
  double units;  // of the last place
};

// Values to 40 digits, made by record_values.py.
TEST(SpecialFunctions, AgreeWithRecordedValues) {
  using A = const double*;
  const std::map<std::string, Checked> functions = {
      {"polygamma", {[](A a) { return polygamma(static_cast<int64_t>(a[0]), a[1]); }, 4}},
      {"zeta", {[](A a) { return zeta(a[0], a[1]); }, 1}},
      {"lower_gamma", {[](A a) { return lower_gamma(a[0], a[1]); }, 2}},
      {"upper_gamma", {[](A a) { return upper_gamma(a[0], a[1]); }, 2}},
      {"bessel_i0", {[](A a) { return bessel_i(0, a[0], false); }, 1}},
      {"bessel_i0e", {[](A a) { return bessel_i(0, a[0], true); }, 1}},
      {"bessel_i1", {[](A a) { return bessel_i(1, a[0], false); }, 1}},
      {"bessel_i1e", {[](A a) { return bessel_i(1, a[0], true); }, 1}},
      {"bessel_k0", {[](A a) { return bessel_k(0, a[0], false); }, 1}},
      {"bessel_k0e", {[](A a) { return bessel_k(0, a[0], true); }, 1}},
      {"bessel_k1", {[](A a) { return bessel_k(1, a[0], false); }, 1}},
      {"bessel_k1e", {[](A a) { return bessel_k(1, a[0], true); }, 1}},
      {"airy_ai", {[](A a) { return airy_ai(a[0]); }, 4}},
      {"scaled_erfc", {[](A a) { return scaled_erfc(a[0]); }, 1}},
      {"normal_cdf", {[](A a) { return normal_cdf(a[0]); }, 1}},
      {"log_normal_cdf", {[](A a) { return log_normal_cdf(a[0]); }, 1}},
      {"normal_quantile", {[](A a) { return normal_quantile(a[0]); }, 1}},
      {"spherical_bessel_j0", {[](A a) { return spherical_bessel_j0(a[0]); }, 1}},
  };
  std::ifstream file("aten/cpu/special/testdata/values.txt");
  ASSERT_TRUE(file.good());
  int count = 0;
  for (std::string line; std::getline(file, line); ++count) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    std::vector<double> numbers;
    for (std::string word; words >> word;) numbers.push_back(std::strtod(word.c_str(), nullptr));
    const auto f = functions.find(name);
    ASSERT_NE(f, functions.end()) << line;
    const double expected = numbers.back(), got = f->second.run(numbers.data());
    const double unit = std::nextafter(std::fabs(expected), kInf) - std::fabs(expected);
    EXPECT_LE(std::fabs(got - expected), f->second.units * unit) << line << ": " << got;
  }
  EXPECT_GT(count, 300);
}

struct Range {
  double low, high;
};
struct Loop {
  const char* name;
  const ElementOp& op;
  std::function<double(double, double)> exact;
  std::vector<Range> ranges;
  Range second = {0, 0};  // of a second argument
  double scale = 0;       // errors are in units of at least this number's last place
  int64_t context = 0;
  double units = 2;         // of double against the scalar function, both of which err
  double double_scale = 0;  // the scalar functions' zeros are not that precise
};

std::vector<Loop> all_loops() {
  const auto of_one = [](double (*f)(double)) { return [f](double x, double) { return f(x); }; };
  const auto ordered = [](double (*f)(int, double), int n) { return [=](double x, double) { return f(n, x); }; };
  const auto modified = [](double (*f)(int, double, bool), int n, bool scaled) {
    return [=](double x, double) { return f(n, x, scaled); };
  };
  const auto by_context = [](double (*f)(int64_t, double), int64_t n) {
    return [=](double x, double) { return f(n, x); };
  };
  const auto of_degree = [](double (*f)(double, int64_t)) {
    return [f](double x, double n) {
      return std::isnan(n) ? n : f(x, n <= -1 ? -1 : n < 1e18 ? static_cast<int64_t>(n) : int64_t{1} << 60);
    };
  };
  const auto of_shifted = [of_degree](double (*f)(double, int64_t)) {
    return [of = of_degree(f)](double x, double n) { return of(x + x - 1, n); };
  };
  const auto log_gamma = [](double x, double) {
    int sign;
    return ::lgamma_r(x, &sign);
  };
  const std::vector<Range> i_ranges = {{-9, 9}, {-100, 100}}, k_ranges = {{0, 4}, {-1, 120}};
  const std::vector<Range> j_ranges = {{-10, 10}, {-1000, 1000}, {-1e6, 1e6}}, degrees = {{-2, 2}};
  return {
      {"i0", loops::i0, modified(bessel_i, 0, false), i_ranges},
      {"i0e", loops::i0e, modified(bessel_i, 0, true), i_ranges},
      {"i1", loops::i1, modified(bessel_i, 1, false), i_ranges},
      {"i1e", loops::i1e, modified(bessel_i, 1, true), i_ranges},
      {"k0", loops::k0, modified(bessel_k, 0, false), k_ranges},
      {"k0e", loops::k0e, modified(bessel_k, 0, true), k_ranges},
      {"k1", loops::k1, modified(bessel_k, 1, false), k_ranges},
      {"k1e", loops::k1e, modified(bessel_k, 1, true), k_ranges},
      {"j0", loops::j0, ordered(bessel_j, 0), j_ranges, {}, 0, 0, 2, 1},
      {"j1", loops::j1, ordered(bessel_j, 1), j_ranges, {}, 0, 0, 2, 1},
      {"y0", loops::y0, ordered(bessel_y, 0), j_ranges, {}, 0, 0, 2, 1},
      {"y1", loops::y1, ordered(bessel_y, 1), j_ranges, {}, 0, 0, 2, 1},
      {"spherical_j0", loops::spherical_j0, of_one(spherical_bessel_j0), j_ranges},
      {"airy_ai", loops::airy_ai, of_one(airy_ai), {{-6, 2}, {-40, 30}}, {}, 0, 0, 5, 1},
      {"erfcx", loops::erfcx, of_one(scaled_erfc), {{-10, 10}, {0, 1000}}},
      {"ndtr", loops::ndtr, of_one(normal_cdf), {{-2, 2}, {-15, 10}}},
      {"log_ndtr", loops::log_ndtr, of_one(log_normal_cdf), {{-2, 2}, {-30, 15}}},
      {"ndtri", loops::ndtri, of_one(normal_quantile), {{0, 1}, {0, 1e-6}, {0, 1e-30}}},
      {"entr", loops::entr, of_one(entropy), {{-1, 100}}},
      {"xlog1py", loops::xlog1py, x_log1p_y, {{-5, 5}}, {-1, 1}},
      {"lgamma", cpu::loops::lgamma, log_gamma, {{0, 4}, {0, 1000}}},
      {"lgamma", cpu::loops::lgamma, log_gamma, {{-10, 10}}, {}, 1},
      {"digamma", cpu::loops::digamma, by_context(special::polygamma, 0), {{0, 4}, {0, 1000}}, {}, 1, 0, 16, 1},
      {"digamma", cpu::loops::digamma, by_context(special::polygamma, 0), {{-10, 10}}, {}, 1, 0, 16, 1},
      {"polygamma", loops::polygamma, by_context(special::polygamma, 0), {{-3, 10}}, {}, 1},
      {"polygamma", loops::polygamma, by_context(special::polygamma, 1), {{-3, 30}}, {}, 1, 1, 5, 1},
      {"polygamma", loops::polygamma, by_context(special::polygamma, 2), {{-50, 40}}, {}, 1, 2, 5, 1},
      {"polygamma", loops::polygamma, by_context(special::polygamma, 50), {{0, 200}}, {}, 0, 50},
      {"polygamma", loops::polygamma, by_context(special::polygamma, 130), {{0, 200}}, {}, 0, 130},
      {"mvlgamma", loops::mvlgamma, by_context(multivariate_log_gamma, 3), {{-4, 30}}, {}, 1, 3},
      {"zeta", loops::zeta, zeta, {{1, 1.01}, {0, 120}}, {-1, 30}},
      {"lower_gamma", loops::lower_gamma, lower_gamma, {{0, 2}, {0, 30}}, {0, 30}},
      {"upper_gamma", loops::upper_gamma, upper_gamma, {{0, 2}, {0, 30}}, {0, 30}},
      {"lower_gamma", loops::lower_gamma, lower_gamma, {{900, 1100}}, {900, 1100}},
      // Of double: sums of up to 70 steps, each rounded another way.
      {"chebyshev_t", loops::chebyshev_t, of_degree(chebyshev_t), degrees, {-2, 70}, 1, 0, 500, 1},
      {"chebyshev_u", loops::chebyshev_u, of_degree(chebyshev_u), degrees, {-2, 30}, 0, 0, 500, 1},
      {"chebyshev_v", loops::chebyshev_v, of_degree(chebyshev_v), degrees, {-2, 30}, 0, 0, 500, 1},
      {"chebyshev_w", loops::chebyshev_w, of_degree(chebyshev_w), degrees, {-2, 30}, 0, 0, 500, 1},
      {"shifted_chebyshev_t", loops::shifted_chebyshev_t, of_shifted(chebyshev_t), degrees, {-2, 70}, 1, 0, 500, 1},
      {"shifted_chebyshev_u", loops::shifted_chebyshev_u, of_shifted(chebyshev_u), degrees, {-2, 30}, 0, 0, 500, 1},
      {"shifted_chebyshev_v", loops::shifted_chebyshev_v, of_shifted(chebyshev_v), degrees, {-2, 30}, 0, 0, 500, 1},
      {"shifted_chebyshev_w", loops::shifted_chebyshev_w, of_shifted(chebyshev_w), degrees, {-2, 30}, 0, 0, 500, 1},
      {"hermite_h", loops::hermite_h, of_degree(hermite_h), degrees, {-2, 30}, 0, 0, 500, 1e12},
      {"hermite_h", loops::hermite_h, of_degree(hermite_h), degrees, {-2, 6}, 0, 0, 500, 1},
      {"hermite_he", loops::hermite_he, of_degree(hermite_he), degrees, {-2, 30}, 0, 0, 500, 1e12},
      {"hermite_he", loops::hermite_he, of_degree(hermite_he), degrees, {-2, 6}, 0, 0, 500, 1},
      {"laguerre_l", loops::laguerre_l, of_degree(laguerre_l), degrees, {-2, 30}, 0, 0, 500, 1},
      {"legendre_p", loops::legendre_p, of_degree(legendre_p), degrees, {12, 12}, 0, 0, 500, 1},
  };
}

// All instruction sets, special values with each other, and draws from ranges on both sides of where formulas meet.
template <class T>
void expect_rounded(const Loop& f, const ElementTable& table, double units, double scale) {
  constexpr int kDigits = std::numeric_limits<T>::digits;
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const std::vector<T> specials = {0,   T(-0.0), 1,         -1,         2,        -2,      T(0.5),   T(-0.5), 3,    8,
                                   100, -1000,   T(1e-45f), T(-1e-45f), T(1e-30), T(1e30), T(-1e30), T(3e38), inf, -inf,
                                   nan};
  const bool binary = f.second.high != 0;
  std::vector<T> a, b;
  for (T x : specials) {
    for (T y : binary ? specials : std::vector<T>{0}) a.push_back(x), b.push_back(y);
  }
  std::mt19937 random(11);
  for (Range r : f.ranges) {
    std::uniform_real_distribution<double> first(r.low, r.high), second(f.second.low, f.second.high);
    for (int i = 0; i < 500; ++i) {
      a.push_back(static_cast<T>(first(random)));
      b.push_back(static_cast<T>(second(random)));
    }
  }
  std::vector<double> exact;
  for (size_t i = 0; i < a.size(); ++i) exact.push_back(f.exact(a[i], b[i]));
  for (Isa isa : {Isa::kBaseline, Isa::kSse4, Isa::kAvx2, Isa::kAvx512}) {
    limit_isa(isa);
    std::vector<T> y(a.size());
    char* data[] = {reinterpret_cast<char*>(y.data()), reinterpret_cast<char*>(a.data()),
                    reinterpret_cast<char*>(b.data())};
    table.get()(data, static_cast<int64_t>(y.size()), &f.context);
    for (size_t i = 0; i < y.size(); ++i) {
      const auto rounded = static_cast<T>(exact[i]);
      std::ostringstream where;
      where.precision(17);
      where << f.name << "(" << a[i] << ", " << b[i] << ") = " << y[i] << ", exact " << exact[i] << ", instruction set "
            << static_cast<int>(isa);
      if (!std::isfinite(rounded) || !std::isfinite(y[i])) {
        EXPECT_TRUE(std::isnan(rounded) ? std::isnan(y[i]) : rounded == y[i]) << where.str();
        continue;
      }
      if (rounded == 0 && y[i] == 0) EXPECT_EQ(std::signbit(rounded), std::signbit(y[i])) << where.str();
      const double size = std::max({std::fabs(exact[i]), scale, static_cast<double>(std::numeric_limits<T>::min())});
      EXPECT_LE(std::fabs(y[i] - exact[i]), units * std::ldexp(1.0, std::ilogb(size) - kDigits + 1)) << where.str();
    }
  }
  limit_isa(Isa::kAvx512);
}

TEST(SpecialFunctions, LoopsOfFloatAreRoundedDoubles) {
  for (const Loop& f : all_loops()) expect_rounded<float>(f, f.op.float32, 0.51, f.scale);
}
TEST(SpecialFunctions, LoopsOfDoubleAreTheScalarFunctions) {
  for (const Loop& f : all_loops()) {
    if (f.units != 0) expect_rounded<double>(f, f.op.float64, f.units, f.double_scale);
  }
}

TEST(SpecialFunctions, AtTheEdges) {
  const auto is_nan = [](double x) { return std::isnan(x); };
  EXPECT_EQ(polygamma(0, 0.0), -kInf);
  EXPECT_TRUE(is_nan(polygamma(0, -3)));
  polygamma(int64_t{1} << 62, -0.5);  // ends
  EXPECT_EQ(polygamma(1, 0), kInf);
  EXPECT_EQ(polygamma(2, -1), -kInf);
  EXPECT_EQ(polygamma(0, kInf), kInf);
  EXPECT_EQ(polygamma(3, kInf), 0);
  EXPECT_EQ(zeta(1, 5), kInf);
  EXPECT_TRUE(is_nan(zeta(0.5, 5)));
  EXPECT_EQ(zeta(2, -4), kInf);
  EXPECT_TRUE(is_nan(zeta(2.5, -4.5)));
  EXPECT_NEAR(zeta(2, -1e9 - 0.25), zeta(2, 0.75) + zeta(2, 0.25), 1e-7);
  EXPECT_NEAR(zeta(3, -40.25), zeta(3, -0.25) - zeta(3, 1.25) + zeta(3, 41.25), 1e-14);
  EXPECT_EQ(lower_gamma(2, 0), 0);
  EXPECT_EQ(lower_gamma(0, 2), 1);
  EXPECT_TRUE(is_nan(lower_gamma(0, 0)));
  EXPECT_TRUE(is_nan(lower_gamma(-1, 1)));
  EXPECT_EQ(upper_gamma(2, kInf), 0);
  EXPECT_EQ(upper_gamma(kInf, 2), 1);
  EXPECT_TRUE(is_nan(upper_gamma(kInf, kInf)));
  EXPECT_EQ(bessel_i(0, -710, false), kInf);
  EXPECT_EQ(bessel_i(1, -710, false), -kInf);
  EXPECT_TRUE(is_nan(bessel_i(0, -kInf, false)));
  EXPECT_TRUE(is_nan(bessel_j(0, kInf)));
  EXPECT_TRUE(is_nan(bessel_y(1, kInf)));
  // The angle is known to 1e-31 of it.
  EXPECT_NEAR(airy_ai(-1e10), 0.00017362064481528185105, 1e-19);
  EXPECT_NEAR(airy_ai(-1e12), -0.00042921836070697696162, 1e-16);
  EXPECT_NEAR(airy_ai(-1e14), -0.00017391172622874226802, 1e-13);
  EXPECT_TRUE(is_nan(airy_ai(kInf)));
  EXPECT_TRUE(is_nan(airy_ai(-kInf)));
  EXPECT_EQ(airy_ai(-1e201), 0);
  EXPECT_TRUE(is_nan(zeta(2, kInf)));
  EXPECT_EQ(bessel_i(0, kInf, true), 0);
  EXPECT_EQ(bessel_k(0, 0, false), kInf);
  EXPECT_TRUE(is_nan(bessel_k(1, -1, true)));
  EXPECT_EQ(bessel_y(0, 0), -kInf);
  EXPECT_TRUE(is_nan(bessel_y(1, -1)));
  EXPECT_EQ(scaled_erfc(kInf), 0);
  EXPECT_EQ(scaled_erfc(-30), kInf);
  EXPECT_EQ(log_normal_cdf(-kInf), -kInf);
  EXPECT_EQ(normal_quantile(0), -kInf);
  EXPECT_EQ(normal_quantile(1), kInf);
  EXPECT_TRUE(is_nan(normal_quantile(1.5)));
}

TEST(SpecialFunctions, Polynomials) {
  EXPECT_EQ(chebyshev_t(1, int64_t{1} << 40), 1);
  EXPECT_EQ(chebyshev_t(-1, (int64_t{1} << 40) + 1), -1);
  // By their closed forms.
  for (double x : {-2.0, -1.0, -0.5, 0.0, 0.3, 1.0, 2.0}) {
    EXPECT_EQ(chebyshev_t(x, -1), 0);
    EXPECT_EQ(chebyshev_t(x, 0), 1);
    EXPECT_NEAR(chebyshev_t(x, 3), 4 * x * x * x - 3 * x, 1e-14);
    EXPECT_NEAR(chebyshev_u(x, 3), 8 * x * x * x - 4 * x, 1e-14);
    EXPECT_NEAR(chebyshev_v(x, 2), 4 * x * x - 2 * x - 1, 1e-14);
    EXPECT_NEAR(chebyshev_w(x, 2), 4 * x * x + 2 * x - 1, 1e-14);
    EXPECT_NEAR(hermite_h(x, 3), 8 * x * x * x - 12 * x, 1e-13);
    EXPECT_NEAR(hermite_he(x, 4), x * x * x * x - 6 * x * x + 3, 1e-14);
    EXPECT_NEAR(laguerre_l(x, 2), (x * x - 4 * x + 2) / 2, 1e-14);
    EXPECT_NEAR(legendre_p(x, 3), (5 * x * x * x - 3 * x) / 2, 1e-14);
  }
  EXPECT_TRUE(std::isnan(legendre_p(0.3, int64_t{1} << 40)));
  EXPECT_NEAR(chebyshev_t(0.3, 50), std::cos(50 * std::acos(0.3)), 1e-12);
}

}  // namespace
}  // namespace at::cpu::special

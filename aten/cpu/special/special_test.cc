#include "aten/cpu/special/special.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

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
  EXPECT_TRUE(is_nan(airy_ai(kInf)));
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

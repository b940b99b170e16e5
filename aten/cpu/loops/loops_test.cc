#include "aten/cpu/loops/loops.h"

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "aten/cpu/loops/activation.h"
#include "aten/cpu/loops/complex.h"
#include "aten/cpu/loops/integer.h"
#include "gtest/gtest.h"

namespace at::cpu {
namespace {

// Distance in units of the last place of the float nearest to `exact`.
double ulps(float got, double exact) {
  if (std::isnan(exact)) return std::isnan(got) ? 0 : 1e9;
  const float nearest = static_cast<float>(exact);
  if (std::isinf(nearest) || std::isinf(got)) return nearest == got ? 0 : 1e9;
  if (std::isnan(got)) return 1e9;
  const float magnitude = std::fmax(std::fabs(nearest), std::numeric_limits<float>::min());
  const double unit = static_cast<double>(std::nextafter(magnitude, INFINITY)) - magnitude;
  return std::fabs(static_cast<double>(got) - exact) / unit;
}

std::vector<float> special_and_random(float low, float high) {
  const float inf = INFINITY;
  std::vector<float> x = {0.0f, -0.0f, inf, -inf, NAN, 1.0f, -1.0f, 1e-45f, -1e-45f, 1.17549435e-38f, -1.17549435e-38f,
                          3.4e38f, -3.4e38f, 0.5f, -0.5f, 2.0f, 0.99999994f, 1.0000001f, 88.7f, -87.4f, -103.9f};
  std::mt19937 rng(7);
  std::uniform_real_distribution<float> uniform(low, high);
  for (int i = 0; i < 20000; ++i) x.push_back(uniform(rng));
  // Every magnitude.
  std::uniform_int_distribution<uint32_t> any;
  for (int i = 0; i < 20000; ++i) {
    const uint32_t bits = any(rng);
    float f;
    std::memcpy(&f, &bits, 4);
    x.push_back(f);
  }
  return x;
}

struct Case {
  const char* name;
  const ElementOp* op;
  double (*exact)(double);
  float low, high;
  double max_ulps;
};

double exact_sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double exact_rsqrt(double x) { return 1 / std::sqrt(x); }
double exact_sinc(double x) {
  const double r = std::remainder(x, 2.0);
  return x == 0 ? 1 : std::sin(M_PI * (std::fabs(r) <= 0.5 ? r : std::copysign(1, r) - r)) / (M_PI * x);
}
// By bisection.
double exact_erfinv(double y) {
  if (!(std::fabs(y) < 1)) return std::fabs(y) == 1 ? y * std::numeric_limits<double>::infinity() : std::nan("");
  double low = 0, high = 6;
  for (int i = 0; i < 200; ++i) {
    const double x = (low + high) / 2;
    const bool below = std::fabs(y) < 0.5 ? std::erf(x) < std::fabs(y) : std::erfc(x) > 1 - std::fabs(y);
    (below ? low : high) = x;
  }
  return std::copysign(low, y);
}
double exact_reciprocal(double x) { return 1 / x; }
double exact_square(double x) { return x * x; }

class EveryIsa : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override { limit_isa(GetParam()); }
  void TearDown() override { limit_isa(Isa::kAvx512); }
};

INSTANTIATE_TEST_SUITE_P(Loops, EveryIsa, testing::Values(Isa::kAvx512, Isa::kAvx2, Isa::kSse4, Isa::kBaseline));

TEST_P(EveryIsa, FloatFunctionsAreWithinTheirUlps) {
  const Case cases[] = {
      {"exp", &loops::exp, std::exp, -104, 89, 1.1},
      {"exp2", &loops::exp2, std::exp2, -150, 128, 1.1},
      {"expm1", &loops::expm1, std::expm1, -5, 5, 2},
      {"log", &loops::log, std::log, 0, 4, 1.1},
      {"log2", &loops::log2, std::log2, 0, 4, 2},
      {"log10", &loops::log10, std::log10, 0, 4, 2},
      {"log1p", &loops::log1p, std::log1p, -1, 3, 1.5},
      {"sin", &loops::sin, std::sin, -100, 100, 2},
      {"cos", &loops::cos, std::cos, -100, 100, 2},
      {"tanh", &loops::tanh, std::tanh, -10, 10, 2.5},
      {"erf", &loops::erf, std::erf, -4, 4, 1.5},
      {"sigmoid", &loops::sigmoid, exact_sigmoid, -80, 80, 2.5},
      {"sqrt", &loops::sqrt, std::sqrt, 0, 100, 0.51},
      {"rsqrt", &loops::rsqrt, exact_rsqrt, 0, 100, 1.5},
      {"reciprocal", &loops::reciprocal, exact_reciprocal, -3, 3, 0.51},
      {"square", &loops::square, exact_square, -3, 3, 0.51},
      {"tan", &loops::tan, std::tan, -3, 3, 0.55},
      {"asinh", &loops::asinh, std::asinh, -3, 3, 0.51},
      {"acosh", &loops::acosh, std::acosh, 0.9, 5, 0.51},
      {"atanh", &loops::atanh, std::atanh, -1.1, 1.1, 0.51},
      {"sinh", &loops::sinh, std::sinh, -90, 90, 0.51},
      {"cosh", &loops::cosh, std::cosh, -90, 90, 0.51},
      {"asin", &loops::asin, std::asin, -1.1, 1.1, 2.5},
      {"acos", &loops::acos, std::acos, -1.1, 1.1, 2},
      {"atan", &loops::atan, std::atan, -3, 3, 2},
      {"erfc", &loops::erfc, std::erfc, -4, 10, 0.75},
      {"erfinv", &loops::erfinv, exact_erfinv, -1, 1, 2},
      {"sinc", &loops::sinc, exact_sinc, -5, 5, 0.51},
      {"ceil", &loops::ceil, std::ceil, -3, 3, 0},
      {"floor", &loops::floor, std::floor, -3, 3, 0},
      {"round", &loops::round, std::nearbyint, -3, 3, 0},
      {"trunc", &loops::trunc, std::trunc, -3, 3, 0},
  };
  for (const Case& c : cases) {
    const std::vector<float> x = special_and_random(c.low, c.high);
    std::vector<float> y(x.size());
    char* data[] = {reinterpret_cast<char*>(y.data()), const_cast<char*>(reinterpret_cast<const char*>(x.data()))};
    find_loop(*c.op, c10::ScalarType::Float)(data, static_cast<int64_t>(x.size()), nullptr);
    double worst = 0;
    size_t where = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double exact = c.exact(x[i]);
      const double e = ulps(y[i], exact);
      if (e > worst) worst = e, where = i;
    }
    EXPECT_LE(worst, c.max_ulps) << c.name << "(" << x[where] << ") = " << y[where] << ", exact " << c.exact(x[where]);
  }
}

// The same for double; below the normal numbers, in units of the smallest one's.
double ulps(double got, long double exact) {
  if (std::isnan(exact)) return std::isnan(got) ? 0 : 1e9;
  const double nearest = static_cast<double>(exact);
  if (std::isinf(nearest) || std::isinf(got)) return nearest == got ? 0 : 1e9;
  if (std::isnan(got) || (exact == 0 && std::signbit(got) != std::signbit(exact))) return 1e9;
  const double magnitude = std::fmax(std::fabs(nearest), std::numeric_limits<double>::min());
  const double unit = std::nextafter(magnitude, INFINITY) - magnitude;
  return static_cast<double>(std::fabs(got - exact) / unit);
}
long double exact_sigmoid_of_double(long double x) {
  const long double e = std::exp(-std::fabs(x));
  return (x < 0 ? e : 1) / (1 + e);
}
long double exact_gelu(long double x) { return x * std::erfc(-x / std::sqrt(2.0L)) / 2; }
long double exact_silu(long double x) { return x * exact_sigmoid_of_double(x); }

TEST_P(EveryIsa, DoubleFunctionsAreWithinTheirUlps) {
  struct DoubleCase {
    const char* name;
    const ElementOp* op;
    long double (*exact)(long double);
    double low, high, max_ulps, max_of_the_library;
  };
  const DoubleCase cases[] = {
      {"exp", &loops::exp, std::exp, -750, 712, 0.65, 0.75},
      {"expm1", &loops::expm1, std::expm1, -5, 5, 0.8, 1},
      {"log", &loops::log, std::log, 0, 4, 0.65, 0.75},
      {"log1p", &loops::log1p, std::log1p, -1, 3, 0.65, 1},
      {"exp2", &loops::exp2, std::exp2, -1080, 1030, 0.65, 0.75},
      {"log2", &loops::log2, std::log2, 0, 4, 0.75, 0.75},
      {"log10", &loops::log10, std::log10, 0, 4, 0.75, 2},
      {"sin", &loops::sin, std::sin, -100, 100, 0.75, 0.75},
      {"cos", &loops::cos, std::cos, -100, 100, 0.75, 0.75},
      {"tanh", &loops::tanh, std::tanh, -10, 10, 0.75, 2.25},
      {"sigmoid", &loops::sigmoid, exact_sigmoid_of_double, -750, 80, 0.75, 2},
      {"silu", &loops::silu, exact_silu, -700, 80, 3, 3},
  };
  std::vector<double> x;
  for (float f : special_and_random(-1, 1)) x.push_back(f);
  // The last three lie next to multiples of pi / 2.
  for (double v : {5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 709.782, 709.783, 708.4, 745.13, 745.14,
                   36.7, 22.0, 0.35, 8e5, 1e22, 413441.44719405076, 458348.94338079006, 229174.47169039503}) {
    x.push_back(v), x.push_back(-v);
  }
  std::mt19937_64 rng(11);
  for (int i = 0; i < 20000; ++i) {
    const uint64_t bits = rng();
    double any;
    std::memcpy(&any, &bits, 8);
    x.push_back(any);
  }
  const size_t shared = x.size();
  std::vector<double> y;
  for (const DoubleCase& c : cases) {
    x.resize(shared);
    std::uniform_real_distribution<double> uniform(c.low, c.high);
    for (int i = 0; i < 20000; ++i) x.push_back(uniform(rng));
    y.assign(x.size(), 0);
    char* data[] = {reinterpret_cast<char*>(y.data()), reinterpret_cast<char*>(x.data())};
    find_loop(*c.op, c10::ScalarType::Double)(data, static_cast<int64_t>(x.size()), nullptr);
    double worst = 0;
    size_t where = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double e = c.op == &loops::silu && std::isinf(x[i]) ? 0 : ulps(y[i], c.exact(x[i]));
      if (e > worst) worst = e, where = i;
    }
    // Without fused multiplications it is the C library.
    const double most = isa() <= Isa::kAvx2 ? c.max_ulps : c.max_of_the_library;
    EXPECT_LE(worst, most) << c.name << "(" << x[where] << ") = " << y[where];
  }
  // In units of the argument.
  char* data[] = {reinterpret_cast<char*>(y.data()), reinterpret_cast<char*>(x.data())};
  find_loop(loops::gelu, c10::ScalarType::Double)(data, static_cast<int64_t>(x.size()), nullptr);
  for (size_t i = 0; i < x.size(); ++i) {
    if (!(std::fabs(x[i]) < 1e300) || std::fabs(x[i]) < 1e-300) continue;
    const double a = std::fabs(x[i]), unit = std::nextafter(a, INFINITY) - a;
    EXPECT_LE(std::fabs(y[i] - exact_gelu(x[i])) / unit, 1.5) << x[i];
  }
}

TEST_P(EveryIsa, DoubleFormulasOfEveryLengthStayInside) {
  for (int n = 0; n < 40; ++n) {
    std::vector<double> x(n), out(n + 1, -7);
    for (int i = 0; i < n; ++i) x[i] = 0.125 * i;
    char* data[] = {reinterpret_cast<char*>(out.data()), reinterpret_cast<char*>(x.data())};
    find_loop(loops::tanh, c10::ScalarType::Double)(data, n, nullptr);
    for (int i = 0; i < n; ++i) EXPECT_NEAR(out[i], std::tanh(x[i]), 3e-16) << i << " of " << n;
    EXPECT_EQ(out[n], -7);
  }
}

TEST_P(EveryIsa, AnglesAreRoundedNearlyOnce) {
  const std::vector<float> part = special_and_random(-2, 2);
  std::vector<float> z;
  for (size_t i = 0; i < 21; ++i)
    for (size_t j = 0; j < 21; ++j) z.push_back(part[i]), z.push_back(part[j]);
  z.insert(z.end(), part.begin(), part.end());
  if (z.size() % 2 != 0) z.pop_back();
  const size_t n = z.size() / 2;
  std::vector<float> y(n + 1, -7.0f);
  char* data[] = {reinterpret_cast<char*>(y.data()), reinterpret_cast<char*>(z.data())};
  complex_angle_float(data, static_cast<int64_t>(n), nullptr);
  for (size_t i = 0; i < n; ++i) {
    const double exact = std::atan2(static_cast<double>(z[2 * i + 1]), static_cast<double>(z[2 * i]));
    EXPECT_LE(ulps(y[i], exact), 0.51) << z[2 * i] << " + i " << z[2 * i + 1];
    if (exact == 0) EXPECT_EQ(std::signbit(y[i]), std::signbit(exact));
  }
  EXPECT_EQ(y[n], -7.0f);
}

TEST_P(EveryIsa, PowersAreWithinTheirUlpsAndAsInTheCLibraryAtTheEnds) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> ends = {0.0f,   -0.0f, 1,      -1,          2,           -2,          3,
                                   -3,     0.5f,  -0.5f,  2.5f,        -2.5f,       1e-45f,      -1e-45f,
                                   1e-38f, 3e38f, -3e38f, 16777215.0f, 16777216.0f, -8388609.0f, 0x1.8p23f,
                                   150,    -150,  1e30f,  -1e30f,      infinity,    -infinity,   nan};
  std::vector<float> x, y;
  for (float a : ends)
    for (float b : ends) x.push_back(a), y.push_back(b);
  const size_t specials = x.size();
  std::vector<float> bases = special_and_random(0, 40), exponents = special_and_random(-30, 30);
  for (size_t i = 0; i < std::min(bases.size(), exponents.size()); ++i) {
    x.push_back(bases[i]), y.push_back(exponents[i]);
    x.push_back(1 + bases[i] * 0x1p-12f), y.push_back(exponents[i] * 100);
  }
  std::vector<float> z(x.size());
  char* data[] = {reinterpret_cast<char*>(z.data()), reinterpret_cast<char*>(x.data()),
                  reinterpret_cast<char*>(y.data())};
  find_loop(loops::pow, c10::ScalarType::Float)(data, static_cast<int64_t>(x.size()), nullptr);
  for (size_t i = 0; i < x.size(); ++i) {
    const double exact = std::pow(static_cast<double>(x[i]), static_cast<double>(y[i]));
    const float rounded = static_cast<float>(exact);
    if (std::isnan(rounded) || std::isinf(rounded) || rounded == 0 || i < specials) {
      if (std::isnan(rounded)) EXPECT_TRUE(std::isnan(z[i])) << x[i] << "^" << y[i] << " = " << z[i];
      else if (std::isinf(rounded) || rounded == 0)
        EXPECT_TRUE(z[i] == rounded && std::signbit(z[i]) == std::signbit(rounded))
            << x[i] << "^" << y[i] << " = " << z[i];
    }
    if (std::isfinite(rounded)) EXPECT_LE(ulps(z[i], exact), 0.6) << x[i] << "^" << y[i] << " = " << z[i];
  }
  for (int a = -20; a <= 20; ++a) {
    float base = static_cast<float>(a), exponent = 3, power = 0;
    char* one[] = {reinterpret_cast<char*>(&power), reinterpret_cast<char*>(&base), reinterpret_cast<char*>(&exponent)};
    find_loop(loops::pow, c10::ScalarType::Float)(one, 1, nullptr);
    EXPECT_EQ(power, base * base * base);
  }
}

double exact_remainder(double a, double b) {
  const double r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
double exact_floor_divide(double a, double b) {
  if (b == 0) return a / b;
  const double r = std::fmod(a, b), q = (a - r) / b - (r != 0 && (b < 0) != (r < 0) ? 1 : 0);
  return q == 0 ? std::copysign(0.0, a / b) : std::nearbyint(q);
}
double exact_logaddexp(double a, double b) {
  return std::isinf(a) && a == b ? a : std::fmax(a, b) + std::log1p(std::exp(-std::fabs(a - b)));
}
double exact_logaddexp2(double a, double b) {
  return std::isinf(a) && a == b ? a : std::fmax(a, b) + std::log1p(std::exp2(-std::fabs(a - b))) / M_LN2;
}
double exact_xlogy(double a, double b) { return std::isnan(b) ? b : a == 0 ? 0 : a * std::log(b); }
double exact_nextafter(double a, double b) { return std::nextafter(static_cast<float>(a), static_cast<float>(b)); }

TEST_P(EveryIsa, FunctionsOfTwoNumbersAreWithinTheirUlps) {
  struct BinaryCase {
    const char* name;
    const ElementOp* op;
    double (*exact)(double, double);
    double max_ulps;
    bool of_arguments = false;  // in units of the larger argument, at least 1
  };
  const BinaryCase cases[] = {
      {"atan2", &loops::atan2, std::atan2, 2.5},
      {"hypot", &loops::hypot, std::hypot, 0.55},
      {"fmod", &loops::fmod, std::fmod, 0},
      {"remainder", &loops::remainder, exact_remainder, 0.51},
      {"floor_divide", &loops::floor_divide, exact_floor_divide, 0.51},
      {"xlogy", &loops::xlogy, exact_xlogy, 2},
      {"logaddexp", &loops::logaddexp, exact_logaddexp, 2, true},
      {"logaddexp2", &loops::logaddexp2, exact_logaddexp2, 2.5, true},
      {"nextafter", &loops::nextafter, exact_nextafter, 0},
  };
  const std::vector<float> first = special_and_random(-8, 8);
  const size_t specials = 21;
  std::vector<float> x, y;
  for (size_t i = 0; i < specials; ++i)
    for (size_t j = 0; j < specials; ++j) x.push_back(first[i]), y.push_back(first[j]);
  // Numbers of like size, of any sizes, and quotients near whole numbers and beyond 2^28.
  for (size_t i = specials; i + 7 < first.size(); ++i) {
    x.push_back(first[i]), y.push_back(first[i + 7]);
    x.push_back(first[i] * static_cast<float>(i % 50)), y.push_back(first[i]);
    x.push_back(first[i] * 0x1p27f), y.push_back(first[i + 7]);
  }
  std::vector<float> z(x.size());
  char* data[] = {reinterpret_cast<char*>(z.data()), reinterpret_cast<char*>(x.data()), reinterpret_cast<char*>(y.data())};
  for (const BinaryCase& c : cases) {
    find_loop(*c.op, c10::ScalarType::Float)(data, static_cast<int64_t>(x.size()), nullptr);
    for (size_t i = 0; i < x.size(); ++i) {
      const double exact = c.exact(x[i], y[i]);
      double error = ulps(z[i], exact);
      if (c.of_arguments && std::isfinite(x[i]) && std::isfinite(y[i])) {
        const float size = std::fmax(1.0f, std::fmax(std::fabs(x[i]), std::fabs(y[i])));
        error = std::fabs(z[i] - exact) / (static_cast<double>(std::nextafter(size, INFINITY)) - size);
      }
      EXPECT_LE(error, c.max_ulps) << c.name << "(" << x[i] << ", " << y[i] << ") = " << z[i] << ", exact " << exact;
      if (exact == 0) {
        EXPECT_EQ(std::signbit(z[i]), std::signbit(exact)) << c.name << "(" << x[i] << ", " << y[i] << ")";
      }
    }
  }
}

TEST_P(EveryIsa, LogitIsPreciseAtItsBounds) {
  const float eps = 1e-6f;
  float x[] = {0.25f, -1, 2, 1, 0, NAN, 0.9999f}, y[7];
  char* data[] = {reinterpret_cast<char*>(y), reinterpret_cast<char*>(x)};
  find_loop(loops::logit_eps, c10::ScalarType::Float)(data, 7, &eps);
  const double bound = std::log((1 - static_cast<double>(eps)) / eps);
  const double expected[] = {std::log(1 / 3.0), -bound, bound, bound, -bound, NAN, std::log(0.9999f / (1 - 0.9999f))};
  for (int i = 0; i < 7; ++i) EXPECT_LE(ulps(y[i], expected[i]), 2) << x[i];
  // Of bounds that cross, the lower comes first.
  const float beyond = 0.6f;
  float half = 0.5f;
  char* one[] = {reinterpret_cast<char*>(y), reinterpret_cast<char*>(&half)};
  find_loop(loops::logit_eps, c10::ScalarType::Float)(one, 1, &beyond);
  EXPECT_NEAR(y[0], std::log(1.5), 1e-6);
}

TEST_P(EveryIsa, OddFunctionsKeepTheSignOfZero) {
  for (const ElementOp* op : {&loops::sin, &loops::tanh, &loops::erf, &loops::expm1, &loops::log1p, &loops::sqrt,
                              &loops::tan, &loops::asin, &loops::atan, &loops::sinh, &loops::asinh, &loops::atanh,
                              &loops::erfinv}) {
    float x = -0.0f, y = 1;
    char* data[] = {reinterpret_cast<char*>(&y), reinterpret_cast<char*>(&x)};
    find_loop(*op, c10::ScalarType::Float)(data, 1, nullptr);
    EXPECT_TRUE(y == 0 && std::signbit(y));
  }
}

TEST_P(EveryIsa, ArithmeticOfEveryLengthStaysInside) {
  for (int n = 0; n < 70; ++n) {
    std::vector<float> a(n), b(n), out(n + 1, -7.0f);
    for (int i = 0; i < n; ++i) a[i] = static_cast<float>(i), b[i] = static_cast<float>(3 * i + 1);
    char* data[] = {reinterpret_cast<char*>(out.data()), reinterpret_cast<char*>(a.data()), reinterpret_cast<char*>(b.data())};
    find_loop(loops::sub, c10::ScalarType::Float)(data, n, nullptr);
    for (int i = 0; i < n; ++i) EXPECT_EQ(out[i], a[i] - b[i]);
    EXPECT_EQ(out[n], -7.0f);
  }
}

TEST_P(EveryIsa, MaximumPropagatesNan) {
  float a[] = {1, NAN, 3, NAN}, b[] = {2, 5, NAN, NAN}, y[4];
  char* data[] = {reinterpret_cast<char*>(y), reinterpret_cast<char*>(a), reinterpret_cast<char*>(b)};
  find_loop(loops::maximum, c10::ScalarType::Float)(data, 4, nullptr);
  EXPECT_EQ(y[0], 2);
  EXPECT_TRUE(std::isnan(y[1]) && std::isnan(y[2]) && std::isnan(y[3]));
  find_loop(loops::fmax, c10::ScalarType::Float)(data, 4, nullptr);
  EXPECT_EQ(y[1], 5);
  EXPECT_EQ(y[2], 3);
  EXPECT_TRUE(std::isnan(y[3]));
}

TEST_P(EveryIsa, GeluAgreesWithItsDefinition) {
  std::vector<float> x, y;
  for (float v = -8; v < 8; v += 0.01f) x.push_back(v);
  y.resize(x.size());
  char* data[] = {reinterpret_cast<char*>(y.data()), reinterpret_cast<char*>(x.data())};
  find_loop(loops::gelu, c10::ScalarType::Float)(data, static_cast<int64_t>(x.size()), nullptr);
  for (size_t i = 0; i < x.size(); ++i) {
    const double exact = 0.5 * x[i] * (1 + std::erf(x[i] / std::sqrt(2.0)));
    EXPECT_NEAR(y[i], exact, std::fabs(x[i]) * 0x1p-23 + 1e-12) << x[i];
  }
}

TEST_P(EveryIsa, SlopesOfGeluAgreeWithTheirDefinition) {
  std::vector<float> x = {NAN}, g(2601, 1.0f), y(g.size());
  for (float v = -13; x.size() < g.size(); v += 0.01f) x.push_back(v);
  char* data[] = {reinterpret_cast<char*>(y.data()), reinterpret_cast<char*>(g.data()),
                  reinterpret_cast<char*>(x.data())};
  find_loop(loops::gelu_backward, c10::ScalarType::Float)(data, static_cast<int64_t>(x.size()), nullptr);
  EXPECT_TRUE(std::isnan(y[0]));
  for (size_t i = 1; i < x.size(); ++i) {
    const double v = x[i], density = std::exp(-0.5 * v * v) / std::sqrt(2 * M_PI);
    const double exact = 0.5 * std::erfc(-v / std::sqrt(2.0)) + v * density;
    EXPECT_NEAR(y[i], exact, v < -1.5 ? 1e-4 * std::fabs(exact) : 0x1p-22) << v;
  }
}

// Of every pair of numbers with parts that are special, in vectors and in what is left of the last one.
template <class T>
void complex_arithmetic(c10::ScalarType type) {
  using Exact = std::complex<long double>;
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  std::vector<std::complex<T>> numbers, a, b;
  for (const T re : {T(0), T(-0.0), T(1), T(-2.5), T(1e-30), T(3e30), inf, -inf, nan})
    for (const T im : {T(0), T(-0.0), T(3), T(-0.75), T(2e-31), T(-1e31), inf, -inf, nan}) numbers.emplace_back(re, im);
  for (const auto& z : numbers)
    for (const auto& w : numbers) a.push_back(z), b.push_back(w);
  const auto run = [&](const ElementOp& op) {
    std::vector<std::complex<T>> out(a.size());
    char* data[] = {reinterpret_cast<char*>(out.data()), reinterpret_cast<char*>(a.data()),
                    reinterpret_cast<char*>(b.data())};
    find_loop(op, type)(data, static_cast<int64_t>(a.size()), nullptr);
    return out;
  };
  // Within a few units of the number as a whole; the same infinities.
  const auto near = [](std::complex<T> got, Exact exact) {
    const long double whole = std::abs(exact);
    const auto part = [=](T x, long double y) {
      if (std::isnan(y)) return std::isnan(x);
      if (std::isinf(y)) return static_cast<long double>(x) == y;
      const long double size = std::isfinite(whole) ? whole : std::fabs(y);
      return std::fabs(x - y) <= 4 * std::numeric_limits<T>::epsilon() * size + std::numeric_limits<T>::min();
    };
    return part(got.real(), exact.real()) && part(got.imag(), exact.imag());
  };
  const auto finite = [](Exact z) { return std::isfinite(z.real()) && std::isfinite(z.imag()); };
  const auto fits = [](Exact z) { return std::abs(z) < std::numeric_limits<T>::max() / 8; };
  const auto quotients = run(loops::div), products = run(loops::mul), sums = run(loops::add), roots = run(loops::sqrt);
  for (size_t i = 0; i < a.size(); ++i) {
    const Exact x(a[i].real(), a[i].imag()), y(b[i].real(), b[i].imag()), root = std::sqrt(x);
    EXPECT_TRUE(near(sums[i], x + y)) << a[i] << " + " << b[i] << " = " << sums[i];
    EXPECT_TRUE(near(roots[i], root)) << "sqrt" << a[i] << " = " << roots[i];
    EXPECT_TRUE(std::isnan(root.imag()) || std::signbit(roots[i].imag()) == std::signbit(root.imag())) << a[i];
    if (y == Exact(0)) {
      EXPECT_TRUE(near(quotients[i], Exact(x.real() / 0.0L, x.imag() / 0.0L))) << a[i] << " / 0 = " << quotients[i];
    } else if (finite(x) && finite(y)) {
      if (fits(x * y)) EXPECT_TRUE(near(products[i], x * y)) << a[i] << " * " << b[i] << " = " << products[i];
      if (fits(x / y)) EXPECT_TRUE(near(quotients[i], x / y)) << a[i] << " / " << b[i] << " = " << quotients[i];
    }
  }
}

TEST_P(EveryIsa, ComplexNumbersOfSpecialParts) {
  complex_arithmetic<float>(c10::ScalarType::ComplexFloat);
  complex_arithmetic<double>(c10::ScalarType::ComplexDouble);
}

TEST_P(EveryIsa, GeluAtTheEndsOfItsDomain) {
  const std::vector<double> x = {0.0, 100.5, 3e38, INFINITY, -9.0, -200.0, -3e38, -INFINITY, NAN};
  const auto gelu = [&](auto number, c10::ScalarType type) {
    using T = decltype(number);
    std::vector<T> in(x.begin(), x.end()), out(x.size());
    char* data[] = {reinterpret_cast<char*>(out.data()), reinterpret_cast<char*>(in.data())};
    find_loop(loops::gelu, type)(data, static_cast<int64_t>(x.size()), nullptr);
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(out[i], in[i]);
    for (size_t i = 4; i < 7; ++i) EXPECT_NEAR(out[i], 0, 1e-17) << in[i];
    EXPECT_TRUE(std::isnan(out[7]) && std::isnan(out[8]));
  };
  gelu(0.0f, c10::ScalarType::Float);
  gelu(0.0, c10::ScalarType::Double);
}

TEST_P(EveryIsa, FormulasOfEveryLengthStayInside) {
  for (int n = 0; n < 70; ++n) {
    std::vector<float> x(n), out(n + 1, -7.0f);
    for (int i = 0; i < n; ++i) x[i] = 0.125f * static_cast<float>(i);
    char* data[] = {reinterpret_cast<char*>(out.data()), reinterpret_cast<char*>(x.data())};
    find_loop(loops::erf, c10::ScalarType::Float)(data, n, nullptr);
    for (int i = 0; i < n; ++i) EXPECT_NEAR(out[i], std::erf(x[i]), 3e-7) << i << " of " << n;
    EXPECT_EQ(out[n], -7.0f);
  }
}

TEST(IntegerLoops, DivisionModesAndExtremes) {
  constexpr int32_t low = std::numeric_limits<int32_t>::min();
  int32_t a[] = {7, -7, 7, -7, low, 6}, b[] = {2, 2, -2, -2, -1, 3}, y[6];
  char* data[] = {reinterpret_cast<char*>(y), reinterpret_cast<char*>(a), reinterpret_cast<char*>(b)};
  DivisionContext context;
  const auto run = [&](const ElementOp& op) { find_loop(op, c10::ScalarType::Int)(data, 6, &context); };
  run(loops::int_floor_divide);
  EXPECT_EQ(std::vector<int32_t>(y, y + 6), (std::vector<int32_t>{3, -4, -4, 3, low, 2}));
  run(loops::int_trunc_divide);
  EXPECT_EQ(std::vector<int32_t>(y, y + 6), (std::vector<int32_t>{3, -3, -3, 3, low, 2}));
  run(loops::int_remainder);
  EXPECT_EQ(std::vector<int32_t>(y, y + 6), (std::vector<int32_t>{1, 1, -1, -1, 0, 0}));
  run(loops::int_fmod);
  EXPECT_EQ(std::vector<int32_t>(y, y + 6), (std::vector<int32_t>{1, -1, 1, -1, 0, 0}));
  EXPECT_EQ(context.divided_by_zero, 0);
  b[3] = 0;
  run(loops::int_floor_divide);
  EXPECT_EQ(context.divided_by_zero, 1);
}

}  // namespace
}  // namespace at::cpu

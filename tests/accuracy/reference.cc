#include "tests/accuracy/reference.h"

#include <cmath>
#include <limits>

namespace at::accuracy {
namespace {

constexpr Real kPi = 3.14159265358979323846264338327950288L;
constexpr Real kInf = std::numeric_limits<Real>::infinity();
constexpr Real kNan = std::numeric_limits<Real>::quiet_NaN();

// sin(pi x), cos(pi x) for any x: the argument is reduced first.
Real sin_pi(Real x) {
  const Real r = std::remainder(x, 2.0L);
  return std::fabs(r) <= 0.5L ? std::sin(kPi * r) : std::sin(kPi * (std::copysign(1.0L, r) - r));
}
Real cos_pi(Real x) {
  return sin_pi(0.5L - std::fabs(std::remainder(x, 2.0L)));
}

// Abramowitz and Stegun 6.3.7, 6.3.5, 6.3.18.
Real digamma(Real x) {
  if (x == 0) return std::copysign(kInf, -x);
  if (x == -kInf || (x < 0 && x == std::floor(x))) return kNan;
  if (x < 0) return digamma(1 - x) - kPi * cos_pi(x) / sin_pi(x);
  Real sum = 0;
  for (; x < 40; x += 1) sum -= 1 / x;
  const Real z = 1 / (x * x);
  const Real c[] = {1.0L / 12,  -1.0L / 120,     1.0L / 252, -1.0L / 240,
                    1.0L / 132, -691.0L / 32760, 1.0L / 12,  -3617.0L / 8160};
  Real series = 0;
  for (int i = 7; i >= 0; --i) series = z * (c[i] + series);
  return sum + std::log(x) - 0.5L / x - series;
}

// Newton's method on erf or, near the ends, erfc.
Real erfinv(Real y) {
  if (!(std::fabs(y) <= 1)) return kNan;
  if (std::fabs(y) == 1) return y * kInf;
  if (y == 0) return y;
  const Real a = std::fabs(y), rest = 1 - a;
  Real x = a < 0.9L ? a : std::sqrt(-std::log(rest));
  for (int i = 0; i < 100; ++i) {
    const Real error = a < 0.5L ? std::erf(x) - a : rest - std::erfc(x);
    const Real step = error * std::sqrt(kPi) / 2 * std::exp(x * x);
    x -= step / (1 + x * step);
    if (std::fabs(step) < 1e-18L * x) break;
  }
  return std::copysign(x, y);
}

Real remainder_of(Real a, Real b) {
  const Real r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
Real larger(const Real* x) {
  if (std::isnan(x[0])) return x[0];
  return std::isnan(x[1]) || x[1] > x[0] ? x[1] : x[0];
}
Real smaller(const Real* x) {
  if (std::isnan(x[0])) return x[0];
  return std::isnan(x[1]) || x[1] < x[0] ? x[1] : x[0];
}
Real log_add(Real a, Real b, Real base) {
  if (std::isnan(a) || std::isnan(b)) return kNan;
  if (std::isinf(a) && a == b) return a;
  const Real high = std::fmax(a, b), low = std::fmin(a, b);
  return high + std::log1p(std::exp((low - high) * base)) / base;
}
Real gelu(Real x) {
  if (x == -kInf) return kNan;  // -inf times zero
  return 0.5L * x * std::erfc(-x / std::sqrt(2.0L));
}
Complex expm1(Complex z) {
  const Real e = std::expm1(z.real()), s = std::sin(z.imag() / 2);
  return {e * std::cos(z.imag()) - 2 * s * s, (e + 1) * std::sin(z.imag())};
}
Complex log1p(Complex z) {
  const Real x = z.real(), y = z.imag();
  if (std::abs(z) < 0.5L) return {std::log1p(x * (2 + x) + y * y) / 2, std::atan2(y, 1 + x)};
  return std::log(Complex(1 + x, y));
}

using R = const Real*;
using C = const Complex*;

}  // namespace

const std::vector<Function>& functions() {
  using std::fabs;
  using std::fmax;
  static const auto& all = *new std::vector<Function>{
      // Roots, exponentials, logarithms.
      {"sqrt", 1, {}, [](R x) { return std::sqrt(x[0]); }, [](C z) { return std::sqrt(z[0]); }, nullptr, 0, 100},
      {"rsqrt",
       1,
       {},
       [](R x) { return 1 / std::sqrt(x[0]); },
       [](C z) { return 1.0L / std::sqrt(z[0]); },
       nullptr,
       0,
       100},
      {"exp", 1, {}, [](R x) { return std::exp(x[0]); }, [](C z) { return std::exp(z[0]); }, nullptr, -104, 89},
      {"exp2",
       1,
       {},
       [](R x) { return std::exp2(x[0]); },
       [](C z) { return std::exp(z[0] * std::log(2.0L)); },
       nullptr,
       -150,
       128},
      {"expm1", 1, {}, [](R x) { return std::expm1(x[0]); }, [](C z) { return expm1(z[0]); }, nullptr, -5, 5},
      {"log", 1, {}, [](R x) { return std::log(x[0]); }, [](C z) { return std::log(z[0]); }, nullptr, 0, 4},
      {"log2",
       1,
       {},
       [](R x) { return std::log2(x[0]); },
       [](C z) { return std::log(z[0]) / std::log(2.0L); },
       nullptr,
       0,
       4},
      {"log10", 1, {}, [](R x) { return std::log10(x[0]); }, [](C z) { return std::log10(z[0]); }, nullptr, 0, 4},
      {"log1p", 1, {}, [](R x) { return std::log1p(x[0]); }, [](C z) { return log1p(z[0]); }, nullptr, -1, 3},
      // Trigonometric and hyperbolic.
      {"sin", 1, {}, [](R x) { return std::sin(x[0]); }, [](C z) { return std::sin(z[0]); }, nullptr, -100, 100},
      {"cos", 1, {}, [](R x) { return std::cos(x[0]); }, [](C z) { return std::cos(z[0]); }, nullptr, -100, 100},
      {"tan", 1, {}, [](R x) { return std::tan(x[0]); }, [](C z) { return std::tan(z[0]); }, nullptr, -100, 100},
      {"asin", 1, {}, [](R x) { return std::asin(x[0]); }, [](C z) { return std::asin(z[0]); }, nullptr, -1, 1},
      {"acos", 1, {}, [](R x) { return std::acos(x[0]); }, [](C z) { return std::acos(z[0]); }, nullptr, -1, 1},
      {"atan", 1, {}, [](R x) { return std::atan(x[0]); }, [](C z) { return std::atan(z[0]); }, nullptr, -5, 5},
      {"sinh", 1, {}, [](R x) { return std::sinh(x[0]); }, [](C z) { return std::sinh(z[0]); }, nullptr, -10, 10},
      {"cosh", 1, {}, [](R x) { return std::cosh(x[0]); }, [](C z) { return std::cosh(z[0]); }, nullptr, -10, 10},
      {"tanh", 1, {}, [](R x) { return std::tanh(x[0]); }, [](C z) { return std::tanh(z[0]); }, nullptr, -10, 10},
      {"asinh", 1, {}, [](R x) { return std::asinh(x[0]); }, [](C z) { return std::asinh(z[0]); }, nullptr, -10, 10},
      {"acosh", 1, {}, [](R x) { return std::acosh(x[0]); }, [](C z) { return std::acosh(z[0]); }, nullptr, 1, 10},
      {"atanh", 1, {}, [](R x) { return std::atanh(x[0]); }, [](C z) { return std::atanh(z[0]); }, nullptr, -1, 1},
      {"sinc",
       1,
       {},
       [](R x) { return x[0] == 0          ? 1
                        : std::isinf(x[0]) ? kNan
                                           : sin_pi(x[0]) / (kPi * x[0]); },
       [](C z) { return z[0] == Complex(0) ? Complex(1) : std::sin(z[0] * kPi) / (z[0] * kPi); },
       nullptr,
       -4,
       4,
       kNoZeroSign},
      {"rad2deg", 1, {}, [](R x) { return x[0] * 180 / kPi; }, nullptr, nullptr, -7, 7},
      {"deg2rad", 1, {}, [](R x) { return x[0] * kPi / 180; }, nullptr, nullptr, -400, 400},
      // Error and gamma functions.
      {"erf", 1, {}, [](R x) { return std::erf(x[0]); }, nullptr, nullptr, -4, 4},
      {"erfc", 1, {}, [](R x) { return std::erfc(x[0]); }, nullptr, nullptr, -4, 10},
      {"erfinv", 1, {}, [](R x) { return erfinv(x[0]); }, nullptr, nullptr, -1, 1},
      {"lgamma", 1, {}, [](R x) { return std::lgamma(x[0]); }, nullptr, [](R) { return 1.0L; }, -10, 10},
      {"digamma",
       1,
       {},
       [](R x) { return digamma(x[0]); },
       nullptr,
       [](R x) { return fmax(x[0] < 0 ? fabs(digamma(1 - x[0])) : 0.0L, 1.0L); },
       -10,
       10},
      // Rounding and signs.
      {"ceil", 1, {}, [](R x) { return std::ceil(x[0]); }, nullptr, nullptr, -10, 10},
      {"floor", 1, {}, [](R x) { return std::floor(x[0]); }, nullptr, nullptr, -10, 10},
      {"round", 1, {}, [](R x) { return std::nearbyint(x[0]); }, nullptr, nullptr, -10, 10},
      {"trunc", 1, {}, [](R x) { return std::trunc(x[0]); }, nullptr, nullptr, -10, 10},
      {"frac", 1, {}, [](R x) { return x[0] - std::trunc(x[0]); }, nullptr, nullptr, -10, 10},
      {"neg", 1, {}, [](R x) { return -x[0]; }, [](C z) { return -z[0]; }, nullptr, -10, 10},
      {"abs",
       1,
       {},
       [](R x) { return fabs(x[0]); },
       [](C z) { return Complex(std::hypot(z[0].real(), z[0].imag())); },
       nullptr,
       -10,
       10},
      {"angle",
       1,
       {},
       [](R x) { return std::isnan(x[0]) ? x[0]
                        : x[0] < 0       ? kPi
                                         : 0.0L; },
       [](C z) { return Complex(std::arg(z[0])); },
       nullptr,
       -10,
       10,
       kNoZeroSign},
      {"sign", 1, {}, [](R x) { return x[0] > 0   ? 1.0L
                                       : x[0] < 0 ? -1.0L
                                                  : 0.0L; }, nullptr, nullptr, -10, 10},
      {"sgn",
       1,
       {},
       [](R x) { return x[0] > 0   ? 1.0L
                        : x[0] < 0 ? -1.0L
                                   : 0.0L; },
       [](C z) { return z[0] == Complex(0) ? z[0] : z[0] / std::hypot(z[0].real(), z[0].imag()); },
       nullptr,
       -10,
       10},
      {"positive", 1, {}, [](R x) { return x[0]; }, [](C z) { return z[0]; }, nullptr, -10, 10},
      {"conj_physical", 1, {}, [](R x) { return x[0]; }, [](C z) { return std::conj(z[0]); }, nullptr, -10, 10},
      {"reciprocal", 1, {}, [](R x) { return 1 / x[0]; }, [](C z) { return 1.0L / z[0]; }, nullptr, -3, 3},
      {"square", 1, {}, [](R x) { return x[0] * x[0]; }, [](C z) { return z[0] * z[0]; }, nullptr, -3, 3},
      {"logit", 1, {}, [](R x) { return std::log(x[0] / (1 - x[0])); }, nullptr, [](R) { return 1.0L; }, 0, 1},
      {"nan_to_num",
       1,
       {c10::IValue(2.0), c10::IValue(3.0), c10::IValue(-3.0)},
       [](R x) { return std::isnan(x[0])   ? 2.0L
                        : std::isinf(x[0]) ? std::copysign(3.0L, x[0])
                                           : x[0]; },
       nullptr,
       nullptr,
       -3,
       3},
      {"special_entr",
       1,
       {},
       [](R x) {
         return std::isnan(x[0]) ? x[0] : x[0] == 0 ? 0.0L : x[0] < 0 ? -kInf : -x[0] * std::log(x[0]);
       },
       nullptr,
       nullptr,
       0,
       3},
      // Activations.
      {"sigmoid",
       1,
       {},
       [](R x) { return 1 / (1 + std::exp(-x[0])); },
       [](C z) { return 1.0L / (1.0L + std::exp(-z[0])); },
       nullptr,
       -80,
       80},
      {"relu",
       1,
       {},
       [](R x) { return std::isnan(x[0]) ? x[0]
                        : x[0] > 0       ? x[0]
                                         : 0.0L; },
       nullptr,
       nullptr,
       -3,
       3,
       kNoZeroSign},
      {"relu6",
       1,
       {},
       [](R x) {
         return std::isnan(x[0]) ? x[0] : x[0] < 0 ? 0.0L : x[0] > 6 ? 6.0L : x[0];
       },
       nullptr,
       nullptr,
       -3,
       9,
       kNoZeroSign},
      {"hardtanh",
       1,
       {},
       [](R x) {
         return std::isnan(x[0]) ? x[0] : x[0] < -1 ? -1.0L : x[0] > 1 ? 1.0L : x[0];
       },
       nullptr,
       nullptr,
       -3,
       3,
       kNoZeroSign},
      {"leaky_relu",
       1,
       {c10::IValue(0.25)},
       [](R x) { return x[0] > 0 ? x[0] : x[0] * 0.25L; },
       nullptr,
       nullptr,
       -3,
       3},
      {"gelu", 1, {}, [](R x) { return gelu(x[0]); }, nullptr, [](R x) { return fabs(x[0]); }, -8, 8},
      {"silu",
       1,
       {},
       [](R x) { return x[0] / (1 + std::exp(-x[0])); },
       [](C z) { return z[0] / (1.0L + std::exp(-z[0])); },
       nullptr,
       -80,
       80},
      {"mish", 1, {}, [](R x) { return x[0] * std::tanh(std::log1p(std::exp(x[0]))); }, nullptr, nullptr, -80, 80},
      {"elu", 1, {}, [](R x) { return x[0] > 0 ? x[0] : std::expm1(x[0]); }, nullptr, nullptr, -8, 8},
      {"celu",
       1,
       {c10::IValue(2.0)},
       [](R x) { return x[0] > 0 ? x[0] : 2 * std::expm1(x[0] / 2); },
       nullptr,
       nullptr,
       -8,
       8},
      {"selu",
       1,
       {},
       [](R x) { return 1.05070098735548049342L * (x[0] > 0 ? x[0] : 1.67326324235437728482L * std::expm1(x[0])); },
       nullptr,
       nullptr,
       -8,
       8},
      {"softplus", 1, {}, [](R x) { return x[0] > 20 ? x[0] : std::log1p(std::exp(x[0])); }, nullptr, nullptr, -80, 30},
      {"log_sigmoid",
       1,
       {},
       [](R x) { return x[0] < 0 ? x[0] - std::log1p(std::exp(x[0])) : -std::log1p(std::exp(-x[0])); },
       nullptr,
       nullptr,
       -80,
       80,
       kNoZeroSign},
      {"hardsigmoid",
       1,
       {},
       [](R x) {
         return std::isnan(x[0]) ? x[0] : x[0] <= -3 ? 0.0L : x[0] >= 3 ? 1.0L : (x[0] + 3) / 6;
       },
       nullptr,
       [](R) { return 1.0L; },
       -4,
       4},
      {"hardswish",
       1,
       {},
       [](R x) {
         return std::isnan(x[0]) || x[0] == -kInf ? kNan
                : x[0] <= -3                      ? x[0] * 0
                : x[0] >= 3                       ? x[0]
                                                  : x[0] * (x[0] + 3) / 6;
       },
       nullptr,
       [](R x) { return fabs(x[0]); },
       -4,
       4},
      {"hardshrink",
       1,
       {c10::IValue(0.5)},
       [](R x) { return fabs(x[0]) <= 0.5L ? 0.0L : x[0]; },
       nullptr,
       nullptr,
       -3,
       3,
       kNoZeroSign},
      {"softshrink",
       1,
       {c10::IValue(0.5)},
       [](R x) { return x[0] > 0.5L    ? x[0] - 0.5L
                        : x[0] < -0.5L ? x[0] + 0.5L
                                       : x[0] * 0; },
       nullptr,
       nullptr,
       -3,
       3},
      {"threshold",
       1,
       {c10::IValue(0.5), c10::IValue(2.0)},
       [](R x) { return x[0] <= 0.5L ? 2.0L : x[0]; },
       nullptr,
       nullptr,
       -3,
       3},
      // Two operands.
      {"add.Tensor", 2, {}, [](R x) { return x[0] + x[1]; }, [](C z) { return z[0] + z[1]; }, nullptr, -3, 3},
      {"sub.Tensor", 2, {}, [](R x) { return x[0] - x[1]; }, [](C z) { return z[0] - z[1]; }, nullptr, -3, 3},
      {"rsub.Tensor", 2, {}, [](R x) { return x[1] - x[0]; }, [](C z) { return z[1] - z[0]; }, nullptr, -3, 3},
      {"mul.Tensor", 2, {}, [](R x) { return x[0] * x[1]; }, [](C z) { return z[0] * z[1]; }, nullptr, -3, 3},
      {"div.Tensor", 2, {}, [](R x) { return x[0] / x[1]; }, [](C z) { return z[0] / z[1]; }, nullptr, -3, 3},
      {"fmod.Tensor", 2, {}, [](R x) { return std::fmod(x[0], x[1]); }, nullptr, nullptr, -10, 10},
      {"remainder.Tensor", 2, {}, [](R x) { return remainder_of(x[0], x[1]); }, nullptr, nullptr, -10, 10},
      {"maximum", 2, {}, larger, nullptr, nullptr, -3, 3, kNoZeroSign},
      {"minimum", 2, {}, smaller, nullptr, nullptr, -3, 3, kNoZeroSign},
      {"fmax", 2, {}, [](R x) { return std::fmax(x[0], x[1]); }, nullptr, nullptr, -3, 3, kNoZeroSign},
      {"fmin", 2, {}, [](R x) { return std::fmin(x[0], x[1]); }, nullptr, nullptr, -3, 3, kNoZeroSign},
      {"copysign.Tensor", 2, {}, [](R x) { return std::copysign(x[0], x[1]); }, nullptr, nullptr, -3, 3},
      {"atan2", 2, {}, [](R x) { return std::atan2(x[0], x[1]); }, nullptr, nullptr, -3, 3},
      {"hypot", 2, {}, [](R x) { return std::hypot(x[0], x[1]); }, nullptr, nullptr, -3, 3},
      {"pow.Tensor_Tensor",
       2,
       {},
       [](R x) { return std::pow(x[0], x[1]); },
       [](C z) { return std::pow(z[0], z[1]); },
       nullptr,
       0,
       10},
      {"logaddexp",
       2,
       {},
       [](R x) { return log_add(x[0], x[1], 1); },
       nullptr,
       [](R x) { return fmax(fabs(x[0]), fmax(fabs(x[1]), 1.0L)); },
       -10,
       10},
      {"logaddexp2",
       2,
       {},
       [](R x) { return log_add(x[0], x[1], std::log(2.0L)); },
       nullptr,
       [](R x) { return fmax(fabs(x[0]), fmax(fabs(x[1]), 1.0L)); },
       -10,
       10},
      {"xlogy.Tensor",
       2,
       {},
       [](R x) { return std::isnan(x[1]) ? x[1]
                        : x[0] == 0      ? 0.0L
                                         : x[0] * std::log(x[1]); },
       nullptr,
       nullptr,
       0,
       4},
      {"heaviside",
       2,
       {},
       [](R x) { return x[0] == 0 ? x[1] : x[0] > 0 ? 1.0L : 0.0L; },
       nullptr,
       nullptr,
       -3,
       3},
      {"clamp_min.Tensor", 2, {}, larger, nullptr, nullptr, -3, 3, kNoZeroSign},
      {"clamp_max.Tensor", 2, {}, smaller, nullptr, nullptr, -3, 3, kNoZeroSign},
      // Three operands.
      {"addcmul",
       3,
       {},
       [](R x) { return x[0] + x[1] * x[2]; },
       [](C z) { return z[0] + z[1] * z[2]; },
       [](R x) { return fmax(fabs(x[0]), fabs(x[1] * x[2])); },
       -3,
       3, kUniformOnly},
      {"addcdiv",
       3,
       {},
       [](R x) { return x[0] + x[1] / x[2]; },
       [](C z) { return z[0] + z[1] / z[2]; },
       [](R x) { return fmax(fabs(x[0]), fabs(x[1] / x[2])); },
       -3,
       3, kUniformOnly},
      {"lerp.Tensor",
       3,
       {},
       [](R x) { return x[0] + x[2] * (x[1] - x[0]); },
       nullptr,
       [](R x) { return fmax(fmax(fabs(x[0]), fabs(x[1])), fmax(fabs(x[2] * x[0]), fabs(x[2] * x[1]))); },
       -3,
       3,
       kUniformOnly},
  };
  return all;
}

}  // namespace at::accuracy

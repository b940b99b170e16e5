#include "aten/cpu/loops/loops.h"

#include <cmath>
#include <limits>

#include "aten/cpu/loops/complex.h"

// Functions that go through the C library, float by way of double (so correctly rounded but for double rounding).

namespace at::cpu {
namespace {

constexpr double kPi = 3.14159265358979323846;

// sin(pi x): the argument is reduced before it is multiplied.
double sin_pi(double x) {
  const double r = std::remainder(x, 2.0);
  return std::sin(kPi * (std::fabs(r) <= 0.5 ? r : std::copysign(1.0, r) - r));
}

double inverse_erf(double y) {
  if (std::isnan(y) || y < -1 || y > 1) return std::numeric_limits<double>::quiet_NaN();
  if (y == 1 || y == -1) return y * std::numeric_limits<double>::infinity();
  if (y == 0) return y;
  // A starting value good to three digits (Winitzki 2008), then Halley steps on erf or, near the ends, erfc.
  const double a = 0.147, magnitude = std::fabs(y);
  const double l = std::log1p(-magnitude) + std::log1p(magnitude), t = 2 / (kPi * a) + l / 2;
  double x = std::sqrt(std::sqrt(t * t - l / a) - t);
  for (int step = 0; step < 3; ++step) {
    const double error = magnitude < 0.5 ? std::erf(x) - magnitude : (1 - magnitude) - std::erfc(x);
    const double newton = error / (2 / std::sqrt(kPi) * std::exp(-x * x));
    x -= newton / (1 + x * newton);
  }
  return std::copysign(x, y);
}

struct RealAngle { static double run(double x) { return std::isnan(x) ? x : x < 0 ? kPi : 0.0; } };
struct Tan { static double run(double x) { return std::tan(x); } };
struct Asin { static double run(double x) { return std::asin(x); } };
struct Acos { static double run(double x) { return std::acos(x); } };
struct Atan { static double run(double x) { return std::atan(x); } };
struct Sinh { static double run(double x) { return std::sinh(x); } };
struct Cosh { static double run(double x) { return std::cosh(x); } };
struct Asinh { static double run(double x) { return std::asinh(x); } };
struct Acosh { static double run(double x) { return std::acosh(x); } };
struct Atanh { static double run(double x) { return std::atanh(x); } };
struct Erfc { static double run(double x) { return std::erfc(x); } };
struct Erfinv { static double run(double x) { return inverse_erf(x); } };
struct Sinc { static double run(double x) { return x == 0 ? 1.0 : sin_pi(x) / (kPi * x); } };
struct Logit { static double run(double x) { return std::log(x / (1 - x)); } };

struct Atan2 { static double run(double a, double b) { return std::atan2(a, b); } };
struct Hypot { static double run(double a, double b) { return std::hypot(a, b); } };
struct Xlogy {
  static double run(double a, double b) { return std::isnan(b) ? b : a == 0 ? 0.0 : a * std::log(b); }
};
struct Fmod { static double run(double a, double b) { return std::fmod(a, b); } };
struct Remainder {
  static double run(double a, double b) {
    const double r = std::fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
  }
};
struct FloorDivide {
  static double run(double a, double b) {
    if (b == 0) return a / b;
    const double r = std::fmod(a, b);
    double q = (a - r) / b;
    if (r != 0 && (b < 0) != (r < 0)) q -= 1;
    if (q == 0) return std::copysign(0.0, a / b);
    const double f = std::floor(q);
    return q - f > 0.5 ? f + 1 : f;
  }
};
struct LogAddExp {
  static double run(double a, double b) {
    if (std::isinf(a) && a == b) return a;
    const double m = a > b ? a : b;
    return std::isnan(a + b) && !std::isinf(a) && !std::isinf(b) ? a + b : m + std::log1p(std::exp(-std::fabs(a - b)));
  }
};
struct LogAddExp2 {
  static double run(double a, double b) {
    if (std::isinf(a) && a == b) return a;
    const double m = a > b ? a : b;
    return std::isnan(a) || std::isnan(b) ? a + b : m + std::log1p(std::exp2(-std::fabs(a - b))) * 1.44269504088896340736;
  }
};
struct Heaviside {
  static double run(double x, double at_zero) { return x == 0 ? at_zero : x > 0 ? 1.0 : 0.0; }
};

template <class F, class T>
void unary(char* const* data, int64_t n, const void*) {
  T* out = reinterpret_cast<T*>(data[0]);
  const T* a = reinterpret_cast<const T*>(data[1]);
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(F::run(static_cast<double>(a[i])));
}
template <class F, class T>
void binary(char* const* data, int64_t n, const void*) {
  T* out = reinterpret_cast<T*>(data[0]);
  const T* a = reinterpret_cast<const T*>(data[1]);
  const T* b = reinterpret_cast<const T*>(data[2]);
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(F::run(static_cast<double>(a[i]), static_cast<double>(b[i])));
}
template <class T>
void truncated_quotient(char* const* data, int64_t n, const void*) {
  T* out = reinterpret_cast<T*>(data[0]);
  const T* a = reinterpret_cast<const T*>(data[1]);
  const T* b = reinterpret_cast<const T*>(data[2]);
  for (int64_t i = 0; i < n; ++i) out[i] = std::trunc(a[i] / b[i]);
}
template <class T>
void next_after(char* const* data, int64_t n, const void*) {
  T* out = reinterpret_cast<T*>(data[0]);
  const T* a = reinterpret_cast<const T*>(data[1]);
  const T* b = reinterpret_cast<const T*>(data[2]);
  for (int64_t i = 0; i < n; ++i) out[i] = std::nextafter(a[i], b[i]);
}
template <class T>
void int_heaviside(char* const* data, int64_t n, const void*) {
  T* out = reinterpret_cast<T*>(data[0]);
  const T* a = reinterpret_cast<const T*>(data[1]);
  const T* b = reinterpret_cast<const T*>(data[2]);
  for (int64_t i = 0; i < n; ++i) out[i] = a[i] == 0 ? b[i] : a[i] > 0;
}
template <class T>
void clamped_logit(char* const* data, int64_t n, const void* context) {
  const T eps = *static_cast<const T*>(context);
  T* out = reinterpret_cast<T*>(data[0]);
  const T* a = reinterpret_cast<const T*>(data[1]);
  for (int64_t i = 0; i < n; ++i) {
    const double low = eps, high = 1 - static_cast<double>(eps);
    const double x = a[i] < low ? low : a[i] > high ? high : a[i];
    out[i] = static_cast<T>(std::log(x / (1 - x)));
  }
}

constexpr ElementTable table(ElementLoop f) { return baseline_table<ElementLoop>(f); }

template <class F>
constexpr ElementOp unary_op(ElementTable c64 = {}, ElementTable c128 = {}) {
  return {table(unary<F, float>), table(unary<F, double>), {}, {}, c64, c128};
}
template <class F, class Tag>
constexpr ElementOp complex_unary_op() {
  return unary_op<F>(complex_table<Tag, float>(), complex_table<Tag, double>());
}
template <class F>
constexpr ElementOp binary_op() {
  return {table(binary<F, float>), table(binary<F, double>), {}, {}, {}, {}};
}

}  // namespace

namespace {
// On 16-bit floating-point numbers whose infinity is kInfinity and whose quiet NaN is kNan.
template <uint16_t kInfinity, uint16_t kNan>
void nextafter_16(char* const* data, int64_t n) {
  uint16_t* out = reinterpret_cast<uint16_t*>(data[0]);
  const uint16_t* a = reinterpret_cast<const uint16_t*>(data[1]);
  const uint16_t* b = reinterpret_cast<const uint16_t*>(data[2]);
  const auto is_nan = [](uint16_t x) { return (x & 0x7fff) > kInfinity; };
  // The numbers in order as integers.
  const auto rank = [](uint16_t x) { return (x & 0x8000) != 0 ? -static_cast<int32_t>(x & 0x7fff) : static_cast<int32_t>(x); };
  for (int64_t i = 0; i < n; ++i) {
    const uint16_t x = a[i], y = b[i];
    if (is_nan(x) || is_nan(y)) {
      out[i] = kNan;
    } else if (rank(x) == rank(y)) {
      out[i] = y;
    } else if ((x & 0x7fff) == 0) {
      out[i] = rank(y) > 0 ? 0x0001 : 0x8001;
    } else {
      const bool grows = (rank(x) < rank(y)) == (rank(x) > 0);
      out[i] = static_cast<uint16_t>(grows ? x + 1 : x - 1);
    }
  }
}
}  // namespace

void nextafter_bfloat16(char* const* data, int64_t n, const void*) { nextafter_16<0x7f80, 0x7fc0>(data, n); }
void nextafter_half(char* const* data, int64_t n, const void*) { nextafter_16<0x7c00, 0x7e00>(data, n); }

namespace loops {

constinit const ElementOp tan = complex_unary_op<Tan, op::Tan>();
constinit const ElementOp asin = complex_unary_op<Asin, op::Asin>();
constinit const ElementOp acos = complex_unary_op<Acos, op::Acos>();
constinit const ElementOp atan = complex_unary_op<Atan, op::Atan>();
constinit const ElementOp sinh = complex_unary_op<Sinh, op::Sinh>();
constinit const ElementOp cosh = complex_unary_op<Cosh, op::Cosh>();
constinit const ElementOp asinh = complex_unary_op<Asinh, op::Asinh>();
constinit const ElementOp acosh = complex_unary_op<Acosh, op::Acosh>();
constinit const ElementOp atanh = complex_unary_op<Atanh, op::Atanh>();
constinit const ElementOp real_angle = unary_op<RealAngle>();
constinit const ElementOp erfc = unary_op<Erfc>();
constinit const ElementOp erfinv = unary_op<Erfinv>();
constinit const ElementOp sinc = complex_unary_op<Sinc, op::Sinc>();
constinit const ElementOp logit = unary_op<Logit>();
constinit const ElementOp logit_eps = {table(clamped_logit<float>), table(clamped_logit<double>), {}, {}, {}, {}};
constinit const ElementOp atan2 = binary_op<Atan2>();
constinit const ElementOp hypot = binary_op<Hypot>();
constinit const ElementOp fmod = binary_op<Fmod>();
constinit const ElementOp remainder = binary_op<Remainder>();
constinit const ElementOp trunc_divide = {table(truncated_quotient<float>), table(truncated_quotient<double>), {}, {}, {}, {}};
constinit const ElementOp floor_divide = binary_op<FloorDivide>();
constinit const ElementOp logaddexp = {table(binary<LogAddExp, float>), table(binary<LogAddExp, double>), {}, {},
                                       complex_table<op::LogAddExp, float>(), complex_table<op::LogAddExp, double>()};
constinit const ElementOp logaddexp2 = binary_op<LogAddExp2>();
constinit const ElementOp xlogy = {table(binary<Xlogy, float>), table(binary<Xlogy, double>), {}, {},
                                   complex_table<op::Xlogy, float>(), complex_table<op::Xlogy, double>()};
constinit const ElementOp nextafter = {table(next_after<float>), table(next_after<double>), {}, {}, {}, {}};
constinit const ElementOp heaviside = {table(binary<Heaviside, float>), table(binary<Heaviside, double>), table(int_heaviside<int32_t>),
                                       table(int_heaviside<int64_t>), {}, {}};

}  // namespace loops
}  // namespace at::cpu

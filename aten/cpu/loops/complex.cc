#include "aten/cpu/loops/complex.h"

#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>

namespace at::cpu {
namespace {

template <class T>
using C = std::complex<T>;

template <class Tag>
struct Formula;

// sin(pi z): the real part is reduced before it is multiplied.
template <class T>
C<T> sin_pi(C<T> z) {
  const T r = std::remainder(z.real(), T(2));
  const bool near = std::fabs(r) <= T(0.5);
  // sin(pi (1 - w)) = sin(pi w).
  const C<T> w = near ? C<T>(r, z.imag()) : C<T>(std::copysign(T(1), r) - r, -z.imag());
  return std::sin(w * T(3.14159265358979323846));
}

#define AT_COMPLEX(tag, expression)  \
  template <>                        \
  struct Formula<op::tag> {          \
    template <class T>               \
    static C<T> run(C<T> z) {        \
      return expression;             \
    }                                \
  };

AT_COMPLEX(Exp, std::exp(z))
AT_COMPLEX(Exp2, std::polar(std::exp2(z.real()), z.imag() * T(0.69314718055994530942)))
AT_COMPLEX(Log, std::log(z))
AT_COMPLEX(Log2, std::log(z) * T(1.44269504088896340736))
AT_COMPLEX(Log10, std::log10(z))
AT_COMPLEX(Sin, std::sin(z))
AT_COMPLEX(Cos, std::cos(z))
AT_COMPLEX(Tan, std::tan(z))
AT_COMPLEX(Sinc, z == C<T>(0) ? C<T>(1) : sin_pi(z) / (z * T(3.14159265358979323846)))
AT_COMPLEX(Asin, std::asin(z))
AT_COMPLEX(Acos, std::acos(z))
AT_COMPLEX(Atan, std::atan(z))
AT_COMPLEX(Sinh, std::sinh(z))
AT_COMPLEX(Cosh, std::cosh(z))
AT_COMPLEX(Tanh, std::tanh(z))
AT_COMPLEX(Asinh, std::asinh(z))
AT_COMPLEX(Acosh, std::acosh(z))
AT_COMPLEX(Atanh, std::atanh(z))
AT_COMPLEX(Sqrt, std::sqrt(z))
AT_COMPLEX(Rsqrt, T(1) / std::sqrt(z))
AT_COMPLEX(Sigmoid, T(1) / (T(1) + std::exp(-z)))
AT_COMPLEX(Silu, z / (T(1) + std::exp(-z)))

template <>
struct Formula<op::Expm1> {
  // Re = expm1(x) cos y - 2 sin^2(y / 2): no cancellation near zero.
  template <class T>
  static C<T> run(C<T> z) {
    const T e = std::expm1(z.real()), s = std::sin(z.imag() / 2);
    return {e * std::cos(z.imag()) - 2 * s * s, (e + 1) * std::sin(z.imag())};
  }
};
template <>
struct Formula<op::Log1p> {
  template <class T>
  static C<T> run(C<T> z) {
    const T x = z.real(), y = z.imag();
    if (std::abs(z) < T(0.5)) return {std::log1p(x * (2 + x) + y * y) / 2, std::atan2(y, 1 + x)};
    return std::log(C<T>(1 + x, y));
  }
};
template <>
struct Formula<op::Sgn> {
  template <class T>
  static C<T> run(C<T> z) {
    const T a = std::abs(z);
    return a == 0 ? C<T>(0) : z / a;
  }
};

template <class Tag, class T>
void run_formula(char* const* data, int64_t n) {
  C<T>* out = reinterpret_cast<C<T>*>(data[0]);
  const C<T>* in = reinterpret_cast<const C<T>*>(data[1]);
  // complex64 by way of double, like the real functions that go through the C library.
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<C<T>>(Formula<Tag>::run(static_cast<C<double>>(in[i])));
}

}  // namespace

template <class Tag, class T>
void ComplexFn<Tag, T>::loop(char* const* data, int64_t n, const void*) {
  run_formula<Tag, T>(data, n);
}

/// a ^ b: 0 ^ 0 = 1, and small integer powers by products.
template <class T>
struct ComplexFn<op::Pow, T> {
  static void loop(char* const* data, int64_t n, const void*) {
    C<T>* out = reinterpret_cast<C<T>*>(data[0]);
    const C<T>* a = reinterpret_cast<const C<T>*>(data[1]);
    const C<T>* b = reinterpret_cast<const C<T>*>(data[2]);
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<C<T>>(power(static_cast<Z>(a[i]), static_cast<Z>(b[i])));
  }
  using Z = C<double>;
  static Z power(Z z, Z w) {
    if (w.imag() == 0) {
      if (w.real() == 0) return Z(1);
      if (w.real() == 1) return z;
      if (w.real() == 2) return z * z;
    }
    if (z == Z(0)) return w.real() > 0 ? Z(0) : std::pow(z, w);
    return std::pow(z, w);
  }
};
// log(e^a + e^b), from the larger real part.
template <class T>
struct ComplexFn<op::LogAddExp, T> {
  static C<T> value(C<T> a, C<T> b) {
    const bool first = a.real() >= b.real();
    const C<T> high = first ? a : b, low = first ? b : a;
    if (std::isinf(high.real()) && high.real() == low.real()) return high.real() < 0 ? high : std::log(std::exp(high) + std::exp(low));
    return high + std::log(C<T>(1) + std::exp(low - high));
  }
  static void loop(char* const* data, int64_t n, const void*) {
    C<T>* out = reinterpret_cast<C<T>*>(data[0]);
    const C<T>* a = reinterpret_cast<const C<T>*>(data[1]);
    const C<T>* b = reinterpret_cast<const C<T>*>(data[2]);
    for (int64_t i = 0; i < n; ++i) out[i] = value(a[i], b[i]);
  }
};
template <class T>
struct ComplexFn<op::Xlogy, T> {
  static void loop(char* const* data, int64_t n, const void*) {
    C<T>* out = reinterpret_cast<C<T>*>(data[0]);
    const C<T>* a = reinterpret_cast<const C<T>*>(data[1]);
    const C<T>* b = reinterpret_cast<const C<T>*>(data[2]);
    for (int64_t i = 0; i < n; ++i) out[i] = a[i] == C<T>(0) ? C<T>(0) : a[i] * std::log(b[i]);
  }
};

namespace {

template <class R, class T, class F>
void complex_to(char* const* data, int64_t n, const F& f) {
  R* out = reinterpret_cast<R*>(data[0]);
  const C<T>* in = reinterpret_cast<const C<T>*>(data[1]);
  for (int64_t i = 0; i < n; ++i) out[i] = f(in[i]);
}
constexpr auto kAbs = [](auto z) { return std::hypot(z.real(), z.imag()); };
constexpr auto kAngle = [](auto z) { return std::atan2(z.imag(), z.real()); };
constexpr auto kIsReal = [](auto z) { return z.imag() == 0; };

// By the bits, without branches; a subnormal number by a normal multiple of it.
template <class T, class Bits>
void frexp_run(char* const* data, int64_t n) {
  constexpr int kDigits = std::numeric_limits<T>::digits - 1, kHalf = std::numeric_limits<T>::max_exponent - 2;
  constexpr Bits kField = (~Bits{0} << 1 >> 1) >> kDigits;
  constexpr T kScale = static_cast<T>(Bits{1} << kDigits) * 4;
  T* mantissa = reinterpret_cast<T*>(data[0]);
  int32_t* exponent = reinterpret_cast<int32_t*>(data[1]);
  const T* in = reinterpret_cast<const T*>(data[2]);
  for (int64_t i = 0; i < n; ++i) {
    const T x = in[i];
    const bool subnormal = std::abs(x) < std::numeric_limits<T>::min();
    const Bits bits = std::bit_cast<Bits>(subnormal ? x * kScale : x), field = bits >> kDigits & kField;
    const bool as_it_is = x == 0 || field == kField;
    const T half = std::bit_cast<T>((bits & ~(kField << kDigits)) | Bits{kHalf} << kDigits);
    mantissa[i] = as_it_is ? x : half;
    exponent[i] = as_it_is ? 0 : static_cast<int32_t>(field) - kHalf - (subnormal ? kDigits + 2 : 0);
  }
}

}  // namespace

namespace {

template <class T>
void abs_loop(char* const* data, int64_t n, const void*) {
  complex_to<T, T>(data, n, kAbs);
}
void angle_loop(char* const* data, int64_t n, const void*) { complex_to<double, double>(data, n, kAngle); }
template <class T>
void is_real_loop(char* const* data, int64_t n, const void*) {
  complex_to<bool, T>(data, n, kIsReal);
}
constexpr ElementTable table(ElementLoop loop) { return baseline_table<ElementLoop>(loop); }

}  // namespace

namespace loops {
AT_ELEMENT_OP(complex_abs, {{}, {}, {}, {}, table(abs_loop<float>), table(abs_loop<double>)});
AT_ELEMENT_OP(complex_angle, {{}, {}, {}, {}, table(complex_angle_float), table(angle_loop)});
AT_ELEMENT_OP(complex_is_real, {{}, {}, {}, {}, table(is_real_loop<float>), table(is_real_loop<double>)});
}  // namespace loops

void frexp_float(char* const* data, int64_t n, const void*) { frexp_run<float, uint32_t>(data, n); }
void frexp_double(char* const* data, int64_t n, const void*) { frexp_run<double, uint64_t>(data, n); }

/// Gradients from the gradient and the result: the derivative is conjugated.
template <class T>
struct ComplexFn<op::SigmoidBackward, T> {
  static void loop(char* const* data, int64_t n, const void*) {
    C<T>* out = reinterpret_cast<C<T>*>(data[0]);
    const C<T>* g = reinterpret_cast<const C<T>*>(data[1]);
    const C<T>* y = reinterpret_cast<const C<T>*>(data[2]);
    for (int64_t i = 0; i < n; ++i) out[i] = g[i] * std::conj((T(1) - y[i]) * y[i]);
  }
};
template <class T>
struct ComplexFn<op::TanhBackward, T> {
  static void loop(char* const* data, int64_t n, const void*) {
    C<T>* out = reinterpret_cast<C<T>*>(data[0]);
    const C<T>* g = reinterpret_cast<const C<T>*>(data[1]);
    const C<T>* y = reinterpret_cast<const C<T>*>(data[2]);
    for (int64_t i = 0; i < n; ++i) out[i] = g[i] * std::conj(T(1) - y[i] * y[i]);
  }
};

#define AT_INSTANTIATE(tag)                    \
  template struct ComplexFn<op::tag, float>; \
  template struct ComplexFn<op::tag, double>;

AT_INSTANTIATE(Exp)
AT_INSTANTIATE(Exp2)
AT_INSTANTIATE(Expm1)
AT_INSTANTIATE(Log)
AT_INSTANTIATE(Log2)
AT_INSTANTIATE(Log10)
AT_INSTANTIATE(Log1p)
AT_INSTANTIATE(Sin)
AT_INSTANTIATE(Cos)
AT_INSTANTIATE(Tan)
AT_INSTANTIATE(Sinc)
AT_INSTANTIATE(Asin)
AT_INSTANTIATE(Acos)
AT_INSTANTIATE(Atan)
AT_INSTANTIATE(Sinh)
AT_INSTANTIATE(Cosh)
AT_INSTANTIATE(Tanh)
AT_INSTANTIATE(Asinh)
AT_INSTANTIATE(Acosh)
AT_INSTANTIATE(Atanh)
template struct ComplexFn<op::Sqrt, double>;
AT_INSTANTIATE(Rsqrt)
AT_INSTANTIATE(Sigmoid)
AT_INSTANTIATE(Silu)
AT_INSTANTIATE(Sgn)
AT_INSTANTIATE(SigmoidBackward)
AT_INSTANTIATE(TanhBackward)
AT_INSTANTIATE(Pow)
AT_INSTANTIATE(Xlogy)
AT_INSTANTIATE(LogAddExp)

}  // namespace at::cpu

// Elementary functions of float by vectors, of double by the C library where none is there of vectors of double.
#include "aten/cpu/loops/loops.h"

#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/loops/elementary.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "aten/cpu/loops/number-inl.h"

HWY_BEFORE_NAMESPACE();
namespace at::cpu {
namespace HWY_NAMESPACE {

#define AT_UNARY(Tag, vector, scalar)                                         \
  template <>                                                                 \
  struct Fn<op::Tag> : FnShape<1, 0> {                                        \
    static HWY_INLINE VecFloat run(VecFloat x, const VecFloat*) {             \
      return {vm::vector(FloatTag(), x.v), vm::vector(FloatTag(), x.w)};      \
    }                                                                         \
    static HWY_INLINE double run(double x, const double*) { return scalar; } \
  };
#define AT_BINARY(Tag, vector, scalar)                                                      \
  template <>                                                                               \
  struct Fn<op::Tag> : FnShape<2, 0> {                                                      \
    static HWY_INLINE VecFloat run(VecFloat a, VecFloat b, const VecFloat*) {               \
      return {vm::vector(FloatTag(), a.v, b.v), vm::vector(FloatTag(), a.w, b.w)};          \
    }                                                                                       \
    static HWY_INLINE double run(double a, double b, const double*) { return scalar; }     \
  };

constexpr double kPi = 3.14159265358979323846;

// A starting value good to three digits (Winitzki 2008), then Halley steps on erf or, near the ends, erfc.
HWY_INLINE double erfinv_of(double y) {
  if (std::isnan(y) || y < -1 || y > 1) return std::numeric_limits<double>::quiet_NaN();
  if (y == 1 || y == -1) return y * std::numeric_limits<double>::infinity();
  if (y == 0) return y;
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

AT_UNARY(Asin, asin, std::asin(x))
AT_UNARY(Acos, acos, std::acos(x))
AT_UNARY(Atan, atan, std::atan(x))
AT_UNARY(Erfinv, erfinv, erfinv_of(x))
AT_BINARY(Atan2, atan2, std::atan2(a, b))
AT_BINARY(NextAfter, nextafter, std::nextafter(a, b))

template <>
struct Fn<op::Xlogy> : FnShape<2, 0> {
  template <class X>
  static HWY_INLINE X run(X a, X b, const X*) {
    return pick(b != b, b, pick(a == X(0.0), X(0.0), a * m_log(b)));
  }
};
// Of numbers a and b, both of them inf or both -inf, the number itself; else the larger and what the other adds.
template <class X>
HWY_INLINE X larger_with(X a, X b, X added) {
  return pick((a == b) & (m_abs(a) == X(std::numeric_limits<double>::infinity())), a, pick(a > b, a, b) + added);
}
template <>
struct Fn<op::LogAddExp> : FnShape<2, 0> {
  template <class X>
  static HWY_INLINE X run(X a, X b, const X*) {
    return larger_with(a, b, m_log1p(m_exp(-m_abs(a - b))));
  }
};
template <>
struct Fn<op::LogAddExp2> : FnShape<2, 0> {
  template <class X>
  static HWY_INLINE X run(X a, X b, const X*) {
    return larger_with(a, b, m_log1p(m_exp2(-m_abs(a - b))) * X(1.44269504088896340736));
  }
};
template <>
struct Fn<op::Logit> : FnShape<1, 0> {
  template <class X>
  static HWY_INLINE X run(X x, const X*) {
    return m_log(x / (X(1.0) - x));
  }
};
// Within [eps, 1 - eps]; 1 less the upper bound is eps again.
template <>
struct Fn<op::LogitClamped> : FnShape<1, 1> {
  template <class X>
  static HWY_INLINE X run(X x, const X* eps) {
    const X one(1.0), low = eps[0], high = one - low;
    return m_log(pick(x < low, low / high, pick(x > high, high / low, x / (one - x))));
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "aten/cpu/isa_table.h"
#include "aten/cpu/loops/complex.h"

namespace at::cpu::loops {

#define AT_COMPLEX(tag) complex_table<op::tag, float>(), complex_table<op::tag, double>()

AT_ELEMENT_OP(asin, {AT_FLOAT_FORMULA(Asin), AT_COMPLEX(Asin)});
AT_ELEMENT_OP(acos, {AT_FLOAT_FORMULA(Acos), AT_COMPLEX(Acos)});
AT_ELEMENT_OP(atan, {AT_FLOAT_FORMULA(Atan), AT_COMPLEX(Atan)});
AT_ELEMENT_OP(erfinv, {AT_FLOAT_FORMULA(Erfinv), {}, {}});
AT_ELEMENT_OP(logit, {AT_FORMULA(Logit), {}, {}});
AT_ELEMENT_OP(logit_eps, {AT_FORMULA(LogitClamped), {}, {}});
AT_ELEMENT_OP(atan2, {AT_FLOAT_FORMULA(Atan2), {}, {}});
AT_ELEMENT_OP(logaddexp, {AT_FORMULA(LogAddExp), AT_COMPLEX(LogAddExp)});
AT_ELEMENT_OP(logaddexp2, {AT_FORMULA(LogAddExp2), {}, {}});
AT_ELEMENT_OP(xlogy, {AT_FORMULA(Xlogy), AT_COMPLEX(Xlogy)});
AT_ELEMENT_OP(nextafter, {AT_FLOAT_FORMULA(NextAfter), {}, {}});

}  // namespace at::cpu::loops

#endif  // HWY_ONCE

#include "aten/cpu/loops/loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/loops/elementary.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "aten/cpu/loops/number-inl.h"

HWY_BEFORE_NAMESPACE();
namespace at::cpu {
namespace HWY_NAMESPACE {

// Float by vectors, double by the C library.
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

// sin(pi x) / (pi x): the argument is reduced before it is multiplied.
HWY_INLINE double sinc_of(double x) {
  if (x == 0) return 1;
  const double r = std::remainder(x, 2.0);
  return std::sin(kPi * (std::fabs(r) <= 0.5 ? r : std::copysign(1.0, r) - r)) / (kPi * x);
}

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

HWY_INLINE double remainder_of(double a, double b) {
  const double r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

HWY_INLINE double floor_divide_of(double a, double b) {
  if (b == 0) return a / b;
  const double r = std::fmod(a, b);
  double q = (a - r) / b;
  if (r != 0 && (b < 0) != (r < 0)) q -= 1;
  if (q == 0) return std::copysign(0.0, a / b);
  const double f = std::floor(q);
  return q - f > 0.5 ? f + 1 : f;
}

HWY_INLINE double logaddexp_of(double a, double b) {
  if (std::isinf(a) && a == b) return a;
  return (a > b ? a : b) + std::log1p(std::exp(-std::fabs(a - b)));
}

HWY_INLINE double logaddexp2_of(double a, double b) {
  if (std::isinf(a) && a == b) return a;
  return (a > b ? a : b) + std::log1p(std::exp2(-std::fabs(a - b))) * 1.44269504088896340736;
}

AT_UNARY(Tan, tan, std::tan(x))
AT_UNARY(Asin, asin, std::asin(x))
AT_UNARY(Acos, acos, std::acos(x))
AT_UNARY(Atan, atan, std::atan(x))
AT_UNARY(Sinh, sinh, std::sinh(x))
AT_UNARY(Cosh, cosh, std::cosh(x))
AT_UNARY(Asinh, asinh, std::asinh(x))
AT_UNARY(Acosh, acosh, std::acosh(x))
AT_UNARY(Atanh, atanh, std::atanh(x))
AT_UNARY(Erfc, erfc, std::erfc(x))
AT_UNARY(Erfinv, erfinv, erfinv_of(x))
AT_UNARY(Sinc, sinc, sinc_of(x))
AT_UNARY(Logit, logit, std::log(x / (1 - x)))
AT_BINARY(Atan2, atan2, std::atan2(a, b))
AT_BINARY(Hypot, hypot, std::hypot(a, b))
AT_BINARY(Xlogy, xlogy, std::isnan(b) ? b : a == 0 ? 0.0 : a * std::log(b))
AT_BINARY(LogAddExp, logaddexp, logaddexp_of(a, b))
AT_BINARY(LogAddExp2, logaddexp2, logaddexp2_of(a, b))
AT_BINARY(NextAfter, nextafter, std::nextafter(a, b))

// Within [eps, 1 - eps].
template <>
struct Fn<op::LogitClamped> : FnShape<1, 1> {
  template <class X>
  static HWY_INLINE X run(X x, const X* eps) {
    const X one(1.0), low = eps[0], high = one - low, bounded = pick(x < low, low, pick(x > high, high, x));
    return m_log(bounded / (one - bounded));
  }
};

// finish(w, a, b, r) gives the result from r = fmod(a, b).
template <class Finish>
HWY_INLINE VecFloat by_fmod(VecFloat a, VecFloat b, Finish finish, double (*library)(double, double)) {
  return {vm::by_fmod(FloatTag(), a.v, b.v, finish, library), vm::by_fmod(FloatTag(), a.w, b.w, finish, library)};
}

template <>
struct Fn<op::Fmod> : FnShape<2, 0> {
  static HWY_INLINE VecFloat run(VecFloat a, VecFloat b, const VecFloat*) {
    return by_fmod(a, b, [](auto, auto, auto, auto r) HWY_ATTR { return r; }, [](double x, double y) { return std::fmod(x, y); });
  }
  static HWY_INLINE double run(double a, double b, const double*) { return std::fmod(a, b); }
};
template <>
struct Fn<op::Remainder> : FnShape<2, 0> {
  static HWY_INLINE VecFloat run(VecFloat a, VecFloat b, const VecFloat*) {
    const auto finish = [](auto w, auto, auto y, auto r) HWY_ATTR {
      const auto zero = hn::Zero(w);
      const auto differ = hn::Lt(hn::Mul(hn::CopySign(hn::Set(w, 1.0), r), hn::CopySign(hn::Set(w, 1.0), y)), zero);
      return hn::IfThenElse(hn::And(hn::Ne(r, zero), differ), hn::Add(r, y), r);
    };
    return by_fmod(a, b, finish, [](double x, double y) { return remainder_of(x, y); });
  }
  static HWY_INLINE double run(double a, double b, const double*) { return remainder_of(a, b); }
};
template <>
struct Fn<op::FloorDivide> : FnShape<2, 0> {
  static HWY_INLINE VecFloat run(VecFloat a, VecFloat b, const VecFloat*) {
    const auto finish = [](auto w, auto x, auto y, auto r) HWY_ATTR {
      const auto zero = hn::Zero(w), one = hn::Set(w, 1.0);
      const auto differ = hn::Lt(hn::Mul(hn::CopySign(one, r), hn::CopySign(one, y)), zero);
      auto q = hn::Div(hn::Sub(x, r), y);
      q = hn::IfThenElse(hn::And(hn::Ne(r, zero), differ), hn::Sub(q, one), q);
      const auto f = hn::Floor(q);
      const auto whole = hn::IfThenElse(hn::Gt(hn::Sub(q, f), hn::Set(w, 0.5)), hn::Add(f, one), f);
      const auto sign = hn::Mul(hn::CopySign(one, x), hn::CopySign(one, y));
      return hn::IfThenElse(hn::Eq(q, zero), hn::CopySign(zero, sign), whole);
    };
    return by_fmod(a, b, finish, [](double x, double y) { return floor_divide_of(x, y); });
  }
  static HWY_INLINE double run(double a, double b, const double*) { return floor_divide_of(a, b); }
};

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "aten/cpu/isa_table.h"
#include "aten/cpu/loops/complex.h"

namespace at::cpu::loops {

#define AT_REAL(tag) AT_ISA_TABLE(FormulaFloat<op::tag>::loop), AT_BASELINE_TABLE(FormulaDouble<op::tag>::loop), {}, {}
#define AT_COMPLEX(tag) complex_table<op::tag, float>(), complex_table<op::tag, double>()

constinit const ElementOp tan = {AT_REAL(Tan), AT_COMPLEX(Tan)};
constinit const ElementOp asin = {AT_REAL(Asin), AT_COMPLEX(Asin)};
constinit const ElementOp acos = {AT_REAL(Acos), AT_COMPLEX(Acos)};
constinit const ElementOp atan = {AT_REAL(Atan), AT_COMPLEX(Atan)};
constinit const ElementOp sinh = {AT_REAL(Sinh), AT_COMPLEX(Sinh)};
constinit const ElementOp cosh = {AT_REAL(Cosh), AT_COMPLEX(Cosh)};
constinit const ElementOp asinh = {AT_REAL(Asinh), AT_COMPLEX(Asinh)};
constinit const ElementOp acosh = {AT_REAL(Acosh), AT_COMPLEX(Acosh)};
constinit const ElementOp atanh = {AT_REAL(Atanh), AT_COMPLEX(Atanh)};
constinit const ElementOp sinc = {AT_REAL(Sinc), AT_COMPLEX(Sinc)};
constinit const ElementOp erfc = {AT_REAL(Erfc), {}, {}};
constinit const ElementOp erfinv = {AT_REAL(Erfinv), {}, {}};
constinit const ElementOp logit = {AT_REAL(Logit), {}, {}};
constinit const ElementOp logit_eps = {AT_REAL(LogitClamped), {}, {}};
constinit const ElementOp atan2 = {AT_REAL(Atan2), {}, {}};
constinit const ElementOp hypot = {AT_REAL(Hypot), {}, {}};
constinit const ElementOp fmod = {AT_REAL(Fmod), {}, {}};
constinit const ElementOp remainder = {AT_REAL(Remainder), {}, {}};
constinit const ElementOp floor_divide = {AT_REAL(FloorDivide), {}, {}};
constinit const ElementOp logaddexp = {AT_REAL(LogAddExp), AT_COMPLEX(LogAddExp)};
constinit const ElementOp logaddexp2 = {AT_REAL(LogAddExp2), {}, {}};
constinit const ElementOp xlogy = {AT_REAL(Xlogy), AT_COMPLEX(Xlogy)};
constinit const ElementOp nextafter = {AT_REAL(NextAfter), {}, {}};

}  // namespace at::cpu::loops

#endif  // HWY_ONCE

// Functions of one element that are a few instructions. Include after hwy/highway.h.

#if defined(ATEN_CPU_LOOPS_UNARY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATEN_CPU_LOOPS_UNARY_INL_H_
#undef ATEN_CPU_LOOPS_UNARY_INL_H_
#else
#define ATEN_CPU_LOOPS_UNARY_INL_H_
#endif

#include "aten/cpu/loops/loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace at::cpu {
namespace HWY_NAMESPACE {

template <>
struct VecFn<op::Neg> {
  static constexpr int kInputs = 1;
  template <class D, class V, class T>
  static HWY_INLINE V run(D d, V x, const T*) {
    return hn::Neg(x);
  }
};
template <>
struct ScalarFn<op::Neg> {
  static constexpr int kInputs = 1;
  template <class T>
  static HWY_INLINE T run(T x, const T*) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(x));
    } else {
      return T{-x.re, -x.im};
    }
  }
};
template <>
struct VecFn<op::Abs> {
  static constexpr int kInputs = 1;
  template <class D, class V, class T>
  static HWY_INLINE V run(D d, V x, const T*) {
    return hn::Abs(x);
  }
};
template <>
struct ScalarFn<op::Abs> {
  static constexpr int kInputs = 1;
  template <class T>
  static HWY_INLINE T run(T x, const T*) {
    return x < 0 ? static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(x)) : x;
  }
};
template <>
struct VecFn<op::Sign> {
  static constexpr int kInputs = 1;
  template <class D, class V, class T>
  static HWY_INLINE V run(D d, V x, const T*) {
    const V one = hn::Set(d, T(1)), zero = hn::Zero(d);
    const V up = hn::IfThenElseZero(hn::Gt(x, zero), one), down = hn::IfThenElseZero(hn::Lt(x, zero), one);
    return hn::Sub(up, down);
  }
};
template <>
struct ScalarFn<op::Sign> {
  static constexpr int kInputs = 1;
  template <class T>
  static HWY_INLINE T run(T x, const T*) {
    return static_cast<T>((x > 0) - (x < 0));
  }
};
// Results keep the argument's sign, zeros too, which the widest vectors do by themselves and the narrowest do not.
template <>
struct VecFn<op::Ceil> {
  static constexpr int kInputs = 1;
  template <class D, class V, class T>
  static HWY_INLINE V run(D d, V x, const T*) {
    return hn::CopySign(hn::Ceil(x), x);
  }
};
template <>
struct VecFn<op::Floor> {
  static constexpr int kInputs = 1;
  template <class D, class V, class T>
  static HWY_INLINE V run(D d, V x, const T*) {
    return hn::CopySign(hn::Floor(x), x);
  }
};
template <>
struct VecFn<op::Round> {
  static constexpr int kInputs = 1;
  template <class D, class V, class T>
  static HWY_INLINE V run(D d, V x, const T*) {
    return hn::CopySign(hn::Round(x), x);
  }
};
template <>
struct VecFn<op::Trunc> {
  static constexpr int kInputs = 1;
  template <class D, class V, class T>
  static HWY_INLINE V run(D d, V x, const T*) {
    return hn::CopySign(hn::Trunc(x), x);
  }
};
template <>
struct VecFn<op::Frac> {
  static constexpr int kInputs = 1;
  template <class D, class V, class T>
  static HWY_INLINE V run(D d, V x, const T*) {
    return hn::Sub(x, hn::CopySign(hn::Trunc(x), x));
  }
};
template <>
struct VecFn<op::Reciprocal> {
  static constexpr int kInputs = 1;
  template <class D, class V, class T>
  static HWY_INLINE V run(D d, V x, const T*) {
    return hn::Div(hn::Set(d, T(1)), x);
  }
};
template <>
struct ScalarFn<op::Reciprocal> {
  static constexpr int kInputs = 1;
  template <class T>
  static HWY_INLINE T run(T x, const T*) {
    return T{1, 0} / x;
  }
};
template <>
struct VecFn<op::Square> {
  static constexpr int kInputs = 1;
  template <class D, class V, class T>
  static HWY_INLINE V run(D d, V x, const T*) {
    return hn::Mul(x, x);
  }
};
template <>
struct ScalarFn<op::Square> {
  static constexpr int kInputs = 1;
  template <class T>
  static HWY_INLINE T run(T x, const T*) {
    if constexpr (std::is_integral_v<T>) {
      using W = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<W>(x) * static_cast<W>(x));
    } else {
      return x * x;
    }
  }
};
template <>
struct VecFn<op::Cube> {
  static constexpr int kInputs = 1;
  template <class D, class V, class T>
  static HWY_INLINE V run(D, V x, const T*) {
    return hn::Mul(hn::Mul(x, x), x);
  }
};
template <>
struct VecFn<op::InverseSquare> {
  static constexpr int kInputs = 1;
  template <class D, class V, class T>
  static HWY_INLINE V run(D d, V x, const T*) {
    return hn::Div(hn::Set(d, T(1)), hn::Mul(x, x));
  }
};
template <>
struct VecFn<op::Sqrt> {
  static constexpr int kInputs = 1;
  template <class D, class V, class T>
  static HWY_INLINE V run(D d, V x, const T*) {
    return hn::Sqrt(x);
  }
};
/// Of complex numbers of floats, in double, which does not overflow on the way. Infinities as in C's library.
template <>
struct ScalarFn<op::Sqrt> {
  static constexpr int kInputs = 1;
  static HWY_INLINE Complex<float> run(Complex<float> z, const Complex<float>*) {
    constexpr double kInfinity = __builtin_inf();
    const double x = z.re, y = z.im, abs_x = __builtin_fabs(x), abs_y = __builtin_fabs(y);
    const double root = __builtin_sqrt(0.5 * (abs_x + __builtin_sqrt(x * x + y * y)));
    const double larger = abs_x == kInfinity || abs_y == kInfinity ? kInfinity : root;
    const double quotient = larger == 0 ? 0 : abs_y / (larger + larger);
    const double smaller = abs_y == kInfinity ? kInfinity : quotient;
    return {static_cast<float>(x >= 0 ? larger : smaller),
            static_cast<float>(__builtin_copysign(x >= 0 ? smaller : larger, y))};
  }
};
template <>
struct VecFn<op::Rsqrt> {
  static constexpr int kInputs = 1;
  template <class D, class V, class T>
  static HWY_INLINE V run(D d, V x, const T*) {
    return hn::Div(hn::Set(d, T(1)), hn::Sqrt(x));
  }
};
template <>
struct ScalarFn<op::BitNot> {
  static constexpr int kInputs = 1;
  template <class T>
  static HWY_INLINE T run(T x, const T*) {
    return ~x;
  }
};
template <>
struct ScalarFn<op::Conj> {
  static constexpr int kInputs = 1;
  template <class T>
  static HWY_INLINE T run(T x, const T*) {
    return T{x.re, -x.im};
  }
};
/// The sign moves to the first's magnitude.
template <>
struct VecFn<op::Copysign> {
  static constexpr int kInputs = 2;
  template <class D, class V, class T>
  static HWY_INLINE V run(D, V a, V b, const T*) {
    return hn::CopySign(a, b);
  }
};
template <>
struct VecFn<op::NanToNum> {
  static constexpr int kInputs = 1;
  template <class D, class V, class T>
  static HWY_INLINE V run(D d, V x, const T* params) {
    const V infinity = hn::Set(d, static_cast<T>(__builtin_inf()));
    const V finite = hn::IfThenElse(hn::Eq(x, infinity), hn::Set(d, params[1]),
                                    hn::IfThenElse(hn::Eq(x, hn::Neg(infinity)), hn::Set(d, params[2]), x));
    return hn::IfThenElse(hn::IsNaN(x), hn::Set(d, params[0]), finite);
  }
};
template <>
struct VecFn<op::RoundDecimals> {
  static constexpr int kInputs = 1;
  template <class D, class V, class T>
  static HWY_INLINE V run(D d, V x, const T* params) {
    // params: 10^|decimals| and whether decimals are negative.
    const V ten = hn::Set(d, params[0]);
    return params[1] != 0 ? hn::Mul(hn::Round(hn::Div(x, ten)), ten) : hn::Div(hn::Round(hn::Mul(x, ten)), ten);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard

// Elementary functions. Include after hwy/highway.h.

#if defined(ATEN_CPU_LOOPS_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATEN_CPU_LOOPS_MATH_INL_H_
#undef ATEN_CPU_LOOPS_MATH_INL_H_
#else
#define ATEN_CPU_LOOPS_MATH_INL_H_
#endif

#include "aten/cpu/loops/number-inl.h"

HWY_BEFORE_NAMESPACE();
namespace at::cpu {
namespace HWY_NAMESPACE {

template <>
struct Fn<op::Exp> : FnShape<1, 0> {
  template <class X>
  static HWY_INLINE X run(X x, const X*) {
    return m_exp(x);
  }
};
template <>
struct Fn<op::Expm1> : FnShape<1, 0> {
  template <class X>
  static HWY_INLINE X run(X x, const X*) {
    return m_expm1(x);
  }
};
template <>
struct Fn<op::Log> : FnShape<1, 0> {
  template <class X>
  static HWY_INLINE X run(X x, const X*) {
    return m_log(x);
  }
};
template <>
struct Fn<op::Log1p> : FnShape<1, 0> {
  template <class X>
  static HWY_INLINE X run(X x, const X*) {
    return m_log1p(x);
  }
};
template <>
struct Fn<op::Sin> : FnShape<1, 0> {
  template <class X>
  static HWY_INLINE X run(X x, const X*) {
    return m_sin(x);
  }
};
template <>
struct Fn<op::Cos> : FnShape<1, 0> {
  template <class X>
  static HWY_INLINE X run(X x, const X*) {
    return m_cos(x);
  }
};
template <>
struct Fn<op::Tanh> : FnShape<1, 0> {
  template <class X>
  static HWY_INLINE X run(X x, const X*) {
    return m_tanh(x);
  }
};
template <>
struct Fn<op::Erf> : FnShape<1, 0> {
  template <class X>
  static HWY_INLINE X run(X x, const X*) {
    return m_erf(x);
  }
};
template <>
struct Fn<op::Log2> : FnShape<1, 0> {
  template <class X>
  static HWY_INLINE X run(X x, const X*) {
    return m_log2(x);
  }
};
template <>
struct Fn<op::Log10> : FnShape<1, 0> {
  template <class X>
  static HWY_INLINE X run(X x, const X*) {
    return m_log10(x);
  }
};
template <>
struct Fn<op::Exp2> : FnShape<1, 0> {
  template <class X>
  static HWY_INLINE X run(X x, const X*) {
    return m_exp2(x);
  }
};
template <>
struct Fn<op::Sigmoid> : FnShape<1, 0> {
  template <class X>
  static HWY_INLINE X run(X x, const X*) {
    return m_sigmoid(x);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard

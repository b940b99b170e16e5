// Gradients of activations. Include after hwy/highway.h.

#if defined(ATEN_CPU_LOOPS_ACTIVATION_BACKWARD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATEN_CPU_LOOPS_ACTIVATION_BACKWARD_INL_H_
#undef ATEN_CPU_LOOPS_ACTIVATION_BACKWARD_INL_H_
#else
#define ATEN_CPU_LOOPS_ACTIVATION_BACKWARD_INL_H_
#endif

#include "aten/cpu/loops/number-inl.h"

HWY_BEFORE_NAMESPACE();
namespace at::cpu {
namespace HWY_NAMESPACE {

template <>
struct Fn<op::SigmoidBackward> : FnShape<2, 0> {
  template <class X>
  static HWY_INLINE X run(X g, X y, const X*) {
    return g * (X(1.0) - y) * y;
  }
};
template <>
struct Fn<op::TanhBackward> : FnShape<2, 0> {
  template <class X>
  static HWY_INLINE X run(X g, X y, const X*) {
    return g * (X(1.0) - y * y);
  }
};
template <class X>
HWY_INLINE X gelu_slope(X x) {
  const X tail = m_normal_tail(m_abs(x));
  const X cdf = pick(x < X(0.0), tail, X(1.0) - tail);
  return cdf + x * (X(0.39894228040143267794) * m_exp(X(-0.5) * x * x));
}
HWY_INLINE VecFloat gelu_slope(VecFloat x) {
  return {vm::gelu_slope(FloatTag(), x.v), vm::gelu_slope(FloatTag(), x.w)};
}

template <>
struct Fn<op::GeluBackward> : FnShape<2, 0> {
  template <class X>
  static HWY_INLINE X run(X g, X x, const X*) {
    return g * gelu_slope(x);
  }
};
template <>
struct Fn<op::GeluTanhBackward> : FnShape<2, 0> {
  template <class X>
  static HWY_INLINE X run(X g, X x, const X*) {
    const X beta(0.79788456080286535588), kappa(0.044715);
    const X t = m_tanh(beta * (x + kappa * x * x * x));
    const X slope = beta * (X(1.0) + X(3.0) * kappa * x * x);
    return g * X(0.5) * (X(1.0) + t + x * (X(1.0) - t * t) * slope);
  }
};
template <>
struct Fn<op::SiluBackward> : FnShape<2, 0> {
  template <class X>
  static HWY_INLINE X run(X g, X x, const X*) {
    const X s = X(1.0) / (X(1.0) + m_exp(-x));
    return g * s * (X(1.0) + x * (X(1.0) - s));
  }
};
template <>
struct Fn<op::ThresholdBackward> : FnShape<2, 1> {
  template <class X>
  static HWY_INLINE X run(X g, X x, const X* p) {
    return pick(x <= p[0], X(0.0), g);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard

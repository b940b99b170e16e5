// Activations and losses. Include after hwy/highway.h.

#if defined(ATEN_CPU_LOOPS_ACTIVATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATEN_CPU_LOOPS_ACTIVATION_INL_H_
#undef ATEN_CPU_LOOPS_ACTIVATION_INL_H_
#else
#define ATEN_CPU_LOOPS_ACTIVATION_INL_H_
#endif

#include "aten/cpu/loops/number-inl.h"

HWY_BEFORE_NAMESPACE();
namespace at::cpu {
namespace HWY_NAMESPACE {

template <class X>
HWY_INLINE X gelu(X x) {
  const X t = m_abs(x);
  return pick(x > X(100.0), x, m_max(x, X(0.0)) - t * m_normal_tail(t));
}
HWY_INLINE VecFloat gelu(VecFloat x) { return {vm::gelu(FloatTag(), x.v), vm::gelu(FloatTag(), x.w)}; }

template <>
struct Fn<op::Gelu> : FnShape<1, 0> {
  template <class X>
  static HWY_INLINE X run(X x, const X*) {
    return gelu(x);
  }
};
template <>
struct Fn<op::GeluTanh> : FnShape<1, 0> {
  template <class X>
  static HWY_INLINE X run(X x, const X*) {
    const X inner = X(0.79788456080286535588) * (x + X(0.044715) * x * x * x);
    return X(0.5) * x * (X(1.0) + m_tanh(inner));
  }
};
template <>
struct Fn<op::Silu> : FnShape<1, 0> {
  template <class X>
  static HWY_INLINE X run(X x, const X*) {
    // Below -80 it is x exp(x), whose exponential alone may be below the normal numbers.
    const auto tail = x < X(-80.0);
    const X e = m_exp(pick(tail, x * X(0.5), -m_abs(x)));
    return pick(tail, x * e * e, x * pick(x < X(0.0), e, X(1.0)) / (X(1.0) + e));
  }
};
template <>
struct Fn<op::Mish> : FnShape<1, 0> {
  template <class X>
  static HWY_INLINE X run(X x, const X*) {
    // tanh(log(1 + e)) = ((1 + e)^2 - 1) / ((1 + e)^2 + 1) for e = exp(x); beyond 20 it is 1.
    // Below -80 it is x exp(x), whose exponential alone may be below the normal numbers.
    const auto tail = x < X(-80.0);
    const X e = m_exp(m_min(pick(tail, x * X(0.5), x), X(20.0))), n = e * (e + X(2.0));
    return pick(x > X(20.0), x, pick(tail, x * e * e, x * n / (n + X(2.0))));
  }
};
template <>
struct Fn<op::Softplus> : FnShape<1, 2> {
  template <class X>
  static HWY_INLINE X run(X x, const X* p) {
    const X scaled = x * p[0];
    return pick(scaled > p[1], x, (m_max(scaled, X(0.0)) + m_log1p(m_exp(-m_abs(scaled)))) / p[0]);
  }
};
template <>
struct Fn<op::Elu> : FnShape<1, 3> {
  template <class X>
  static HWY_INLINE X run(X x, const X* p) {
    // p: negative coefficient, scale, input scale.
    return pick(x > X(0.0), x * p[1], m_expm1(x * p[2]) * p[0]);
  }
};
template <>
struct Fn<op::LeakyRelu> : FnShape<1, 1> {
  template <class X>
  static HWY_INLINE X run(X x, const X* p) {
    return pick(x > X(0.0), x, x * p[0]);
  }
};
template <>
struct Fn<op::Hardsigmoid> : FnShape<1, 0> {
  template <class X>
  static HWY_INLINE X run(X x, const X*) {
    return m_min(m_max(x + X(3.0), X(0.0)), X(6.0)) / X(6.0);
  }
};
template <>
struct Fn<op::Hardswish> : FnShape<1, 0> {
  template <class X>
  static HWY_INLINE X run(X x, const X*) {
    return x * (m_min(m_max(x + X(3.0), X(0.0)), X(6.0)) / X(6.0));
  }
};
template <>
struct Fn<op::Softshrink> : FnShape<1, 1> {
  template <class X>
  static HWY_INLINE X run(X x, const X* p) {
    return pick(x > p[0], x - p[0], pick(x < -p[0], x + p[0], x * X(0.0)));
  }
};
template <>
struct Fn<op::Hardshrink> : FnShape<1, 1> {
  template <class X>
  static HWY_INLINE X run(X x, const X* p) {
    return pick(x > p[0], x, pick(x < -p[0], x, pick(x == x, X(0.0), x)));
  }
};
template <>
struct Fn<op::Prelu> : FnShape<2, 0> {
  template <class X>
  static HWY_INLINE X run(X x, X weight, const X*) {
    return pick(x > X(0.0), x, x * weight);
  }
};
template <>
struct Fn<op::Threshold> : FnShape<1, 2> {
  template <class X>
  static HWY_INLINE X run(X x, const X* p) {
    return pick(x <= p[0], p[1], x);
  }
};
template <>
struct Fn<op::LogSigmoid> : FnShape<1, 0> {
  template <class X>
  static HWY_INLINE X run(X x, const X*) {
    return m_min(x, X(0.0)) - m_log1p(m_exp(-m_abs(x)));
  }
};
template <>
struct Fn<op::SquaredDifference> : FnShape<2, 0> {
  template <class X>
  static HWY_INLINE X run(X a, X b, const X*) {
    const X difference = a - b;
    return difference * difference;
  }
};
template <>
struct Fn<op::LogitCrossEntropy> : FnShape<2, 0> {
  template <class X>
  static HWY_INLINE X run(X x, X target, const X*) {
    return (X(1.0) - target) * x - m_min(x, X(0.0)) + m_log1p(m_exp(-m_abs(x)));
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard

#include "aten/cpu/loops_activation.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/loops_activation_backward.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "aten/cpu/number-inl.h"

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
template <>
struct Fn<op::GeluBackward> : FnShape<2, 0> {
  template <class X>
  static HWY_INLINE X run(X g, X x, const X*) {
    const X cdf = X(0.5) * (X(1.0) + m_erf(x * X(0.70710678118654752440)));
    const X pdf = X(0.39894228040143267794) * m_exp(X(-0.5) * x * x);
    return g * (cdf + x * pdf);
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
struct Fn<op::MishBackward> : FnShape<2, 0> {
  template <class X>
  static HWY_INLINE X run(X g, X x, const X*) {
    const X e = m_exp(m_min(x, X(20.0))), n = e * (e + X(2.0));
    const X t = n / (n + X(2.0)), s = X(1.0) / (X(1.0) + m_exp(-x));
    return g * (t + x * s * (X(1.0) - t * t));
  }
};
template <>
struct Fn<op::SoftplusBackward> : FnShape<2, 2> {
  template <class X>
  static HWY_INLINE X run(X g, X x, const X* p) {
    const X scaled = x * p[0];
    return pick(scaled > p[1], g, g / (X(1.0) + m_exp(-scaled)));
  }
};
template <>
struct Fn<op::EluBackward> : FnShape<2, 3> {
  template <class X>
  static HWY_INLINE X run(X g, X x, const X* p) {
    return pick(x <= X(0.0), g * p[2] * p[0] * m_exp(x * p[2]), g * p[1]);
  }
};
template <>
struct Fn<op::EluResultBackward> : FnShape<2, 3> {
  template <class X>
  static HWY_INLINE X run(X g, X y, const X* p) {
    return pick(y <= X(0.0), g * p[2] * (y + p[0]), g * p[1]);
  }
};
template <>
struct Fn<op::LeakyReluBackward> : FnShape<2, 1> {
  template <class X>
  static HWY_INLINE X run(X g, X x, const X* p) {
    return pick(x > X(0.0), g, g * p[0]);
  }
};
template <>
struct Fn<op::HardtanhBackward> : FnShape<2, 2> {
  template <class X>
  static HWY_INLINE X run(X g, X x, const X* p) {
    return pick(x <= p[0], X(0.0), pick(x >= p[1], X(0.0), g));
  }
};
template <>
struct Fn<op::HardsigmoidBackward> : FnShape<2, 0> {
  template <class X>
  static HWY_INLINE X run(X g, X x, const X*) {
    return pick(x > X(-3.0), pick(x < X(3.0), g / X(6.0), X(0.0)), X(0.0));
  }
};
template <>
struct Fn<op::HardswishBackward> : FnShape<2, 0> {
  template <class X>
  static HWY_INLINE X run(X g, X x, const X*) {
    return pick(x < X(-3.0), X(0.0), pick(x <= X(3.0), g * (x / X(3.0) + X(0.5)), g));
  }
};
template <>
struct Fn<op::ShrinkBackward> : FnShape<2, 1> {
  template <class X>
  static HWY_INLINE X run(X g, X x, const X* p) {
    return pick(x >= -p[0], pick(x <= p[0], X(0.0), g), g);
  }
};
template <>
struct Fn<op::ThresholdBackward> : FnShape<2, 1> {
  template <class X>
  static HWY_INLINE X run(X g, X x, const X* p) {
    return pick(x <= p[0], X(0.0), g);
  }
};
template <>
struct Fn<op::LogSigmoidBackward> : FnShape<2, 0> {
  template <class X>
  static HWY_INLINE X run(X g, X x, const X*) {
    // g * sigmoid(-x), through exp of a negative number only.
    const X z = m_exp(-m_abs(x));
    return g * pick(x < X(0.0), X(1.0), z) / (X(1.0) + z);
  }
};
template <>
struct Fn<op::LogitBackward> : FnShape<2, 2> {
  template <class X>
  static HWY_INLINE X run(X g, X x, const X* p) {
    // p: low, high; outside them (with eps given) no gradient, NaN without.
    return pick(x < p[0], X(0.0), pick(x > p[1], X(0.0), g / (x * (X(1.0) - x))));
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "aten/cpu/isa_table.h"
#include "aten/cpu/loops_complex.h"

namespace at::cpu::loops {

constinit const ElementOp sigmoid_backward = {AT_ISA_TABLE(FormulaFloat<op::SigmoidBackward>::loop), AT_BASELINE_TABLE(FormulaDouble<op::SigmoidBackward>::loop),
    {}, {}, complex_table<op::SigmoidBackward, float>(), complex_table<op::SigmoidBackward, double>()};
constinit const ElementOp tanh_backward = {AT_ISA_TABLE(FormulaFloat<op::TanhBackward>::loop), AT_BASELINE_TABLE(FormulaDouble<op::TanhBackward>::loop),
    {}, {}, complex_table<op::TanhBackward, float>(), complex_table<op::TanhBackward, double>()};
constinit const ElementOp gelu_backward = {AT_ISA_TABLE(FormulaFloat<op::GeluBackward>::loop), AT_BASELINE_TABLE(FormulaDouble<op::GeluBackward>::loop),
    {}, {}, {}, {}};
constinit const ElementOp gelu_tanh_backward = {AT_ISA_TABLE(FormulaFloat<op::GeluTanhBackward>::loop), AT_BASELINE_TABLE(FormulaDouble<op::GeluTanhBackward>::loop),
    {}, {}, {}, {}};
constinit const ElementOp silu_backward = {AT_ISA_TABLE(FormulaFloat<op::SiluBackward>::loop), AT_BASELINE_TABLE(FormulaDouble<op::SiluBackward>::loop),
    {}, {}, {}, {}};
constinit const ElementOp mish_backward = {AT_ISA_TABLE(FormulaFloat<op::MishBackward>::loop), AT_BASELINE_TABLE(FormulaDouble<op::MishBackward>::loop),
    {}, {}, {}, {}};
constinit const ElementOp softplus_backward = {AT_ISA_TABLE(FormulaFloat<op::SoftplusBackward>::loop), AT_BASELINE_TABLE(FormulaDouble<op::SoftplusBackward>::loop),
    {}, {}, {}, {}};
constinit const ElementOp elu_backward = {AT_ISA_TABLE(FormulaFloat<op::EluBackward>::loop), AT_BASELINE_TABLE(FormulaDouble<op::EluBackward>::loop),
    {}, {}, {}, {}};
constinit const ElementOp elu_result_backward = {AT_ISA_TABLE(FormulaFloat<op::EluResultBackward>::loop), AT_BASELINE_TABLE(FormulaDouble<op::EluResultBackward>::loop),
    {}, {}, {}, {}};
constinit const ElementOp leaky_relu_backward = {AT_ISA_TABLE(FormulaFloat<op::LeakyReluBackward>::loop), AT_BASELINE_TABLE(FormulaDouble<op::LeakyReluBackward>::loop),
    {}, {}, {}, {}};
constinit const ElementOp hardtanh_backward = {AT_ISA_TABLE(FormulaFloat<op::HardtanhBackward>::loop), AT_BASELINE_TABLE(FormulaDouble<op::HardtanhBackward>::loop),
    {}, {}, {}, {}};
constinit const ElementOp hardsigmoid_backward = {AT_ISA_TABLE(FormulaFloat<op::HardsigmoidBackward>::loop), AT_BASELINE_TABLE(FormulaDouble<op::HardsigmoidBackward>::loop),
    {}, {}, {}, {}};
constinit const ElementOp hardswish_backward = {AT_ISA_TABLE(FormulaFloat<op::HardswishBackward>::loop), AT_BASELINE_TABLE(FormulaDouble<op::HardswishBackward>::loop),
    {}, {}, {}, {}};
constinit const ElementOp shrink_backward = {AT_ISA_TABLE(FormulaFloat<op::ShrinkBackward>::loop), AT_BASELINE_TABLE(FormulaDouble<op::ShrinkBackward>::loop),
    {}, {}, {}, {}};
constinit const ElementOp threshold_backward = {AT_ISA_TABLE(FormulaFloat<op::ThresholdBackward>::loop), AT_BASELINE_TABLE(FormulaDouble<op::ThresholdBackward>::loop),
    {}, {}, {}, {}};
constinit const ElementOp log_sigmoid_backward = {AT_ISA_TABLE(FormulaFloat<op::LogSigmoidBackward>::loop), AT_BASELINE_TABLE(FormulaDouble<op::LogSigmoidBackward>::loop),
    {}, {}, {}, {}};
constinit const ElementOp logit_backward = {AT_ISA_TABLE(FormulaFloat<op::LogitBackward>::loop), AT_BASELINE_TABLE(FormulaDouble<op::LogitBackward>::loop),
    {}, {}, {}, {}};

}  // namespace at::cpu::loops

#endif  // HWY_ONCE

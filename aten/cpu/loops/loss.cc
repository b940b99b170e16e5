#include "aten/cpu/loops/loss.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/loops/loss.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "aten/cpu/loops/number-inl.h"

#ifndef ATEN_CPU_LOOPS_LOSS_ONCE_
#define ATEN_CPU_LOOPS_LOSS_ONCE_
namespace at::cpu::op {
struct AbsoluteDifference {};
struct SmoothL1 {};
struct Huber {};
struct SoftMargin {};
struct Divergence {};
struct DivergenceOfLogs {};
struct ClampedDifference {};
struct EluBackward {};
struct EluResultBackward {};
struct LeakyReluBackward {};
struct HardswishBackward {};
struct SoftplusBackward {};
}  // namespace at::cpu::op
#endif

HWY_BEFORE_NAMESPACE();
namespace at::cpu {
namespace HWY_NAMESPACE {

template <>
struct Fn<op::AbsoluteDifference> : FnShape<2, 0> {
  template <class X>
  static HWY_INLINE X run(X a, X b, const X*) {
    return m_abs(a - b);
  }
};
template <>
struct Fn<op::SmoothL1> : FnShape<2, 3> {
  template <class X>
  static HWY_INLINE X run(X a, X b, const X* p) {
    const X d = m_abs(a - b);
    return pick(d < p[0], d * d * p[1], d - p[2]);
  }
};
template <>
struct Fn<op::Huber> : FnShape<2, 2> {
  template <class X>
  static HWY_INLINE X run(X a, X b, const X* p) {
    const X d = m_abs(a - b);
    return pick(d <= p[0], d * d * X(0.5), (d - p[1]) * p[0]);
  }
};
template <>
struct Fn<op::SoftMargin> : FnShape<2, 0> {
  template <class X>
  static HWY_INLINE X run(X a, X b, const X*) {
    const X x = a * b;
    return m_log1p(m_exp(-m_abs(x))) - m_min(x, X(0.0));
  }
};
template <>
struct Fn<op::Divergence> : FnShape<2, 0> {
  template <class X>
  static HWY_INLINE X run(X a, X b, const X*) {
    return pick(b == X(0.0), X(0.0), b * m_log(b)) - b * a;
  }
};
template <>
struct Fn<op::DivergenceOfLogs> : FnShape<2, 0> {
  template <class X>
  static HWY_INLINE X run(X a, X b, const X*) {
    return m_exp(b) * (b - a);
  }
};
template <>
struct Fn<op::ClampedDifference> : FnShape<3, 3> {
  template <class X>
  static HWY_INLINE X run(X g, X a, X b, const X* p) {
    const X d = a - b;
    return g * pick(d > p[0], p[1], pick(d < -p[0], -p[1], d * p[2]));
  }
};
template <>
struct Fn<op::EluBackward> : FnShape<2, 3> {
  template <class X>
  static HWY_INLINE X run(X g, X x, const X* p) {
    return g * pick(x <= X(0.0), m_exp(x * p[2]) * p[1], p[0]);
  }
};
template <>
struct Fn<op::EluResultBackward> : FnShape<2, 3> {
  template <class X>
  static HWY_INLINE X run(X g, X y, const X* p) {
    return g * pick(y <= X(0.0), (y + p[2]) * p[1], p[0]);
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
struct Fn<op::HardswishBackward> : FnShape<2, 0> {
  template <class X>
  static HWY_INLINE X run(X g, X x, const X*) {
    return pick(x <= X(-3.0), X(0.0), pick(x < X(3.0), g * (x * X(1.0 / 3) + X(0.5)), g));
  }
};
template <>
struct Fn<op::SoftplusBackward> : FnShape<2, 2> {
  template <class X>
  static HWY_INLINE X run(X g, X x, const X* p) {
    const X scaled = x * p[0], e = m_exp(-m_abs(scaled));
    return pick(scaled > p[1], g, g * (pick(scaled < X(0.0), e, X(1.0)) / (X(1.0) + e)));
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "aten/cpu/isa_table.h"

// The formulas of one operator for both types.
#define AT_FLOAT_AND_DOUBLE(Tag) \
  { AT_ISA_TABLE(FormulaFloat<op::Tag>::loop), AT_ISA_TABLE(FormulaDouble<op::Tag>::loop), {}, {}, {}, {} }

namespace at::cpu::loops {

AT_ELEMENT_OP(absolute_difference, AT_FLOAT_AND_DOUBLE(AbsoluteDifference));
AT_ELEMENT_OP(smooth_l1, AT_FLOAT_AND_DOUBLE(SmoothL1));
AT_ELEMENT_OP(huber, AT_FLOAT_AND_DOUBLE(Huber));
AT_ELEMENT_OP(soft_margin, AT_FLOAT_AND_DOUBLE(SoftMargin));
AT_ELEMENT_OP(divergence, AT_FLOAT_AND_DOUBLE(Divergence));
AT_ELEMENT_OP(divergence_of_logs, AT_FLOAT_AND_DOUBLE(DivergenceOfLogs));
AT_ELEMENT_OP(clamped_difference, AT_FLOAT_AND_DOUBLE(ClampedDifference));
AT_ELEMENT_OP(elu_backward, AT_FLOAT_AND_DOUBLE(EluBackward));
AT_ELEMENT_OP(elu_result_backward, AT_FLOAT_AND_DOUBLE(EluResultBackward));
AT_ELEMENT_OP(leaky_relu_backward, AT_FLOAT_AND_DOUBLE(LeakyReluBackward));
AT_ELEMENT_OP(hardswish_backward, AT_FLOAT_AND_DOUBLE(HardswishBackward));
AT_ELEMENT_OP(softplus_backward, AT_FLOAT_AND_DOUBLE(SoftplusBackward));

}  // namespace at::cpu::loops

#endif  // HWY_ONCE

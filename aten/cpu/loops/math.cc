#include "aten/cpu/loops/loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/loops/math.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
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

#if HWY_ONCE

#include "aten/cpu/isa_table.h"
#include "aten/cpu/loops/complex.h"

namespace at::cpu::loops {

#define AT_COMPLEX_MATH(tag) complex_table<op::tag, float>(), complex_table<op::tag, double>()

constinit const ElementOp exp = {AT_FORMULA(Exp), AT_COMPLEX_MATH(Exp)};
constinit const ElementOp expm1 = {AT_FORMULA(Expm1), AT_COMPLEX_MATH(Expm1)};
constinit const ElementOp log = {AT_FORMULA(Log), AT_COMPLEX_MATH(Log)};
constinit const ElementOp log1p = {AT_FORMULA(Log1p), AT_COMPLEX_MATH(Log1p)};
constinit const ElementOp sin = {AT_FORMULA(Sin), AT_COMPLEX_MATH(Sin)};
constinit const ElementOp cos = {AT_FORMULA(Cos), AT_COMPLEX_MATH(Cos)};
constinit const ElementOp tanh = {AT_FORMULA(Tanh), AT_COMPLEX_MATH(Tanh)};
constinit const ElementOp sigmoid = {AT_FORMULA(Sigmoid), AT_COMPLEX_MATH(Sigmoid)};
constinit const ElementOp log2 = {AT_FORMULA(Log2), AT_COMPLEX_MATH(Log2)};
constinit const ElementOp log10 = {AT_FORMULA(Log10), AT_COMPLEX_MATH(Log10)};
constinit const ElementOp exp2 = {AT_FORMULA(Exp2), AT_COMPLEX_MATH(Exp2)};
constinit const ElementOp erf = {AT_FLOAT_FORMULA(Erf), {}, {}};

}  // namespace at::cpu::loops

#endif  // HWY_ONCE

// One notation for scalars and vectors: formulas written as templates over a number type X run on double (the C library's
// functions), on VecFloat (vectors of float, aten/cpu/vec_math-inl.h) and on VecDouble (double_math-inl.h). Include
// after hwy/highway.h.

#if defined(ATEN_CPU_NUMBER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATEN_CPU_NUMBER_INL_H_
#undef ATEN_CPU_NUMBER_INL_H_
#else
#define ATEN_CPU_NUMBER_INL_H_
#endif

#include <cmath>
#include <type_traits>

#include "aten/cpu/loops/double_math-inl.h"
#include "aten/cpu/loops/loops-inl.h"
#include "aten/cpu/loops/two_vectors-inl.h"
#include "aten/cpu/vec_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace at::cpu {
namespace HWY_NAMESPACE {

using FloatTag = hn::ScalableTag<float>;
using VecFloat = TwoVectors<float>;

HWY_INLINE double pick(bool m, double yes, double no) { return m ? yes : no; }

HWY_INLINE VecFloat m_abs(VecFloat x) { return {hn::Abs(x.v), hn::Abs(x.w)}; }
HWY_INLINE VecFloat m_sqrt(VecFloat x) { return {hn::Sqrt(x.v), hn::Sqrt(x.w)}; }
HWY_INLINE VecFloat m_exp(VecFloat x) { return {vm::exp(FloatTag(), x.v), vm::exp(FloatTag(), x.w)}; }
HWY_INLINE VecFloat m_expm1(VecFloat x) { return {vm::expm1(FloatTag(), x.v), vm::expm1(FloatTag(), x.w)}; }
HWY_INLINE VecFloat m_log(VecFloat x) { return {vm::log(FloatTag(), x.v), vm::log(FloatTag(), x.w)}; }
HWY_INLINE VecFloat m_log1p(VecFloat x) { return {vm::log1p(FloatTag(), x.v), vm::log1p(FloatTag(), x.w)}; }
HWY_INLINE VecFloat m_sin(VecFloat x) { return {vm::sin(FloatTag(), x.v), vm::sin(FloatTag(), x.w)}; }
HWY_INLINE VecFloat m_cos(VecFloat x) { return {vm::cos(FloatTag(), x.v), vm::cos(FloatTag(), x.w)}; }
HWY_INLINE VecFloat m_tanh(VecFloat x) { return {vm::tanh(FloatTag(), x.v), vm::tanh(FloatTag(), x.w)}; }
HWY_INLINE VecFloat m_erf(VecFloat x) { return {vm::erf(FloatTag(), x.v), vm::erf(FloatTag(), x.w)}; }
HWY_INLINE VecFloat m_sigmoid(VecFloat x) {
  // Through exp(-|x|), so that neither tail overflows.
  const VecFloat e = m_exp(-m_abs(x));
  return pick(x < 0.0, e, 1.0) / (1.0 + e);
}

HWY_INLINE VecFloat m_log2(VecFloat x) { return {vm::log2(FloatTag(), x.v), vm::log2(FloatTag(), x.w)}; }
HWY_INLINE VecFloat m_log10(VecFloat x) { return {vm::log10(FloatTag(), x.v), vm::log10(FloatTag(), x.w)}; }
HWY_INLINE VecFloat m_exp2(VecFloat x) { return {vm::exp2(FloatTag(), x.v), vm::exp2(FloatTag(), x.w)}; }

HWY_INLINE double m_log2(double x) { return std::log2(x); }
HWY_INLINE double m_log10(double x) { return std::log10(x); }
HWY_INLINE double m_exp2(double x) { return std::exp2(x); }
HWY_INLINE double m_abs(double x) { return std::fabs(x); }
HWY_INLINE double m_sqrt(double x) { return std::sqrt(x); }
HWY_INLINE double m_exp(double x) { return std::exp(x); }
HWY_INLINE double m_expm1(double x) { return std::expm1(x); }
HWY_INLINE double m_log(double x) { return std::log(x); }
HWY_INLINE double m_log1p(double x) { return std::log1p(x); }
HWY_INLINE double m_sin(double x) { return std::sin(x); }
HWY_INLINE double m_cos(double x) { return std::cos(x); }
HWY_INLINE double m_tanh(double x) { return std::tanh(x); }
HWY_INLINE double m_erf(double x) { return std::erf(x); }
HWY_INLINE double m_sigmoid(double x) {
  const double e = std::exp(-std::fabs(x));
  return (x < 0 ? e : 1) / (1 + e);
}
HWY_INLINE double m_normal_tail(double t) { return 0.5 * std::erfc(t * 0.70710678118654752440); }

/// min and max that keep a NaN of x.
template <class X>
HWY_INLINE X m_max(X x, X low) {
  return pick(x < low, low, x);
}
template <class X>
HWY_INLINE X m_min(X x, X high) {
  return pick(x > high, high, x);
}

/// Fn<Tag> { kInputs; template <class X> static X run(X..., const X* params); kParams }: the formula.
template <class Tag>
struct Fn;

template <int inputs, int params>
struct FnShape {
  static constexpr int kInputs = inputs;
  static constexpr int kParams = params;
};

template <class Tag, class T>
struct FormulaVectors {
  static void loop(char* const* data, int64_t n, const void* context) {
    using F = Fn<Tag>;
    using X = TwoVectors<T>;
    const typename X::Tag d;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    X p[F::kParams + 1];
    for (int i = 0; i < F::kParams; ++i) p[i] = X(static_cast<double>(static_cast<const T*>(context)[i]));
    T* out = reinterpret_cast<T*>(data[0]);
    const T* a = reinterpret_cast<const T*>(data[1]);
    const T* b = F::kInputs > 1 ? reinterpret_cast<const T*>(data[2]) : a;
    const T* c = F::kInputs > 2 ? reinterpret_cast<const T*>(data[3]) : a;
    for (int64_t i = 0; i < n; i += 2 * lanes) {
      const int64_t m = n - i;
      const bool whole = m >= 2 * lanes;
      const auto load = [&](const T* from) HWY_ATTR {
        from += i;
        if (HWY_LIKELY(whole)) return X(hn::LoadU(d, from), hn::LoadU(d, from + lanes));
        if (m < lanes) return X(load_first(d, from, m), hn::Set(d, T(1)));
        return X(hn::LoadU(d, from), load_first(d, from + lanes, m - lanes));
      };
      X result;
      if constexpr (F::kInputs == 1) {
        result = F::run(load(a), p);
      } else if constexpr (F::kInputs == 2) {
        result = F::run(load(a), load(b), p);
      } else {
        result = F::run(load(a), load(b), load(c), p);
      }
      if (HWY_LIKELY(whole)) {
        hn::StoreU(result.v, d, out + i);
        hn::StoreU(result.w, d, out + i + lanes);
      } else if (m < lanes) {
        store_first(result.v, d, out + i, m);
      } else {
        hn::StoreU(result.v, d, out + i);
        store_first(result.w, d, out + i + lanes, m - lanes);
      }
    }
  }
};

template <class Tag>
using FormulaFloat = FormulaVectors<Tag, float>;

template <class Tag>
struct FormulaDouble {
  static void loop(char* const* data, int64_t n, const void* context) {
    using F = Fn<Tag>;
    const double* p = static_cast<const double*>(context);
    double* out = reinterpret_cast<double*>(data[0]);
    const double* a = reinterpret_cast<const double*>(data[1]);
    const double* b = F::kInputs > 1 ? reinterpret_cast<const double*>(data[2]) : a;
    const double* c = F::kInputs > 2 ? reinterpret_cast<const double*>(data[3]) : a;
    for (int64_t i = 0; i < n; ++i) {
      if constexpr (F::kInputs == 1) {
        out[i] = F::run(a[i], p);
      } else if constexpr (F::kInputs == 2) {
        out[i] = F::run(a[i], b[i], p);
      } else {
        out[i] = F::run(a[i], b[i], c[i], p);
      }
    }
  }
};

/// Of formulas whose functions are there for VecDouble.
template <class Tag>
using FormulaWide = std::conditional_t<wide::kHasTwins, FormulaVectors<Tag, double>, FormulaDouble<Tag>>;

#ifndef AT_FORMULA
// The loops of real numbers of an operator, for the part of a source that is compiled once: of float and double by vectors,
// or of float alone and of double by the C library; none of half and bfloat16.
#define AT_FORMULA(tag) AT_ISA_TABLE(FormulaFloat<op::tag>::loop), AT_ISA_TABLE(FormulaWide<op::tag>::loop), {}, {}
#define AT_FLOAT_FORMULA(tag) \
  AT_ISA_TABLE(FormulaFloat<op::tag>::loop), AT_BASELINE_TABLE(FormulaDouble<op::tag>::loop), {}, {}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard

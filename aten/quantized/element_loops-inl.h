// What the loops over elements of quantized tensors share, for sources compiled once a target. Include after
// hwy/highway.h.

#if defined(ATEN_QUANTIZED_ELEMENT_LOOPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATEN_QUANTIZED_ELEMENT_LOOPS_INL_H_
#undef ATEN_QUANTIZED_ELEMENT_LOOPS_INL_H_
#else
#define ATEN_QUANTIZED_ELEMENT_LOOPS_INL_H_
#endif

#include <cstdint>
#include <type_traits>

#include "aten/quantized/element_loops.h"

HWY_BEFORE_NAMESPACE();
namespace at::quantized {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Of lambdas: their captures are variables of the loop, which no write of it can change.
#undef INLINED
#define INLINED HWY_ATTR __attribute__((always_inline))

// f(d, i) with all lanes as often as they fit, then with one.
template <class N, class F>
HWY_INLINE void for_each(int64_t n, const F& f) {
  const hn::ScalableTag<N> d;
  const hn::CappedTag<N, 1> one;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) f(d, i);
  for (; i < n; ++i) f(one, i);
}

// Floats as numbers of D.
template <class D>
HWY_INLINE hn::Vec<D> load_floats(D d, const float* p, bool each) {
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    return each ? hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), p)) : hn::Set(d, static_cast<double>(*p));
  } else {
    return each ? hn::LoadU(d, p) : hn::Set(d, *p);
  }
}
template <class D>
HWY_INLINE hn::Vec<D> scales(D d, const Steps& steps, int64_t i) {
  return load_floats(d, steps.scale + (steps.each ? i : 0), steps.each);
}
template <class D>
HWY_INLINE hn::Vec<D> zeros(D d, const Steps& steps, int64_t i) {
  return load_floats(d, steps.zero + (steps.each ? i : 0), steps.each);
}
// 1 / scale, rounded to float.
template <class D>
HWY_INLINE hn::Vec<D> inverses(D d, const Steps& steps, int64_t i) {
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    const hn::Rebind<float, D> df;
    return hn::PromoteTo(d, inverses(df, steps, i));
  } else {
    return steps.each ? hn::Div(hn::Set(d, 1.0f), scales(d, steps, i)) : hn::Set(d, 1.0f / *steps.scale);
  }
}

// f of true or false as constants.
template <class F>
HWY_INLINE void with_constant(bool value, const F& f) {
  value ? f(std::true_type()) : f(std::false_type());
}
// f of steps that are known to be each its own, or one for all, which no write of a loop can change.
template <class F>
HWY_INLINE void with_steps(const Steps& steps, const F& f) {
  if (steps.each) return f(Steps{steps.scale, steps.zero, true});
  const float scale = *steps.scale, zero = *steps.zero;
  f(Steps{&scale, &zero, false});
}

}  // namespace HWY_NAMESPACE
}  // namespace at::quantized
HWY_AFTER_NAMESPACE();

#endif  // per target

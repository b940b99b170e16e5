// Vectors of floats of numbers of two bytes, for sources compiled once a target. Include after hwy/highway.h.

#if defined(ATEN_CPU_SUPPORT_NARROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATEN_CPU_SUPPORT_NARROW_INL_H_
#undef ATEN_CPU_SUPPORT_NARROW_INL_H_
#else
#define ATEN_CPU_SUPPORT_NARROW_INL_H_
#endif

#include <cstdint>

#include "c10/util/bfloat16.h"
#include "c10/util/half.h"

HWY_BEFORE_NAMESPACE();
namespace at::cpu {
namespace HWY_NAMESPACE {

template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> LoadFloats(D d, const c10::Half* p) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::Rebind<hwy::float16_t, D> half;
  const auto value = hn::PromoteTo(d, hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(p)));
#if HWY_TARGET <= HWY_AVX2
  return value;
#else
  // Without F16C instructions Highway takes the exponent of infinities and NaNs for that of a number.
  const auto special = hn::BitCast(d, hn::Set(hn::RebindToUnsigned<D>(), 0x7F800000u));
  return hn::IfThenElse(hn::Ge(hn::Abs(value), hn::Set(d, 65536.0f)), hn::Or(value, special), value);
#endif
}

template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> LoadFloats(D d, const c10::BFloat16* p) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::Rebind<uint16_t, D> half;
  const hn::Rebind<uint32_t, D> bits;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(bits, hn::LoadU(half, reinterpret_cast<const uint16_t*>(p)))));
}

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu
HWY_AFTER_NAMESPACE();

#endif  // the toggle of the target

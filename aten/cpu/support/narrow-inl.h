// Vectors of floats of numbers of two bytes, and back, for sources compiled once a target. Include after hwy/highway.h.

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

// The bits of bfloat16 in the upper halves: to nearest, ties to even, which Highway 1.0's own conversion does not; any NaN
// becomes the one of at::cpu::convert.
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<hwy::HWY_NAMESPACE::RebindToUnsigned<D>> RoundedToBFloat16(
    D d, hwy::HWY_NAMESPACE::Vec<D> v) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::RebindToUnsigned<D> bits;
  const auto own = hn::BitCast(bits, v);
  const auto odd = hn::And(hn::ShiftRight<16>(own), hn::Set(bits, 1u));
  const auto sum = hn::And(hn::Add(own, hn::Add(odd, hn::Set(bits, 0x7FFFu))), hn::Set(bits, 0xFFFF0000u));
  return hn::IfThenElse(hn::RebindMask(bits, hn::IsNaN(v)), hn::Set(bits, 0x7FC00000u), sum);
}

// The upper halves.
template <class D>
HWY_INLINE void StoreBFloat16(D, hwy::HWY_NAMESPACE::Vec<hwy::HWY_NAMESPACE::RebindToUnsigned<D>> bits, uint16_t* to) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::Rebind<uint16_t, D> half;
  const hn::RebindToSigned<D> words;
  hn::StoreU(hn::DemoteTo(half, hn::BitCast(words, hn::ShiftRight<16>(bits))), half, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu
HWY_AFTER_NAMESPACE();

#endif  // the toggle of the target

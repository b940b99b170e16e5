// What printed groups are written in: two vectors of float32 at a time. Include after hwy/highway.h, once a target.

#if defined(COMPILE_AOT_GROUP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COMPILE_AOT_GROUP_INL_H_
#undef COMPILE_AOT_GROUP_INL_H_
#else
#define COMPILE_AOT_GROUP_INL_H_
#endif

#include <array>
#include <cstdint>
#include <limits>

#include "aten/cpu/loops/activation-inl.h"
#include "aten/cpu/loops/arithmetic-inl.h"
#include "aten/cpu/loops/math-inl.h"
#include "aten/cpu/loops/unary-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torch::aot {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace cpu = ::at::cpu::HWY_NAMESPACE;

using Numbers = cpu::VecFloat;
using D = hn::ScalableTag<float>;
using Bytes = hn::Rebind<uint8_t, D>;
using Words = hn::RebindToUnsigned<D>;

HWY_INLINE int64_t lanes() { return static_cast<int64_t>(hn::Lanes(D())); }
/// Elements of a step.
HWY_INLINE int64_t step() { return 2 * lanes(); }
constexpr int64_t kMostElements = 2 * HWY_MAX_BYTES / sizeof(float);

HWY_INLINE Numbers same(float x) { return {hn::Set(D(), x), hn::Set(D(), x)}; }
HWY_INLINE Numbers::Mask all_lanes(bool x) {
  const Numbers number = same(x ? 1.0f : 0.0f);
  return number != same(0.0f);
}

HWY_INLINE Numbers load(const float* from) { return {hn::LoadU(D(), from), hn::LoadU(D(), from + lanes())}; }
HWY_INLINE void store(Numbers x, float* to) {
  hn::StoreU(x.v, D(), to);
  hn::StoreU(x.w, D(), to + lanes());
}
HWY_INLINE Numbers::Mask load_bools(const uint8_t* from) {
  const D d;
  const auto zero = hn::Zero(d);
  const auto one = [&](const uint8_t* at) {
    const auto words = hn::PromoteTo(Words(), hn::LoadU(Bytes(), at));
    return hn::Not(hn::Eq(hn::ConvertTo(d, hn::BitCast(hn::RebindToSigned<D>(), words)), zero));
  };
  return {one(from), one(from + lanes())};
}
HWY_INLINE void store_elements(Numbers::Mask x, uint8_t* to, int64_t step, int64_t n) {
  HWY_ALIGN float buffer[kMostElements];
  store(pick(x, Numbers(1.0), Numbers(0.0)), buffer);
  for (int64_t i = 0; i < n; ++i) to[i * step] = buffer[i] != 0;
}
HWY_INLINE void store(Numbers::Mask x, uint8_t* to) { store_elements(x, to, 1, step()); }

// The first n elements; the others are ones, harmless to any function.
template <class T>
HWY_INLINE void gather(const T* from, int64_t step, int64_t n, T* buffer) {
  for (int64_t i = 0; i < n; ++i) buffer[i] = from[i * step];
  for (int64_t i = n; i < kMostElements; ++i) buffer[i] = 1;
}
HWY_INLINE Numbers load(const float* from, int64_t step, int64_t n) {
  HWY_ALIGN float buffer[kMostElements];
  gather(from, step, n, buffer);
  return load(buffer);
}
HWY_INLINE Numbers::Mask load_bools(const uint8_t* from, int64_t step, int64_t n) {
  HWY_ALIGN uint8_t buffer[kMostElements];
  gather(from, step, n, buffer);
  return load_bools(buffer);
}
HWY_INLINE void store(Numbers x, float* to, int64_t step, int64_t n) {
  HWY_ALIGN float buffer[kMostElements];
  store(x, buffer);
  for (int64_t i = 0; i < n; ++i) to[i * step] = buffer[i];
}
HWY_INLINE void store(Numbers::Mask x, uint8_t* to, int64_t step, int64_t n) { store_elements(x, to, step, n); }

/// An operator of vectors (at::cpu::VecFn).
template <class Tag, size_t N, class... Operands>
HWY_INLINE Numbers vectors_of(const std::array<float, N>& parameters, Operands... x) {
  using F = cpu::VecFn<Tag>;
  const D d;
  return {F::run(d, x.v..., parameters.data()), F::run(d, x.w..., parameters.data())};
}
/// A formula (at::cpu::Fn).
template <class Tag, size_t N, class... Operands>
HWY_INLINE Numbers formula_of(const std::array<float, N>& parameters, Operands... x) {
  Numbers p[N + 1];
  for (size_t k = 0; k < N; ++k) p[k] = Numbers(static_cast<double>(parameters[k]));
  return cpu::Fn<Tag>::run(x..., p);
}

}  // namespace HWY_NAMESPACE
}  // namespace torch::aot
HWY_AFTER_NAMESPACE();

#endif  // the toggle of the target

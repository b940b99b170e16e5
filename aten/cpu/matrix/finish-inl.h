// The end of a fused convolution, for sources compiled once a target. Include after hwy/highway.h.

#if defined(ATEN_CPU_MATRIX_FINISH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATEN_CPU_MATRIX_FINISH_INL_H_
#undef ATEN_CPU_MATRIX_FINISH_INL_H_
#else
#define ATEN_CPU_MATRIX_FINISH_INL_H_
#endif

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace at::matrix::internal {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// to[i] = sums[i] + alpha * add[i], where there is an `add`, and 0 for what is below where `relu`; NaN stays. `sums`
// may be read up to a vector beyond; `add` and `to`, which other threads may have beyond, are not touched there.
HWY_INLINE void StoreFinished(const float* sums, int64_t count, const float* add, float alpha, bool relu, float* to) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const V factor = hn::Set(d, alpha), zero = hn::Zero(d);
  const auto rectified = [&](V value) { return relu ? hn::IfThenZeroElse(hn::Lt(value, zero), value) : value; };
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    V value = hn::LoadU(d, sums + i);
    if (add != nullptr) value = hn::MulAdd(factor, hn::LoadU(d, add + i), value);
    hn::StoreU(rectified(value), d, to + i);
  }
#if HWY_TARGET <= HWY_AVX2
  if (i < count) {
    const auto left = hn::FirstN(d, static_cast<size_t>(count - i));
    V value = hn::LoadU(d, sums + i);
    if (add != nullptr) value = hn::MulAdd(factor, hn::MaskedLoad(left, d, add + i), value);
    hn::BlendedStore(rectified(value), left, d, to + i);
  }
#else
  // Without stores under a mask a whole vector would be read and written.
  for (; i < count; ++i) {
    float value = sums[i];
    if (add != nullptr) value += alpha * add[i];
    to[i] = relu && value < 0 ? 0 : value;
  }
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace at::matrix::internal
HWY_AFTER_NAMESPACE();

#endif  // the toggle of the target

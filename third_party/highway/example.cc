// The shape of every vectorised source: compiled once for each instruction set by foreach_target.h, which includes
// this file again (so it stands in `srcs` and in `textual_hdrs` of its target), then dispatched at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "third_party/highway/example.cc"
#include "hwy/foreach_target.h"  // keep first
#include "hwy/highway.h"

#include "third_party/highway/example.h"

HWY_BEFORE_NAMESPACE();
namespace kindling_highway_example {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void AxpyImpl(float a, const float* x, float* y, size_t n) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(hn::MulAdd(hn::Set(d, a), hn::LoadU(d, x + i), hn::LoadU(d, y + i)), d, y + i);
  for (; i < n; ++i) y[i] += a * x[i];
}

const char* NameImpl() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace kindling_highway_example
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kindling_highway_example {
HWY_EXPORT(AxpyImpl);
HWY_EXPORT(NameImpl);

void Axpy(float a, const float* x, float* y, size_t n) { HWY_DYNAMIC_DISPATCH(AxpyImpl)(a, x, y, n); }
const char* ChosenTargetName() { return HWY_DYNAMIC_DISPATCH(NameImpl)(); }

}  // namespace kindling_highway_example
#endif

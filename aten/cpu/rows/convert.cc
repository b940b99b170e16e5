// convert_row.
#include "aten/cpu/rows/rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/rows/convert.cc"
#include "hwy/foreach_target.h"
// clang-format off
#include "aten/cpu/isa_table.h"
#include "hwy/highway.h"
#include "aten/cpu/rows/rows-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace at::cpu {
namespace HWY_NAMESPACE {

template <class From, class To>
HWY_INLINE void convert(const From* x, To* y, int64_t n) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) store(d, load(d, x + i), y + i);
  for (; i < n; ++i) y[i] = static_cast<To>(static_cast<float>(x[i]));
}
void half_to_float(const c10::Half* x, float* y, int64_t n) { convert(x, y, n); }
void bfloat16_to_float(const c10::BFloat16* x, float* y, int64_t n) { convert(x, y, n); }
void float_to_half(const float* x, c10::Half* y, int64_t n) { convert(x, y, n); }
void float_to_bfloat16(const float* x, c10::BFloat16* y, int64_t n) { convert(x, y, n); }

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace at::cpu {

void convert_row(const c10::Half* x, float* y, int64_t n) { AT_ISA_FUNCTION(half_to_float)(x, y, n); }
void convert_row(const c10::BFloat16* x, float* y, int64_t n) { AT_ISA_FUNCTION(bfloat16_to_float)(x, y, n); }
void convert_row(const float* x, c10::Half* y, int64_t n) { AT_ISA_FUNCTION(float_to_half)(x, y, n); }
void convert_row(const float* x, c10::BFloat16* y, int64_t n) { AT_ISA_FUNCTION(float_to_bfloat16)(x, y, n); }
}  // namespace at::cpu
#endif  // HWY_ONCE

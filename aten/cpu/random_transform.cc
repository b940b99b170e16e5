#include "aten/cpu/random_transform.h"

// Few machines have these and not AVX2; they take the baseline loops.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/random_transform.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "aten/cpu/loops/loops-inl.h"

#include <cmath>

HWY_BEFORE_NAMESPACE();
namespace at::cpu {
namespace HWY_NAMESPACE {

void uniform_words(const uint32_t* words, float* out, int64_t n, float low, float width) {
  ATEN_LANES_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    out[i] = __builtin_fmaf(static_cast<float>(static_cast<int32_t>(words[i] & 0xffffffu)) * 0x1p-24f, width, low);
  }
}

HWY_INLINE float bits_to_float(uint32_t bits) {
  float f;
  std::memcpy(&f, &bits, sizeof(f));
  return f;
}
HWY_INLINE uint32_t float_to_bits(float f) {
  uint32_t bits;
  std::memcpy(&bits, &f, sizeof(bits));
  return bits;
}
HWY_INLINE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

// x in (0, 1].
HWY_INLINE float natural_log(float x) {
  const uint32_t bits = float_to_bits(x);
  float e = static_cast<float>(static_cast<int32_t>(bits >> 23) - 126);
  float m = bits_to_float((bits & 0x007fffffu) | 0x3f000000u);  // in [0.5, 1)
  const bool low = m < 0.70710678118f;
  e = low ? e - 1.0f : e;
  const float less = m - 1.0f;
  m = low ? less + m : less;
  const float z = m * m;
  float y = 7.0376836292e-2f;
  y = fma(y, m, -1.1514610310e-1f);
  y = fma(y, m, 1.1676998740e-1f);
  y = fma(y, m, -1.2420140846e-1f);
  y = fma(y, m, 1.4249322787e-1f);
  y = fma(y, m, -1.6668057665e-1f);
  y = fma(y, m, 2.0000714765e-1f);
  y = fma(y, m, -2.4999993993e-1f);
  y = fma(y, m, 3.3333331174e-1f);
  y *= m;
  y = fma(y, z, e * -2.12194440e-4f);
  y -= z * 0.5f;
  return (m + y) + e * 0.693359375f;
}

void normal(float* data, int64_t blocks, float mean, float std) {
  for (int64_t b = 0; b < blocks; ++b, data += 16) {
    float first[8], second[8];
    ATEN_LANES_INDEPENDENT
    for (int j = 0; j < 8; ++j) {
      const float u1 = 1.0f - data[j], u2 = data[j + 8];
      const float radius = __builtin_sqrtf(-2.0f * natural_log(u1));
      float x = 6.2831855f * u2;
      const int32_t quadrant = (static_cast<int32_t>(x * 1.27323954473516f) + 1) & ~1;
      const float q = static_cast<float>(quadrant);
      x = fma(q, -.78515625f, x);
      x = fma(q, -2.4187564849853515625e-4f, x);
      x = fma(q, -3.77489497744594108e-8f, x);
      const float z = x * x;
      float c = fma(2.443315711809948e-5f, z, -1.388731625493765e-3f);
      c = fma(c, z, 4.166664568298827e-2f) * z;
      c = fma(c, z, -z * 0.5f) + 1.0f;
      float s = fma(-1.9515295891e-4f, z, 8.3321608736e-3f);
      s = fma(s, z, -1.6666654611e-1f) * z;
      s = fma(s, x, x);
      const bool swap = (quadrant & 2) != 0;
      float sine = swap ? c : s;
      float cosine = swap ? s : c;
      sine = (quadrant & 4) != 0 ? -sine : sine;
      cosine = ((quadrant - 2) & 4) == 0 ? -cosine : cosine;
      first[j] = fma(radius * cosine, std, mean);
      second[j] = fma(radius * sine, std, mean);
    }
    std::memcpy(data, first, sizeof(first));
    std::memcpy(data + 8, second, sizeof(second));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "aten/cpu/isa_table.h"

namespace at::cpu {

void uniform_from_words(const uint32_t* words, float* out, int64_t n, float low, float width) {
  static constexpr auto kRun = AT_ISA_TABLE(uniform_words);
  kRun.get()(words, out, n, low, width);
}

void normal_blocks(float* data, int64_t blocks, float mean, float std) {
  static constexpr auto kRun = AT_ISA_TABLE(normal);
  kRun.get()(data, blocks, mean, std);
}

}  // namespace at::cpu

#endif  // HWY_ONCE

// The run-time part of Google Highway, so that no shared library is needed: which instruction sets the processor has
// and the table index that HWY_DYNAMIC_DISPATCH reads. The headers are the system's (libhwy-dev).
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "hwy/highway.h"

#if HWY_ARCH_X86
#include <cpuid.h>
#endif

namespace hwy {
namespace {

#if HWY_ARCH_X86
// The processor's feature bits by register, and the register states that the operating system saves. The compilers'
// __builtin_cpu_supports answers the same; its table of all processors weighs five kilobytes.
struct Features {
  unsigned leaf1_ecx = 0, leaf7_ebx = 0, leaf7_ecx = 0;
  unsigned saved = 0;
};

Features ReadFeatures() {
  Features f;
  unsigned eax, ebx, ecx, edx;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx)) f.leaf1_ecx = ecx;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) {
    f.leaf7_ebx = ebx;
    f.leaf7_ecx = ecx;
  }
  if (f.leaf1_ecx & bit_OSXSAVE) {
    unsigned high;
    asm("xgetbv" : "=a"(f.saved), "=d"(high) : "c"(0));
  }
  return f;
}

constexpr bool Has(unsigned bits, unsigned wanted) { return (bits & wanted) == wanted; }
#endif

// Set by SetSupportedTargetsForTest and DisableTargets; zero means no restriction.
constinit int64_t forced_targets = 0;
constinit int64_t disabled_targets = 0;

int64_t DetectTargets() {
  int64_t targets = HWY_STATIC_TARGET;
#if HWY_ARCH_X86
  const Features f = ReadFeatures();
  const bool ssse3 = Has(f.leaf1_ecx, bit_SSSE3);
  if (ssse3) targets |= HWY_SSSE3;
  const bool sse4 = ssse3 && Has(f.leaf1_ecx, bit_SSE4_1 | bit_SSE4_2 | bit_PCLMUL | bit_AES);
  if (sse4) targets |= HWY_SSE4;
  // The upper halves of the registers must be saved (bits 1 and 2: xmm and ymm; 5 to 7: masks and zmm).
  const bool avx2 = sse4 && Has(f.saved, 0x06) && Has(f.leaf1_ecx, bit_AVX | bit_FMA | bit_F16C) &&
                    Has(f.leaf7_ebx, bit_AVX2 | bit_BMI | bit_BMI2);
  if (avx2) targets |= HWY_AVX2;
  const bool avx3 = avx2 && Has(f.saved, 0xe6) &&
                    Has(f.leaf7_ebx, bit_AVX512F | bit_AVX512VL | bit_AVX512DQ | bit_AVX512BW | bit_AVX512CD);
  if (avx3) targets |= HWY_AVX3;
  const bool avx3_dl = avx3 && Has(f.leaf7_ecx, bit_AVX512VNNI | bit_VPCLMULQDQ | bit_AVX512VBMI | bit_AVX512VBMI2 |
                                                    bit_AVX512VPOPCNTDQ | bit_AVX512BITALG);
  if (avx3_dl) targets |= HWY_AVX3_DL;
#endif
  return targets;
}

}  // namespace

int64_t SupportedTargets() {
  const int64_t found = forced_targets != 0 ? forced_targets : DetectTargets();
  const int64_t allowed = found & ~disabled_targets;
  return allowed != 0 ? allowed : HWY_STATIC_TARGET;
}

ChosenTarget& GetChosenTarget() {
  static constinit ChosenTarget chosen;
  return chosen;
}

void SetSupportedTargetsForTest(int64_t targets) {
  forced_targets = targets;
  GetChosenTarget().DeInit();
}

void DisableTargets(int64_t targets) {
  disabled_targets = targets;
  GetChosenTarget().DeInit();
}

void Abort(const char* file, int line, const char* format, ...) {
  std::fprintf(stderr, "%s:%d: ", file, line);
  va_list args;
  va_start(args, format);
  std::vfprintf(stderr, format, args);
  va_end(args);
  std::fputc('\n', stderr);
  std::abort();
}

}  // namespace hwy

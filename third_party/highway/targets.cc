// The run-time part of Google Highway, so that no shared library is needed: which instruction sets the processor has
// and the table index that HWY_DYNAMIC_DISPATCH reads. The headers are the system's (libhwy-dev).
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "hwy/highway.h"

namespace hwy {
namespace {

// Set by SetSupportedTargetsForTest and DisableTargets; zero means no restriction.
constinit int64_t forced_targets = 0;
constinit int64_t disabled_targets = 0;

int64_t DetectTargets() {
  int64_t targets = HWY_STATIC_TARGET;
#if HWY_ARCH_X86
  __builtin_cpu_init();
  const bool ssse3 = __builtin_cpu_supports("ssse3");
  if (ssse3) targets |= HWY_SSSE3;
  const bool sse4 = ssse3 && __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("sse4.2") &&
                    __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("aes");
  if (sse4) targets |= HWY_SSE4;
  // The builtin's avx2 and avx512f also ask the operating system whether it saves the registers. F16C has no name in
  // clang's older lists; every processor with AVX2 and FMA has it.
  const bool avx2 = sse4 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  if (avx2) targets |= HWY_AVX2;
  const bool avx3 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd");
  if (avx3) targets |= HWY_AVX3;
  const bool avx3_dl = avx3 && __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("vpclmulqdq") &&
                       __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") &&
                       __builtin_cpu_supports("avx512vpopcntdq") && __builtin_cpu_supports("avx512bitalg");
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

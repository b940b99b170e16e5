#include "compile/tape/machine.h"

// The wider ones are sources of their own.
#undef HWY_DISABLED_TARGETS
#ifdef __OPTIMIZE_SIZE__
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX2 | HWY_AVX3 | HWY_AVX3_DL)
#else
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX2 | HWY_AVX3 | HWY_AVX3_DL)
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compile/tape/machine.cc"
#include "hwy/foreach_target.h"
// Behind it:
#include "hwy/highway.h"

#include "compile/tape/machine-inl.h"

#if HWY_ONCE

#include "aten/cpu/isa_table.h"

namespace torch::compiler::tape {

const Machine& machine() {
  static constexpr auto kNarrow = AT_ISA_TABLE(make_machine);
  static constexpr auto kLoops = AT_BASELINE_TABLE(make_machine);
  if (at::cpu::isa() > at::cpu::Isa::kAvx2) return *kNarrow.get()();
  // Narrower vectors give other bits: they do not multiply and add in one step.
  const Machine* const wide = at::cpu::isa() == at::cpu::Isa::kAvx2 ? machine_avx2() : machine_avx3();
  return wide != nullptr ? *wide : *kLoops.get()();
}

}  // namespace torch::compiler::tape

#endif  // HWY_ONCE

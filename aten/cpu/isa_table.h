#pragma once

#include "aten/cpu/isa.h"
#include "hwy/highway.h"

// Only for sources compiled once a target by foreach_target.h, in their last part (HWY_ONCE).
// AT_ISA_TABLE(f) is the IsaTable of the function f of namespace at::cpu::HWY_NAMESPACE. A macro, because the names of
// the namespaces are Highway's macros.

#define AT_ISA_TABLE(...)                                                                       \
  ::at::cpu::isa_table<decltype(&HWY_STATIC_DISPATCH(__VA_ARGS__))>(                            \
      HWY_CHOOSE_AVX3(__VA_ARGS__), HWY_CHOOSE_AVX2(__VA_ARGS__), HWY_CHOOSE_SSE4(__VA_ARGS__), \
      HWY_CHOOSE_FALLBACK(__VA_ARGS__))

// The function for this processor: AT_ISA_FUNCTION(f)(arguments). The table is a constant of the place where it is called.
#define AT_ISA_FUNCTION(...) ([] { static constexpr auto table = AT_ISA_TABLE(__VA_ARGS__); return table.get(); }())

// The table of a function compiled for the baseline only: where a wider instruction set would gain nothing.
#define AT_BASELINE_TABLE(...) ::at::cpu::baseline_table<decltype(&HWY_STATIC_DISPATCH(__VA_ARGS__))>(HWY_CHOOSE_FALLBACK(__VA_ARGS__))

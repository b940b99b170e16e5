// Gamma's logarithm and its derivative on Wide. Include after hwy/highway.h.

#if defined(ATEN_CPU_SPECIAL_GAMMA_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATEN_CPU_SPECIAL_GAMMA_INL_H_
#undef ATEN_CPU_SPECIAL_GAMMA_INL_H_
#else
#define ATEN_CPU_SPECIAL_GAMMA_INL_H_
#endif

#include "aten/cpu/special/wide-inl.h"

HWY_BEFORE_NAMESPACE();
namespace at::cpu::special {
namespace HWY_NAMESPACE {

#include "aten/cpu/special/gamma_functions.inc"

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu::special
HWY_AFTER_NAMESPACE();

#endif  // include guard

// Functions of double computed in sums of two doubles, two vectors at a time, so that results are rounded nearly once.
// Needs fused multiplications. Include after hwy/highway.h.

#if defined(ATEN_CPU_SPECIAL_TWIN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATEN_CPU_SPECIAL_TWIN_INL_H_
#undef ATEN_CPU_SPECIAL_TWIN_INL_H_
#else
#define ATEN_CPU_SPECIAL_TWIN_INL_H_
#endif

#include "aten/cpu/special/wide-inl.h"

HWY_BEFORE_NAMESPACE();
namespace at::cpu::special {
namespace HWY_NAMESPACE {

/// Where the functions here are right; elsewhere double goes one element at a time.
constexpr bool kHasTwins = kHasVectors && HWY_NATIVE_FMA;

HWY_INLINE Wide product_less(Wide a, Wide b, Wide c) { return {hn::MulSub(a.v, b.v, c.v), hn::MulSub(a.w, b.w, c.w)}; }

#include "aten/cpu/special/twin_functions.inc"

template <class F>
struct TwinLoops {
  static void doubles(char* const* data, int64_t n, const void* context) {
    run_loop<F, double, kHasTwins>(data, n, context);
  }
};

#ifndef AT_TWIN_OP
// An operator by the names that each target gives to its Loops of float and TwinLoops of double.
#define AT_TWIN_OP(Name, Doubles) {AT_ISA_TABLE(Name::floats), AT_ISA_TABLE(Doubles::doubles), {}, {}, {}, {}}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu::special
HWY_AFTER_NAMESPACE();

#endif  // include guard

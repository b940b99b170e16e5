// Airy's function and the spherical Bessel function of float and double.
#include "aten/cpu/special/loops.h"
#include "aten/cpu/special/special.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/special/airy.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "aten/cpu/special/twin-inl.h"

HWY_BEFORE_NAMESPACE();
namespace at::cpu::special {
namespace HWY_NAMESPACE {
namespace {

#include "aten/cpu/special/airy.inc"

using SphericalJ0Loops = Loops<SphericalJ0>;
using SphericalJ0TwinLoops = TwinLoops<SphericalJ0Twin>;
using AiryAiLoops = Loops<AiryAi>;
using AiryAiTwinLoops = TwinLoops<AiryAiTwin>;

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace at::cpu::special
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "aten/cpu/isa_table.h"

namespace at::cpu::special {
namespace loops {

AT_ELEMENT_OP(spherical_j0, AT_TWIN_OP(SphericalJ0Loops, SphericalJ0TwinLoops));
AT_ELEMENT_OP(airy_ai, AT_TWIN_OP(AiryAiLoops, AiryAiTwinLoops));

}  // namespace loops
}  // namespace at::cpu::special

#endif  // HWY_ONCE

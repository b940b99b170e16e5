// Modified Bessel functions of float and double.
#include "aten/cpu/special/loops.h"
#include "aten/cpu/special/special.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/special/modified_bessel.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "aten/cpu/special/twin-inl.h"

HWY_BEFORE_NAMESPACE();
namespace at::cpu::special {
namespace HWY_NAMESPACE {
namespace {

#include "aten/cpu/special/modified_bessel.inc"

using I0Loops = Loops<BesselI<0, false>>;
using I0TwinLoops = TwinLoops<BesselITwin<0, false>>;
using I0eLoops = Loops<BesselI<0, true>>;
using I0eTwinLoops = TwinLoops<BesselITwin<0, true>>;
using I1Loops = Loops<BesselI<1, false>>;
using I1TwinLoops = TwinLoops<BesselITwin<1, false>>;
using I1eLoops = Loops<BesselI<1, true>>;
using I1eTwinLoops = TwinLoops<BesselITwin<1, true>>;
using K0Loops = Loops<BesselK<0, false>>;
using K0TwinLoops = TwinLoops<BesselKTwin<0, false>>;
using K0eLoops = Loops<BesselK<0, true>>;
using K0eTwinLoops = TwinLoops<BesselKTwin<0, true>>;
using K1Loops = Loops<BesselK<1, false>>;
using K1TwinLoops = TwinLoops<BesselKTwin<1, false>>;
using K1eLoops = Loops<BesselK<1, true>>;
using K1eTwinLoops = TwinLoops<BesselKTwin<1, true>>;

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace at::cpu::special
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "aten/cpu/isa_table.h"

namespace at::cpu::special {
namespace loops {

AT_ELEMENT_OP(i0, AT_TWIN_OP(I0Loops, I0TwinLoops));
AT_ELEMENT_OP(i0e, AT_TWIN_OP(I0eLoops, I0eTwinLoops));
AT_ELEMENT_OP(i1, AT_TWIN_OP(I1Loops, I1TwinLoops));
AT_ELEMENT_OP(i1e, AT_TWIN_OP(I1eLoops, I1eTwinLoops));
AT_ELEMENT_OP(k0, AT_TWIN_OP(K0Loops, K0TwinLoops));
AT_ELEMENT_OP(k0e, AT_TWIN_OP(K0eLoops, K0eTwinLoops));
AT_ELEMENT_OP(k1, AT_TWIN_OP(K1Loops, K1TwinLoops));
AT_ELEMENT_OP(k1e, AT_TWIN_OP(K1eLoops, K1eTwinLoops));

}  // namespace loops
}  // namespace at::cpu::special

#endif  // HWY_ONCE

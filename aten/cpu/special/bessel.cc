// Bessel functions of float and double.
#include "aten/cpu/special/loops.h"
#include "aten/cpu/special/special.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/special/bessel.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "aten/cpu/special/twin-inl.h"

HWY_BEFORE_NAMESPACE();
namespace at::cpu::special {
namespace HWY_NAMESPACE {
namespace {

#include "aten/cpu/special/bessel.inc"

using J0Loops = Loops<BesselJ<0>>;
using J0TwinLoops = TwinLoops<BesselJTwin<0>>;
using J1Loops = Loops<BesselJ<1>>;
using J1TwinLoops = TwinLoops<BesselJTwin<1>>;
using Y0Loops = Loops<BesselY<0>>;
using Y0TwinLoops = TwinLoops<BesselYTwin<0>>;
using Y1Loops = Loops<BesselY<1>>;
using Y1TwinLoops = TwinLoops<BesselYTwin<1>>;

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace at::cpu::special
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "aten/cpu/isa_table.h"

namespace at::cpu::special {
namespace loops {

AT_ELEMENT_OP(j0, AT_TWIN_OP(J0Loops, J0TwinLoops));
AT_ELEMENT_OP(j1, AT_TWIN_OP(J1Loops, J1TwinLoops));
AT_ELEMENT_OP(y0, AT_TWIN_OP(Y0Loops, Y0TwinLoops));
AT_ELEMENT_OP(y1, AT_TWIN_OP(Y1Loops, Y1TwinLoops));

}  // namespace loops
}  // namespace at::cpu::special

#endif  // HWY_ONCE

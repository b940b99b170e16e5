// The normal distribution's functions and logarithms, of float and double.
#include "aten/cpu/special/loops.h"
#include "aten/cpu/special/special.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/special/normal.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "aten/cpu/special/twin-inl.h"

HWY_BEFORE_NAMESPACE();
namespace at::cpu::special {
namespace HWY_NAMESPACE {
namespace {

#include "aten/cpu/special/normal.inc"

using ErfcxLoops = Loops<Erfcx>;
using ErfcxTwinLoops = TwinLoops<ErfcxTwin>;
using NdtrLoops = Loops<Ndtr>;
using NdtrTwinLoops = TwinLoops<NdtrTwin>;
using LogNdtrLoops = Loops<LogNdtr>;
using LogNdtrTwinLoops = TwinLoops<LogNdtrTwin>;
using NdtriLoops = Loops<Ndtri>;
using NdtriTwinLoops = TwinLoops<NdtriTwin>;
using EntrLoops = Loops<Entr>;
using EntrTwinLoops = TwinLoops<EntrTwin>;
using Xlog1pyLoops = Loops<Xlog1py>;
using Xlog1pyTwinLoops = TwinLoops<Xlog1pyTwin>;

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace at::cpu::special
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "aten/cpu/isa_table.h"

namespace at::cpu::special {
namespace loops {

AT_ELEMENT_OP(erfcx, AT_TWIN_OP(ErfcxLoops, ErfcxTwinLoops));
AT_ELEMENT_OP(ndtr, AT_TWIN_OP(NdtrLoops, NdtrTwinLoops));
AT_ELEMENT_OP(log_ndtr, AT_TWIN_OP(LogNdtrLoops, LogNdtrTwinLoops));
AT_ELEMENT_OP(ndtri, AT_TWIN_OP(NdtriLoops, NdtriTwinLoops));
AT_ELEMENT_OP(entr, AT_TWIN_OP(EntrLoops, EntrTwinLoops));
AT_ELEMENT_OP(xlog1py, AT_TWIN_OP(Xlog1pyLoops, Xlog1pyTwinLoops));

}  // namespace loops
}  // namespace at::cpu::special

#endif  // HWY_ONCE

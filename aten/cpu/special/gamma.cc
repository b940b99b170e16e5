// Zeta, polygamma, the multivariate and the incomplete gamma functions of float, the first two of double.
#include "aten/cpu/special/loops.h"
#include "aten/cpu/special/special.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/special/gamma.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "aten/cpu/special/gamma-inl.h"
#include "aten/cpu/special/twin-inl.h"

HWY_BEFORE_NAMESPACE();
namespace at::cpu::special {
namespace HWY_NAMESPACE {
namespace {

#include "aten/cpu/special/gamma.inc"

using ZetaLoops = Loops<Zeta>;
using ZetaTwinLoops = TwinLoops<ZetaTwin>;
using PolygammaLoops = Loops<Polygamma>;
using PolygammaTwinLoops = TwinLoops<PolygammaTwin>;
using MvlgammaLoops = Loops<Mvlgamma>;
using LowerGammaLoops = Loops<IncompleteGamma<false>>;
using UpperGammaLoops = Loops<IncompleteGamma<true>>;

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace at::cpu::special
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "aten/cpu/isa_table.h"

namespace at::cpu::special {
namespace loops {

AT_ELEMENT_OP(zeta, AT_TWIN_OP(ZetaLoops, ZetaTwinLoops));
AT_ELEMENT_OP(polygamma, AT_TWIN_OP(PolygammaLoops, PolygammaTwinLoops));
AT_ELEMENT_OP(mvlgamma, AT_WIDE_OP(MvlgammaLoops));
AT_ELEMENT_OP(lower_gamma, AT_WIDE_OP(LowerGammaLoops));
AT_ELEMENT_OP(upper_gamma, AT_WIDE_OP(UpperGammaLoops));

}  // namespace loops
}  // namespace at::cpu::special

#endif  // HWY_ONCE

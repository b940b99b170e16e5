// Orthogonal polynomials by their recurrences, of float and of double, in double.
#include "aten/cpu/special/loops.h"
#include "aten/cpu/special/special.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/special/polynomials.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "aten/cpu/special/wide-inl.h"

HWY_BEFORE_NAMESPACE();
namespace at::cpu::special {
namespace HWY_NAMESPACE {
namespace {

#include "aten/cpu/special/polynomials.inc"

using ChebyshevTLoops = Loops<Polynomial<ChebyshevT>>;
using ChebyshevULoops = Loops<Polynomial<ChebyshevU>>;
using ChebyshevVLoops = Loops<Polynomial<ChebyshevV>>;
using ChebyshevWLoops = Loops<Polynomial<ChebyshevW>>;
using HermiteHLoops = Loops<Polynomial<HermiteH>>;
using HermiteHeLoops = Loops<Polynomial<HermiteHe>>;
using LaguerreLLoops = Loops<Polynomial<LaguerreL>>;
using LegendrePLoops = Loops<Polynomial<LegendreP>>;
using ShiftedChebyshevTLoops = Loops<Polynomial<ChebyshevT, true>>;
using ShiftedChebyshevULoops = Loops<Polynomial<ChebyshevU, true>>;
using ShiftedChebyshevVLoops = Loops<Polynomial<ChebyshevV, true>>;
using ShiftedChebyshevWLoops = Loops<Polynomial<ChebyshevW, true>>;

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace at::cpu::special
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "aten/cpu/isa_table.h"

namespace at::cpu::special {
namespace loops {

#define AT_POLYNOMIAL(Name) {AT_ISA_TABLE(Name::floats), AT_ISA_TABLE(Name::wide_doubles), {}, {}, {}, {}}

AT_ELEMENT_OP(chebyshev_t, AT_POLYNOMIAL(ChebyshevTLoops));
AT_ELEMENT_OP(chebyshev_u, AT_POLYNOMIAL(ChebyshevULoops));
AT_ELEMENT_OP(chebyshev_v, AT_POLYNOMIAL(ChebyshevVLoops));
AT_ELEMENT_OP(chebyshev_w, AT_POLYNOMIAL(ChebyshevWLoops));
AT_ELEMENT_OP(hermite_h, AT_POLYNOMIAL(HermiteHLoops));
AT_ELEMENT_OP(hermite_he, AT_POLYNOMIAL(HermiteHeLoops));
AT_ELEMENT_OP(laguerre_l, AT_POLYNOMIAL(LaguerreLLoops));
AT_ELEMENT_OP(legendre_p, AT_POLYNOMIAL(LegendrePLoops));
AT_ELEMENT_OP(shifted_chebyshev_t, AT_POLYNOMIAL(ShiftedChebyshevTLoops));
AT_ELEMENT_OP(shifted_chebyshev_u, AT_POLYNOMIAL(ShiftedChebyshevULoops));
AT_ELEMENT_OP(shifted_chebyshev_v, AT_POLYNOMIAL(ShiftedChebyshevVLoops));
AT_ELEMENT_OP(shifted_chebyshev_w, AT_POLYNOMIAL(ShiftedChebyshevWLoops));

}  // namespace loops
}  // namespace at::cpu::special

#endif  // HWY_ONCE

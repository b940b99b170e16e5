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

struct Recurrence {
  // The least degree that is left to the scalar function.
  [[maybe_unused]] static constexpr double kEnd = (1 << 20) + 1;
};
// Each a recurrence: P(0) = 1, P(1) = first(x), P(k + 1) = next(k, x, P(k), P(k - 1)).
template <int kind>
struct Chebyshev : Recurrence {
  static HWY_INLINE Wide first(Wide x) { return kind == 0 ? x : kind == 1 ? x + x : x + x + (kind == 2 ? -1.0 : 1.0); }
  static HWY_INLINE Wide next(double, Wide x, Wide p, Wide before) { return multiply_add(x + x, p, -before); }
};
struct ChebyshevT : Chebyshev<0> {
  [[maybe_unused]] static constexpr double kEnd = 65;  // beyond, the scalar function's closed form errs less
  static double one(double x, int64_t n) { return chebyshev_t(x, n); }
};
struct ChebyshevU : Chebyshev<1> {
  static double one(double x, int64_t n) { return chebyshev_u(x, n); }
};
struct ChebyshevV : Chebyshev<2> {
  static double one(double x, int64_t n) { return chebyshev_v(x, n); }
};
struct ChebyshevW : Chebyshev<3> {
  static double one(double x, int64_t n) { return chebyshev_w(x, n); }
};
struct HermiteH : Recurrence {
  static double one(double x, int64_t n) { return hermite_h(x, n); }
  static HWY_INLINE Wide first(Wide x) { return x + x; }
  static HWY_INLINE Wide next(double k, Wide x, Wide p, Wide before) {
    const Wide half = x * p - before * k;
    return half + half;
  }
};
struct HermiteHe : Recurrence {
  static double one(double x, int64_t n) { return hermite_he(x, n); }
  static HWY_INLINE Wide first(Wide x) { return x; }
  static HWY_INLINE Wide next(double k, Wide x, Wide p, Wide before) { return x * p - before * k; }
};
struct LaguerreL : Recurrence {
  static double one(double x, int64_t n) { return laguerre_l(x, n); }
  static HWY_INLINE Wide first(Wide x) { return 1.0 - x; }
  static HWY_INLINE Wide next(double k, Wide x, Wide p, Wide before) {
    return ((2 * k + 1 - x) * p - before * k) / (k + 1);
  }
};
struct LegendreP : Recurrence {
  static double one(double x, int64_t n) { return legendre_p(x, n); }
  static HWY_INLINE Wide first(Wide x) { return x; }
  static HWY_INLINE Wide next(double k, Wide x, Wide p, Wide before) {
    return ((2 * k + 1) * x * p - before * k) / (k + 1);
  }
};

template <class P, bool shifted = false>
struct Polynomial : Plain<2> {
  double one(double x, double n) const {
    if (n != n) return n;
    // Cut to whole numbers; what is too large stays so.
    const int64_t degree = n <= -1 ? -1 : n < 1e18 ? static_cast<int64_t>(n) : int64_t{1} << 60;
    return P::one(shifted ? x + x - 1 : x, degree);
  }
  HWY_INLINE WideMask usual(Wide x, Wide n) const { return n < P::kEnd; }
  HWY_INLINE Wide run(Wide x, Wide n) const {
    if (shifted) x = x + x - 1.0;
    // The elements of a degree mostly are all: then no step chooses.
    const Wide degree = trunc(n);
    const double first = hn::GetLane(degree.v);
    if (HWY_LIKELY(all(degree == first))) {
      if (!(first >= 1)) return first == 0 ? 1.0 : 0.0;
      Wide before = 1.0, p = P::first(x);
      const double steps = first < P::kEnd ? first : 0;
      for (double k = 1; k < steps; k += 1) {
        const Wide next = P::next(k, x, p, before);
        before = p;
        p = next;
      }
      return p;
    }
    Wide before = 1.0, p = P::first(x), y = pick(n <= -1.0, 0.0, 1.0);
    for (double k = 1; k < P::kEnd; k += 1) {
      const WideMask reached = (degree >= k) & (degree < P::kEnd);
      if (!any(reached)) break;
      y = pick(reached, p, y);
      const Wide next = P::next(k, x, p, before);
      before = p;
      p = next;
    }
    return y;
  }
};

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

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

constexpr double kInfinity = __builtin_inf(), kRootHalf = 0.70710678118654752440;

struct Erfcx : Plain<1> {
  double one(double x) const { return scaled_erfc(x); }
  HWY_INLINE WideMask usual(Wide x) const { return x == x; }
  HWY_INLINE Wide run(Wide x) const {
    Wide y = erfcx_of(abs(x));
    const WideMask negative = x < 0.0;
    if (any(negative)) y = pick(negative, 2.0 * exp(x * x) - y, y);
    return y;
  }
};

struct Ndtr : Plain<1> {
  double one(double x) const { return normal_cdf(x); }
  HWY_INLINE WideMask usual(Wide x) const { return x == x; }
  HWY_INLINE Wide run(Wide x) const {
    const WideMask near = abs(x) <= 1.25;
    Wide y;
    if (any(near)) y = multiply_add(x, polynomial(fit::kNormalNear, x * x), 0.5);
    if (!all(near)) {
      const Wide tail = 0.5 * exp(-0.5 * (x * x)) * erfcx_of(abs(x) * kRootHalf);
      y = pick(near, y, pick(x > 0.0, 1.0 - tail, tail));
    }
    return y;
  }
};

struct LogNdtr : Plain<1> {
  double one(double x) const { return log_normal_cdf(x); }
  HWY_INLINE WideMask usual(Wide x) const { return (x > -kInfinity) & (x < 1e3); }
  HWY_INLINE Wide run(Wide x) const {
    // Below 0 the logarithm of the tail's factors, else of 1 less the tail.
    const WideMask below = x < 0.0;
    const Wide half = 0.5 * erfcx_of(abs(x) * kRootHalf), square = -0.5 * (x * x), tail = half * exp(square);
    const Wide u = 1.0 - tail, rest = (1.0 - u - tail) / u;
    return log(pick(below, half, u)) + pick(below, square, rest);
  }
};

struct Ndtri : Plain<1> {
  double one(double p) const { return normal_quantile(p); }
  HWY_INLINE WideMask usual(Wide p) const { return (p > 0.0) & (p < 1.0); }
  HWY_INLINE Wide run(Wide p) const {
    const Wide d = p - 0.5, z = d * d;
    const WideMask near = abs(d) <= 0.425;
    Wide x;
    if (any(near)) x = d * quotient(fit::kQuantileNear, fit::kQuantileNearUnder, centered(z, 0, 0.180625));
    if (HWY_UNLIKELY(!all(near))) {
      const Wide q = pick(d < 0.0, p, 1.0 - p), r = sqrt(-log(q));
      const WideMask low = r <= 4.5;
      Wide tail = quotient(fit::kQuantileTail, fit::kQuantileTailUnder, centered(r, 1.5, 4.5));
      if (!all(low | near)) {
        tail = pick(low, tail, quotient(fit::kQuantileFar, fit::kQuantileFarUnder, centered(r, 4.5, 10.25)));
      }
      x = pick(near, x, copy_sign(tail, d));
    }
    return x;
  }
};

struct Entr : Plain<1> {
  double one(double x) const { return entropy(x); }
  HWY_INLINE WideMask usual(Wide x) const { return x < kInfinity; }
  HWY_INLINE Wide run(Wide x) const {
    const Wide y = -x * log(x);
    return pick(x > 0.0, y, pick(x == 0.0, Wide(0.0), Wide(-kInfinity)));
  }
};

struct Xlog1py : Plain<2> {
  double one(double x, double y) const { return x_log1p_y(x, y); }
  HWY_INLINE WideMask usual(Wide x, Wide y) const { return (y > -1.0) & (y < kInfinity); }
  HWY_INLINE Wide run(Wide x, Wide y) const { return pick(x == 0.0, 0.0, x * log1p(y)); }
};

// The same of double.
HWY_INLINE Twin erfcx_of(Twin a) {
  const Twin t = Twin(4.0) / (a + Twin(4.0));
  return t * polynomial(fit::kScaledErfcTwin, fit::kScaledErfcTwinRest, scaled(t, 2) - Twin(1.0));
}
struct ErfcxTwin : Erfcx {
  HWY_INLINE WideMask usual(Wide x) const { return (x > -26.0) & (x < 1e100); }
  HWY_INLINE Wide run(Wide x) const {
    Twin y = erfcx_of(Twin(abs(x)));
    const WideMask negative = x < 0.0;
    if (any(negative)) y = pick(negative, scaled(exp(exact_product(max(x, -26.0), max(min(x, 0.0), -26.0))), 2) - y, y);
    return y.sum();
  }
};
// The part beyond |x| for |x| < 37, and without its factor exp(-x^2 / 2).
HWY_INLINE Twin half_scaled_tail(Wide x) { return scaled(erfcx_of(Twin(abs(x)) * Twin(fit::kRootHalfTwin)), 0.5); }
HWY_INLINE Twin half_square(Wide x) { return scaled(exact_product(x, x), -0.5); }
struct NdtrTwin : Ndtr {
  HWY_INLINE WideMask usual(Wide x) const { return abs(x) < 37.0; }
  HWY_INLINE Wide run(Wide x) const {
    const Twin tail = half_scaled_tail(x) * exp(half_square(min(max(x, -37.0), 37.0)));
    return pick(x > 0.0, Twin(1.0) - tail, tail).sum();
  }
};
struct LogNdtrTwin : LogNdtr {
  HWY_INLINE WideMask usual(Wide x) const { return (x > -1e100) & (x < 37.0); }
  HWY_INLINE Wide run(Wide x) const {
    const WideMask below = x < 0.0;
    const Twin half = half_scaled_tail(x), tail = half * exp(half_square(min(max(x, -37.0), 37.0)));
    const Twin l = log(pick(below, half, Twin(1.0) - tail));
    return pick(below, l + half_square(x), l).sum();
  }
};
struct NdtriTwin : Ndtri {
  HWY_INLINE WideMask usual(Wide p) const { return (p > 1e-305) & (p < 1.0); }
  HWY_INLINE Wide run(Wide p) const {
    const Twin d = exact_sum(p, -0.5);
    const WideMask near = abs(d.h) <= 0.425;
    Twin x;
    if (any(near)) {
      const Twin u = centered(d * d, 0, 0.180625);
      x = d * (polynomial(fit::kQuantileNearTwin, fit::kQuantileNearTwinRest, u) /
               polynomial(fit::kQuantileNearTwinUnder, fit::kQuantileNearTwinUnderRest, u));
    }
    if (HWY_UNLIKELY(!all(near))) {
      const Twin r = sqrt(-log(Twin(pick(d.h < 0.0, p, 1.0 - p))));
      const WideMask low = r.h <= 4.5, middle = r.h <= 10.25;
      const Twin u = centered(r, 1.5, 4.5);
      Twin tail = polynomial(fit::kQuantileTailTwin, fit::kQuantileTailTwinRest, u) /
                  polynomial(fit::kQuantileTailTwinUnder, fit::kQuantileTailTwinUnderRest, u);
      if (!all(low | near)) {
        const Twin v = centered(r, 4.5, 10.25);
        tail = pick(low, tail, polynomial(fit::kQuantileFarTwin, fit::kQuantileFarTwinRest, v) /
                                   polynomial(fit::kQuantileFarTwinUnder, fit::kQuantileFarTwinUnderRest, v));
      }
      if (!all(middle | near)) {
        const Twin w = centered(r, 10.25, 27.5);
        const Twin under = polynomial(fit::kQuantileFartherTwinUnder, fit::kQuantileFartherTwinUnderRest, w);
        tail = pick(middle, tail, polynomial(fit::kQuantileFartherTwin, fit::kQuantileFartherTwinRest, w) / under);
      }
      x = pick(near, x, pick(d.h < 0.0, -tail, tail));
    }
    return x.sum();
  }
};
struct EntrTwin : Entr {
  HWY_INLINE WideMask usual(Wide x) const { return (x <= 0.0) | ((x > 1e-290) & (x < 1e290)); }
  HWY_INLINE Wide run(Wide x) const {
    const Wide y = pick(x == 1.0, Wide(-0.0), (Twin(-x) * log(Twin(x))).sum());
    return pick(x > 0.0, y, pick(x == 0.0, Wide(0.0), Wide(-kInfinity)));
  }
};
struct Xlog1pyTwin : Xlog1py {
  HWY_INLINE WideMask usual(Wide x, Wide y) const {
    return (y > -1.0) & (y < 1e290) & (abs(y) > 1e-290) & ((x == 0.0) | ((abs(x) > 1e-10) & (abs(x) < 1e10)));
  }
  HWY_INLINE Wide run(Wide x, Wide y) const { return pick(x == 0.0, 0.0, (Twin(x) * log(exact_sum(1.0, y))).sum()); }
};

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

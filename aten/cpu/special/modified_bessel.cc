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

constexpr double kInfinity = __builtin_inf();

template <int order, bool scaled>
struct BesselI : Plain<1> {
  double one(double x) const { return bessel_i(order, x, scaled); }
  HWY_INLINE WideMask usual(Wide x) const { return abs(x) < kInfinity; }
  HWY_INLINE Wide run(Wide x) const {
    const Wide a = abs(x);
    const WideMask near = a <= 8.0;
    Wide y;
    if (any(near)) {
      const Wide z = x * x;
      // +0 at -0, like the scalar function.
      y = order == 0 ? polynomial(fit::kI0Near, z) : multiply_add(polynomial(fit::kI1Near, z), x, 0.0);
      if (scaled) y = y * exp(-a);
    }
    if (HWY_UNLIKELY(!all(near))) {
      const Wide u = centered(1.0 / a, 0, 0.125);
      Wide far = (order == 0 ? polynomial(fit::kI0Far, u) : polynomial(fit::kI1Far, u)) / sqrt(a);
      if (!scaled) far = far * exp(a);
      if (order == 1) far = copy_sign(far, x);
      y = pick(near, y, far);
    }
    return y;
  }
};

template <int order, bool scaled>
struct BesselK : Plain<1> {
  double one(double x) const { return bessel_k(order, x, scaled); }
  HWY_INLINE WideMask usual(Wide x) const { return (x > 0.0) & (x < kInfinity); }
  HWY_INLINE Wide run(Wide x) const {
    const WideMask near = x <= 2.0;
    Wide y;
    if (any(near)) {
      const Wide z = x * x, l = log(x * 0.5);
      if (order == 0) {
        y = polynomial(fit::kK0Near, z) - l * polynomial(fit::kI0Small, z);
      } else {
        y = 1.0 / x + x * (l * polynomial(fit::kI1Small, z) + polynomial(fit::kK1Near, z));
      }
      if (scaled) y = y * exp(x);
    }
    if (HWY_UNLIKELY(!all(near))) {
      const Wide u = centered(1.0 / x, 0, 0.5);
      Wide far = (order == 0 ? polynomial(fit::kK0Far, u) : polynomial(fit::kK1Far, u)) / sqrt(x);
      if (!scaled) far = far * exp(-x);
      y = pick(near, y, far);
    }
    return y;
  }
};

// The same of double.
template <int order, bool scaled>
struct BesselITwin : BesselI<order, scaled> {
  HWY_INLINE WideMask usual(Wide x) const { return abs(x) < (scaled ? 1e300 : 700.0); }
  HWY_INLINE Wide run(Wide x) const {
    const Wide a = abs(x);
    const WideMask near = a <= 8.0;
    Twin y;
    if (any(near)) {
      const Twin z = exact_product(x, x);
      y = order == 0 ? polynomial(fit::kI0NearTwin, fit::kI0NearTwinRest, z)
                     : polynomial(fit::kI1NearTwin, fit::kI1NearTwinRest, z) * Twin(x);
      if (scaled) y = y * exp(Twin(-min(a, 8.0)));
    }
    if (HWY_UNLIKELY(!all(near))) {
      const Twin u = centered(Twin(1.0) / Twin(a), 0, 0.125);
      Twin far = order == 0 ? polynomial(fit::kI0FarTwin, fit::kI0FarTwinRest, u)
                            : polynomial(fit::kI1FarTwin, fit::kI1FarTwinRest, u);
      far = far / sqrt(Twin(a));
      if (!scaled) far = far * exp(Twin(a));
      if (order == 1) far = pick(x < 0.0, -far, far);
      y = pick(near, y, far);
    }
    return order == 1 ? pick(x == 0.0, 0.0, y.sum()) : y.sum();
  }
};

template <int order, bool scaled>
struct BesselKTwin : BesselK<order, scaled> {
  HWY_INLINE WideMask usual(Wide x) const { return (x > 1e-290) & (x < (scaled ? 1e300 : 700.0)); }
  HWY_INLINE Wide run(Wide x) const {
    const WideMask near = x <= 2.0;
    Twin y;
    if (any(near)) {
      const Twin z = exact_product(x, x), l = log(Twin(x * 0.5));
      if (order == 0) {
        y = polynomial(fit::kK0NearTwin, fit::kK0NearTwinRest, z) -
            l * polynomial(fit::kI0SmallTwin, fit::kI0SmallTwinRest, z);
      } else {
        y = Twin(1.0) / Twin(x) + Twin(x) * (l * polynomial(fit::kI1SmallTwin, fit::kI1SmallTwinRest, z) +
                                             polynomial(fit::kK1NearTwin, fit::kK1NearTwinRest, z));
      }
      if (scaled) y = y * exp(Twin(min(x, 2.0)));
    }
    if (HWY_UNLIKELY(!all(near))) {
      const Twin u = centered(Twin(1.0) / Twin(x), 0, 0.5);
      Twin far = order == 0 ? polynomial(fit::kK0FarTwin, fit::kK0FarTwinRest, u)
                            : polynomial(fit::kK1FarTwin, fit::kK1FarTwinRest, u);
      far = far / sqrt(Twin(x));
      if (!scaled) far = far * exp(Twin(-x));
      y = pick(near, y, far);
    }
    return y.sum();
  }
};

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

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

template <int order>
HWY_INLINE Wide bessel_j_near(Wide x, Wide z, Wide u) {
  if (order == 0) return less(z, fit::kJ0First) * less(z, fit::kJ0Second) * polynomial(fit::kJ0Near, u);
  return x * less(z, fit::kJ1First) * less(z, fit::kJ1Second) * polynomial(fit::kJ1Near, u);
}
// Modulus and phase beyond 8: J is the cosine's part, Y the sine's, a quarter of a turn behind.
template <int order>
HWY_INLINE Wide bessel_far(Wide a, uint64_t shift) {
  const Wide inverse = 1.0 / a, u = centered(inverse * inverse, 0, 1.0 / 64);
  const Wide modulus = order == 0 ? polynomial(fit::kModulus0, u) : polynomial(fit::kModulus1, u);
  const Wide phase = (order == 0 ? polynomial(fit::kPhase0, u) : polynomial(fit::kPhase1, u)) * inverse;
  Wide n;
  const Wide r = reduce_quarters(a, 0.5, n);
  return sqrt(inverse * 0.63661977236758134308) * modulus * cosine(r + phase, n, shift - order);
}

template <int order>
struct BesselJ : Plain<1> {
  double one(double x) const { return bessel_j(order, x); }
  HWY_INLINE WideMask usual(Wide x) const { return abs(x) < kMostReduced; }
  HWY_INLINE Wide run(Wide x) const {
    const Wide a = abs(x);
    const WideMask near = a <= 8.0;
    Wide y;
    if (any(near)) {
      const Wide z = x * x;
      y = bessel_j_near<order>(x, z, centered(z, 0, 64));
    }
    if (HWY_UNLIKELY(!all(near))) {
      Wide far = bessel_far<order>(a, 0);
      if (order == 1) far = pick(x < 0.0, -far, far);
      y = pick(near, y, far);
    }
    return y;
  }
};
template <int order>
struct BesselY : Plain<1> {
  double one(double x) const { return bessel_y(order, x); }
  HWY_INLINE WideMask usual(Wide x) const { return (x > 0.0) & (x < kMostReduced); }
  HWY_INLINE Wide run(Wide x) const {
    constexpr double kTwoOverPi = 0.63661977236758134308;
    const WideMask near = x <= 8.0;
    Wide y;
    if (any(near)) {
      const Wide z = x * x, u = centered(z, 0, 64), j = log(x * 0.5) * bessel_j_near<order>(x, z, u);
      if (order == 0) {
        y = multiply_add(j, kTwoOverPi, polynomial(fit::kY0Near, u));
      } else {
        y = multiply_add(j - 1.0 / x, kTwoOverPi, x * polynomial(fit::kY1Near, u));
      }
    }
    if (HWY_UNLIKELY(!all(near))) y = pick(near, y, bessel_far<order>(x, uint64_t{0} - 1));
    return y;
  }
};

// The same of double.
template <int order>
HWY_INLINE Twin bessel_j_near(Wide x, Twin z, Twin u) {
  if (order == 0) {
    return (z - Twin(fit::kJ0First)) * (z - Twin(fit::kJ0Second)) *
           polynomial(fit::kJ0NearTwin, fit::kJ0NearTwinRest, u);
  }
  return Twin(x) * (z - Twin(fit::kJ1First)) * (z - Twin(fit::kJ1Second)) *
         polynomial(fit::kJ1NearTwin, fit::kJ1NearTwinRest, u);
}
template <int order>
HWY_INLINE Twin bessel_far_twin(Wide a, uint64_t shift) {
  const Twin inverse = Twin(1.0) / Twin(a), u = centered(inverse * inverse, 0, 1.0 / 64);
  const Twin modulus = order == 0 ? polynomial(fit::kModulus0Twin, fit::kModulus0TwinRest, u)
                                  : polynomial(fit::kModulus1Twin, fit::kModulus1TwinRest, u);
  const Twin phase = inverse * (order == 0 ? polynomial(fit::kPhase0Twin, fit::kPhase0TwinRest, u)
                                           : polynomial(fit::kPhase1Twin, fit::kPhase1TwinRest, u));
  Wide n;
  const Twin r = reduce_quarters(Twin(a), 0.5, n);
  return sqrt(inverse * Twin(fit::kTwoOverPiTwin)) * modulus * cosine(r + phase, n, shift - order);
}
template <int order>
struct BesselJTwin : BesselJ<order> {
  HWY_INLINE Wide run(Wide x) const {
    const Wide a = abs(x);
    const WideMask near = a <= 8.0;
    Twin y;
    if (any(near)) {
      const Twin z = exact_product(x, x);
      y = bessel_j_near<order>(x, z, centered(z, 0, 64));
    }
    if (HWY_UNLIKELY(!all(near))) {
      Twin far = bessel_far_twin<order>(a, 0);
      if (order == 1) far = pick(x < 0.0, -far, far);
      y = pick(near, y, far);
    }
    return order == 1 ? pick(x == 0.0, x, y.sum()) : y.sum();
  }
};
template <int order>
struct BesselYTwin : BesselY<order> {
  HWY_INLINE WideMask usual(Wide x) const { return (x > 1e-290) & (x < kMostReduced); }
  HWY_INLINE Wide run(Wide x) const {
    const WideMask near = x <= 8.0;
    Twin y;
    if (any(near)) {
      const Twin z = exact_product(x, x), u = centered(z, 0, 64);
      const Twin j = log(Twin(x * 0.5)) * bessel_j_near<order>(x, z, u);
      if (order == 0) {
        y = j * Twin(fit::kTwoOverPiTwin) + polynomial(fit::kY0NearTwin, fit::kY0NearTwinRest, u);
      } else {
        y = (j - Twin(1.0) / Twin(x)) * Twin(fit::kTwoOverPiTwin) +
            Twin(x) * polynomial(fit::kY1NearTwin, fit::kY1NearTwinRest, u);
      }
    }
    if (HWY_UNLIKELY(!all(near))) y = pick(near, y, bessel_far_twin<order>(x, uint64_t{0} - 1));
    return y.sum();
  }
};

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

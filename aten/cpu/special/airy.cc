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

constexpr double kInfinity = __builtin_inf();

struct SphericalJ0 : Plain<1> {
  double one(double x) const { return spherical_bessel_j0(x); }
  HWY_INLINE WideMask usual(Wide x) const { return abs(x) < kMostReduced; }
  HWY_INLINE Wide run(Wide x) const {
    Wide n;
    const Wide r = reduce_quarters(x, 0, n);
    return pick(x == 0.0, 1.0, cosine(r, n, uint64_t{0} - 1) / x);
  }
};

struct AiryAi : Plain<1> {
  double one(double x) const { return airy_ai(x); }
  HWY_INLINE WideMask usual(Wide x) const { return (x > -1e4) & (x < kInfinity); }
  HWY_INLINE Wide run(Wide x) const {
    const WideMask near = abs(x + 2.0) <= 3.0;
    Wide y;
    if (any(near)) {
      const Wide u = centered(x, -5, 1);
      y = less(x, fit::kAiryFirst) * less(x, fit::kAirySecond) * polynomial(fit::kAiryNear, u);
    }
    if (HWY_UNLIKELY(!all(near))) {
      const Wide a = abs(x), root = sqrt(a), zeta = a * root * (2.0 / 3), inverse = 1.0 / zeta;
      const Wide scale = 1.0 / sqrt(root * 3.14159265358979323846);  // 1 / (sqrt(pi) |x|^(1/4))
      const WideMask falls = x > 0.0;
      Wide far;
      if (any(falls)) {
        const Wide u = centered(min(inverse, 1.5), 0, 1.5);
        far = exp(-zeta) * quotient(fit::kAiryFar, fit::kAiryFarUnder, u) * scale * 0.5;
      }
      if (!all(falls)) {
        // A sine of zeta + pi / 4: a cosine of zeta - pi / 4.
        const Wide u = centered(inverse * inverse, 0, 0.018);
        Wide n;
        const Wide r = reduce_quarters(zeta, 0.5, n) + polynomial(fit::kAiryPhase, u) * inverse;
        far = pick(falls, far, polynomial(fit::kAiryModulus, u) * scale * cosine(r, n, 0));
      }
      y = pick(near, y, far);
    }
    return y;
  }
};

// The same of double.
struct SphericalJ0Twin : SphericalJ0 {
  HWY_INLINE Wide run(Wide x) const {
    Wide n;
    const Twin r = reduce_quarters(Twin(x), 0, n);
    return pick(x == 0.0, 1.0, (cosine(r, n, uint64_t{0} - 1) / Twin(x)).sum());
  }
};
struct AiryAiTwin : AiryAi {
  HWY_INLINE WideMask usual(Wide x) const { return (x > -1e4) & (x < 100.0); }
  HWY_INLINE Wide run(Wide x) const {
    const WideMask near = abs(x + 1.5) <= 3.5;
    Twin y;
    if (any(near)) {
      y = (Twin(x) - Twin(fit::kAiryFirst)) * (Twin(x) - Twin(fit::kAirySecond)) *
          polynomial(fit::kAiryNearTwin, fit::kAiryNearTwinRest, centered(Twin(x), -5, 2));
    }
    if (HWY_UNLIKELY(!all(near))) {
      const Wide a = abs(x);
      const Twin root = sqrt(Twin(a)), zeta = Twin(a) * root * Twin(fit::kTwoThirdsTwin), inverse = Twin(1.0) / zeta;
      const Twin scale = sqrt(root * Twin(fit::kPiTwin));
      const WideMask falls = x > 0.0;
      Twin far;
      if (any(falls)) {
        const Twin u = centered(inverse, 0, 0.53033008588991064);
        const Twin series = polynomial(fit::kAiryFarTwin, fit::kAiryFarTwinRest, u) /
                            polynomial(fit::kAiryFarTwinUnder, fit::kAiryFarTwinUnderRest, u);
        far = scaled(exp(-pick(falls, zeta, Twin(0.0))) * series, 0.5);
      }
      if (!all(falls)) {
        const Twin u = centered(inverse * inverse, 0, 0.018);
        Wide n;
        const Twin phase = polynomial(fit::kAiryPhaseTwin, fit::kAiryPhaseTwinRest, u) * inverse;
        const Twin r = reduce_quarters(zeta, 0.5, n) + phase;
        far = pick(falls, far, polynomial(fit::kAiryModulusTwin, fit::kAiryModulusTwinRest, u) * cosine(r, n, 0));
      }
      y = pick(near, y, far / scale);
    }
    return y.sum();
  }
};

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

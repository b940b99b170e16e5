// log |gamma| and its derivative.
#include <math.h>

#include <cmath>
#include <limits>

#include "aten/cpu/loops/loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/loops/gamma.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "aten/cpu/special/gamma-inl.h"

#ifndef ATEN_CPU_LOOPS_GAMMA_CC_
#define ATEN_CPU_LOOPS_GAMMA_CC_
namespace at::cpu::special {
namespace {

// Reflection below 1/2, recurrence up to 10, then the asymptotic series (Abramowitz and Stegun 6.3.6, 6.3.7, 6.3.18).
double digamma_of(double x) {
  constexpr double kPi = 3.14159265358979323846;
  if (x == 0) return std::copysign(std::numeric_limits<double>::infinity(), -x);
  if (x < 0 && x == std::floor(x)) return std::numeric_limits<double>::quiet_NaN();
  if (x < 0.5) return digamma_of(1 - x) - kPi / std::tan(kPi * std::remainder(x, 1.0));
  double sum = 0;
  for (; x < 10; x += 1) sum -= 1 / x;
  const double z = 1 / (x * x);
  const double series =
      z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * 691.0 / 32760)))));
  return sum + std::log(x) - 0.5 / x - series;
}

}  // namespace
}  // namespace at::cpu::special
#endif

HWY_BEFORE_NAMESPACE();
namespace at::cpu::special {
namespace HWY_NAMESPACE {
namespace {

struct Lgamma : Plain<1> {
  double one(double x) const {
    int sign;  // std::lgamma writes a global
    return ::lgamma_r(x, &sign);
  }
  HWY_INLINE WideMask usual(Wide x) const { return gamma_is_usual(x); }
  HWY_INLINE Wide run(Wide x) const { return log_gamma(x); }
};
struct Digamma : Plain<1> {
  double one(double x) const { return digamma_of(x); }
  HWY_INLINE WideMask usual(Wide x) const { return gamma_is_usual(x); }
  HWY_INLINE Wide run(Wide x) const { return digamma(x); }
};

using LgammaLoops = Loops<Lgamma>;
using DigammaLoops = Loops<Digamma>;

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace at::cpu::special
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "aten/cpu/isa_table.h"

namespace at::cpu::special {
namespace {

constexpr ElementOp kLgamma = AT_WIDE_OP(LgammaLoops);
constexpr ElementOp kDigamma = {AT_ISA_TABLE(DigammaLoops::floats),
                                AT_ISA_TABLE(DigammaLoops::wide_doubles), {}, {}, {}, {}};

}  // namespace
}  // namespace at::cpu::special

namespace at::cpu::loops {

AT_ELEMENT_OP(lgamma, special::kLgamma);
AT_ELEMENT_OP(digamma, special::kDigamma);

}  // namespace at::cpu::loops

#endif  // HWY_ONCE

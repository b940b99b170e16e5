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

constexpr double kInfinity = __builtin_inf();

// B(2j) / (2j)! for j = 1..12. Seven do for float.
constexpr double kBernoulliRatios[] = {1.0 / 12,
                                       -1.0 / 720,
                                       1.0 / 30240,
                                       -1.0 / 1209600,
                                       1.0 / 47900160.0,
                                       -691.0 / 1307674368000.0,
                                       1.0 / 74724249600.0,
                                       -3617.0 / 10670622842880000.0,
                                       43867.0 / 5109094217170944000.0,
                                       -174611.0 / 802857662698291200000.0,
                                       77683.0 / 14101100039391805440000.0,
                                       -236364091.0 / 1693824136731743669452800000.0};
constexpr double kNegligible = 1e-12;

HWY_INLINE Wide high(Wide v) { return v; }
HWY_INLINE Wide high(Twin v) { return v.h; }

// The sum of power(q), power(q + 1), ... to `end`, or to terms that are negligible: there `finished`. q is the first
// that is left out.
template <class V, class Power>
HWY_INLINE V sum_of_powers(V& q, Wide end, double negligible, const Power& power, WideMask& finished) {
  V sum = 0.0;
  WideMask open = high(q) < end;
  finished = high(q) < -kInfinity;
  while (any(open)) {
    const V term = pick(open, power(q), V(0.0));
    sum = sum + term;
    // Only where all terms have one sign.
    const WideMask small = open & (high(q) > 1.0) & (abs(high(term)) * high(q) <= negligible * abs(high(sum)));
    finished = finished | small;
    q = pick(open, q + V(1.0), q);
    open = open & (high(q) < end) & !small;
  }
  return sum;
}

// q to the power of -s, s a whole number of at least 1, by squares.
template <class V>
HWY_INLINE V inverse_power(V q, int64_t s) {
  V square = V(1.0) / q, y = (s & 1) != 0 ? square : V(1.0);
  for (int64_t bits = s >> 1; bits != 0; bits >>= 1) {
    square = square * square;
    if ((bits & 1) != 0) y = y * square;
  }
  return y;
}

// sum over k of (k + q)^-s by Euler and Maclaurin's summation from the first term beyond 8 + s on; power(q) is q^-s.
template <class Power>
HWY_INLINE Wide hurwitz(Wide s, Wide q, const Power& power) {
  WideMask finished;
  const Wide sum = sum_of_powers(q, s + 8.0, kNegligible, power, finished);
  if (all(finished)) return sum;
  const Wide p = power(q), inverse = 1.0 / q, square = inverse * inverse;
  Wide rest = q / (s - 1.0) + 0.5, factor = s * inverse;
  for (int j = 0; j < 7; ++j) {
    rest = multiply_add(factor, kBernoulliRatios[j], rest);
    factor = factor * (s + (2 * j + 1)) * (s + (2 * j + 2)) * square;
  }
  return pick(finished, sum, multiply_add(p, rest, sum));
}

struct Zeta : Plain<2> {
  double one(double s, double q) const { return zeta(s, q); }
  HWY_INLINE WideMask usual(Wide s, Wide q) const { return (s > 1.0) & (s < 1e6) & (q > 0.0) & (q < kInfinity); }
  HWY_INLINE Wide run(Wide s, Wide q) const {
    const WideMask good = usual(s, q);
    s = pick(good, s, 2.0);
    // Terms that underflow are 0, so that large s end.
    const auto power = [s](Wide x) HWY_ATTR {
      const Wide exponent = s * log(x);
      return pick(exponent < 700.0, exp(-exponent), 0.0);
    };
    return hurwitz(s, pick(good, q, 1.0), power);
  }
};

// Orders whose factorials, and what they are multiplied with, double holds.
constexpr int64_t kMostOrder = 100;

struct Polygamma {
  static constexpr int kInputs = 1;
  int64_t order;
  double factor;  // (-1)^(n + 1) n!
  explicit Polygamma(const void* context)
      : order(*static_cast<const int64_t*>(context)), factor(order % 2 == 1 ? 1 : -1) {
    for (int64_t k = 2; k <= order && k <= kMostOrder; ++k) factor *= static_cast<double>(k);
  }
  double one(double x) const { return polygamma(order, x); }
  HWY_INLINE WideMask usual(Wide x) const {
    if (order > kMostOrder) return x < -kInfinity;
    return order == 0 ? gamma_is_usual(x) : gamma_is_usual(x) & (x > -40.0);
  }
  HWY_INLINE Wide run(Wide x) const {
    if (order > kMostOrder) return x;
    if (order == 0) return digamma(x);
    const auto power = [s = order + 1](Wide q) HWY_ATTR { return inverse_power(q, s); };
    return factor * hurwitz(static_cast<double>(order + 1), pick(usual(x), x, 1.0), power);
  }
};

struct Mvlgamma {
  static constexpr int kInputs = 1;
  int64_t dimension;
  double constant;
  explicit Mvlgamma(const void* context) : dimension(*static_cast<const int64_t*>(context)) {
    const auto p = static_cast<double>(dimension);
    constant = 0.25 * p * (p - 1) * 1.14472988584940017414;
  }
  double one(double x) const { return multivariate_log_gamma(dimension, x); }
  HWY_INLINE WideMask usual(Wide x) const {
    return (x > 0.5 * static_cast<double>(dimension - 1)) & (x < kInfinity);
  }
  HWY_INLINE Wide run(Wide x) const {
    Wide sum = constant;
    for (int64_t j = 0; j < dimension; ++j) sum = sum + log_gamma_positive(x - 0.5 * static_cast<double>(j));
    return sum;
  }
};

// The regularized incomplete gamma functions by the series of the lower one to x = a + 1, by the continued fraction of
// the upper one beyond.
template <bool upper>
struct IncompleteGamma : Plain<2> {
  double one(double a, double x) const { return upper ? upper_gamma(a, x) : lower_gamma(a, x); }
  HWY_INLINE WideMask usual(Wide a, Wide x) const { return (a >= 1e-4) & (a <= 1e4) & (x > 0.0) & (x < kInfinity); }
  HWY_INLINE Wide run(Wide a, Wide x) const {
    const WideMask good = usual(a, x);
    a = pick(good, a, 1.0);
    x = pick(good, x, 1.0);
    const WideMask near = x < a + 1.0;
    // x^a exp(-x) / gamma(a + 1).
    const Wide factor = exp(a * log(x) - x - log_gamma_positive(a + 1.0));
    Wide y;
    if (any(near)) {
      const Wide small = pick(near, x, 0.0);
      Wide term = 1.0, sum = 1.0, k = a;
      do {
        for (int i = 0; i < 4; ++i) {
          k = k + 1.0;
          term = term * small / k;
          sum = sum + term;
        }
      } while (any(term > kNegligible * sum));
      y = factor * sum;
      if (upper) y = 1.0 - y;
    }
    if (!all(near)) {
      // Abramowitz and Stegun 6.5.31, contracted, by Steed's algorithm.
      const Wide large = pick(near, a + 100.0, x);
      Wide b = large + 1.0 - a, d = 1.0 / b, step = d, h = d, k = 0.0;
      do {
        k = k + 1.0;
        const Wide an = k * (a - k);
        b = b + 2.0;
        d = 1.0 / multiply_add(an, d, b);
        step = step * (b * d - 1.0);
        h = h + step;
      } while (any(abs(step) > kNegligible * abs(h)));
      Wide far = factor * a * h;
      if (!upper) far = 1.0 - far;
      y = pick(near, y, far);
    }
    return y;
  }
};

// As hurwitz, of double.
template <class Power>
HWY_INLINE Wide hurwitz_twin(Wide s, Wide start, const Power& power) {
  Twin q = start;
  WideMask finished;
  const Twin sum = sum_of_powers(q, s + 10.0, 1e-19, power, finished);
  if (all(finished)) return sum.sum();
  const Twin inverse = Twin(1.0) / q, first = inverse * Twin(s);
  const Wide square = inverse.h * inverse.h;
  Wide rest = 0.0, factor = first.h;
  for (int j = 1; j < 12; ++j) {
    factor = factor * (s + (2 * j - 1)) * (s + 2 * j) * square;
    rest = multiply_add(factor, kBernoulliRatios[j], rest);
  }
  const Twin series = first / Twin(12.0) + Twin(rest);
  return pick(finished, sum, sum + power(q) * (q / exact_sum(s, -1.0) + (Twin(0.5) + series))).sum();
}
struct ZetaTwin : Zeta {
  HWY_INLINE WideMask usual(Wide s, Wide q) const { return (s > 1.0) & (s < 60.0) & (q > 1e-4) & (q < 1e4); }
  HWY_INLINE Wide run(Wide s, Wide q) const {
    const WideMask good = usual(s, q);
    s = pick(good, s, 2.0);
    return hurwitz_twin(s, pick(good, q, 1.0), [s](Twin x) HWY_ATTR { return exp(-(Twin(s) * log(x))); });
  }
};
struct PolygammaTwin : Polygamma {
  using Polygamma::Polygamma;
  // The factorials that are whole numbers of double.
  static constexpr int64_t kMostExact = 22;
  HWY_INLINE WideMask usual(Wide x) const {
    if (order == 0 || order > kMostExact) return x < -kInfinity;
    return gamma_is_usual(x) & (x > -40.0) & (abs(x) > 1e-10) & (x < 1e10);
  }
  HWY_INLINE Wide run(Wide x) const {
    if (order == 0 || order > kMostExact) return x;
    const auto power = [s = order + 1](Twin q) HWY_ATTR { return inverse_power(q, s); };
    return factor * hurwitz_twin(static_cast<double>(order + 1), pick(usual(x), x, 1.0), power);
  }
};

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

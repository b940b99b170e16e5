// Functions of double computed in sums of two doubles, two vectors at a time, so that results are rounded nearly once.
// Needs fused multiplications. Include after hwy/highway.h.

#if defined(ATEN_CPU_SPECIAL_TWIN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATEN_CPU_SPECIAL_TWIN_INL_H_
#undef ATEN_CPU_SPECIAL_TWIN_INL_H_
#else
#define ATEN_CPU_SPECIAL_TWIN_INL_H_
#endif

#include "aten/cpu/special/wide-inl.h"

HWY_BEFORE_NAMESPACE();
namespace at::cpu::special {
namespace HWY_NAMESPACE {

/// Where the functions here are right; elsewhere double goes one element at a time.
constexpr bool kHasTwins = kHasVectors && HWY_NATIVE_FMA;

// The sum of h and l, which is at most half a unit of the last place of h or little more.
struct Twin {
  Wide h, l;
  Twin() = default;
  HWY_INLINE Twin(Wide high, Wide low) : h(high), l(low) {}
  HWY_INLINE Twin(Wide x) : h(x), l(0.0) {}    // NOLINT: numbers in formulas
  HWY_INLINE Twin(double x) : h(x), l(0.0) {}  // NOLINT
  HWY_INLINE Twin(const double (&c)[2]) : h(c[0]), l(c[1]) {}  // NOLINT
  HWY_INLINE Wide sum() const { return h + l; }
};

HWY_INLINE Wide product_less(Wide a, Wide b, Wide c) { return {hn::MulSub(a.v, b.v, c.v), hn::MulSub(a.w, b.w, c.w)}; }
/// |a| >= |b| or a = 0.
HWY_INLINE Twin ordered_sum(Wide a, Wide b) {
  const Wide s = a + b;
  return {s, b - (s - a)};
}
HWY_INLINE Twin exact_sum(Wide a, Wide b) {
  const Wide s = a + b, part = s - a;
  return {s, (a - (s - part)) + (b - part)};
}
HWY_INLINE Twin exact_product(Wide a, Wide b) {
  const Wide p = a * b;
  return {p, product_less(a, b, p)};
}
HWY_INLINE Twin operator+(Twin a, Twin b) {
  const Twin s = exact_sum(a.h, b.h);
  return ordered_sum(s.h, s.l + (a.l + b.l));
}
HWY_INLINE Twin operator-(Twin a) { return {-a.h, -a.l}; }
HWY_INLINE Twin operator-(Twin a, Twin b) { return a + -b; }
HWY_INLINE Twin operator*(Twin a, Twin b) {
  const Twin p = exact_product(a.h, b.h);
  return ordered_sum(p.h, p.l + multiply_add(a.h, b.l, a.l * b.h));
}
HWY_INLINE Twin operator/(Twin a, Twin b) {
  const Wide inverse = 1.0 / b.h, q = a.h * inverse;
  const Wide rest = subtract_product(q, b.h, a.h) + subtract_product(q, b.l, a.l);
  return ordered_sum(q, rest * inverse);
}
/// a 2^n for small |n|.
HWY_INLINE Twin scaled(Twin a, double power) { return {a.h * power, a.l * power}; }
HWY_INLINE Twin sqrt(Twin a) {
  const Wide s = sqrt(a.h);
  const Twin r = ordered_sum(s, (subtract_product(s, s, a.h) + a.l) / (s + s));
  return {r.h, pick(s == 0.0, 0.0, r.l)};
}
HWY_INLINE Twin pick(WideMask m, Twin yes, Twin no) { return {pick(m, yes.h, no.h), pick(m, yes.l, no.l)}; }

template <size_t n, size_t m>
HWY_INLINE Twin polynomial(const double (&c)[n][2], const double (&rest)[m], Twin u) {
  Twin y = polynomial(rest, u.h);
  // Unrolled, it is what compilations of a minute are made of.
#if defined(__clang__)
#pragma clang loop unroll(disable)
#endif
  for (size_t k = n; k > 0; --k) {
    const Wide p = y.h * u.h, low = product_less(y.h, u.h, p) + multiply_add(y.h, u.l, y.l * u.h);
    const Twin s = exact_sum(p, c[k - 1][0]);
    y = {s.h, s.l + (low + c[k - 1][1])};
  }
  return ordered_sum(y.h, y.l);
}
/// (2 t - a - b) / (b - a).
HWY_INLINE Twin centered(Twin t, double a, double b) {
  // The scales are rounded, and their errors too.
  const double width = b - a, scale = 2 / width, scale_rest = __builtin_fma(-scale, width, 2.0) / width;
  const double shift = -(a + b) / width, shift_rest = -__builtin_fma(shift, width, a + b) / width;
  return t * Twin(scale, scale_rest) + Twin(shift, shift_rest);
}

/// exp(x) for |x| < 700.
HWY_NOINLINE inline Twin exp(Twin x) {
  const Wide shifted = multiply_add(x.h, 1.4426950408889634074, kShift), n = shifted - kShift;
  // ln 2 in three parts, of 42 bits but the last: products with n are exact.
  const Twin first = exact_sum(subtract_product(n, 0x1.62e42fefa38p-1, x.h), n * -0x1.ef35793c764p-45);
  const Twin r = ordered_sum(first.h, subtract_product(n, 0x1.9803f2f6af40fp-88, first.l + x.l));
  const Twin p = polynomial(fit::kExpTwin, fit::kExpTwinRest, r);
  const Wide power{times_power_of_two(Wide(1.0).v, shifted.v), times_power_of_two(Wide(1.0).w, shifted.w)};
  return {p.h * power, p.l * power};
}
/// The logarithm of positive normal numbers.
HWY_NOINLINE inline Twin log(Twin x) {
  Wide m, e;
  split(x.h, m, e);
  const Twin f = exact_sum(m - 1.0, x.l * (m / x.h));
  const Twin s = f / (f + Twin(2.0));
  const Wide z = s.h * s.h;
  const Twin parts = exact_product(e, 0x1.62e42fefa38p-1) + Twin(e * 0x1.ef35793c764p-45, e * 0x1.9803f2f6af40fp-88);
  return parts + (scaled(s, 2) + Twin(s.h * z * polynomial(fit::kLogRest, z)));
}

/// a = r + (n + offset) pi / 2, as for Wide, for a >= 1 where the offset is 1/2.
HWY_INLINE Twin reduce_quarters(Twin a, double offset, Wide& n) {
  n = multiply_add(a.h, 0.63661977236758134308, -offset) + kShift;
  const Wide m = n - kShift + offset;
  const Twin r = exact_sum(subtract_product(m, 1.57079632673412561417e+00, a.h), m * -6.07710050630396597660e-11);
  return ordered_sum(r.h, subtract_product(m, 2.02226624879595063154e-21, r.l + a.l));
}
/// cos(r + (n + shift) pi / 2) for |r| up to 0.83.
HWY_NOINLINE inline Twin cosine(Twin r, Wide n, uint64_t shift) {
  const Twin z = r * r, s = r * polynomial(fit::kSinTwin, fit::kSinTwinRest, z);
  const Twin c = polynomial(fit::kCosTwin, fit::kCosTwinRest, z);
  return {{cosine_of(s.h.v, c.h.v, n.v, shift), cosine_of(s.h.w, c.h.w, n.w, shift)},
          {cosine_of(s.l.v, c.l.v, n.v, shift), cosine_of(s.l.w, c.l.w, n.w, shift)}};
}

template <class F>
struct TwinLoops {
  static void doubles(char* const* data, int64_t n, const void* context) {
    run_loop<F, double, kHasTwins>(data, n, context);
  }
};

#ifndef AT_TWIN_OP
// An operator by the names that each target gives to its Loops of float and TwinLoops of double.
#define AT_TWIN_OP(Name, Doubles) {AT_ISA_TABLE(Name::floats), AT_ISA_TABLE(Doubles::doubles), {}, {}, {}, {}}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu::special
HWY_AFTER_NAMESPACE();

#endif  // include guard

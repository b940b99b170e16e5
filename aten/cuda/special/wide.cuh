// The CPU's formulas of special functions (aten/cpu/special/*.inc) on devices: a number in place of two vectors. Every
// step is rounded as it is written, so that the same bits come out of them.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "aten/cuda/elementwise.cuh"

#ifdef __CUDACC__
#define AT_ON_WIDE __device__ __forceinline__
#define AT_ON_WIDE_LONG static __device__ __noinline__
#define AT_ON_WIDE_ROLLED _Pragma("unroll 1")
#else
#define AT_ON_WIDE inline
#define AT_ON_WIDE_LONG inline
#define AT_ON_WIDE_ROLLED
#endif
#define AT_ON_WIDE_LAMBDA
#define AT_COEFFICIENTS [[maybe_unused]] __constant__ const double

#include "aten/cuda/special/coefficients.cuh"  // aten/cpu/special/coefficients.h, as constants of a device

namespace at::cuda::special {

struct WideMask {
  bool m;
  friend AT_ON_WIDE WideMask operator&(WideMask a, WideMask b) { return {a.m && b.m}; }
  friend AT_ON_WIDE WideMask operator|(WideMask a, WideMask b) { return {a.m || b.m}; }
  friend AT_ON_WIDE WideMask operator!(WideMask a) { return {!a.m}; }
  friend AT_ON_WIDE bool all(WideMask a) { return a.m; }
  friend AT_ON_WIDE bool any(WideMask a) { return a.m; }
};

struct Wide {
  double v;
  Wide() = default;
  AT_ON_WIDE Wide(double x) : v(x) {}  // NOLINT: constants in formulas

  friend AT_ON_WIDE Wide operator+(Wide a, Wide b) { return __dadd_rn(a.v, b.v); }
  friend AT_ON_WIDE Wide operator-(Wide a, Wide b) { return __dadd_rn(a.v, -b.v); }
  friend AT_ON_WIDE Wide operator*(Wide a, Wide b) { return __dmul_rn(a.v, b.v); }
  friend AT_ON_WIDE Wide operator/(Wide a, Wide b) { return __ddiv_rn(a.v, b.v); }
  friend AT_ON_WIDE Wide operator-(Wide a) { return -a.v; }
  friend AT_ON_WIDE WideMask operator<(Wide a, Wide b) { return {a.v < b.v}; }
  friend AT_ON_WIDE WideMask operator>(Wide a, Wide b) { return {a.v > b.v}; }
  friend AT_ON_WIDE WideMask operator<=(Wide a, Wide b) { return {a.v <= b.v}; }
  friend AT_ON_WIDE WideMask operator>=(Wide a, Wide b) { return {a.v >= b.v}; }
  friend AT_ON_WIDE WideMask operator==(Wide a, Wide b) { return {a.v == b.v}; }
  friend AT_ON_WIDE WideMask operator!=(Wide a, Wide b) { return {a.v != b.v}; }
};

AT_ON_WIDE Wide pick(WideMask m, Wide yes, Wide no) {
  return m.m ? yes : no;
}
AT_ON_WIDE Wide pick(WideMask m, double yes, double no) {
  return m.m ? yes : no;
}
AT_ON_WIDE Wide multiply_add(Wide a, Wide b, Wide c) {
  return __fma_rn(a.v, b.v, c.v);
}
AT_ON_WIDE Wide subtract_product(Wide a, Wide b, Wide c) {
  return __fma_rn(-a.v, b.v, c.v);
}
AT_ON_WIDE Wide product_less(Wide a, Wide b, Wide c) {
  return __fma_rn(a.v, b.v, -c.v);
}
AT_ON_WIDE Wide abs(Wide x) {
  return ::fabs(x.v);
}
AT_ON_WIDE Wide sqrt(Wide x) {
  return ::sqrt(x.v);
}
AT_ON_WIDE Wide min(Wide a, Wide b) {
  return a.v < b.v ? a : b;
}
AT_ON_WIDE Wide max(Wide a, Wide b) {
  return a.v > b.v ? a : b;
}
AT_ON_WIDE Wide round(Wide x) {
  return ::rint(x.v);
}
AT_ON_WIDE Wide trunc(Wide x) {
  return ::trunc(x.v);
}
AT_ON_WIDE Wide floor(Wide x) {
  return ::floor(x.v);
}
AT_ON_WIDE Wide copy_sign(Wide x, Wide sign) {
  return ::copysign(x.v, sign.v);
}
AT_ON_WIDE double first_of(Wide x) {
  return x.v;
}

AT_ON_WIDE uint64_t bits_of(Wide x) {
  return static_cast<uint64_t>(__double_as_longlong(x.v));
}
AT_ON_WIDE Wide of_bits(uint64_t bits) {
  return __longlong_as_double(static_cast<long long>(bits));
}

/// y times 2 to the number in the last bits of `shifted`.
AT_ON_WIDE Wide times_power_of_two(Wide y, Wide shifted) {
  return of_bits(bits_of(y) + (bits_of(shifted) << 52));
}
/// x = m 2^e, m in [sqrt(1/2), sqrt(2)).
AT_ON_WIDE void split(Wide x, Wide& m, Wide& e) {
  const uint64_t bits = bits_of(x), biased = (bits + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu)) >> 52;
  e = of_bits(biased | 0x4330000000000000u) - (4503599627370496.0 + 1023.0);
  m = of_bits(bits - (biased << 52) + (uint64_t{1023} << 52));
}
/// Of sine and cosine the one of quarter n + shift, with its sign.
AT_ON_WIDE Wide cosine_of(Wide sine, Wide cosine, Wide n, uint64_t shift) {
  const uint64_t quarter = bits_of(n) + shift;
  return of_bits(bits_of((quarter & 1) != 0 ? sine : cosine) ^ ((quarter + 1) & 2) << 62);
}

#include "aten/cpu/special/wide_functions.inc"

#include "aten/cpu/special/twin_functions.inc"

/// ln 2.
AT_ON_WIDE Twin log_of_two() {
  return {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
}

/// factor exp(x), which may be any number of double.
AT_ON_WIDE_LONG double times_exp(Twin factor, Twin x) {
  if (x.h.v > 800) return __longlong_as_double(0x7ff0000000000000);
  if (x.h.v < -800) return 0;
  const double whole = x.h.v > 400 ? 256 : x.h.v < -400 ? -256 : 0;
  const Twin rest = exp(x - log_of_two() * Twin(whole)) * factor;
  return ::ldexp(rest.sum().v, static_cast<int>(whole));
}

/// The value of a function at a place: by its formula, or by the function of one number where that does not hold.
template <class F, class... X>
AT_ON_WIDE double value(const F& f, X... x) {
  return all(f.usual(Wide(x)...)) ? f.run(Wide(x)...).v : f.one(x...);
}

template <class F>
AT_ON_WIDE F made_of(const void* context) {
  if constexpr (std::is_constructible_v<F, const void*>)
    return F(context);
  else
    return F();
}

/// A pointwise operator: float by `OfFloat` and double by `OfDouble`, formulas.
template <class OfFloat, class OfDouble = OfFloat>
struct Function {
  static constexpr int kInputs = OfFloat::kInputs;
  template <class T>
  AT_ON_WIDE static T run(const T* in, const T* params) {
    using F = std::conditional_t<std::is_same_v<T, double>, OfDouble, OfFloat>;
    const F f = made_of<F>(params);
    if constexpr (kInputs == 1)
      return static_cast<T>(value(f, double{in[0]}));
    else
      return static_cast<T>(value(f, double{in[0]}, double{in[1]}));
  }
};

/// `F` without its formula.
template <class F>
struct One : F {
  using F::F;
  template <class... X>
  AT_ON_WIDE WideMask usual(X...) const {
    return {false};
  }
};

AT_ON_WIDE double infinity() {
  return __longlong_as_double(0x7ff0000000000000);
}
AT_ON_WIDE double not_a_number() {
  return __longlong_as_double(0x7ff8000000000000);
}
AT_ON_WIDE bool is_nan(double x) {
  return x != x;
}
AT_ON_WIDE bool is_infinite(double x) {
  return ::fabs(x) == infinity();
}

/// Defines the kernels of the CPU's operator of that name (aten/cpu/special/loops.h).
#define AT_CUDA_SPECIAL_OP(name, ...) \
  KD_CUDA_IF_HAS(name, AT_CUDA_ELEMENT_KERNELS(at::cpu::special::loops::on_cuda, name, ::at::cuda::floating_kernels<__VA_ARGS__>()))

}  // namespace at::cuda::special

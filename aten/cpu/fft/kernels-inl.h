// The kernels of kernels.h. Included once an instruction set by a source a dtype, which ends with
// ATEN_CPU_FFT_KERNELS(T).
#if defined(KINDLING_ATEN_CPU_FFT_KERNELS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KINDLING_ATEN_CPU_FFT_KERNELS_INL_H_
#undef KINDLING_ATEN_CPU_FFT_KERNELS_INL_H_
#else
#define KINDLING_ATEN_CPU_FFT_KERNELS_INL_H_
#endif

#include <algorithm>
#include <cstring>

#include "aten/cpu/fft/butterflies-inl.h"
#include "aten/cpu/fft/fft.h"
#include "aten/cpu/fft/kernels.h"
#include "aten/cpu/isa_table.h"
#include "hwy/cache_control.h"

HWY_BEFORE_NAMESPACE();
namespace at::cpu::fft {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Tag = hn::CappedTag<T, kLanes<T>>;

template <int R, class D, class T = hn::TFromD<D>>
HWY_INLINE void read(D d, Split<T> from, size_t at, size_t apart, Complex<D> (&a)[R]) {
  for (int j = 0; j < R; ++j) {
    const size_t place = at + apart * static_cast<size_t>(j);
    a[j] = {hn::LoadU(d, from.re + place), hn::LoadU(d, from.im + place)};
  }
}

// A pass whose numbers with one root fill vectors: s >= lanes.
template <int R, bool kRoots, class T>
HWY_NOINLINE void wide_pass(const Pass<T>& pass, size_t s, Split<T> from, Split<T> to) {
  const Tag<T> d;
  using D = Tag<T>;
  const size_t lanes = hn::Lanes(d), apart = s * pass.m;
  for (size_t p = 0; p < pass.m; ++p) {
    Complex<D> roots[R];
    if constexpr (kRoots) {
      const T* w = pass.roots.data() + 2 * static_cast<size_t>(R - 1) * p;
      for (int k = 1; k < R; ++k) roots[k] = {hn::Set(d, w[2 * (k - 1)]), hn::Set(d, w[2 * (k - 1) + 1])};
    }
    const size_t in = s * p, out = s * static_cast<size_t>(R) * p;
    for (size_t q = 0;;) {
      Complex<D> a[R];
      read<R>(d, from, in + q, apart, a);
      Butterfly<R, D>::run(d, a);
      for (int k = 0; k < R; ++k) {
        if (kRoots && k > 0) a[k] = times<D>(a[k], roots[k]);
        const size_t place = out + q + s * static_cast<size_t>(k);
        hn::StoreU(a[k].re, d, to.re + place);
        hn::StoreU(a[k].im, d, to.im + place);
      }
      q += lanes;
      if (q >= s) break;
      q = std::min(q, s - lanes);  // the last vector repeats some numbers
    }
  }
}

// Stores part k of numbers i ... i + lanes, which belong at i + s ((R - 1) (i / s) + k).
template <int R, size_t kRun, class T>
HWY_INLINE void scatter_runs(const T* parts, size_t lanes, size_t s, size_t i, T* to) {
  const size_t run = kRun == 0 ? s : kRun;
  T* start = to + i + s * static_cast<size_t>(R - 1) * (i / s);
  for (size_t first = 0; first < lanes; first += run, start += run * static_cast<size_t>(R)) {
    for (int k = 0; k < R; ++k) {
      std::memcpy(start + run * static_cast<size_t>(k), parts + static_cast<size_t>(k) * lanes + first,
                  run * sizeof(T));
    }
  }
}
template <int R, class T>
HWY_INLINE void scatter(const T* parts, size_t lanes, size_t s, size_t i, T* to) {
  if (i % s == 0 && lanes % s == 0) {
    if (s == 1) return scatter_runs<R, 1>(parts, lanes, s, i, to);
    if (s == 2) return scatter_runs<R, 2>(parts, lanes, s, i, to);
    if (s == 4) return scatter_runs<R, 4>(parts, lanes, s, i, to);
    if (s == 8) return scatter_runs<R, 8>(parts, lanes, s, i, to);
  }
  size_t q = i % s;
  T* at = to + i + s * static_cast<size_t>(R - 1) * (i / s);
  for (size_t e = 0; e < lanes; ++e) {
    for (int k = 0; k < R; ++k) at[s * static_cast<size_t>(k)] = parts[static_cast<size_t>(k) * lanes + e];
    ++at;
    if (++q == s) q = 0, at += s * static_cast<size_t>(R - 1);
  }
}

template <int R, class D, class T = hn::TFromD<D>>
HWY_INLINE void store_narrow(D d, const Complex<D> (&a)[R], size_t s, size_t i, Split<T> to) {
  const size_t lanes = hn::Lanes(d);
  if constexpr (R == 2) {
    if (s == 1) {
      hn::StoreInterleaved2(a[0].re, a[1].re, d, to.re + 2 * i);
      return hn::StoreInterleaved2(a[0].im, a[1].im, d, to.im + 2 * i);
    }
  }
  if constexpr (R == 3) {
    if (s == 1) {
      hn::StoreInterleaved3(a[0].re, a[1].re, a[2].re, d, to.re + 3 * i);
      return hn::StoreInterleaved3(a[0].im, a[1].im, a[2].im, d, to.im + 3 * i);
    }
  }
  if constexpr (R == 4) {
    if (s == 1) {
      hn::StoreInterleaved4(a[0].re, a[1].re, a[2].re, a[3].re, d, to.re + 4 * i);
      return hn::StoreInterleaved4(a[0].im, a[1].im, a[2].im, a[3].im, d, to.im + 4 * i);
    }
  }
  HWY_ALIGN T re[R * kLanes<T>];
  HWY_ALIGN T im[R * kLanes<T>];
  for (int k = 0; k < R; ++k) {
    hn::StoreU(a[k].re, d, re + static_cast<size_t>(k) * lanes);
    hn::StoreU(a[k].im, d, im + static_cast<size_t>(k) * lanes);
  }
  scatter<R>(re, lanes, s, i, to.re);
  scatter<R>(im, lanes, s, i, to.im);
}

template <int R, bool kRoots, class D, class T = hn::TFromD<D>>
HWY_INLINE void narrow_step(D d, const Pass<T>& pass, size_t i, Split<T> from, Split<T> to) {
  const size_t all = pass.s * pass.m;
  Complex<D> a[R];
  read<R>(d, from, i, all, a);
  Butterfly<R, D>::run(d, a);
  if constexpr (kRoots) {
    const T* w = pass.spread.data() + i;
    for (int k = 1; k < R; ++k, w += 2 * all) a[k] = times<D>(a[k], {hn::LoadU(d, w), hn::LoadU(d, w + all)});
  }
  store_narrow<R>(d, a, pass.s, i, to);
}

// A pass of one line with fewer numbers a root than lanes: a vector holds numbers of several roots.
template <int R, bool kRoots, class T>
HWY_NOINLINE void narrow_pass(const Pass<T>& pass, Split<T> from, Split<T> to) {
  const Tag<T> d;
  const size_t lanes = hn::Lanes(d), all = pass.s * pass.m;
  if (all < lanes) {
    const hn::CappedTag<T, 1> one;
    for (size_t i = 0; i < all; ++i) narrow_step<R, kRoots>(one, pass, i, from, to);
    return;
  }
  for (size_t i = 0;;) {
    narrow_step<R, kRoots>(d, pass, i, from, to);
    i += lanes;
    if (i >= all) return;
    i = std::min(i, all - lanes);  // the last vector repeats some numbers
  }
}

template <int R, class T>
void radix_pass(const Pass<T>& pass, size_t width, Split<T> from, Split<T> to) {
  const size_t s = pass.s * width;
  if (s >= hn::Lanes(Tag<T>())) {
    return pass.m > 1 ? wide_pass<R, true>(pass, s, from, to) : wide_pass<R, false>(pass, s, from, to);
  }
  return pass.m > 1 ? narrow_pass<R, true>(pass, from, to) : narrow_pass<R, false>(pass, from, to);
}

template <class T>
void one_pass(const Pass<T>& pass, size_t width, Split<T> from, Split<T> to) {
  switch (pass.radix) {
    case 2:
      return radix_pass<2>(pass, width, from, to);
    case 3:
      return radix_pass<3>(pass, width, from, to);
    case 4:
      return radix_pass<4>(pass, width, from, to);
    case 5:
      return radix_pass<5>(pass, width, from, to);
    case 7:
      return radix_pass<7>(pass, width, from, to);
    case 8:
      return radix_pass<8>(pass, width, from, to);
    case 11:
      return radix_pass<11>(pass, width, from, to);
    default:
      return radix_pass<13>(pass, width, from, to);
  }
}

// to = from * factors, number by number, or its conjugate; `factors` of n numbers serve every line of the block.
template <bool kConjugate, class T>
void times_factors(Split<T> from, size_t width, size_t n, const T* factors, Split<T> to) {
  const auto each = [&](auto d, size_t i, auto w_re, auto w_im) HWY_ATTR {
    const Complex<decltype(d)> x{hn::LoadU(d, from.re + i), hn::LoadU(d, from.im + i)};
    const auto y = times<decltype(d)>(x, {w_re, w_im});
    hn::StoreU(y.re, d, to.re + i);
    hn::StoreU(kConjugate ? hn::Neg(y.im) : y.im, d, to.im + i);
  };
  const Tag<T> d;
  const hn::CappedTag<T, 1> one;
  const size_t lanes = hn::Lanes(d);
  if (width == 1) {
    size_t i = 0;
    for (; i + lanes <= n; i += lanes) each(d, i, hn::LoadU(d, factors + i), hn::LoadU(d, factors + n + i));
    for (; i < n; ++i) each(one, i, hn::Set(one, factors[i]), hn::Set(one, factors[n + i]));
    return;
  }
  for (size_t j = 0; j < n; ++j) {
    const auto w_re = hn::Set(d, factors[j]), w_im = hn::Set(d, factors[n + j]);
    for (size_t l = 0; l < width; l += lanes) each(d, j * width + l, w_re, w_im);
  }
}

template <class T>
Split<T> run_passes(const Plan<T>& plan, size_t width, Split<T> a, Split<T> b) {
  for (const Pass<T>& pass : plan.passes) {
    one_pass(pass, width, a, b);
    std::swap(a, b);
  }
  return a;
}

template <class T>
Split<T> RunPlan(const Plan<T>& plan, size_t width, Split<T> a, Split<T> b) {
  if (!plan.convolution) return run_passes(plan, width, a, b);
  const Plan<T>& convolution = *plan.convolution;
  const size_t used = plan.n * width, all = convolution.n * width;
  times_factors<false>(a, width, plan.n, plan.chirp.data(), a);
  std::fill(a.re + used, a.re + all, T(0));
  std::fill(a.im + used, a.im + all, T(0));
  const Split<T> x = run_passes(convolution, width, a, b);
  const Split<T> other = x.re == a.re ? b : a;
  // The conjugate's forward transform is the conjugate of the inverse one.
  times_factors<true>(x, width, convolution.n, plan.chirp_spectrum.data(), x);
  const Split<T> y = run_passes(convolution, width, x, other);
  for (size_t i = 0; i < used; ++i) y.im[i] = -y.im[i];
  times_factors<false>(y, width, plan.n, plan.chirp.data(), y);
  return y;
}

// Lines side by side in memory, `unit` numbers of T from one to the next.
template <class T>
bool side_by_side(const Memory<T>& m, size_t width, int64_t unit) {
  if (m.count != width) return false;
  for (size_t l = 1; l < width; ++l) {
    if (m.start[l] - m.start[0] != static_cast<int64_t>(l) * unit) return false;
  }
  return true;
}

template <class T>
void load_line(const T* from, const Memory<const T>& m, size_t n, size_t width, Split<T> to) {
  const int64_t step = m.step, imag = m.imag;
  const Tag<T> d;
  const size_t lanes = hn::Lanes(d);
  size_t j = 0;
  if (width == 1 && step == 2 && imag == 1 && !m.real) {
    for (; j + lanes <= n; j += lanes) {
      hn::Vec<Tag<T>> re, im;
      hn::LoadInterleaved2(d, from + 2 * j, re, im);
      hn::StoreU(re, d, to.re + j);
      hn::StoreU(im, d, to.im + j);
    }
  }
  for (; j < n; ++j) {
    const T* at = from + static_cast<int64_t>(j) * step;
    to.re[j * width] = at[0];
    to.im[j * width] = m.real ? T(0) : at[imag];
  }
}

template <class T>
void Load(const Memory<const T>& from, size_t width, size_t n, Split<T> to) {
  if (width == 1) return load_line(from.start[0], from, n, 1, to);
  const Tag<T> d;
  const size_t lanes = hn::Lanes(d);
  // Numbers far apart are fetched in time: processors foresee short steps only.
  constexpr size_t kAhead = 12;
  if (from.imag == 1 && !from.real && side_by_side(from, width, 2)) {
    for (size_t j = 0; j < n; ++j) {
      const T* at = from.start[0] + static_cast<int64_t>(j) * from.step;
      if (j + kAhead < n) {
        const T* next = at + static_cast<int64_t>(kAhead) * from.step;
        for (size_t l = 0; l < 2 * width; l += kLanes<T>) hwy::Prefetch(next + l);
        hwy::Prefetch(next + 2 * width - 1);
      }
      for (size_t l = 0; l < width; l += lanes) {
        hn::Vec<Tag<T>> re, im;
        hn::LoadInterleaved2(d, at + 2 * l, re, im);
        hn::StoreU(re, d, to.re + j * width + l);
        hn::StoreU(im, d, to.im + j * width + l);
      }
    }
    return;
  }
  if (side_by_side(from, width, 1)) {
    for (size_t j = 0; j < n; ++j) {
      const T* at = from.start[0] + static_cast<int64_t>(j) * from.step;
      for (size_t l = 0; l < width; l += lanes) {
        hn::StoreU(hn::LoadU(d, at + l), d, to.re + j * width + l);
        hn::StoreU(from.real ? hn::Zero(d) : hn::LoadU(d, at + from.imag + l), d, to.im + j * width + l);
      }
    }
    return;
  }
  if (from.count < width) {
    std::fill(to.re, to.re + n * width, T(0));
    std::fill(to.im, to.im + n * width, T(0));
  }
  constexpr size_t kPiece = 32;  // numbers of every line before the next: what is written stays in the nearest cache
  for (size_t first = 0; first < n; first += kPiece) {
    const size_t piece = std::min(kPiece, n - first);
    for (size_t l = 0; l < from.count; ++l) {
      load_line(from.start[l] + static_cast<int64_t>(first) * from.step, from, piece, width,
                {to.re + first * width + l, to.im + first * width + l});
    }
  }
}

template <class T>
void store_line(Split<T> from, size_t width, T scale, size_t n, T* to, const Memory<T>& m) {
  const int64_t step = m.step, imag = m.imag;
  const Tag<T> d;
  const size_t lanes = hn::Lanes(d);
  size_t j = 0;
  if (width == 1 && step == 2 && imag == 1 && !m.real) {
    const auto factor = hn::Set(d, scale);
    for (; j + lanes <= n; j += lanes) {
      hn::StoreInterleaved2(hn::Mul(hn::LoadU(d, from.re + j), factor), hn::Mul(hn::LoadU(d, from.im + j), factor), d,
                            to + 2 * j);
    }
  }
  for (; j < n; ++j) {
    T* at = to + static_cast<int64_t>(j) * step;
    at[0] = from.re[j * width] * scale;
    if (!m.real) at[imag] = from.im[j * width] * scale;
  }
}

template <class T>
void Store(Split<T> from, size_t width, size_t n, T scale, const Memory<T>& to) {
  if (width == 1) return store_line(from, 1, scale, n, to.start[0], to);
  const Tag<T> d;
  const size_t lanes = hn::Lanes(d);
  const auto factor = hn::Set(d, scale);
  if (to.imag == 1 && !to.real && side_by_side(to, width, 2)) {
    for (size_t j = 0; j < n; ++j) {
      T* at = to.start[0] + static_cast<int64_t>(j) * to.step;
      for (size_t l = 0; l < width; l += lanes) {
        hn::StoreInterleaved2(hn::Mul(hn::LoadU(d, from.re + j * width + l), factor),
                              hn::Mul(hn::LoadU(d, from.im + j * width + l), factor), d, at + 2 * l);
      }
    }
    return;
  }
  if (side_by_side(to, width, 1)) {
    for (size_t j = 0; j < n; ++j) {
      T* at = to.start[0] + static_cast<int64_t>(j) * to.step;
      for (size_t l = 0; l < width; l += lanes) {
        hn::StoreU(hn::Mul(hn::LoadU(d, from.re + j * width + l), factor), d, at + l);
        if (!to.real) hn::StoreU(hn::Mul(hn::LoadU(d, from.im + j * width + l), factor), d, at + to.imag + l);
      }
    }
    return;
  }
  constexpr size_t kPiece = 32;
  for (size_t first = 0; first < n; first += kPiece) {
    const size_t piece = std::min(kPiece, n - first);
    for (size_t l = 0; l < to.count; ++l) {
      store_line({from.re + first * width + l, from.im + first * width + l}, width, scale, piece,
                 to.start[l] + static_cast<int64_t>(first) * to.step, to);
    }
  }
}

// Numbers of the mirror image of a line: vectors of one line are turned round.
template <bool kTurned, class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_mirror(D d, const T* from) {
  if constexpr (kTurned) return hn::Reverse(d, hn::LoadU(d, from + 1 - hn::Lanes(d)));
  return hn::LoadU(d, from);
}
template <bool kTurned, class D, class T = hn::TFromD<D>>
HWY_INLINE void store_mirror(D d, hn::Vec<D> v, T* to) {
  if constexpr (kTurned) return hn::StoreU(hn::Reverse(d, v), d, to + 1 - hn::Lanes(d));
  hn::StoreU(v, d, to);
}

struct HalfStep {
  template <bool kTurned, class D, class T = hn::TFromD<D>>
  static HWY_INLINE void run(D d, Split<T> z, size_t at, size_t mirror, Complex<D> root) {
    const auto half = hn::Set(d, T(0.5));
    const Complex<D> a{hn::LoadU(d, z.re + at), hn::LoadU(d, z.im + at)};
    const Complex<D> b{load_mirror<kTurned>(d, z.re + mirror), hn::Neg(load_mirror<kTurned>(d, z.im + mirror))};
    const Complex<D> even{hn::Mul(hn::Add(a.re, b.re), half), hn::Mul(hn::Add(a.im, b.im), half)};
    const Complex<D> odd{hn::Mul(hn::Sub(a.re, b.re), half), hn::Mul(hn::Sub(a.im, b.im), half)};
    const Complex<D> turned = times<D>(odd, root);
    const Complex<D> low = minus_i<D>(even, turned), high = plus_i<D>(even, turned);
    hn::StoreU(low.re, d, z.re + at);
    hn::StoreU(low.im, d, z.im + at);
    store_mirror<kTurned>(d, high.re, z.re + mirror);
    store_mirror<kTurned>(d, hn::Neg(high.im), z.im + mirror);
  }
};
struct PairStep {
  template <bool kTurned, class D, class T = hn::TFromD<D>>
  static HWY_INLINE void run(D d, Split<T> x, size_t at, size_t mirror, Complex<D> root) {
    const Complex<D> a{hn::LoadU(d, x.re + at), hn::LoadU(d, x.im + at)};
    const Complex<D> b{load_mirror<kTurned>(d, x.re + mirror), hn::Neg(load_mirror<kTurned>(d, x.im + mirror))};
    const Complex<D> turned = times<D>(minus<D>(a, b), {root.re, hn::Neg(root.im)});
    const Complex<D> even = plus<D>(a, b);
    const Complex<D> low = plus_i<D>(even, turned), high = minus_i<D>(even, turned);
    hn::StoreU(low.re, d, x.re + at);
    hn::StoreU(low.im, d, x.im + at);
    store_mirror<kTurned>(d, high.re, x.re + mirror);
    store_mirror<kTurned>(d, hn::Neg(high.im), x.im + mirror);
  }
};

// Step::run for number k of each line and its mirror image n - k, for k <= n / 2.
template <class Step, class T>
HWY_INLINE void for_mirrored(const Plan<T>& plan, size_t width, Split<T> x) {
  const Tag<T> d;
  using D = Tag<T>;
  const size_t n = plan.n, lanes = hn::Lanes(d);
  const T* re = plan.half_roots.data();
  const T* im = re + n / 2 + 1;
  size_t k = 0;
  if (width == 1) {
    for (; 2 * (k + lanes) <= n + 1; k += lanes) {
      Step::template run<true>(d, x, k, n - k, Complex<D>{hn::LoadU(d, re + k), hn::LoadU(d, im + k)});
    }
    const hn::CappedTag<T, 1> one;
    using One = hn::CappedTag<T, 1>;
    for (; k <= n / 2; ++k) {
      Step::template run<false>(one, x, k, n - k, Complex<One>{hn::Set(one, re[k]), hn::Set(one, im[k])});
    }
    return;
  }
  for (; k <= n / 2; ++k) {
    const Complex<D> root{hn::Set(d, re[k]), hn::Set(d, im[k])};
    for (size_t l = 0; l < width; l += lanes) {
      Step::template run<false>(d, x, k * width + l, (n - k) * width + l, root);
    }
  }
}

template <class T>
void HalfFromPairs(const Plan<T>& plan, size_t width, Split<T> z) {
  // Number n is number 0.
  const size_t last = plan.n * width;
  for (size_t l = 0; l < width; ++l) z.re[last + l] = z.re[l], z.im[last + l] = z.im[l];
  for_mirrored<HalfStep>(plan, width, z);
}

template <class T>
void PairsFromHalf(const Plan<T>& plan, size_t width, Split<T> x) {
  for (size_t l = 0; l < width; ++l) x.im[l] = x.im[plan.n * width + l] = T(0);
  for_mirrored<PairStep>(plan, width, x);
}

template <class T>
void MirrorConjugates(const T* from, size_t count, T* to) {
  const Tag<T> d;
  const size_t lanes = hn::Lanes(d);
  size_t k = 0;
  for (; k + lanes <= count; k += lanes) {
    hn::Vec<Tag<T>> re, im;
    hn::LoadInterleaved2(d, from + 2 * (1 - static_cast<int64_t>(k + lanes)), re, im);
    hn::StoreInterleaved2(hn::Reverse(d, re), hn::Neg(hn::Reverse(d, im)), d, to + 2 * k);
  }
  for (; k < count; ++k) {
    const T* at = from - 2 * static_cast<int64_t>(k);
    to[2 * k] = at[0], to[2 * k + 1] = -at[1];
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu::fft
HWY_AFTER_NAMESPACE();

#endif

#if HWY_ONCE && !defined(ATEN_CPU_FFT_KERNELS)
// Defines the functions of kernels.h for T.
#define ATEN_CPU_FFT_KERNELS(T)                                                     \
  template <>                                                                       \
  void load(const Memory<const T>& from, size_t width, size_t n, Split<T> to) {     \
    AT_ISA_FUNCTION(Load<T>)(from, width, n, to);                                   \
  }                                                                                 \
  template <>                                                                       \
  void store(Split<T> from, size_t width, size_t n, T scale, const Memory<T>& to) { \
    AT_ISA_FUNCTION(Store<T>)(from, width, n, scale, to);                           \
  }                                                                                 \
  template <>                                                                       \
  Split<T> run_plan(const Plan<T>& plan, size_t width, Split<T> a, Split<T> b) {    \
    return AT_ISA_FUNCTION(RunPlan<T>)(plan, width, a, b);                          \
  }                                                                                 \
  template <>                                                                       \
  void half_from_pairs(const Plan<T>& plan, size_t width, Split<T> z) {             \
    AT_ISA_FUNCTION(HalfFromPairs<T>)(plan, width, z);                              \
  }                                                                                 \
  template <>                                                                       \
  void pairs_from_half(const Plan<T>& plan, size_t width, Split<T> x) {             \
    AT_ISA_FUNCTION(PairsFromHalf<T>)(plan, width, x);                              \
  }                                                                                 \
  template <>                                                                       \
  void mirror_conjugates(const T* from, size_t count, T* to) {                      \
    AT_ISA_FUNCTION(MirrorConjugates<T>)(from, count, to);                          \
  }
#endif

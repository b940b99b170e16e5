// Transforms of a few numbers in registers. Included once an instruction set.
#if defined(KINDLING_ATEN_CPU_FFT_BUTTERFLIES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KINDLING_ATEN_CPU_FFT_BUTTERFLIES_INL_H_
#undef KINDLING_ATEN_CPU_FFT_BUTTERFLIES_INL_H_
#else
#define KINDLING_ATEN_CPU_FFT_BUTTERFLIES_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace at::cpu::fft {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
struct Complex {
  hn::Vec<D> re, im;
};

template <class D>
HWY_INLINE Complex<D> plus(const Complex<D>& a, const Complex<D>& b) {
  return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)};
}
template <class D>
HWY_INLINE Complex<D> minus(const Complex<D>& a, const Complex<D>& b) {
  return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)};
}
// a - i b and a + i b.
template <class D>
HWY_INLINE Complex<D> minus_i(const Complex<D>& a, const Complex<D>& b) {
  return {hn::Add(a.re, b.im), hn::Sub(a.im, b.re)};
}
template <class D>
HWY_INLINE Complex<D> plus_i(const Complex<D>& a, const Complex<D>& b) {
  return {hn::Sub(a.re, b.im), hn::Add(a.im, b.re)};
}
template <class D>
HWY_INLINE Complex<D> times(const Complex<D>& a, const Complex<D>& b) {
  return {hn::MulSub(a.re, b.re, hn::Mul(a.im, b.im)), hn::MulAdd(a.re, b.im, hn::Mul(a.im, b.re))};
}

template <int R>
struct Cosines;
template <>
struct Cosines<3> {
  static constexpr double c[1] = {-0.5};
  static constexpr double s[1] = {0.86602540378443864676};
};
template <>
struct Cosines<5> {
  static constexpr double c[2] = {0.30901699437494742410, -0.80901699437494742410};
  static constexpr double s[2] = {0.95105651629515357212, 0.58778525229247312917};
};
template <>
struct Cosines<7> {
  static constexpr double c[3] = {0.62348980185873353053, -0.22252093395631440429, -0.90096886790241912624};
  static constexpr double s[3] = {0.78183148246802980871, 0.97492791218182360702, 0.43388373911755812048};
};
template <>
struct Cosines<11> {
  static constexpr double c[5] = {0.84125353283118116886, 0.41541501300188642553, -0.14231483827328514044,
                                  -0.65486073394528506406, -0.95949297361449738989};
  static constexpr double s[5] = {0.54064081745559758211, 0.90963199535451837141, 0.98982144188093273238,
                                  0.75574957435425828377, 0.28173255684142969771};
};
template <>
struct Cosines<13> {
  static constexpr double c[6] = {0.88545602565320989590,  0.56806474673115580251,  0.12053668025532305335,
                                  -0.35460488704253562597, -0.74851074817110109863, -0.97094181742605202716};
  static constexpr double s[6] = {0.46472317204376854566, 0.82298386589365639458, 0.99270887409805399280,
                                  0.93501624268541482344, 0.66312265824079520238, 0.23931566428755776715};
};

// The forward transform of R numbers, in place. An odd R: sums and differences of the numbers that mirror each other.
template <int R, class D>
struct Butterfly {
  static HWY_INLINE void run(D d, Complex<D> (&a)[R]) {
    using T = hn::TFromD<D>;
    constexpr int kHalf = R / 2;
    Complex<D> sum[kHalf], difference[kHalf];
    Complex<D> first = a[0];
    for (int j = 0; j < kHalf; ++j) {
      sum[j] = plus<D>(a[j + 1], a[R - 1 - j]);
      difference[j] = minus<D>(a[j + 1], a[R - 1 - j]);
      first = plus<D>(first, sum[j]);
    }
    const Complex<D> zero = a[0];
    a[0] = first;
    for (int k = 1; k <= kHalf; ++k) {
      Complex<D> c = zero, s{hn::Zero(d), hn::Zero(d)};
      for (int j = 1; j <= kHalf; ++j) {
        const int turn = j * k % R;
        const int fold = turn <= kHalf ? turn : R - turn;
        const auto cosine = hn::Set(d, static_cast<T>(Cosines<R>::c[fold - 1]));
        const auto sine =
            hn::Set(d, static_cast<T>(turn <= kHalf ? Cosines<R>::s[fold - 1] : -Cosines<R>::s[fold - 1]));
        c = {hn::MulAdd(sum[j - 1].re, cosine, c.re), hn::MulAdd(sum[j - 1].im, cosine, c.im)};
        s = {hn::MulAdd(difference[j - 1].re, sine, s.re), hn::MulAdd(difference[j - 1].im, sine, s.im)};
      }
      a[k] = minus_i<D>(c, s);
      a[R - k] = plus_i<D>(c, s);
    }
  }
};

template <class D>
struct Butterfly<2, D> {
  static HWY_INLINE void run(D, Complex<D> (&a)[2]) {
    const Complex<D> b = a[1];
    a[1] = minus<D>(a[0], b);
    a[0] = plus<D>(a[0], b);
  }
};

template <class D>
HWY_INLINE void four(Complex<D>& a0, Complex<D>& a1, Complex<D>& a2, Complex<D>& a3) {
  const Complex<D> even = plus<D>(a0, a2), odd = minus<D>(a0, a2);
  const Complex<D> sum = plus<D>(a1, a3), difference = minus<D>(a1, a3);
  a0 = plus<D>(even, sum), a2 = minus<D>(even, sum);
  a1 = minus_i<D>(odd, difference), a3 = plus_i<D>(odd, difference);
}

template <class D>
struct Butterfly<4, D> {
  static HWY_INLINE void run(D, Complex<D> (&a)[4]) { four<D>(a[0], a[1], a[2], a[3]); }
};

template <class D>
struct Butterfly<8, D> {
  static HWY_INLINE void run(D d, Complex<D> (&a)[8]) {
    const auto half = hn::Set(d, static_cast<hn::TFromD<D>>(0.70710678118654752440));
    four<D>(a[0], a[2], a[4], a[6]);
    four<D>(a[1], a[3], a[5], a[7]);
    const Complex<D> o1{hn::Mul(hn::Add(a[3].re, a[3].im), half), hn::Mul(hn::Sub(a[3].im, a[3].re), half)};
    const Complex<D> o2 = a[5];
    const Complex<D> o3{hn::Mul(hn::Sub(a[7].im, a[7].re), half), hn::Mul(hn::Add(a[7].re, a[7].im), half)};
    const Complex<D> e0 = a[0], e1 = a[2], e2 = a[4], e3 = a[6], o0 = a[1];
    a[0] = plus<D>(e0, o0), a[4] = minus<D>(e0, o0);
    a[1] = plus<D>(e1, o1), a[5] = minus<D>(e1, o1);
    a[2] = minus_i<D>(e2, o2), a[6] = plus_i<D>(e2, o2);
    // o3 lacks a sign in its imaginary part.
    a[3] = {hn::Add(e3.re, o3.re), hn::Sub(e3.im, o3.im)};
    a[7] = {hn::Sub(e3.re, o3.re), hn::Add(e3.im, o3.im)};
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu::fft
HWY_AFTER_NAMESPACE();

#endif

// Loop templates of the elementwise operators, for sources compiled once a target. Include after hwy/highway.h.
//
//   VecFn<Tag>     { static constexpr int kInputs; static V run(D, V..., const T* params); }      vectors
//   ScalarFn<Tag>  { static constexpr int kInputs; static R run(T..., const T* params); }  elements; the compiler vectorises
//
// `params` is the call's context: an array of scalars in the compute type, or null.

#if defined(ATEN_CPU_LOOPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATEN_CPU_LOOPS_INL_H_
#undef ATEN_CPU_LOOPS_INL_H_
#else
#define ATEN_CPU_LOOPS_INL_H_
#endif

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "aten/cpu/loops/loop_tags.h"

HWY_BEFORE_NAMESPACE();
namespace at::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class Tag>
struct VecFn;
template <class Tag>
struct ScalarFn;

/// The first n < Lanes(d) elements; the other lanes hold ones, harmless to any function.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_first(D d, const T* p, int64_t n) {
#if HWY_TARGET == HWY_AVX3
  const auto first = hn::FirstN(d, static_cast<size_t>(n));
  return hn::IfThenElse(first, hn::MaskedLoad(first, d, p), hn::Set(d, T(1)));
#else
  alignas(64) T buffer[hn::MaxLanes(D())];
  hn::Store(hn::Set(d, T(1)), d, buffer);
  for (int64_t i = 0; i < n; ++i) buffer[i] = p[i];
  return hn::Load(d, buffer);
#endif
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store_first(hn::Vec<D> v, D d, T* p, int64_t n) {
#if HWY_TARGET == HWY_AVX3
  hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(n)), d, p);
#else
  alignas(64) T buffer[hn::MaxLanes(D())];
  hn::Store(v, d, buffer);
  for (int64_t i = 0; i < n; ++i) p[i] = buffer[i];
#endif
}

template <class Tag, class T>
struct Vec {
  static void loop(char* const* data, int64_t n, const void* context) {
    using F = VecFn<Tag>;
    const hn::ScalableTag<T> d;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    const T* params = static_cast<const T*>(context);
    T* out = reinterpret_cast<T*>(data[0]);
    const T* a = reinterpret_cast<const T*>(data[1]);
    int64_t i = 0;
    if constexpr (F::kInputs == 1) {
      for (; i + lanes <= n; i += lanes) hn::StoreU(F::run(d, hn::LoadU(d, a + i), params), d, out + i);
      if (i < n) store_first(F::run(d, load_first(d, a + i, n - i), params), d, out + i, n - i);
    } else if constexpr (F::kInputs == 2) {
      const T* b = reinterpret_cast<const T*>(data[2]);
      for (; i + lanes <= n; i += lanes) {
        hn::StoreU(F::run(d, hn::LoadU(d, a + i), hn::LoadU(d, b + i), params), d, out + i);
      }
      if (i < n) {
        const int64_t m = n - i;
        store_first(F::run(d, load_first(d, a + i, m), load_first(d, b + i, m), params), d, out + i, m);
      }
    } else {
      const T* b = reinterpret_cast<const T*>(data[2]);
      const T* c = reinterpret_cast<const T*>(data[3]);
      for (; i + lanes <= n; i += lanes) {
        hn::StoreU(F::run(d, hn::LoadU(d, a + i), hn::LoadU(d, b + i), hn::LoadU(d, c + i), params), d, out + i);
      }
      if (i < n) {
        const int64_t m = n - i;
        store_first(F::run(d, load_first(d, a + i, m), load_first(d, b + i, m), load_first(d, c + i, m), params), d,
                    out + i, m);
      }
    }
  }
};

template <class T>
struct Complex {
  T re, im;
};
template <class T>
HWY_INLINE Complex<T> operator+(Complex<T> a, Complex<T> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class T>
HWY_INLINE Complex<T> operator-(Complex<T> a, Complex<T> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class T>
HWY_INLINE Complex<T> operator*(Complex<T> a, Complex<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
/// Scaled by the larger part of the divisor, so that it neither overflows nor underflows early (Smith 1962). Without
/// branches, so that loops of it become vectors.
template <class T>
HWY_INLINE Complex<T> operator/(Complex<T> a, Complex<T> b) {
  const T abs_re = b.re < 0 ? -b.re : b.re, abs_im = b.im < 0 ? -b.im : b.im;
  const bool steep = abs_re < abs_im, zero = abs_re == 0 && abs_im == 0;
  const T larger = zero ? T(0) : steep ? b.im : b.re, smaller = steep ? b.re : b.im;
  const T ratio = zero ? T(0) : smaller / larger, scale = T(1) / (larger + smaller * ratio);
  // A quotient by zero has no products of zero and infinity in it.
  const T x = steep ? a.im : a.re, y = steep ? a.re : a.im, turned_x = zero ? T(0) : x, turned_y = zero ? T(0) : y;
  return {(x + turned_y * ratio) * scale, (steep ? turned_x * ratio - y : y - turned_x * ratio) * scale};
}
template <class T>
HWY_INLINE bool operator==(Complex<T> a, Complex<T> b) {
  return a.re == b.re && a.im == b.im;
}

template <class T>
inline constexpr bool kIsComplex = false;
template <class T>
inline constexpr bool kIsComplex<Complex<T>> = true;

template <class T>
HWY_INLINE bool truth(T x) {
  if constexpr (kIsComplex<T>) {
    return x.re != 0 || x.im != 0;
  } else {
    return x != T(0);
  }
}

// Set for small binaries, whose loops of complex numbers are no vectors.
#ifndef KINDLING_FEW_LOOPS
#define KINDLING_FEW_LOOPS 0
#endif

/// Element i. Of complex numbers the parts one by one: compilers make vectors of such loops, not of those over pairs.
template <class T>
HWY_INLINE T element_of(const T* from, int64_t i) {
  if constexpr (kIsComplex<T> && !KINDLING_FEW_LOOPS) {
    const auto* parts = &from->re;
    return {parts[2 * i], parts[2 * i + 1]};
  } else {
    return from[i];
  }
}
template <class T>
HWY_INLINE void set_element(T* to, int64_t i, T value) {
  if constexpr (kIsComplex<T> && !KINDLING_FEW_LOOPS) {
    auto* parts = &to->re;
    parts[2 * i] = value.re;
    parts[2 * i + 1] = value.im;
  } else {
    to[i] = value;
  }
}

#if defined(__clang__)
#define ATEN_LANES_INDEPENDENT _Pragma("clang loop vectorize(assume_safety) interleave_count(1) unroll(disable)")
#else
#define ATEN_LANES_INDEPENDENT _Pragma("GCC ivdep")
#endif

/// Out == In elements: an output may be an input's memory, index by index.
template <class Tag, class Out, class In>
struct Scalar {
  static void loop(char* const* data, int64_t n, const void* context) {
    using F = ScalarFn<Tag>;
    const In* params = static_cast<const In*>(context);
    Out* out = reinterpret_cast<Out*>(data[0]);
    const In* a = reinterpret_cast<const In*>(data[1]);
    if constexpr (F::kInputs == 1) {
      ATEN_LANES_INDEPENDENT
      for (int64_t i = 0; i < n; ++i) set_element(out, i, static_cast<Out>(F::run(element_of(a, i), params)));
    } else if constexpr (F::kInputs == 2) {
      const In* b = reinterpret_cast<const In*>(data[2]);
      ATEN_LANES_INDEPENDENT
      for (int64_t i = 0; i < n; ++i) {
        set_element(out, i, static_cast<Out>(F::run(element_of(a, i), element_of(b, i), params)));
      }
    } else {
      const In* b = reinterpret_cast<const In*>(data[2]);
      const In* c = reinterpret_cast<const In*>(data[3]);
      ATEN_LANES_INDEPENDENT
      for (int64_t i = 0; i < n; ++i) {
        set_element(out, i, static_cast<Out>(F::run(element_of(a, i), element_of(b, i), element_of(c, i), params)));
      }
    }
  }
};

template <class Tag>
using F32V = Vec<Tag, float>;
template <class Tag>
using F64V = Vec<Tag, double>;
template <class Tag>
using F32 = Scalar<Tag, float, float>;
template <class Tag>
using F64 = Scalar<Tag, double, double>;
template <class Tag>
using I32 = Scalar<Tag, int32_t, int32_t>;
template <class Tag>
using I64 = Scalar<Tag, int64_t, int64_t>;
template <class Tag>
using U64 = Scalar<Tag, uint64_t, uint64_t>;
template <class Tag>
using Z64 = Scalar<Tag, Complex<float>, Complex<float>>;
template <class Tag>
using Z128 = Scalar<Tag, Complex<double>, Complex<double>>;

// Predicates: the result is a bool's byte.
template <class Tag>
using PF32 = Scalar<Tag, uint8_t, float>;
template <class Tag>
using PF64 = Scalar<Tag, uint8_t, double>;
template <class Tag>
using PU8 = Scalar<Tag, uint8_t, uint8_t>;
template <class Tag>
using PI32 = Scalar<Tag, uint8_t, int32_t>;
template <class Tag>
using PI64 = Scalar<Tag, uint8_t, int64_t>;
template <class Tag>
using PZ64 = Scalar<Tag, uint8_t, Complex<float>>;
template <class Tag>
using PZ128 = Scalar<Tag, uint8_t, Complex<double>>;

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard

// at::vec::Vectorized<T>: as many T as a vector register of 32 bytes holds, with the arithmetic of T on each. Written
// in plain loops, which compilers turn into the instructions that they may use.
//
//   using Vec = at::vec::Vectorized<float>;
//   for (int64_t i = 0; i + Vec::size() <= n; i += Vec::size()) (Vec::loadu(x + i) * Vec(2.f)).store(y + i);
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "c10/util/bfloat16.h"
#include "c10/util/complex.h"
#include "c10/util/half.h"

namespace at::vec {

template <class T>
class Vectorized {
  static_assert(std::is_trivially_copyable_v<T>);
  static constexpr int kBytes = 32;

 public:
  using value_type = T;
  using size_type = int;
  static constexpr int kSize = kBytes / static_cast<int>(sizeof(T));
  static constexpr size_type size() { return kSize; }

  Vectorized() : values_{} {}
  Vectorized(T value) {
    for (T& v : values_) v = value;
  }
  template <class... Args>
    requires(sizeof...(Args) == static_cast<size_t>(kSize) && sizeof...(Args) > 1)
  Vectorized(Args... values) : values_{static_cast<T>(values)...} {}

  /// From memory of any alignment; of `count` elements, the others 0.
  static Vectorized loadu(const void* source, int64_t count = kSize) {
    Vectorized v;
    std::memcpy(v.values_, source, static_cast<size_t>(count) * sizeof(T));
    return v;
  }
  void store(void* target, int64_t count = kSize) const {
    std::memcpy(target, values_, static_cast<size_t>(count) * sizeof(T));
  }
  /// base, base + step, ...
  template <class Step = T>
  static Vectorized arange(T base = T(0), Step step = Step(1)) {
    Vectorized v;
    for (int i = 0; i < kSize; ++i) v.values_[i] = static_cast<T>(base + static_cast<T>(step) * static_cast<T>(i));
    return v;
  }
  /// b's elements where the mask's are not all bits 0, a's elsewhere; the first `count` of b.
  static Vectorized blendv(const Vectorized& a, const Vectorized& b, const Vectorized& mask) {
    Vectorized v;
    for (int i = 0; i < kSize; ++i) v.values_[i] = any_bit(mask.values_[i]) ? b.values_[i] : a.values_[i];
    return v;
  }
  template <int64_t mask>
  static Vectorized blend(const Vectorized& a, const Vectorized& b) {
    Vectorized v;
    for (int i = 0; i < kSize; ++i) v.values_[i] = (mask >> i & 1) != 0 ? b.values_[i] : a.values_[i];
    return v;
  }
  static Vectorized set(const Vectorized& a, const Vectorized& b, int64_t count = kSize) {
    Vectorized v = a;
    for (int i = 0; i < count && i < kSize; ++i) v.values_[i] = b.values_[i];
    return v;
  }

  const T& operator[](int i) const { return values_[i]; }
  T& operator[](int i) { return values_[i]; }

  /// f of each element.
  template <class F>
  Vectorized map(F f) const {
    Vectorized v;
    for (int i = 0; i < kSize; ++i) v.values_[i] = static_cast<T>(f(values_[i]));
    return v;
  }
  template <class F>
  static Vectorized map2(const Vectorized& a, const Vectorized& b, F f) {
    Vectorized v;
    for (int i = 0; i < kSize; ++i) v.values_[i] = static_cast<T>(f(a.values_[i], b.values_[i]));
    return v;
  }

  Vectorized neg() const {
    return map([](T x) { return -x; });
  }
  Vectorized abs() const {
    return map([](T x) { return x < T(0) ? T(-x) : x; });
  }
  Vectorized reciprocal() const {
    return map([](T x) { return T(1) / x; });
  }
  Vectorized rsqrt() const {
    return map([](T x) { return T(1) / std::sqrt(x); });
  }
#define KD_VECTOR_FUNCTION_(name)                       \
  Vectorized name() const {                             \
    return map([](T x) { return std::name(widen(x)); }); \
  }
  KD_VECTOR_FUNCTION_(sqrt)
  KD_VECTOR_FUNCTION_(exp)
  KD_VECTOR_FUNCTION_(expm1)
  KD_VECTOR_FUNCTION_(log)
  KD_VECTOR_FUNCTION_(log1p)
  KD_VECTOR_FUNCTION_(log2)
  KD_VECTOR_FUNCTION_(log10)
  KD_VECTOR_FUNCTION_(sin)
  KD_VECTOR_FUNCTION_(cos)
  KD_VECTOR_FUNCTION_(tan)
  KD_VECTOR_FUNCTION_(asin)
  KD_VECTOR_FUNCTION_(acos)
  KD_VECTOR_FUNCTION_(atan)
  KD_VECTOR_FUNCTION_(sinh)
  KD_VECTOR_FUNCTION_(cosh)
  KD_VECTOR_FUNCTION_(tanh)
  KD_VECTOR_FUNCTION_(erf)
  KD_VECTOR_FUNCTION_(erfc)
  KD_VECTOR_FUNCTION_(floor)
  KD_VECTOR_FUNCTION_(ceil)
  KD_VECTOR_FUNCTION_(trunc)
#undef KD_VECTOR_FUNCTION_
  /// To the nearest, halves to even.
  Vectorized round() const {
    return map([](T x) { return std::nearbyint(widen(x)); });
  }
  Vectorized pow(const Vectorized& exponent) const {
    return map2(*this, exponent, [](T x, T y) { return std::pow(widen(x), widen(y)); });
  }
  Vectorized atan2(const Vectorized& x) const {
    return map2(*this, x, [](T a, T b) { return std::atan2(widen(a), widen(b)); });
  }
  Vectorized fmod(const Vectorized& divisor) const {
    return map2(*this, divisor, [](T a, T b) { return std::fmod(widen(a), widen(b)); });
  }

#define KD_VECTOR_OPERATOR_(op)                                                        \
  friend Vectorized operator op(const Vectorized& a, const Vectorized& b) {            \
    return map2(a, b, [](T x, T y) { return x op y; });                                \
  }                                                                                    \
  Vectorized& operator op##=(const Vectorized& other) { return *this = *this op other; }
  KD_VECTOR_OPERATOR_(+)
  KD_VECTOR_OPERATOR_(-)
  KD_VECTOR_OPERATOR_(*)
  KD_VECTOR_OPERATOR_(/)
#undef KD_VECTOR_OPERATOR_
  Vectorized operator-() const { return neg(); }

  // Comparisons: all bits of an element where it holds, none where not; eq and the others give 1 and 0.
#define KD_VECTOR_COMPARISON_(op, name)                                       \
  friend Vectorized operator op(const Vectorized& a, const Vectorized& b) {   \
    return masked(a, b, [](T x, T y) { return x op y; });                     \
  }                                                                           \
  Vectorized name(const Vectorized& other) const {                            \
    return map2(*this, other, [](T x, T y) { return x op y ? T(1) : T(0); }); \
  }
  KD_VECTOR_COMPARISON_(==, eq)
  KD_VECTOR_COMPARISON_(!=, ne)
  KD_VECTOR_COMPARISON_(<, lt)
  KD_VECTOR_COMPARISON_(<=, le)
  KD_VECTOR_COMPARISON_(>, gt)
  KD_VECTOR_COMPARISON_(>=, ge)
#undef KD_VECTOR_COMPARISON_
#define KD_VECTOR_BITS_(op)                                                   \
  friend Vectorized operator op(const Vectorized& a, const Vectorized& b) {   \
    Vectorized v;                                                             \
    unsigned char x[kBytes], y[kBytes];                                       \
    std::memcpy(x, a.values_, kBytes);                                        \
    std::memcpy(y, b.values_, kBytes);                                        \
    for (int i = 0; i < kBytes; ++i) x[i] = static_cast<unsigned char>(x[i] op y[i]); \
    std::memcpy(static_cast<void*>(v.values_), x, kBytes);                    \
    return v;                                                                 \
  }
  KD_VECTOR_BITS_(&)
  KD_VECTOR_BITS_(|)
  KD_VECTOR_BITS_(^)
#undef KD_VECTOR_BITS_

  /// Bit i: element i is zero.
  int zero_mask() const {
    int mask = 0;
    for (int i = 0; i < kSize; ++i) mask |= (values_[i] == T(0)) << i;
    return mask;
  }
  bool has_inf_nan() const {
    for (int i = 0; i < kSize; ++i) {
      if (!std::isfinite(widen(values_[i]))) return true;
    }
    return false;
  }

 private:
  static auto widen(T x) {
    if constexpr (std::is_same_v<T, c10::Half> || std::is_same_v<T, c10::BFloat16>) return static_cast<float>(x);
    else return x;
  }
  static bool any_bit(const T& x) {
    unsigned char bytes[sizeof(T)];
    std::memcpy(bytes, &x, sizeof(T));
    for (const unsigned char b : bytes) {
      if (b != 0) return true;
    }
    return false;
  }
  template <class F>
  static Vectorized masked(const Vectorized& a, const Vectorized& b, F f) {
    Vectorized v;
    for (int i = 0; i < kSize; ++i) std::memset(static_cast<void*>(&v.values_[i]), f(a[i], b[i]) ? 0xff : 0, sizeof(T));
    return v;
  }

  alignas(kBytes) T values_[kSize];
};

/// NaN in either gives NaN.
template <class T>
Vectorized<T> maximum(const Vectorized<T>& a, const Vectorized<T>& b) {
  return Vectorized<T>::map2(a, b, [](T x, T y) { return x > y || x != x ? x : y; });
}
template <class T>
Vectorized<T> minimum(const Vectorized<T>& a, const Vectorized<T>& b) {
  return Vectorized<T>::map2(a, b, [](T x, T y) { return x != x || x < y ? x : y; });
}
template <class T>
Vectorized<T> clamp_min(const Vectorized<T>& a, const Vectorized<T>& low) {
  return Vectorized<T>::map2(a, low, [](T x, T y) { return x < y ? y : x; });
}
template <class T>
Vectorized<T> clamp_max(const Vectorized<T>& a, const Vectorized<T>& high) {
  return Vectorized<T>::map2(a, high, [](T x, T y) { return x > y ? y : x; });
}
template <class T>
Vectorized<T> clamp(const Vectorized<T>& a, const Vectorized<T>& low, const Vectorized<T>& high) {
  return clamp_max(clamp_min(a, low), high);
}
template <class T>
Vectorized<T> fmadd(const Vectorized<T>& a, const Vectorized<T>& b, const Vectorized<T>& c) {
  return a * b + c;
}
template <class T>
Vectorized<T> fmsub(const Vectorized<T>& a, const Vectorized<T>& b, const Vectorized<T>& c) {
  return a * b - c;
}

/// y[i] = f(x[i]) of Vectorized, and of two and three inputs; the last elements in a vector that is filled up.
template <class T, class F>
void map(const F& f, T* out, const T* in, int64_t n) {
  for (int64_t i = 0; i < n; i += Vectorized<T>::size()) {
    const int64_t count = n - i < Vectorized<T>::size() ? n - i : Vectorized<T>::size();
    f(Vectorized<T>::loadu(in + i, count)).store(out + i, count);
  }
}
template <class T, class F>
void map2(const F& f, T* out, const T* a, const T* b, int64_t n) {
  for (int64_t i = 0; i < n; i += Vectorized<T>::size()) {
    const int64_t count = n - i < Vectorized<T>::size() ? n - i : Vectorized<T>::size();
    f(Vectorized<T>::loadu(a + i, count), Vectorized<T>::loadu(b + i, count)).store(out + i, count);
  }
}
template <class T, class F>
void map3(const F& f, T* out, const T* a, const T* b, const T* c, int64_t n) {
  for (int64_t i = 0; i < n; i += Vectorized<T>::size()) {
    const int64_t count = n - i < Vectorized<T>::size() ? n - i : Vectorized<T>::size();
    f(Vectorized<T>::loadu(a + i, count), Vectorized<T>::loadu(b + i, count), Vectorized<T>::loadu(c + i, count))
        .store(out + i, count);
  }
}
/// The elements of a vector, or of n > 0 elements of memory, joined by an f of Vectorized.
template <class T, class F>
T vec_reduce_all(const F& f, Vectorized<T> v, int64_t n = Vectorized<T>::size()) {
  Vectorized<T> result(v[0]);
  for (int i = 1; i < n; ++i) result = f(result, Vectorized<T>(v[i]));
  return result[0];
}
template <class T, class F>
T reduce_all(const F& f, const T* data, int64_t n) {
  constexpr int64_t kSize = Vectorized<T>::size();
  if (n < kSize) return vec_reduce_all(f, Vectorized<T>::loadu(data, n), n);
  Vectorized<T> result = Vectorized<T>::loadu(data);
  int64_t i = kSize;
  for (; i + kSize <= n; i += kSize) result = f(result, Vectorized<T>::loadu(data + i));
  T all = vec_reduce_all(f, result);
  for (; i < n; ++i) all = f(Vectorized<T>(all), Vectorized<T>(data[i]))[0];
  return all;
}
/// Element by element, as a cast does.
template <class Source, class Target>
void convert(const Source* in, Target* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<Target>(in[i]);
}

}  // namespace at::vec

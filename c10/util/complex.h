// c10::complex<X>: a complex number laid out as X[2], without <complex> (34,000 lines). Conversions from and to
// std::complex stand in c10/util/std_complex.h, functions (abs, exp, sqrt ...) in c10/util/complex_math.h.
#pragma once

#include <type_traits>

#include "c10/macros/macros.h"
#include "c10/util/bfloat16.h"
#include "c10/util/half.h"
#include "c10/util/text_stream.h"

namespace c10 {

template <typename X>
struct alignas(sizeof(X) * 2) complex {
  using value_type = X;

  X real_ = X(0);
  X imag_ = X(0);

  complex() = default;
  constexpr complex(const X& re, const X& im = X()) : real_(re), imag_(im) {}
  // Widening is implicit, narrowing explicit.
  template <typename U>
  requires(!std::is_same_v<U, X>) explicit(sizeof(U) > sizeof(X)) constexpr complex(const complex<U>& other)
      : real_(static_cast<X>(other.real())), imag_(static_cast<X>(other.imag())) {}

  // From and to std::complex<X> (or anything with its members), without naming it.
  template <typename S>
  requires(
      !std::is_arithmetic_v<S> && std::is_same_v<typename S::value_type, X> &&
      requires(const S& s) {
        S(s.real(), s.imag());
        s.imag();
      } &&
      !requires(S s) { s.real_; }) constexpr complex(const S& other)
      : real_(other.real()), imag_(other.imag()) {}
  template <typename S>
  requires(
      !std::is_arithmetic_v<S> && std::is_same_v<typename S::value_type, X> &&
      requires(const S& s, X x) {
        S(x, x);
        s.imag();
      } &&
      !requires(S s) { s.real_; }) explicit constexpr
  operator S() const {
    return S(real_, imag_);
  }

  constexpr X real() const { return real_; }
  constexpr X imag() const { return imag_; }
  constexpr void real(X value) { real_ = value; }
  constexpr void imag(X value) { imag_ = value; }

  constexpr complex& operator=(X re) {
    real_ = re;
    imag_ = X(0);
    return *this;
  }
  constexpr complex& operator+=(X re) {
    real_ += re;
    return *this;
  }
  constexpr complex& operator-=(X re) {
    real_ -= re;
    return *this;
  }
  constexpr complex& operator*=(X re) {
    real_ *= re;
    imag_ *= re;
    return *this;
  }
  constexpr complex& operator/=(X re) {
    real_ /= re;
    imag_ /= re;
    return *this;
  }
  template <typename U>
  constexpr complex& operator+=(const complex<U>& b) {
    real_ += static_cast<X>(b.real());
    imag_ += static_cast<X>(b.imag());
    return *this;
  }
  template <typename U>
  constexpr complex& operator-=(const complex<U>& b) {
    real_ -= static_cast<X>(b.real());
    imag_ -= static_cast<X>(b.imag());
    return *this;
  }
  template <typename U>
  constexpr complex& operator*=(const complex<U>& b) {
    const X br = static_cast<X>(b.real());
    const X bi = static_cast<X>(b.imag());
    const X re = real_ * br - imag_ * bi;
    imag_ = real_ * bi + imag_ * br;
    real_ = re;
    return *this;
  }
  // Smith's method: scales by the larger component of the divisor so that neither overflows early.
  template <typename U>
  constexpr complex& operator/=(const complex<U>& b) {
    const X br = static_cast<X>(b.real());
    const X bi = static_cast<X>(b.imag());
    const X ar = real_;
    const X ai = imag_;
    const X abs_br = br < X(0) ? -br : br;
    const X abs_bi = bi < X(0) ? -bi : bi;
    if (abs_br >= abs_bi) {
      if (abs_br == X(0) && abs_bi == X(0)) {
        real_ = ar / abs_br;
        imag_ = ai / abs_bi;
        return *this;
      }
      const X ratio = bi / br;
      const X scale = X(1) / (br + bi * ratio);
      real_ = (ar + ai * ratio) * scale;
      imag_ = (ai - ar * ratio) * scale;
    } else {
      const X ratio = br / bi;
      const X scale = X(1) / (bi + br * ratio);
      real_ = (ar * ratio + ai) * scale;
      imag_ = (ai * ratio - ar) * scale;
    }
    return *this;
  }
};

// Half-precision complex: storage and conversions; arithmetic runs in complex<float>.
template <>
struct alignas(4) complex<Half> {
  using value_type = Half;
  Half real_ = Half(0.0f);
  Half imag_ = Half(0.0f);

  complex() = default;
  constexpr complex(Half re, Half im = Half(0.0f)) : real_(re), imag_(im) {}
  explicit constexpr complex(const complex<float>& v) : real_(v.real()), imag_(v.imag()) {}
  explicit constexpr complex(const complex<double>& v)
      : real_(static_cast<float>(v.real())), imag_(static_cast<float>(v.imag())) {}
  constexpr operator complex<float>() const { return {static_cast<float>(real_), static_cast<float>(imag_)}; }
  constexpr Half real() const { return real_; }
  constexpr Half imag() const { return imag_; }
  constexpr complex& operator+=(const complex& b) {
    real_ += b.real_;
    imag_ += b.imag_;
    return *this;
  }
  constexpr complex& operator-=(const complex& b) {
    real_ -= b.real_;
    imag_ -= b.imag_;
    return *this;
  }
  constexpr complex& operator*=(const complex& b) {
    return *this = complex(static_cast<complex<float>>(*this) *= static_cast<complex<float>>(b));
  }
};

template <typename X>
constexpr complex<X> operator+(const complex<X>& a) {
  return a;
}
template <typename X>
constexpr complex<X> operator-(const complex<X>& a) {
  return {-a.real(), -a.imag()};
}

template <typename X>
constexpr complex<X> operator+(complex<X> a, const complex<X>& b) {
  return a += b;
}
template <typename X>
constexpr complex<X> operator-(complex<X> a, const complex<X>& b) {
  return a -= b;
}
template <typename X>
constexpr complex<X> operator*(complex<X> a, const complex<X>& b) {
  return a *= b;
}
template <typename X>
constexpr complex<X> operator/(complex<X> a, const complex<X>& b) {
  return a /= b;
}

// With a real (or any arithmetic) number on either side, in the precision of the complex one.
template <typename X, typename R>
requires std::is_arithmetic_v<R>
constexpr complex<X> operator+(complex<X> a, R b) {
  return a += static_cast<X>(b);
}
template <typename X, typename R>
requires std::is_arithmetic_v<R>
constexpr complex<X> operator+(R a, complex<X> b) {
  return b += static_cast<X>(a);
}
template <typename X, typename R>
requires std::is_arithmetic_v<R>
constexpr complex<X> operator-(complex<X> a, R b) {
  return a -= static_cast<X>(b);
}
template <typename X, typename R>
requires std::is_arithmetic_v<R>
constexpr complex<X> operator-(R a, complex<X> b) {
  return complex<X>(static_cast<X>(a)) -= b;
}
template <typename X, typename R>
requires std::is_arithmetic_v<R>
constexpr complex<X> operator*(complex<X> a, R b) {
  return a *= static_cast<X>(b);
}
template <typename X, typename R>
requires std::is_arithmetic_v<R>
constexpr complex<X> operator*(R a, complex<X> b) {
  return b *= static_cast<X>(a);
}
template <typename X, typename R>
requires std::is_arithmetic_v<R>
constexpr complex<X> operator/(complex<X> a, R b) {
  return a /= static_cast<X>(b);
}
template <typename X, typename R>
requires std::is_arithmetic_v<R>
constexpr complex<X> operator/(R a, complex<X> b) {
  return complex<X>(static_cast<X>(a)) /= b;
}

template <typename X, typename Y>
constexpr bool operator==(const complex<X>& a, const complex<Y>& b) {
  return a.real() == b.real() && a.imag() == b.imag();
}
template <typename X>
constexpr bool operator==(const complex<X>& a, const X& b) {
  return a.real() == b && a.imag() == X(0);
}

inline namespace complex_literals {
constexpr complex<float> operator""_if(long double im) {
  return {0.0f, static_cast<float>(im)};
}
constexpr complex<double> operator""_id(long double im) {
  return {0.0, static_cast<double>(im)};
}
constexpr complex<float> operator""_if(unsigned long long im) {
  return {0.0f, static_cast<float>(im)};
}
constexpr complex<double> operator""_id(unsigned long long im) {
  return {0.0, static_cast<double>(im)};
}
}  // namespace complex_literals

template <typename X>
struct is_complex : std::false_type {};
template <typename X>
struct is_complex<complex<X>> : std::true_type {};
template <typename X>
inline constexpr bool is_complex_v = is_complex<std::remove_cv_t<X>>::value;

// "(1,2)", as streams print complex numbers.
template <TextStream Stream, typename X>
Stream& operator<<(Stream& out, const complex<X>& value) {
  out << "(" << value.real() << "," << value.imag() << ")";
  return out;
}

}  // namespace c10

// Single draws from a generator, for kernels that draw element by element. Equal seeds give the numbers that the
// operators of the same name draw.
//
//   std::lock_guard<std::mutex> lock(generator->mutex_);
//   at::normal_distribution<double> normal(mean, std);
//   double x = normal(generator);      // at::CPUGeneratorImpl*, or any RNG with random() and random64()
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

#include "aten/extension/accumulate_type.h"
#include "c10/core/scalar_type.h"
#include "c10/util/bfloat16.h"
#include "c10/util/exception.h"
#include "c10/util/half.h"

namespace at {

/// The type in which a distribution of T computes.
template <class T>
struct DistAccumType {
  using type = std::conditional_t<std::is_same_v<T, c10::Half> || std::is_same_v<T, c10::BFloat16>, float, T>;
};
template <class T>
using dist_acctype = typename DistAccumType<T>::type;

namespace transformation {

namespace detail {
// Bits of a draw that T can hold: its digits; one float more than them is the least that it cannot.
template <class T>
inline constexpr int kDigits = std::is_same_v<T, c10::Half>       ? 11
                               : std::is_same_v<T, c10::BFloat16> ? 8
                                                                  : std::numeric_limits<T>::digits;
}  // namespace detail

/// base + v mod range.
template <class T, class V>
T uniform_int_from_to(V v, uint64_t range, int64_t base) {
  return static_cast<T>(static_cast<int64_t>(v % range + static_cast<uint64_t>(base)));
}
/// All values of a 64-bit draw.
template <class T, class V>
T uniform_int_full_range(V v) {
  return static_cast<T>(static_cast<int64_t>(v));
}
/// 0 to the largest integer of T; for floats to the last up to which all integers are exact; for bool 0 and 1.
template <class T, class V>
T uniform_int(V v) {
  if constexpr (std::is_same_v<T, bool>) {
    return static_cast<bool>(v & 1);
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(
        v % (static_cast<uint64_t>(std::numeric_limits<T>::max()) + (sizeof(T) < 8 || std::is_signed_v<T>)));
  } else {
    return static_cast<T>(v % ((uint64_t{1} << detail::kDigits<T>)+1));
  }
}
/// from + (to - from) * u, with u of as many bits of the draw as T has digits.
template <class T, class V>
dist_acctype<T> uniform_real(V v, T from, T to) {
  constexpr int kDigits = detail::kDigits<T>;
  using Acc = dist_acctype<T>;
  const auto bits = static_cast<uint64_t>(v) & ((uint64_t{1} << kDigits) - 1);
  const Acc u = static_cast<Acc>(bits) * static_cast<Acc>(1.0 / static_cast<double>(uint64_t{1} << kDigits));
  return u * static_cast<Acc>(to - from) + static_cast<Acc>(from);
}
/// Of a standard normal draw.
template <class T>
T normal(T v, T mean, T std) {
  return v * std + mean;
}
template <class T>
T log_normal(T v) {
  return std::exp(v);
}
/// The others of a uniform draw `v` in [0, 1).
template <class T>
T cauchy(T v, T median, T sigma) {
  constexpr T kPi = static_cast<T>(3.14159265358979323846);
  return median + sigma * std::tan(kPi * (v - static_cast<T>(0.5)));
}
template <class T>
T exponential(T v, T lambda) {
  return static_cast<T>(-1) / lambda * std::log1p(-v);
}
template <class T>
T geometric(T v, T p) {
  return std::ceil(std::log(v) / std::log1p(-p));
}
template <class T>
T bernoulli(T v, T p) {
  return v < p;
}

}  // namespace transformation

namespace detail {

template <class RNG>
concept KeepsNormals = requires(RNG rng, std::optional<double> sample) {
  { rng.next_double_normal_sample() } -> std::convertible_to<std::optional<double>>;
  rng.set_next_double_normal_sample(sample);
};

template <class T, class RNG>
auto uniform_draw(RNG generator, T from, T to) {
  if constexpr (std::is_same_v<T, double>)
    return transformation::uniform_real<T>(generator->random64(), from, to);
  else
    return transformation::uniform_real<T>(generator->random(), from, to);
}

}  // namespace detail

/// base, ..., base + range - 1, each as likely as the others (but for the remainder of 2^32 or 2^64 by range).
template <class T>
class uniform_int_from_to_distribution {
 public:
  uniform_int_from_to_distribution(uint64_t range, int64_t base) : range_(range), base_(base) {}
  template <class RNG>
  T operator()(RNG generator) {
    if (range_ >= uint64_t{1} << 32)
      return transformation::uniform_int_from_to<T>(generator->random64(), range_, base_);
    return transformation::uniform_int_from_to<T>(generator->random(), range_, base_);
  }

 private:
  uint64_t range_;
  int64_t base_;
};

/// Every value of int64_t, as a T.
template <class T>
class uniform_int_full_range_distribution {
 public:
  template <class RNG>
  T operator()(RNG generator) {
    return transformation::uniform_int_full_range<T>(generator->random64());
  }
};

/// 0 to the largest integer of T (transformation::uniform_int).
template <class T>
class uniform_int_distribution {
 public:
  template <class RNG>
  T operator()(RNG generator) {
    if constexpr (std::is_same_v<T, double> || std::is_same_v<T, int64_t>) {
      return transformation::uniform_int<T>(generator->random64());
    } else {
      return transformation::uniform_int<T>(generator->random());
    }
  }
};

/// [from, to). Throws c10::Error where from > to, or to - from has no place in T.
template <class T>
class uniform_real_distribution {
 public:
  uniform_real_distribution(T from, T to) : from_(from), to_(to) {
    TORCH_CHECK(from <= to, "uniform_ expects to return a [from, to) range, but found from=", from, " > to=", to);
    TORCH_CHECK(
        static_cast<double>(to) - static_cast<double>(from) <= static_cast<double>(std::numeric_limits<T>::max()),
        "uniform_ expects to-from <= std::numeric_limits<T>::max()");
  }
  template <class RNG>
  dist_acctype<T> operator()(RNG generator) {
    return detail::uniform_draw<T>(generator, from_, to_);
  }

 private:
  T from_, to_;
};

/// Of a pair of draws (Box and Muller, 1958); the second is kept by generators that can. Throws c10::Error for std < 0.
template <class T>
class normal_distribution {
 public:
  normal_distribution(T mean, T stdv) : mean_(mean), stdv_(stdv) {
    TORCH_CHECK(stdv >= 0, "stdv_in must be positive: ", stdv);
  }
  template <class RNG>
  dist_acctype<T> operator()(RNG generator) {
    using Impl = std::remove_pointer_t<RNG>;
    if constexpr (detail::KeepsNormals<Impl>) {
      if (const auto kept = generator->next_double_normal_sample()) {
        generator->set_next_double_normal_sample(std::nullopt);
        return scaled(*kept);
      }
    }
    const double u1 = detail::uniform_draw<double>(generator, 0, 1), u2 = detail::uniform_draw<double>(generator, 0, 1);
    const double radius = std::sqrt(-2 * std::log(1 - u2)), angle = 2 * 3.14159265358979323846 * u1;
    if constexpr (detail::KeepsNormals<Impl>) generator->set_next_double_normal_sample(radius * std::sin(angle));
    return scaled(radius * std::cos(angle));
  }

 private:
  dist_acctype<T> scaled(double normal) const {
    return transformation::normal(static_cast<dist_acctype<T>>(normal), static_cast<dist_acctype<T>>(mean_),
                                  static_cast<dist_acctype<T>>(stdv_));
  }
  T mean_, stdv_;
};

/// 1 with probability p, else 0. Throws c10::Error for p outside of [0, 1].
template <class T>
class bernoulli_distribution {
 public:
  explicit bernoulli_distribution(T p) : p_(p) {
    TORCH_CHECK(p >= 0 && p <= 1, "bernoulli_ expects p to be in [0, 1], but got p=", p);
  }
  template <class RNG>
  T operator()(RNG generator) {
    return transformation::bernoulli<T>(detail::uniform_draw<T>(generator, 0, 1), p_);
  }

 private:
  T p_;
};

/// The number of the first success. Throws c10::Error for p outside of (0, 1).
template <class T>
class geometric_distribution {
 public:
  explicit geometric_distribution(T p) : p_(p) {
    TORCH_CHECK(p > 0 && p < 1, "geometric_ expects p to be in (0, 1), but got p=", p);
  }
  template <class RNG>
  T operator()(RNG generator) {
    return transformation::geometric<T>(detail::uniform_draw<T>(generator, 0, 1), p_);
  }

 private:
  T p_;
};

template <class T>
class exponential_distribution {
 public:
  explicit exponential_distribution(T lambda) : lambda_(lambda) {}
  template <class RNG>
  T operator()(RNG generator) {
    return transformation::exponential<T>(detail::uniform_draw<T>(generator, 0, 1), lambda_);
  }

 private:
  T lambda_;
};

template <class T>
class cauchy_distribution {
 public:
  cauchy_distribution(T median, T sigma) : median_(median), sigma_(sigma) {}
  template <class RNG>
  T operator()(RNG generator) {
    return transformation::cauchy<T>(detail::uniform_draw<T>(generator, 0, 1), median_, sigma_);
  }

 private:
  T median_, sigma_;
};

/// exp of a normal draw. Throws c10::Error for std <= 0.
template <class T>
class lognormal_distribution {
 public:
  lognormal_distribution(T mean, T stdv) : normal_(mean, stdv) {
    TORCH_CHECK(stdv > 0, "log_normal_ expects std > 0.0, but found std=", stdv);
  }
  template <class RNG>
  T operator()(RNG generator) {
    return transformation::log_normal<T>(normal_(generator));
  }

 private:
  normal_distribution<T> normal_;
};

}  // namespace at

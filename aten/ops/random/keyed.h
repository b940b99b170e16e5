// Numbers that a key decides: a pair of uint64, of which the first seeds Philox4x32-10 (Salmon et al. 2011) and the
// second is where it begins to count. For the CPU and for kernels of devices.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "c10/core/scalar_type.h"
#include "c10/macros/macros.h"
#include "c10/util/bfloat16.h"
#include "c10/util/half.h"

namespace at::native::random {

struct KeyedWords {
  uint32_t w[4];

  /// Two words of 64 bits.
  C10_HOST_DEVICE uint64_t wide(int i) const { return uint64_t{w[2 * i]} << 32 | w[2 * i + 1]; }
};

struct Key {
  uint64_t seed, offset;
};

C10_HOST_DEVICE inline KeyedWords keyed_words(Key key, uint64_t count) {
  constexpr uint64_t kFirst = 0xD2511F53, kSecond = 0xCD9E8D57;
  constexpr uint32_t kGolden = 0x9E3779B9, kRoot = 0xBB67AE85;
  const uint64_t at = key.offset + count;
  KeyedWords c{{static_cast<uint32_t>(at), static_cast<uint32_t>(at >> 32), 0, 0}};
  auto low = static_cast<uint32_t>(key.seed), high = static_cast<uint32_t>(key.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = kFirst * c.w[0], b = kSecond * c.w[2];
    c = {{static_cast<uint32_t>(b >> 32) ^ c.w[1] ^ low, static_cast<uint32_t>(b),
          static_cast<uint32_t>(a >> 32) ^ c.w[3] ^ high, static_cast<uint32_t>(a)}};
    low += kGolden, high += kRoot;
  }
  return c;
}

/// The key number `i` of those that come from `key`.
C10_HOST_DEVICE inline Key folded(Key key, uint64_t i) {
  const KeyedWords words = keyed_words(key, i);
  return {uint64_t{words.w[1]} << 32 | words.w[0], uint64_t{words.w[3]} << 32 | words.w[2]};
}

// Distributions: number i < kEach of what four words give, as a T.

template <class T>
inline constexpr bool kKeyedInDouble = std::is_same_v<T, double>;

template <class T>
struct KeyedUniform {
  using Result = T;
  using Number = std::conditional_t<kKeyedInDouble<T>, double, float>;
  static constexpr int kEach = kKeyedInDouble<T> ? 2 : 4;
  static constexpr int kDigits = kKeyedInDouble<T>             ? 53
                                 : std::is_same_v<T, float>    ? 24
                                 : std::is_same_v<T, c10::Half> ? 11
                                                               : 8;
  Number from, width;

  C10_HOST_DEVICE T operator()(const KeyedWords& words, int i) const {
    if constexpr (kKeyedInDouble<T>) {
      return std::fma(fraction(words.wide(i)), width, from);
    } else {
      return T(std::fma(fraction(words.w[i]), width, from));
    }
  }

  // The lowest digits.
  template <class Word>
  static C10_HOST_DEVICE Number fraction(Word word) {
    return static_cast<Number>(word & ((Word{1} << kDigits) - 1)) / static_cast<Number>(Word{1} << kDigits);
  }
};

// Two from two uniform ones in (0, 1) (Box & Muller 1958).
template <class T>
struct KeyedNormal {
  using Result = T;
  using Number = std::conditional_t<kKeyedInDouble<T>, double, float>;
  static constexpr int kEach = kKeyedInDouble<T> ? 2 : 4;
  Number mean, std;

  C10_HOST_DEVICE T operator()(const KeyedWords& words, int i) const {
    const int pair = i / 2 * 2;
    const Number radius = std::sqrt(Number(-2) * std::log(uniform(words, pair)));
    const Number angle = static_cast<Number>(6.28318530717958648) * uniform(words, pair + 1);
    return T(radius * (i % 2 == 0 ? std::cos(angle) : std::sin(angle)) * std + mean);
  }

  static C10_HOST_DEVICE Number uniform(const KeyedWords& words, int i) {
    if constexpr (kKeyedInDouble<T>) {
      return static_cast<double>(words.wide(i)) * 0x1p-64 + 0x1p-65;
    } else {
      return static_cast<float>(words.w[i]) * 0x1p-32f + 0x1p-33f;
    }
  }
};

/// from + word % range; a range of 0 is all 2^64.
template <class T>
struct KeyedIntegers {
  using Result = T;
  static constexpr int kEach = 2;
  uint64_t from, range;

  C10_HOST_DEVICE T operator()(const KeyedWords& words, int i) const {
    const uint64_t word = words.wide(i);
    return static_cast<T>((range == 0 ? word : word % range) + from);
  }
};

// Call fill(distribution) for that of a dtype.
template <class Fill>
void with_keyed_uniform(c10::ScalarType dtype, double low, double high, const Fill& fill) {
  const auto narrow = [&]<class T>(T) {
    const auto from = static_cast<float>(T(static_cast<float>(low))), to = static_cast<float>(T(static_cast<float>(high)));
    fill(KeyedUniform<T>{from, static_cast<float>(T(to - from))});
  };
  if (dtype == c10::ScalarType::Double) fill(KeyedUniform<double>{low, high - low});
  if (dtype == c10::ScalarType::Float) narrow(float{});
  if (dtype == c10::ScalarType::Half) narrow(c10::Half{});
  if (dtype == c10::ScalarType::BFloat16) narrow(c10::BFloat16{});
}

template <class Fill>
void with_keyed_normal(c10::ScalarType dtype, double mean, double std, const Fill& fill) {
  const auto narrow_mean = static_cast<float>(mean), narrow_std = static_cast<float>(std);
  if (dtype == c10::ScalarType::Double) fill(KeyedNormal<double>{mean, std});
  if (dtype == c10::ScalarType::Float) fill(KeyedNormal<float>{narrow_mean, narrow_std});
  if (dtype == c10::ScalarType::Half) fill(KeyedNormal<c10::Half>{narrow_mean, narrow_std});
  if (dtype == c10::ScalarType::BFloat16) fill(KeyedNormal<c10::BFloat16>{narrow_mean, narrow_std});
}

template <class Fill>
void with_keyed_integers(c10::ScalarType dtype, uint64_t from, uint64_t range, const Fill& fill) {
  if (dtype == c10::ScalarType::Long) fill(KeyedIntegers<int64_t>{from, range});
  if (dtype == c10::ScalarType::Int) fill(KeyedIntegers<int32_t>{from, range});
  if (dtype == c10::ScalarType::Short) fill(KeyedIntegers<int16_t>{from, range});
  if (dtype == c10::ScalarType::Char) fill(KeyedIntegers<int8_t>{from, range});
  if (dtype == c10::ScalarType::Byte) fill(KeyedIntegers<uint8_t>{from, range});
}

}  // namespace at::native::random

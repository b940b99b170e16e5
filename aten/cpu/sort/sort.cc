#include "aten/cpu/sort/sort.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "aten/cpu/support/visit_dtype.h"
#include "c10/parallel/parallel.h"

namespace at::cpu {
namespace {

// An element as an unsigned number in the same order. Floating bits: positive numbers get the top bit, negative ones are
// inverted; NaN becomes the largest.
template <class U, class S>
inline U floating_key(U bits, U infinity) {
  constexpr U kTop = U(1) << (sizeof(U) * 8 - 1);
  const U magnitude = bits & (kTop - 1);
  if (magnitude > infinity) return static_cast<U>(~U(0));
  if (magnitude == 0) return kTop;
  return bits & kTop ? static_cast<U>(~bits) : static_cast<U>(bits | kTop);
}

template <class T>
inline auto key_of(T x) {
  if constexpr (std::is_same_v<T, float>) {
    return floating_key<uint32_t, int32_t>(__builtin_bit_cast(uint32_t, x), 0x7f800000u);
  } else if constexpr (std::is_same_v<T, double>) {
    return floating_key<uint64_t, int64_t>(__builtin_bit_cast(uint64_t, x), 0x7ff0000000000000u);
  } else if constexpr (std::is_same_v<T, c10::Half>) {
    return static_cast<uint32_t>(floating_key<uint16_t, int16_t>(x.x, 0x7c00u));
  } else if constexpr (std::is_same_v<T, c10::BFloat16>) {
    return static_cast<uint32_t>(floating_key<uint16_t, int16_t>(x.x, 0x7f80u));
  } else if constexpr (std::is_same_v<T, int64_t>) {
    return static_cast<uint64_t>(x) ^ (uint64_t(1) << 63);
  } else if constexpr (std::is_same_v<T, int32_t>) {
    return static_cast<uint32_t>(x) ^ (uint32_t(1) << 31);
  } else if constexpr (std::is_same_v<T, uint64_t> || std::is_same_v<T, uint32_t>) {
    return x;
  } else {
    return static_cast<uint32_t>(static_cast<int32_t>(x) + 32768);
  }
}

// A key with the element's position below it, so that no two are equal: one word for keys of 32 bits in rows that positions of
// 32 bits can count, else two.
struct Wide {
  uint64_t key;
  uint64_t position;
  bool operator<(const Wide& o) const { return key != o.key ? key < o.key : position < o.position; }
};
inline uint64_t position_of(uint64_t packed) { return packed & 0xffffffffu; }
inline uint64_t position_of(const Wide& w) { return w.position; }
inline uint64_t digit_source(uint64_t packed) { return packed >> 32; }
inline uint64_t digit_source(const Wide& w) { return w.key; }

template <class E, class K>
inline E make_entry(K key, int64_t position, bool descending) {
  if (descending) key = static_cast<K>(~key);
  if constexpr (std::is_same_v<E, Wide>) {
    return {static_cast<uint64_t>(key), static_cast<uint64_t>(position)};
  } else {
    return static_cast<uint64_t>(key) << 32 | static_cast<uint64_t>(position);
  }
}

constexpr int64_t kPiece = 32768;  // so many elements are worth a thread

// Least significant digit first, stable; passes in which all digits are equal are left out. Pieces of a long row are
// counted and moved in parallel: one digit's elements of a piece go behind those of the pieces before it.
template <class E>
E* radix_sort(E* from, E* to, int64_t n, int key_bytes) {
  const int64_t most = at::in_parallel_region() ? 1 : at::get_num_threads();
  const int64_t pieces = std::clamp<int64_t>(n / kPiece, 1, most), step = at::divup(n, pieces);
  const size_t row = static_cast<size_t>(key_bytes) * 256;
  std::vector<uint32_t> counts(static_cast<size_t>(pieces) * row);
  const auto for_pieces = [&](const auto& f) {
    at::parallel_for(0, pieces, 1, [&](int64_t first, int64_t last) {
      for (int64_t p = first; p < last; ++p) {
        f(counts.data() + static_cast<size_t>(p) * row, p * step, std::min(n, (p + 1) * step));
      }
    });
  };
  for_pieces([&](uint32_t* count, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const uint64_t key = digit_source(from[i]);
      for (int b = 0; b < key_bytes; ++b) ++count[static_cast<size_t>(b) * 256 + (key >> (8 * b) & 255)];
    }
  });
  bool moved = false;  // the counts of the pieces are no longer those of their elements; their sums are
  for (int b = 0; b < key_bytes; ++b) {
    const auto digit = [b](const E& e) { return digit_source(e) >> (8 * b) & 255; };
    uint32_t* const counts_of_byte = counts.data() + static_cast<size_t>(b) * 256;
    int64_t of_first = 0;
    for (int64_t p = 0; p < pieces; ++p) of_first += counts_of_byte[static_cast<size_t>(p) * row + digit(from[0])];
    if (of_first == n) continue;
    if (moved && pieces > 1) {
      for_pieces([&](uint32_t* count, int64_t begin, int64_t end) {
        count += static_cast<size_t>(b) * 256;
        std::fill_n(count, 256, 0);
        for (int64_t i = begin; i < end; ++i) ++count[digit(from[i])];
      });
    }
    uint32_t start = 0;
    for (size_t v = 0; v < 256; ++v) {
      for (int64_t p = 0; p < pieces; ++p) {
        uint32_t& count = counts_of_byte[static_cast<size_t>(p) * row + v];
        start += std::exchange(count, start);
      }
    }
    for_pieces([&](uint32_t* count, int64_t begin, int64_t end) {
      count += static_cast<size_t>(b) * 256;
      for (int64_t i = begin; i < end; ++i) to[count[digit(from[i])]++] = from[i];
    });
    std::swap(from, to);
    moved = true;
  }
  return from;
}

constexpr int64_t kRadixFrom = 400;  // shorter rows are sorted by comparison

template <class E, class T, class Key>
E* load_entries(const T* x, int64_t stride, int64_t n, bool descending, SortScratch& scratch, const Key& key) {
  E* entries = scratch.keys.at_least<E>(static_cast<size_t>(n));
  at::parallel_for(0, n, kPiece, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) entries[i] = make_entry<E>(key(x[i * stride]), i, descending);
  });
  return entries;
}

template <class E, class T, class Key>
void sort_entries(const T* x, int64_t stride, int64_t n, bool descending, SortScratch& scratch, int64_t* order,
                  const Key& key) {
  const bool radix = n >= kRadixFrom && n <= int64_t{0xffffffff};
  E* entries = load_entries<E>(x, stride, n, descending, scratch, key);
  if (radix) {
    // Narrow keys occupy their low bytes only; inverted ones the high bytes too, which are all equal and skipped.
    E* const other = scratch.other.at_least<E>(static_cast<size_t>(n));
    entries = radix_sort(entries, other, n, std::is_same_v<E, Wide> ? 8 : 4);
  } else {
    std::sort(entries, entries + n);
  }
  at::parallel_for(0, n, kPiece, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) order[i] = static_cast<int64_t>(position_of(entries[i]));
  });
}

// The least of n integers, where the others are less than 2^32 from it.
template <class T>
std::optional<T> base_of_narrow(const T* x, int64_t stride, int64_t n) {
  T low = x[0], high = x[0];
  for (int64_t i = 1; i < n; ++i) {
    low = std::min(low, x[i * stride]);
    high = std::max(high, x[i * stride]);
  }
  const bool narrow = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) <= 0xffffffffu;
  return narrow ? std::optional<T>(low) : std::nullopt;
}

// Candidates better than the worst of the best k so far are collected, and thinned out when there are many.
template <class E, class T>
void topk_entries(const T* x, int64_t stride, int64_t n, int64_t k, bool largest, SortScratch& scratch, int64_t* order) {
  const int64_t capacity = std::min(n, std::max<int64_t>(4 * k, 128));
  E* best = scratch.keys.at_least<E>(static_cast<size_t>(capacity));
  int64_t count = 0, i = 0;
  for (; i < capacity; ++i) best[count++] = make_entry<E>(key_of(x[i * stride]), i, largest);
  while (i < n) {
    if (count > k) std::nth_element(best, best + k - 1, best + count);
    count = k;
    const E worst = best[k - 1];
    // Blocks without a candidate are passed over by plain comparisons with the worst one.
    if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, Boolean>) {
      if (stride == 1) {
        const T bound = x[position_of(worst)];
        constexpr int64_t kBlock = 16;
        for (; i + kBlock <= n; i += kBlock) {
          int hits = 0;
          if (largest) {
            for (int64_t b = 0; b < kBlock; ++b) hits |= !(x[i + b] <= bound);
          } else {
            for (int64_t b = 0; b < kBlock; ++b) hits |= !(x[i + b] >= bound);
          }
          if (hits == 0) continue;
          if (count + kBlock > capacity) break;
          for (int64_t b = 0; b < kBlock; ++b) {
            if (largest ? x[i + b] <= bound : x[i + b] >= bound) continue;
            best[count] = make_entry<E>(key_of(x[i + b]), i + b, largest);
            count += best[count] < worst;
          }
        }
        if (i + kBlock <= n) continue;
      }
    }
    for (; i < n && count < capacity; ++i) {
      const E e = make_entry<E>(key_of(x[i * stride]), i, largest);
      best[count] = e;
      count += e < worst;
    }
  }
  if (count > k) std::nth_element(best, best + k - 1, best + count);
  std::sort(best, best + k);
  for (int64_t j = 0; j < k; ++j) order[j] = static_cast<int64_t>(position_of(best[j]));
}

// First by a sample, between two elements of which the k-th is likely to be, then by the digits, highest first: the
// elements of the digit that holds the k-th go on to the next one.
template <class T>
int64_t kth_entry(const T* x, int64_t stride, int64_t n, int64_t k, SortScratch& scratch) {
  using K = decltype(key_of(T()));
  constexpr int kWidth = sizeof(T) <= 2 ? 16 : 8 * static_cast<int>(sizeof(K)), kDigit = 11;
  constexpr int64_t kShort = 128, kMost = 0xffffffff;
  K* keys = scratch.keys.at_least<K>(static_cast<size_t>(n) + 1);
  const auto key_of_x = [&](int64_t i) { return static_cast<K>(key_of(x[i * stride])); };
  int64_t count = n;
  bool in_keys = false;  // where the candidates are
  if (n > kShort) {
    constexpr int64_t kSamples = 512;
    const int64_t samples = n < 8192 ? 64 : kSamples, margin = n < 8192 ? 10 : 36, place = k * samples / n;
    K sample[kSamples];
    for (int64_t i = 0; i < samples; ++i) sample[i] = key_of_x(i * (n / samples));
    K low = 0, high = static_cast<K>(~K(0));
    K* end = sample + samples;
    if (place + margin < samples) {
      std::nth_element(sample, sample + place + margin, end);
      high = sample[place + margin];
      end = sample + place + margin;
    }
    if (place >= margin) {
      std::nth_element(sample, sample + place - margin, end);
      low = sample[place - margin];
    }
    int64_t below = 0, kept = 0;
    for (int64_t i = 0; i < n; ++i) {
      const K key = key_of_x(i);
      keys[kept] = key;
      below += key < low;
      kept += (key >= low) & (key <= high);
    }
    if (k >= below && k < below + kept) {
      k -= below;
      count = kept;
      in_keys = true;
    }
  } else {
    for (int64_t i = 0; i < n; ++i) keys[i] = key_of_x(i);
    in_keys = true;
  }
  constexpr int64_t kDigits = int64_t{1} << kDigit;
  uint32_t* even = scratch.other.at_least<uint32_t>(2 * kDigits);
  int shift = kWidth;
  while (count > 4 * kShort && count <= kMost && shift > 0) {
    const int next = shift > kDigit ? shift - kDigit : 0;
    const K mask = static_cast<K>((uint64_t{1} << (shift - next)) - 1);
    // Two tables, as neighbours are often alike.
    uint32_t* odd = count > kDigits ? even + kDigits : even;
    std::fill_n(even, count > kDigits ? 2 * kDigits : kDigits, 0);
    const auto key_at = [&](int64_t i) { return in_keys ? keys[i] : key_of_x(i); };
    int64_t i = 0;
    for (; i + 2 <= count; i += 2) {
      ++even[key_at(i) >> next & mask];
      ++odd[key_at(i + 1) >> next & mask];
    }
    if (i < count) ++even[key_at(i) >> next & mask];
    K digit = 0;
    for (int64_t before = 0;; ++digit) {
      const int64_t here = int64_t{even[digit]} + (odd != even ? odd[digit] : 0);
      if (k < before + here) {
        k -= before;
        break;
      }
      before += here;
    }
    int64_t kept = 0;
    for (i = 0; i < count; ++i) {
      const K key = key_at(i);
      keys[kept] = key;
      kept += (key >> next & mask) == digit;
    }
    count = kept;
    shift = next;
    in_keys = true;
  }
  if (!in_keys) {
    for (int64_t i = 0; i < n; ++i) keys[i] = key_of_x(i);
  }
  K found = keys[0];
  int64_t nth = k;  // of the elements equal to it
  if (shift > 0) {
    std::nth_element(keys, keys + k, keys + count);
    found = keys[k];
    nth -= std::count_if(keys, keys + k, [found](K key) { return key < found; });
  }
  int64_t i = 0;
  while (key_of(x[i * stride]) != found || nth-- > 0) ++i;
  return i;
}

}  // namespace

int64_t kth_row(c10::ScalarType type, const void* x, int64_t stride, int64_t n, int64_t k, SortScratch& scratch) {
  return visit_real(type, "kthvalue", [&](auto tag) {
    using T = typename decltype(tag)::type;
    return kth_entry(static_cast<const T*>(x), stride, n, k, scratch);
  });
}

void sort_row(c10::ScalarType type, const void* x, int64_t stride, int64_t n, bool descending, SortScratch& scratch, int64_t* order) {
  if (n == 0) return;
  const auto sort = [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* p = static_cast<const T*>(x);
    const auto key = [](T v) { return key_of(v); };
    if constexpr (sizeof(T) == 8 && std::is_integral_v<T>) {
      // The distances from the least one, where 32 bits hold them.
      const bool by_digits = n >= kRadixFrom && n <= int64_t{0xffffffff};
      if (const std::optional<T> low = by_digits ? base_of_narrow(p, stride, n) : std::nullopt) {
        const auto distance = [base = static_cast<uint64_t>(*low)](T v) {
          return static_cast<uint32_t>(static_cast<uint64_t>(v) - base);
        };
        return sort_entries<uint64_t>(p, stride, n, descending, scratch, order, distance);
      }
    }
    if (sizeof(T) == 8 || n > int64_t{0xffffffff}) {
      sort_entries<Wide>(p, stride, n, descending, scratch, order, key);
    } else if constexpr (sizeof(T) < 8) {
      sort_entries<uint64_t>(p, stride, n, descending, scratch, order, key);
    }
  };
  switch (type) {
    case c10::ScalarType::UInt16:
      return sort(TypeTag<uint16_t>{});
    case c10::ScalarType::UInt32:
      return sort(TypeTag<uint32_t>{});
    case c10::ScalarType::UInt64:
      return sort(TypeTag<uint64_t>{});
    default:
      return visit_real(type, "sort", sort);
  }
}

void topk_row(c10::ScalarType type, const void* x, int64_t stride, int64_t n, int64_t k, bool largest, SortScratch& scratch,
              int64_t* order) {
  if (k == 0) return;
  visit_real(type, "topk", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* p = static_cast<const T*>(x);
    if (sizeof(T) == 8 || n > int64_t{0xffffffff}) {
      topk_entries<Wide>(p, stride, n, k, largest, scratch, order);
    } else if constexpr (sizeof(T) < 8) {
      topk_entries<uint64_t>(p, stride, n, k, largest, scratch, order);
    }
  });
}

}  // namespace at::cpu

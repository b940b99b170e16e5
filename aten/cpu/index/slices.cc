// take_slices, put_slices, fill_slices, add_slices.
#include <algorithm>
#include <cstring>
#include <vector>

#include "aten/cpu/cast.h"
#include "aten/cpu/index/index.h"
#include "aten/cpu/sort/sort.h"
#include "aten/cpu/support/visit_dtype.h"
#include "c10/parallel/parallel.h"

namespace at::cpu {
namespace {

constexpr int64_t kGrainBytes = 65536;

// Shares out slices that must be written in order where they meet: calls f(o, order, n, from, to) for columns [from, to) of the
// slices order[0..n) of the outer block o, or of all of them where order is null. Threads take outer blocks; where these are few,
// the slices in the order of their places, each place whole, which also spares memory a second visit; where the places are few
// too, columns.
template <class F>
void for_disjoint_parts(const SliceGeometry& g, int64_t item_size, const F& f) {
  const int64_t slice = g.inner * item_size;
  const int64_t block_grain = std::max<int64_t>(1, kGrainBytes / std::max<int64_t>(g.count * slice, 1));
  if (g.outer >= 8 || slice < 64 || g.outer * g.count * slice < 4 * kGrainBytes) {
    at::parallel_for(0, g.outer, block_grain, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) f(o, nullptr, g.count, int64_t{0}, g.inner);
    });
    return;
  }
  SortScratch scratch;
  std::vector<int64_t> order(static_cast<size_t>(g.count));
  sort_row(ScalarType::Long, g.offsets, 1, g.count, false, scratch, order.data());
  const auto same_place = [&](int64_t i) { return g.offsets[order[i]] == g.offsets[order[i - 1]]; };
  int64_t places = 1;
  for (int64_t i = 1; i < g.count; ++i) places += !same_place(i);
  if (places >= 8 * at::get_num_threads()) {
    at::parallel_for(0, g.count, std::max<int64_t>(1, kGrainBytes / (g.outer * slice)), [&](int64_t begin, int64_t end) {
      while (begin > 0 && begin < end && same_place(begin)) ++begin;
      if (begin == end) return;
      while (end < g.count && same_place(end)) ++end;
      for (int64_t o = 0; o < g.outer; ++o) f(o, &order[begin], end - begin, int64_t{0}, g.inner);
    });
    return;
  }
  const int64_t grain = std::max<int64_t>(256 / item_size, kGrainBytes / (g.outer * g.count * item_size));
  at::parallel_for(0, g.inner, grain, [&](int64_t begin, int64_t end) {
    for (int64_t o = 0; o < g.outer; ++o) f(o, nullptr, g.count, begin, end);
  });
}

template <class T>
void take_items(T* dense, const T* place, const SliceGeometry& g, int64_t begin, int64_t end) {
  for (int64_t j = begin; j < end;) {
    const int64_t o = j / g.count, first = j % g.count, n = std::min(g.count - first, end - j);
    const T* from = place + o * g.outer_stride;
    for (int64_t i = 0; i < n; ++i) dense[j + i] = from[g.offsets[first + i]];
    j += n;
  }
}

// x + y as the type does it: half and bfloat16 round each sum, bool is a logical or, integers wrap around.
template <class T>
inline T plus(T x, T y) {
  if constexpr (std::is_same_v<T, Boolean>) {
    return x || y;
  } else if constexpr (std::is_same_v<T, c10::Half> || std::is_same_v<T, c10::BFloat16>) {
    return static_cast<T>(static_cast<float>(x) + static_cast<float>(y));
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(x) + static_cast<uint64_t>(y));
  } else {
    return x + y;
  }
}
template <class T>
inline T times(T x, T y) {
  if constexpr (std::is_same_v<T, Boolean>) {
    return x && y;
  } else if constexpr (std::is_same_v<T, c10::Half> || std::is_same_v<T, c10::BFloat16>) {
    return static_cast<T>(static_cast<float>(x) * static_cast<float>(y));
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
  } else {
    return x * y;
  }
}

// target[k] = add(target[k], source[k]). Where the next slice comes from and goes is not for the processor to guess: its lines
// are asked for meanwhile.
template <class T, class Add>
void add_slice(T* target, const T* source, const T* next_target, const T* next_source, int64_t from, int64_t to, const Add& add) {
  constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T));
  int64_t k = from;
  for (; k + kLine <= to; k += kLine) {
    __builtin_prefetch(next_target + k, 1);
    __builtin_prefetch(next_source + k);
    T line[kLine];  // no overlap for the compiler to fear
    for (int64_t j = 0; j < kLine; ++j) line[j] = add(target[k + j], source[k + j]);
    for (int64_t j = 0; j < kLine; ++j) target[k + j] = line[j];
  }
  for (; k < to; ++k) target[k] = add(target[k], source[k]);
}

}  // namespace

int64_t find_out_of_range(const int64_t* index, int64_t n, int64_t stride, int64_t low, int64_t high) {
  constexpr int64_t kBlock = 1024;
  const auto least = static_cast<uint64_t>(low), most = static_cast<uint64_t>(high) - 1;
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t end = std::min(i + kBlock, n);
    uint64_t bad = 0;
    // One of the differences is negative for a number outside; of large ones the other may wrap around.
    const auto differences = [=](int64_t v) {
      return (static_cast<uint64_t>(v) - least) | (most - static_cast<uint64_t>(v));
    };
    if (stride == 1) {
      constexpr int64_t kLine = 8, kPage = 512;  // asked for a page ahead: the processor looks no further than its end
      int64_t k = i;
      for (; k + kLine <= end; k += kLine) {
        __builtin_prefetch(index + k + kPage);
        for (int64_t j = k; j < k + kLine; ++j) bad |= differences(index[j]);
      }
      for (; k < end; ++k) bad |= differences(index[k]);
    } else {
      for (int64_t k = i; k < end; ++k) bad |= differences(index[k * stride]);
    }
    if (static_cast<int64_t>(bad) >= 0) continue;
    for (int64_t k = i; k < end; ++k) {
      if (index[k * stride] < low || index[k * stride] >= high) return k;
    }
  }
  return -1;
}

void take_slices(void* dense, const void* place, const SliceGeometry& g, int64_t item_size) {
  if (g.outer == 0 || g.count == 0 || g.inner == 0) return;
  const int64_t slice = g.inner * item_size;
  at::parallel_for(0, g.outer * g.count, std::max<int64_t>(1, kGrainBytes / slice), [&](int64_t begin, int64_t end) {
    if (g.inner == 1) {
      visit_item_size(item_size, [&](auto tag) {
        using T = typename decltype(tag)::type;
        take_items(static_cast<T*>(dense), static_cast<const T*>(place), g, begin, end);
      });
      return;
    }
    char* to = static_cast<char*>(dense) + begin * slice;
    for (int64_t j = begin; j < end; ++j, to += slice) {
      const int64_t from = j / g.count * g.outer_stride + g.offsets[j % g.count];
      std::memcpy(to, static_cast<const char*>(place) + from * item_size, static_cast<size_t>(slice));
    }
  });
}

void put_slices(void* place, const void* dense, const SliceGeometry& g, int64_t item_size) {
  if (g.outer == 0 || g.count == 0 || g.inner == 0) return;
  for_disjoint_parts(g, item_size, [&](int64_t o, const int64_t* order, int64_t n, int64_t from, int64_t to) {
    const char* source = static_cast<const char*>(dense) + (o * g.count * g.inner + from) * item_size;
    char* base = static_cast<char*>(place) + (o * g.outer_stride + from) * item_size;
    const int64_t step = g.inner * item_size;
    if (to - from == 1) {
      visit_item_size(item_size, [&](auto tag) {
        using T = typename decltype(tag)::type;
        T* place = reinterpret_cast<T*>(base);
        int64_t k = 0;
        if (order == nullptr) {
          constexpr int64_t kAhead = 16;
          for (; k + kAhead < n; ++k) {
            __builtin_prefetch(place + g.offsets[k + kAhead], 1);
            place[g.offsets[k]] = *reinterpret_cast<const T*>(source + k * step);
          }
        }
        for (; k < n; ++k) {
          const int64_t i = order != nullptr ? order[k] : k;
          place[g.offsets[i]] = *reinterpret_cast<const T*>(source + i * step);
        }
      });
      return;
    }
    const auto bytes = static_cast<size_t>((to - from) * item_size);
    for (int64_t k = 0; k < n; ++k) {
      const int64_t i = order != nullptr ? order[k] : k;
      std::memcpy(base + g.offsets[i] * item_size, source + i * step, bytes);
    }
  });
}

void fill_slices(void* place, const void* item, const SliceGeometry& g, int64_t item_size) {
  if (g.outer == 0 || g.count == 0 || g.inner == 0) return;
  for_disjoint_parts(g, item_size, [&](int64_t o, const int64_t* order, int64_t n, int64_t from, int64_t to) {
    char* base = static_cast<char*>(place) + (o * g.outer_stride + from) * item_size;
    for (int64_t k = 0; k < n; ++k)
      fill_run(base + g.offsets[order != nullptr ? order[k] : k] * item_size, item, to - from, item_size);
  });
}

void add_slices(void* place, const void* dense, const SliceGeometry& g, c10::ScalarType type, double alpha_re, double alpha_im,
                int64_t alpha_integer) {
  if (g.outer == 0 || g.count == 0 || g.inner == 0) return;
  visit_all(type, "index_add", [&](auto tag) {
    using T = typename decltype(tag)::type;
    T alpha;
    if constexpr (c10::is_complex_v<T>) {
      using R = decltype(T().real());
      alpha = T(static_cast<R>(alpha_re), static_cast<R>(alpha_im));
    } else if constexpr (kIsIntegral<T>) {
      alpha = static_cast<T>(alpha_integer);
    } else if constexpr (std::is_same_v<T, double>) {
      alpha = alpha_re;
    } else {
      alpha = static_cast<T>(static_cast<float>(alpha_re));
    }
    const bool one = alpha_re == 1 && alpha_im == 0;
    for_disjoint_parts(g, sizeof(T), [&](int64_t o, const int64_t* order, int64_t n, int64_t from, int64_t to) {
      const T* block = static_cast<const T*>(dense) + o * g.count * g.inner;
      T* base = static_cast<T*>(place) + o * g.outer_stride;
      const auto at = [&](int64_t k) { return order != nullptr ? order[k] : k; };
      for (int64_t k = 0; k < n; ++k) {
        const int64_t i = at(k), next = at(k + 1 < n ? k + 1 : k);
        const auto add = [&](const auto& sum) {
          add_slice(base + g.offsets[i], block + i * g.inner, base + g.offsets[next], block + next * g.inner, from, to, sum);
        };
        if (one) {
          add([](T x, T y) { return plus(x, y); });
        } else {
          add([alpha](T x, T y) { return plus(x, times(alpha, y)); });
        }
      }
    });
  });
}

}  // namespace at::cpu

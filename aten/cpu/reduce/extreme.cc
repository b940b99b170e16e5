// max, min, argmax, argmin.
#include <algorithm>

#include "aten/cpu/reduce/kernel-inl.h"

namespace at::cpu {
namespace {

// The type that values are compared in; bool as bytes, so that loops over it vectorise.
template <class T>
using Compared = std::conditional_t<std::is_same_v<T, Boolean>, uint8_t, decltype(widen(T{}))>;

template <class C, bool kMax>
constexpr C neutral() {
  using L = std::numeric_limits<C>;
  if constexpr (L::has_infinity) {
    return kMax ? -L::infinity() : L::infinity();
  } else {
    return kMax ? L::lowest() : L::max();
  }
}

// Whether x replaces best: larger (smaller), or the first NaN.
template <bool kMax, class C>
inline bool better(C x, C best) {
  if constexpr (std::is_floating_point_v<C>) {
    return best == best && !(kMax ? x <= best : x >= best);
  } else {
    return kMax ? x > best : x < best;
  }
}

template <bool kMax, class T>
Compared<T> row_extreme(const T* x, int64_t n) {
  if constexpr (kIsFloating<T>) {
    return kMax ? row_max(x, n) : row_min(x, n);
  } else if constexpr (std::is_same_v<T, Boolean>) {
    uint8_t best = neutral<uint8_t, kMax>();
    for (int64_t i = 0; i < n; ++i) {
      const uint8_t v = static_cast<uint8_t>(x[i]);
      best = kMax ? std::max(best, v) : std::min(best, v);
    }
    return best;
  } else {
    return integer_row_extreme(x, n, kMax);
  }
}

template <class T>
void put(char* out, Compared<T> v) {
  *reinterpret_cast<T*>(out) = static_cast<T>(v);
}

template <bool kMax, class T>
struct ExtremeOp {
  using In = T;
  using C = Compared<T>;
  struct State {
    C value = neutral<C, kMax>();
  };
  static constexpr auto kCuda = kMax ? &cuda::reductions::max : &cuda::reductions::min;
  static constexpr bool kOrdered = false, kRows = true, kColumns = true;

  static void step(State& s, In x, int64_t, const ReduceParams&) {
    const C v = static_cast<C>(widen(x));
    if (better<kMax>(v, s.value)) s.value = v;
  }
  static void row(State& s, const In* x, int64_t n, int64_t, const ReduceParams&) {
    const C v = row_extreme<kMax>(x, n);
    if (better<kMax>(v, s.value)) s.value = v;
  }
  static void columns(State* s, const In* x, int64_t row_stride, int64_t rows, int64_t cols, const ReduceParams&) {
    static_assert(sizeof(State) == sizeof(C));
    if constexpr (kIsFloating<T>) {
      if constexpr (kMax) {
        column_max(x, row_stride, rows, cols, &s->value);
      } else {
        column_min(x, row_stride, rows, cols, &s->value);
      }
    } else if constexpr (!std::is_same_v<T, Boolean>) {
      integer_column_extreme(x, row_stride, rows, cols, kMax, &s->value);
    } else {
      C* best = &s->value;
      for (int64_t r = 0; r < rows; ++r) {
        const In* row = reinterpret_cast<const In*>(reinterpret_cast<const char*>(x) + r * row_stride);
        for (int64_t j = 0; j < cols; ++j) {
          const C v = static_cast<C>(row[j]);
          best[j] = kMax ? std::max(best[j], v) : std::min(best[j], v);
        }
      }
    }
  }
  static void combine(State& a, const State& b) {
    if (better<kMax>(b.value, a.value)) a.value = b.value;
  }
  static void finish(const State& s, char* out0, char*, const ReduceParams&) { put<T>(out0, s.value); }
};

template <bool kMax, class T>
struct ArgOp {
  using In = T;
  using C = Compared<T>;
  struct State {
    C value = neutral<C, kMax>();
    int64_t position = -1;
  };
  static constexpr auto kCuda = kMax ? &cuda::reductions::argmax : &cuda::reductions::argmin;
  static constexpr bool kOrdered = true, kRows = true, kColumns = false;

  static void take(State& s, C v, int64_t position) {
    if (s.position < 0 || better<kMax>(v, s.value)) s = {v, position};
  }
  static void step(State& s, In x, int64_t position, const ReduceParams&) { take(s, static_cast<C>(widen(x)), position); }
  // Block by block: the block's extreme first, its place only where it is a new best.
  static void row(State& s, const In* x, int64_t n, int64_t position, const ReduceParams&) {
    constexpr int64_t kBlock = 1024;
    for (int64_t i = 0; i < n; i += kBlock) {
      const int64_t m = std::min(kBlock, n - i);
      const C v = row_extreme<kMax>(x + i, m);
      if (s.position >= 0 && !better<kMax>(v, s.value)) continue;
      int64_t k = 0;
      if constexpr (kIsFloating<T>) {
        k = row_find(x + i, m, v);
      } else {
        while (!(static_cast<C>(widen(x[i + k])) == v)) ++k;
      }
      s = {v, position + i + k};
    }
  }
  static void columns(State*, const In*, int64_t, int64_t, int64_t, const ReduceParams&) {}
  static void combine(State& a, const State& b) {
    if (b.position >= 0) take(a, b.value, b.position);
  }
  static void finish(const State& s, char* out0, char* out1, const ReduceParams&) {
    if (out0) put<T>(out0, s.value);
    if (out1) *reinterpret_cast<int64_t*>(out1) = s.position;
  }
};

// Both at once: the least and the greatest.
template <class T>
struct MinMaxOp {
  using In = T;
  using C = Compared<T>;
  struct State {
    C least = neutral<C, false>(), greatest = neutral<C, true>();
  };
  static constexpr auto kCuda = &cuda::reductions::minmax;
  static constexpr bool kOrdered = false, kRows = true, kColumns = false;

  static void take(State& s, C least, C greatest) {
    if (better<false>(least, s.least)) s.least = least;
    if (better<true>(greatest, s.greatest)) s.greatest = greatest;
  }
  static void step(State& s, In x, int64_t, const ReduceParams&) {
    const C v = static_cast<C>(widen(x));
    take(s, v, v);
  }
  // Blocks that the first-level cache holds for the second pass.
  static void row(State& s, const In* x, int64_t n, int64_t, const ReduceParams&) {
    constexpr int64_t kBlock = 8192 / static_cast<int64_t>(sizeof(In));
    for (int64_t i = 0; i < n; i += kBlock) {
      const int64_t m = std::min(kBlock, n - i);
      take(s, row_extreme<false>(x + i, m), row_extreme<true>(x + i, m));
    }
  }
  static void columns(State*, const In*, int64_t, int64_t, int64_t, const ReduceParams&) {}
  static void combine(State& a, const State& b) { take(a, b.least, b.greatest); }
  static void finish(const State& s, char* out0, char* out1, const ReduceParams&) {
    if (out0) put<T>(out0, s.least);
    if (out1) put<T>(out1, s.greatest);
  }
};
template <bool, class T>
using MinMaxOpOf = MinMaxOp<T>;

template <template <bool, class> class Op, bool kMax>
const ReduceKernel* find(c10::ScalarType type) {
  switch (type) {
    case c10::ScalarType::Float: return &kReduceKernel<Op<kMax, float>>;
    case c10::ScalarType::Double: return &kReduceKernel<Op<kMax, double>>;
    case c10::ScalarType::Half: return &kReduceKernel<Op<kMax, c10::Half>>;
    case c10::ScalarType::BFloat16: return &kReduceKernel<Op<kMax, c10::BFloat16>>;
    case c10::ScalarType::Byte: return &kReduceKernel<Op<kMax, uint8_t>>;
    case c10::ScalarType::Char: return &kReduceKernel<Op<kMax, int8_t>>;
    case c10::ScalarType::Short: return &kReduceKernel<Op<kMax, int16_t>>;
    case c10::ScalarType::Int: return &kReduceKernel<Op<kMax, int32_t>>;
    case c10::ScalarType::Long: return &kReduceKernel<Op<kMax, int64_t>>;
    case c10::ScalarType::Bool: return &kReduceKernel<Op<kMax, Boolean>>;
    default: return nullptr;
  }
}

}  // namespace

const ReduceKernel* max_kernel(c10::ScalarType type) { return find<ExtremeOp, true>(type); }
const ReduceKernel* min_kernel(c10::ScalarType type) { return find<ExtremeOp, false>(type); }
const ReduceKernel* argmax_kernel(c10::ScalarType type) { return find<ArgOp, true>(type); }
const ReduceKernel* argmin_kernel(c10::ScalarType type) { return find<ArgOp, false>(type); }

const ReduceKernel* minmax_kernel(c10::ScalarType type) { return find<MinMaxOpOf, true>(type); }

}  // namespace at::cpu

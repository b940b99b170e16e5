#pragma once
// Makes a ReduceKernel of an operation. Op has
//   using In; struct State; static constexpr bool kOrdered;
//   static constexpr auto kCuda = &cuda::reductions::...;
//   static void step(State&, In x, int64_t position, const ReduceParams&);
//   static void combine(State& into, const State& from);
//   static void finish(const State&, char* out0, char* out1, const ReduceParams&);
// and, where it has a better way than step by step (kRows, kColumns):
//   static void row(State&, const In* x, int64_t n, int64_t position, const ReduceParams&);
//   static void columns(State*, const In* x, int64_t row_stride, int64_t rows, int64_t cols, const ReduceParams&);
// and, if it has them, for many short rows and their results:
//   static void packed_rows(State*, const In* x, int64_t rows, int64_t n);  // n is 2, 4 or 8
//   static void finish_many(const State*, int64_t m, char* out0, int64_t stride0, const ReduceParams&);
// A default-constructed State has seen nothing.

#include <cmath>
#include <limits>
#include <new>
#include <type_traits>

#include "aten/cpu/reduce/reduce.h"
#include "aten/cpu/rows/rows.h"
#include "aten/cpu/support/boolean.h"
#include "c10/util/bfloat16.h"
#include "c10/util/complex.h"
#include "c10/util/half.h"

namespace at::cuda::reductions {

// There in programs that link //aten/cuda.
#define AT_CUDA_REDUCTION(name) [[gnu::weak]] ReduceLaunchers name(c10::ScalarType type, const cpu::ReduceParams& params);
AT_CUDA_REDUCTION(sum)
AT_CUDA_REDUCTION(nansum)
AT_CUDA_REDUCTION(prod)
AT_CUDA_REDUCTION(max)
AT_CUDA_REDUCTION(min)
AT_CUDA_REDUCTION(minmax)
AT_CUDA_REDUCTION(argmax)
AT_CUDA_REDUCTION(argmin)
AT_CUDA_REDUCTION(moments)
AT_CUDA_REDUCTION(all)
AT_CUDA_REDUCTION(any)
AT_CUDA_REDUCTION(count_nonzero)
AT_CUDA_REDUCTION(norm)
AT_CUDA_REDUCTION(logsumexp)
#undef AT_CUDA_REDUCTION

}  // namespace at::cuda::reductions

namespace at::cpu {

// What an element is computed in: half and bfloat16 in float, all else as itself.
template <class T>
inline auto widen(T x) {
  if constexpr (std::is_same_v<T, c10::Half> || std::is_same_v<T, c10::BFloat16>) {
    return static_cast<float>(x);
  } else {
    return x;
  }
}
template <class T>
inline constexpr bool kIsReal = !c10::is_complex_v<T>;
template <class T>
inline constexpr bool kIsFloating =
    std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, c10::Half> || std::is_same_v<T, c10::BFloat16>;

template <class T>
inline bool is_nan(T x) {
  if constexpr (kIsFloating<T>) {
    return widen(x) != widen(x);
  } else if constexpr (c10::is_complex_v<T>) {
    return x.real() != x.real() || x.imag() != x.imag();
  } else {
    return false;
  }
}

template <class Op>
void reduce_init(void* states, int64_t m) {
  for (int64_t j = 0; j < m; ++j) new (static_cast<typename Op::State*>(states) + j) typename Op::State();
}

template <class Op>
void reduce_accumulate(void* raw, const char* x, int64_t m, int64_t m_stride, int64_t n, int64_t n_stride, int64_t position,
                       const ReduceParams& params) {
  using In = typename Op::In;
  auto* states = static_cast<typename Op::State*>(raw);
  constexpr int64_t kSize = sizeof(In);
  if constexpr (Op::kColumns) {
    if (m_stride == kSize && m > 1 && (n_stride != kSize || n < 8)) {
      Op::columns(states, reinterpret_cast<const In*>(x), n_stride, n, m, params);
      return;
    }
  }
  if constexpr (requires { Op::packed_rows(states, nullptr, m, n); }) {
    if (n_stride == kSize && m_stride == n * kSize && (n == 2 || n == 4 || n == 8)) {
      return Op::packed_rows(states, reinterpret_cast<const In*>(x), m, n);
    }
  }
  if constexpr (Op::kRows) {
    if (n_stride == kSize && n >= 16) {
      for (int64_t j = 0; j < m; ++j) Op::row(states[j], reinterpret_cast<const In*>(x + j * m_stride), n, position, params);
      return;
    }
  }
  const int64_t am = m_stride < 0 ? -m_stride : m_stride, an = n_stride < 0 ? -n_stride : n_stride;
  if (am < an && m > 1) {
    for (int64_t i = 0; i < n; ++i) {
      const char* line = x + i * n_stride;
      if (m_stride == kSize) {
        // A loop of its own, of which the compiler makes vectors.
        for (int64_t j = 0; j < m; ++j) Op::step(states[j], reinterpret_cast<const In*>(line)[j], position + i, params);
      } else {
        for (int64_t j = 0; j < m; ++j) {
          Op::step(states[j], *reinterpret_cast<const In*>(line + j * m_stride), position + i, params);
        }
      }
    }
  } else {
    int64_t j = 0;
    // Four short rows at a time, so that one row's steps need not wait for another's.
    for (; n < 16 && j + 4 <= m; j += 4) {
      typename Op::State s[4] = {states[j], states[j + 1], states[j + 2], states[j + 3]};
      const char* row = x + j * m_stride;
      for (int64_t i = 0; i < n; ++i, row += n_stride) {
        for (int k = 0; k < 4; ++k) Op::step(s[k], *reinterpret_cast<const In*>(row + k * m_stride), position + i, params);
      }
      for (int k = 0; k < 4; ++k) states[j + k] = s[k];
    }
    for (; j < m; ++j) {
      typename Op::State s = states[j];
      for (int64_t i = 0; i < n; ++i) {
        Op::step(s, *reinterpret_cast<const In*>(x + j * m_stride + i * n_stride), position + i, params);
      }
      states[j] = s;
    }
  }
}

template <class Op>
void reduce_combine(void* into, const void* from, int64_t m) {
  for (int64_t j = 0; j < m; ++j) {
    Op::combine(static_cast<typename Op::State*>(into)[j], static_cast<const typename Op::State*>(from)[j]);
  }
}

template <class Op>
void reduce_finish(const void* states, int64_t m, char* out0, int64_t stride0, char* out1, int64_t stride1,
                   const ReduceParams& params) {
  if constexpr (requires { Op::finish_many(nullptr, m, out0, stride0, params); }) {
    return Op::finish_many(static_cast<const typename Op::State*>(states), m, out0, stride0, params);
  }
  for (int64_t j = 0; j < m; ++j) {
    Op::finish(static_cast<const typename Op::State*>(states)[j], out0 ? out0 + j * stride0 : nullptr,
               out1 ? out1 + j * stride1 : nullptr, params);
  }
}

template <class Op>
inline constexpr ReduceKernel kReduceKernel{sizeof(typename Op::State), Op::kOrdered,       reduce_init<Op>,
                                            reduce_accumulate<Op>,      reduce_combine<Op>, reduce_finish<Op>,
                                            Op::kCuda};

// Writes a double, int64_t or complex<double> as an element of a type.
void store_result(double v, c10::ScalarType type, char* out);
void store_result(int64_t v, c10::ScalarType type, char* out);
void store_result(c10::complex<double> v, c10::ScalarType type, char* out);

// A sum of doubles with the error of each addition carried along (Knuth, TAOCP 2, 4.2.2).
struct ExactSum {
  double sum = 0, error = 0;
  void add(double v) {
    const double t = sum + v;
    const double back = t - sum;
    error += (sum - (t - back)) + (v - back);
    sum = t;
  }
  double value() const { return std::isfinite(sum) ? sum + error : sum; }
};

}  // namespace at::cpu

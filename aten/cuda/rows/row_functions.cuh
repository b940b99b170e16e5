// Rows as their threads see them, and functions of rows: for kernels of operators (rows.cuh), and for those that are
// compiled while a program runs (compile/cuda), whose elements come from elsewhere.
#pragma once

#include <cmath>
#include <cstdint>

#include "aten/cuda/reduce/block.cuh"
#include "aten/cuda/rows/row_units.h"

namespace at::cuda {

/// A row as one of its kLanes threads sees it. All of them call the same functions in the same order. A thread has
/// kRowVector elements of each unit: pieces of neighbours, so that what the threads read at once lies together. With
/// kHolds a row has at most held_units() units, and a thread keeps its elements.
///
/// `Self`, which derives from this, has
///     call                                                 // with `size`, and `eps` and `in` of layer normalisation
///     int piece() const;                                   // neighbours that are one thread's, a power of two
///     template <int kInput> void load_input(T (&x)[kRowVector], int n, int u) const;
///     void store(const T (&y)[kRowVector], int n, int u) const;  // both: of unit u the first n elements
///     T element(int input, int64_t k) const;               // the one at place k
///     template <int k> void set_number(T value) const;     // a result that each row has one of
template <class Self, class T, int kLanes, bool kHolds>
struct RowThread {
  using Number = T;
  static constexpr int kHeld = kHolds ? held_units(sizeof(T)) : 0;

  int lane;
  char* scratch;  // of the block

  __device__ __forceinline__ RowThread(int lane, char* scratch) : lane(lane), scratch(scratch) {}

  /// The thread's elements of the inputs kWhich; read when they are used where none are kept.
  template <int... kWhich>
  struct Elements {
    T x[kHolds ? kHeld : 1][sizeof...(kWhich)][kRowVector];
  };

  template <int... kWhich>
  __device__ __forceinline__ Elements<kWhich...> elements() const {
    if constexpr (kHolds) {
      Elements<kWhich...> e;
#pragma unroll
      for (int u = 0; u < kHeld; ++u) load<kWhich...>(e.x[u], u);
      return e;
    } else {
      return {};
    }
  }

  /// Calls f(x, count, unit) for each unit: x[i][j] is the j-th of this thread's `count` elements of the i-th input.
  template <int... kWhich, class F>
  __device__ __forceinline__ void each(const Elements<kWhich...>& e, const F& f) const {
    if constexpr (kHolds) {
#pragma unroll
      for (int u = 0; u < kHeld; ++u) f(e.x[u], count(u), u);
    } else {
      const auto units = static_cast<int>((self().call.size - 1) / kUnit + 1);
      for (int u = 0; u < units; ++u) {
        T x[sizeof...(kWhich)][kRowVector];
        load<kWhich...>(x, u);
        f(x, count(u), u);
      }
    }
  }

  /// Writes the result's elements, f(k, v) for place k, with v[i] of the i-th of the inputs kWhich and then kMore.
  template <int... kMore, int... kWhich, class F>
  __device__ __forceinline__ void map(const Elements<kWhich...>& e, const F& f) const {
    constexpr int kInputs = sizeof...(kWhich);
    each(e, [&](const auto& x, int n, int u) {
      T more[sizeof...(kMore) + 1][kRowVector];
      load<kMore...>(more, u);
      T y[kRowVector];
#pragma unroll
      for (int j = 0; j < kRowVector; ++j) {
        T v[kInputs + sizeof...(kMore)];
#pragma unroll
        for (int i = 0; i < kInputs; ++i) v[i] = x[i][j];
#pragma unroll
        for (int i = 0; i < static_cast<int>(sizeof...(kMore)); ++i) v[kInputs + i] = more[i][j];
        y[j] = f(place(u, j), v);
      }
      self().store(y, n, u);
    });
  }

  /// The inputs kWhich of a unit.
  template <int... kWhich, int kRows>
  __device__ __forceinline__ void load(T (&x)[kRows][kRowVector], int u) const {
    [[maybe_unused]] const int n = count(u);
    [[maybe_unused]] int i = 0;
    (self().template load_input<kWhich>(x[i++], n, u), ...);
  }

  /// How many elements of a unit this thread has: those with the lowest places.
  __device__ __forceinline__ int count(int u) const {
    const int64_t left = self().call.size - place(u, 0);
    if (left <= 0) return 0;
    const int piece = self().piece(), all = kRowVector / piece;
    const int64_t step = int64_t{kLanes} * piece;
    return (left > (all - 1) * step ? all : static_cast<int>((left - 1) / step) + 1) * piece;
  }
  /// Where the j-th of them is in the row.
  __device__ __forceinline__ int64_t place(int u, int j) const {
    const int piece = self().piece();
    return u * int64_t{kUnit} + (j & ~(piece - 1)) * kLanes + lane * piece + (j & (piece - 1));
  }

  /// What all threads of the row have together, for each of them; join(into, from).
  template <class V, class Join>
  __device__ __forceinline__ V together(V value, const Join& join) const {
    if constexpr (kLanes == 32) {
      join_lanes(value, 32, join);
      return shuffle_from(value, 0);
    } else if constexpr (kLanes > 32) {
      V* room = reinterpret_cast<V*>(scratch);
      join_block(value, lane, kLanes, room, join);
      if (lane == 0) room[0] = value;
      __syncthreads();
      value = room[0];
      __syncthreads();
      return value;
    } else {
      return value;
    }
  }
  __device__ __forceinline__ T sum(T value) const {
    return together(value, [](T& into, const T& from) { into += from; });
  }

 private:
  static constexpr int kUnit = kLanes * kRowVector;

  __device__ __forceinline__ const Self& self() const { return *static_cast<const Self*>(this); }
};

// exp(top) * sum. Below an infinite top all is NaN.
template <class T>
struct Exponentials {
  T top = -INFINITY, sum = 0;

  // The first n.
  __device__ __forceinline__ void take(const T (&x)[kRowVector], int n) {
    T largest = -INFINITY;
#pragma unroll
    for (int i = 0; i < kRowVector; ++i) {
      // A NaN comes to the sum below.
      if (i < n) largest = x[i] > largest ? x[i] : largest;
    }
    if (largest > top) {
      sum *= ::exp(top - largest);
      top = largest;
    }
#pragma unroll
    for (int i = 0; i < kRowVector; ++i) {
      if (i < n) sum += x[i] == -INFINITY ? T(0) : ::exp(x[i] - top);
    }
  }
  __device__ __forceinline__ void join(const Exponentials& other) {
    if (other.top == top) {
      sum += other.sum;
    } else if (other.top < top) {
      sum += other.sum * ::exp(other.top - top);
    } else {
      sum = sum * ::exp(top - other.top) + other.sum;
      top = other.top;
    }
  }
};

/// Of the first of a row's elements `e`, for each of its threads.
template <class R, class E>
__device__ __forceinline__ Exponentials<typename R::Number> exponentials(const R& row, const E& e) {
  using All = Exponentials<typename R::Number>;
  All own;
  row.each(e, [&](const auto& x, int n, int) { own.take(x[0], n); });
  return row.together(own, [](All& into, const All& from) { into.join(from); });
}

template <bool kLog>
struct Softmax {
  static constexpr bool kAnyInner = true;

  template <class R>
  static __device__ __forceinline__ void run(const R& row) {
    using T = typename R::Number;
    const auto e = row.template elements<0>();
    const Exponentials<T> all = exponentials(row, e);
    if constexpr (kLog) {
      const T below = ::log(all.sum);
      row.template map<>(e, [&](int64_t, const T* x) { return x[0] - all.top - below; });
    } else {
      const T scale = 1 / all.sum;
      row.template map<>(e, [&](int64_t, const T* x) { return ::exp(x[0] - all.top) * scale; });
    }
  }
};

struct LayerNorm {
  static constexpr bool kAnyInner = false;

  template <class R>
  static __device__ __forceinline__ void run(const R& row) {
    using T = typename R::Number;
    const auto& call = row.call;
    const auto e = row.template elements<0>();
    const T count = static_cast<T>(call.size);
    // About the first element: of equal ones the mean is exactly theirs.
    const T first = call.size > 0 ? row.element(0, 0) : T(0);
    T off = 0;
    row.each(e, [&](const auto& x, int n, int) {
#pragma unroll
      for (int i = 0; i < kRowVector; ++i) {
        if (i < n) off += x[0][i] - first;
      }
    });
    const T mean = first + row.sum(off) / count;
    T square = 0;
    row.each(e, [&](const auto& x, int n, int) {
#pragma unroll
      for (int i = 0; i < kRowVector; ++i) {
        if (i < n) square += (x[0][i] - mean) * (x[0][i] - mean);
      }
    });
    const T variance = row.sum(square) / count, scale = 1 / ::sqrt(variance + static_cast<T>(call.eps));
    row.template set_number<0>(mean);
    row.template set_number<1>(scale);
    const auto normal = [=](T x) { return (x - mean) * scale; };
    if (call.in[1] != nullptr && call.in[2] != nullptr) {
      row.template map<1, 2>(e, [&](int64_t, const T* x) { return normal(x[0]) * x[1] + x[2]; });
    } else if (call.in[1] != nullptr) {
      row.template map<1>(e, [&](int64_t, const T* x) { return normal(x[0]) * x[1]; });
    } else if (call.in[2] != nullptr) {
      row.template map<2>(e, [&](int64_t, const T* x) { return normal(x[0]) + x[1]; });
    } else {
      row.template map<>(e, [&](int64_t, const T* x) { return normal(x[0]); });
    }
  }
};

}  // namespace at::cuda

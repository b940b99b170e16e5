// Functions of rows, which are as Row of rows.cuh: for kernels of operators, and for those that are compiled while a
// program runs (compile/cuda), which have rows of their own.
#pragma once

#include <cmath>
#include <cstdint>

#include "aten/cuda/reduce/block.cuh"

namespace at::cuda {

/// What all threads of a row have together, for each of them; join(into, from). `scratch` is the block's.
template <int kLanes, class T, class Join>
__device__ __forceinline__ T together(T value, int lane, char* scratch, const Join& join) {
  if constexpr (kLanes == 32) {
    join_lanes(value, 32, join);
    return shuffle_from(value, 0);
  } else if constexpr (kLanes > 32) {
    T* room = reinterpret_cast<T*>(scratch);
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

// exp(top) * sum. Below an infinite top all is NaN.
template <class T>
struct Exponentials {
  T top = -INFINITY, sum = 0;

  template <int kCount>
  __device__ __forceinline__ void take(const T (&x)[kCount]) {
    T largest = x[0];
#pragma unroll
    for (int i = 1; i < kCount; ++i) largest = x[i] > largest ? x[i] : largest;
    if (largest > top) {
      sum *= ::exp(top - largest);
      top = largest;
    }
#pragma unroll
    for (int i = 0; i < kCount; ++i) sum += x[i] == -INFINITY ? T(0) : ::exp(x[i] - top);
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

template <bool kLog>
struct Softmax {
  static constexpr bool kAnyInner = true;

  template <class R>
  static __device__ __forceinline__ void run(const R& row) {
    using T = typename R::Number;
    Exponentials<T> own;
    row.template each<0>([&](int64_t, const auto& x) { own.take(x[0]); });
    const Exponentials<T> all =
        row.together(own, [](Exponentials<T>& into, const Exponentials<T>& from) { into.join(from); });
    if constexpr (kLog) {
      const T below = ::log(all.sum);
      row.template map<0>([&](int64_t, const T* x) { return x[0] - all.top - below; });
    } else {
      const T scale = 1 / all.sum;
      row.template map<0>([&](int64_t, const T* x) { return ::exp(x[0] - all.top) * scale; });
    }
  }
};

struct LayerNorm {
  static constexpr bool kAnyInner = false;

  template <class R>
  static __device__ __forceinline__ void run(const R& row) {
    using T = typename R::Number;
    const auto& call = row.call;
    const T count = static_cast<T>(call.size);
    // About the first element: of equal ones the mean is exactly theirs.
    const T first = call.size > 0 ? row.first_of(0) : T(0);
    T off = 0;
    row.template each<0>([&](int64_t, const auto& x) {
#pragma unroll
      for (int i = 0; i < static_cast<int>(sizeof(x[0]) / sizeof(T)); ++i) off += x[0][i] - first;
    });
    const T mean = first + row.sum(off) / count;
    T square = 0;
    row.template each<0>([&](int64_t, const auto& x) {
#pragma unroll
      for (int i = 0; i < static_cast<int>(sizeof(x[0]) / sizeof(T)); ++i)
        square += (x[0][i] - mean) * (x[0][i] - mean);
    });
    const T variance = row.sum(square) / count, scale = 1 / ::sqrt(variance + static_cast<T>(call.eps));
    row.template set_number<0>(mean);
    row.template set_number<1>(scale);
    const auto normal = [=](T x) { return (x - mean) * scale; };
    if (call.in[1] != nullptr && call.in[2] != nullptr) {
      row.template map<0, 1, 2>([&](int64_t, const T* x) { return normal(x[0]) * x[1] + x[2]; });
    } else if (call.in[1] != nullptr) {
      row.template map<0, 1>([&](int64_t, const T* x) { return normal(x[0]) * x[1]; });
    } else if (call.in[2] != nullptr) {
      row.template map<0, 2>([&](int64_t, const T* x) { return normal(x[0]) + x[1]; });
    } else {
      row.template map<0>([&](int64_t, const T* x) { return normal(x[0]); });
    }
  }
};

}  // namespace at::cuda

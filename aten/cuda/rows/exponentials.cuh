// What functions of exponentials of rows share.
#pragma once

#include <cmath>

#include "aten/cuda/rows/rows.cuh"

namespace at::cuda {

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

/// Of the elements of a row, for each of its threads.
template <class T, class Row, class Elements>
__device__ __forceinline__ Exponentials<T> exponentials(const Row& row, const Elements& e) {
  Exponentials<T> own;
  row.each(e, [&](const auto& x, int n, int) { own.take(x[0], n); });
  return row.together(own, [](Exponentials<T>& into, const Exponentials<T>& from) { into.join(from); });
}

}  // namespace at::cuda

#pragma once

#include "c10/cuda/launch.h"

namespace at::cuda {

template <class T>
KD_DEVICE bool is_finite(T v) {
  return v - v == T(0);
}

// A sum with the error of each addition carried along (Knuth, TAOCP 2, 4.2.2).
template <class T>
struct ExactSum {
  T sum = 0, error = 0;

  KD_DEVICE void add(T v) {
    const T total = sum + v, back = total - sum;
    error += (sum - (total - back)) + (v - back);
    sum = total;
  }
  KD_DEVICE void add(const ExactSum& other) {
    add(other.sum);
    error += other.error;
  }
  KD_DEVICE double value() const {
    return is_finite(sum) ? static_cast<double>(sum) + static_cast<double>(error) : static_cast<double>(sum);
  }
};

}  // namespace at::cuda

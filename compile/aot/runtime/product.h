// Products with constant matrices, float32.
#pragma once

#include <cstdint>

#include "aten/cpu/matrix/packed_product.h"
#include "compile/aot/runtime/stored.h"

namespace torch::aot {

template <class T>
class Product {
 public:
  /// y = x w^T + bias, w[n, k]; bias[n] or null.
  Product(int64_t n, int64_t k, Stored<T> w, const char* bias)
      : packed_(n, k, w.numbers(), w.scales(), reinterpret_cast<const float*>(bias)) {}

  /// y[m, n] of x[m, k], with `add` like y or null, limited to [low, high]; all dense.
  void run(int64_t m, const char* x, const float* add, float low, float high, char* y) const {
    packed_.run(m, reinterpret_cast<const float*>(x), add, low, high, reinterpret_cast<float*>(y));
  }
  /// The same in the calling thread: what is small need not bring a pool of threads along.
  void run_alone(int64_t m, const char* x, const float* add, float low, float high, char* y) const {
    packed_.run_alone(m, reinterpret_cast<const float*>(x), add, low, high, reinterpret_cast<float*>(y));
  }

 private:
  at::matrix::PackedProduct<T> packed_;
};

}  // namespace torch::aot

#pragma once

#include <cstddef>
#include <cstdint>

#include "c10/util/array_ref.h"

namespace at {

// N-dimensional indexing into memory that somebody else keeps alive: `a[i][j]` is element (i, j). Indices are not checked.
//
//   auto a = tensor.accessor<float, 2>();
//   for (int64_t i = 0; i < a.size(0); ++i) trace += a[i][i];
template <class T, size_t N>
class TensorAccessor {
 public:
  TensorAccessor(T* data, const int64_t* sizes, const int64_t* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  c10::IntArrayRef sizes() const { return c10::IntArrayRef(sizes_, N); }
  c10::IntArrayRef strides() const { return c10::IntArrayRef(strides_, N); }
  int64_t size(int64_t d) const { return sizes_[d]; }
  int64_t stride(int64_t d) const { return strides_[d]; }
  T* data() const { return data_; }
  decltype(auto) operator[](int64_t i) const {
    if constexpr (N == 1) {
      return static_cast<T&>(data_[i * strides_[0]]);
    } else {
      return TensorAccessor<T, N - 1>(data_ + i * strides_[0], sizes_ + 1, strides_ + 1);
    }
  }

 private:
  T* data_;
  const int64_t* sizes_;
  const int64_t* strides_;
};

}  // namespace at

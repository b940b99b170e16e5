#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "aten/core/accessor_fwd.h"
#include "c10/macros/macros.h"
#include "c10/util/array_ref.h"
#include "c10/util/exception.h"

namespace at {

// How an accessor holds its pointer: plain, or as one that nothing else points at.
template <class T>
struct DefaultPtrTraits {
  using PtrType = T*;
};
template <class T>
struct RestrictPtrTraits {
  using PtrType = T* C10_RESTRICT;
};

// Sizes and strides that are kept elsewhere, for as long as the accessor is used.
template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits, class index_t = int64_t>
class TensorAccessorBase {
 public:
  using PtrType = typename PtrTraits<T>::PtrType;

  C10_HOST_DEVICE TensorAccessorBase(PtrType data, const index_t* sizes, const index_t* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  C10_HOST c10::ArrayRef<index_t> sizes() const { return c10::ArrayRef<index_t>(sizes_, N); }
  C10_HOST c10::ArrayRef<index_t> strides() const { return c10::ArrayRef<index_t>(strides_, N); }
  C10_HOST_DEVICE index_t size(index_t d) const { return sizes_[d]; }
  C10_HOST_DEVICE index_t stride(index_t d) const { return strides_[d]; }
  C10_HOST_DEVICE T* data() const { return data_; }

 protected:
  PtrType data_;
  const index_t* sizes_;
  const index_t* strides_;
};

// N-dimensional indexing into memory that somebody else keeps alive: `a[i][j]` is element (i, j). Indices are not checked.
//
//   auto a = tensor.accessor<float, 2>();
//   for (int64_t i = 0; i < a.size(0); ++i) trace += a[i][i];
template <class T, size_t N, template <class> class PtrTraits, class index_t>
class TensorAccessor : public TensorAccessorBase<T, N, PtrTraits, index_t> {
 public:
  using TensorAccessorBase<T, N, PtrTraits, index_t>::TensorAccessorBase;
  C10_HOST_DEVICE decltype(auto) operator[](index_t i) const {
    if constexpr (N == 1) {
      return static_cast<T&>(this->data_[i * this->strides_[0]]);
    } else {
      return TensorAccessor<T, N - 1, PtrTraits, index_t>(
          this->data_ + i * this->strides_[0], this->sizes_ + 1, this->strides_ + 1);
    }
  }
};

// Sizes and strides that the accessor brings along, so that it can be an argument of a kernel on a device.
template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits, class index_t = int64_t>
class GenericPackedTensorAccessorBase {
 public:
  using PtrType = typename PtrTraits<T>::PtrType;

  // The numbers are converted to index_t, which must hold them.
  template <class source_index_t>
  C10_HOST GenericPackedTensorAccessorBase(PtrType data, const source_index_t* sizes, const source_index_t* strides)
      : data_(data) {
    for (size_t d = 0; d < N; ++d) {
      sizes_[d] = static_cast<index_t>(sizes[d]);
      strides_[d] = static_cast<index_t>(strides[d]);
    }
  }
  C10_HOST_DEVICE index_t size(index_t d) const { return sizes_[d]; }
  C10_HOST_DEVICE index_t stride(index_t d) const { return strides_[d]; }
  C10_HOST_DEVICE T* data() const { return data_; }

 protected:
  PtrType data_;
  index_t sizes_[N];
  index_t strides_[N];
};

// The same indexing as TensorAccessor, of what can be copied.
//
//   auto a = tensor.packed_accessor32<float, 2, torch::RestrictPtrTraits>();
//   kernel<<<blocks, threads>>>(a);      // __global__ void kernel(torch::PackedTensorAccessor32<float, 2, ...> a)
template <class T, size_t N, template <class> class PtrTraits, class index_t>
class GenericPackedTensorAccessor : public GenericPackedTensorAccessorBase<T, N, PtrTraits, index_t> {
 public:
  using GenericPackedTensorAccessorBase<T, N, PtrTraits, index_t>::GenericPackedTensorAccessorBase;
  C10_HOST_DEVICE decltype(auto) operator[](index_t i) const {
    if constexpr (N == 1) {
      return static_cast<T&>(this->data_[i * this->strides_[0]]);
    } else {
      return TensorAccessor<T, N - 1, PtrTraits, index_t>(
          this->data_ + i * this->strides_[0], this->sizes_ + 1, this->strides_ + 1);
    }
  }
  // The same elements with two dimensions exchanged. Throws IndexError for dimensions that there are not.
  C10_HOST GenericPackedTensorAccessor transpose(index_t dim1, index_t dim2) const {
    for (const index_t dim : {dim1, dim2}) {
      TORCH_CHECK_INDEX(dim >= 0 && dim < index_t(N), "Index ", dim, " is out of bounds of a tensor of dimension ", N);
    }
    GenericPackedTensorAccessor result = *this;
    std::swap(result.sizes_[dim1], result.sizes_[dim2]);
    std::swap(result.strides_[dim1], result.strides_[dim2]);
    return result;
  }
};

// Older names.
template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits, class index_t = int64_t>
using PackedTensorAccessor = GenericPackedTensorAccessor<T, N, PtrTraits, index_t>;

}  // namespace at

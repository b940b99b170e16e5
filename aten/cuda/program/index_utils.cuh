// From tensors to TensorInfo, by libtorch's names.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "aten/core/tensor.h"
#include "aten/cuda/program/tensor_info.cuh"

namespace at::cuda::detail {

/// Whether offsets of all elements, and their number, are below `max_elem`: 32-bit numbers hold them.
inline bool canUse32BitIndexMath(const TensorBase& t, int64_t max_elem = std::numeric_limits<int32_t>::max()) {
  const int64_t elements = t.numel();
  if (elements >= max_elem) return false;
  if (elements == 0) return max_elem > 0;
  int64_t last = 0;
  for (int64_t i = 0; i < t.dim(); ++i) last += (t.size(i) - 1) * t.stride(i);
  return last < max_elem;
}

/// The info of a tensor of T (const T for one that is only read). Throws c10::Error for more dimensions than
/// MAX_TENSORINFO_DIMS.
template <typename T, typename IndexType>
TensorInfo<T, IndexType> getTensorInfo(const TensorBase& t) {
  TORCH_CHECK(t.dim() <= MAX_TENSORINFO_DIMS, "CUDA Tensors cannot have more than ", MAX_TENSORINFO_DIMS,
              " dimensions");
  IndexType sizes[MAX_TENSORINFO_DIMS], strides[MAX_TENSORINFO_DIMS];
  for (int64_t i = 0; i < t.dim(); ++i) {
    sizes[i] = static_cast<IndexType>(t.size(i));
    strides[i] = static_cast<IndexType>(t.stride(i));
  }
  T* data = nullptr;
  if constexpr (std::is_const_v<T>) {
    data = t.template const_data_ptr<std::remove_const_t<T>>();
  } else {
    data = t.template mutable_data_ptr<T>();
  }
  return TensorInfo<T, IndexType>(data, static_cast<int>(t.dim()), sizes, strides);
}

}  // namespace at::cuda::detail

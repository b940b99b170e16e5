// Where a tensor's elements lie, for kernels of programs, by libtorch's names.
//
//   auto info = at::cuda::detail::getTensorInfo<float, uint32_t>(x);            // index_utils.cuh
//   x = info.data[at::cuda::detail::IndexToOffset<float, uint32_t, -1>::get(i, info)];
#pragma once

#include "c10/macros/macros.h"
#include "c10/util/exception.h"

namespace at::cuda::detail {

inline constexpr int MAX_TENSORINFO_DIMS = 25;

/// Sizes and strides of a tensor, in elements; a kernel's argument.
template <typename T, typename IndexType>
struct TensorInfo {
  TensorInfo() = default;
  /// Throws c10::Error for more than MAX_TENSORINFO_DIMS dimensions.
  TensorInfo(T* p, int dim, const IndexType* sz, const IndexType* st) : data(p), dims(dim) {
    TORCH_CHECK(dim <= MAX_TENSORINFO_DIMS, "CUDA Tensors cannot have more than ", MAX_TENSORINFO_DIMS, " dimensions");
    for (int i = 0; i < dim; ++i) sizes[i] = sz[i], strides[i] = st[i];
  }

  /// The dimension is passed over: of size 1.
  void reduceDim(int dim) {
    TORCH_CHECK(dim >= 0 && dim < dims, "expected dim between 0 and dims - 1");
    sizes[dim] = 1;
  }

  /// Joins neighbouring dimensions that are one in memory, and drops those of size 1; `excludeDim` stays as it is.
  /// Returns where that is then, -1 without one.
  int collapseDims(int excludeDim = -1) {
    TORCH_CHECK(excludeDim >= -1 && excludeDim < dims, "expected excluded dim between -1 and dims - 1");
    int kept = 0, excluded = -1;
    for (int i = 0; i < dims; ++i) {
      if (i == excludeDim) {
        excluded = kept;
      } else if (sizes[i] == 1) {
        continue;
      } else if (kept > 0 && kept - 1 != excluded && strides[kept - 1] == sizes[i] * strides[i]) {
        sizes[kept - 1] *= sizes[i];
        strides[kept - 1] = strides[i];
        continue;
      }
      sizes[kept] = sizes[i];
      strides[kept++] = strides[i];
    }
    if (kept == 0) sizes[0] = 1, strides[0] = 1, kept = 1;
    dims = kept;
    return excluded;
  }

  C10_HOST_DEVICE bool isContiguous() const { return dims == 1 && strides[0] == 1; }

  T* data = nullptr;
  IndexType sizes[MAX_TENSORINFO_DIMS];
  IndexType strides[MAX_TENSORINFO_DIMS];
  int dims = 0;
};

/// The offset of element `linearId`, counted in the order of the dimensions. `Dims` is their number, or -1.
template <typename T, typename IndexType, int Dims>
struct IndexToOffset {
  static C10_HOST_DEVICE IndexType get(IndexType linearId, const TensorInfo<T, IndexType>& info) {
    IndexType offset = 0;
    for (int i = (Dims >= 0 ? Dims : info.dims) - 1; i > 0; --i) {
      const IndexType rest = linearId / info.sizes[i];
      offset += (linearId - rest * info.sizes[i]) * info.strides[i];
      linearId = rest;
    }
    return offset + linearId * info.strides[0];
  }
};

}  // namespace at::cuda::detail

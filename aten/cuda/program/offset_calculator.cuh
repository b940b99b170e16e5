// Offsets of one element in several tensors, by libtorch's names; the first dimension is the fastest.
#pragma once

#include <cstdint>
#include <type_traits>

#include "aten/cuda/program/integer_divider.cuh"
#include "aten/cuda/program/tensor_info.cuh"

inline constexpr int MAX_DIMS = at::cuda::detail::MAX_TENSORINFO_DIMS;

/// A kernel's array of offsets.
template <typename T, int N>
struct OffsetArray {
  C10_HOST_DEVICE T& operator[](int i) { return values[i]; }
  C10_HOST_DEVICE const T& operator[](int i) const { return values[i]; }
  T values[N];
};

template <int NARGS, typename index_t = uint32_t, bool signed_strides = false>
struct OffsetCalculator {
  using stride_t = std::conditional_t<signed_strides, std::make_signed_t<index_t>, index_t>;
  using offset_type = OffsetArray < stride_t, NARGS<1 ? 1 : NARGS>;

  /// strides[arg][dim] are in bytes; with `element_sizes` offsets are in elements of those. Throws c10::Error for more
  /// than 25 dimensions.
  OffsetCalculator(int dim_count, const int64_t* sizes, const int64_t* const* strides,
                   const int64_t* element_sizes = nullptr)
      : dims(dim_count) {
    TORCH_CHECK(dims <= MAX_DIMS, "tensor has too many (>", MAX_DIMS, ") dims");
    for (int i = 0; i < dims; ++i) {
      sizes_[i] = at::cuda::detail::IntDivider<index_t>(static_cast<index_t>(sizes[i]));
      for (int arg = 0; arg < NARGS; ++arg) {
        const int64_t size = element_sizes == nullptr ? 1 : element_sizes[arg];
        strides_[i][arg] = static_cast<stride_t>(strides[arg][i] / size);
      }
    }
  }

  C10_HOST_DEVICE offset_type get(index_t linear_idx) const {
    offset_type offsets;
    for (int arg = 0; arg < NARGS; ++arg) offsets[arg] = 0;
    for (int dim = 0; dim < dims; ++dim) {
      const auto divmod = sizes_[dim].divmod(linear_idx);
      linear_idx = divmod.div;
      for (int arg = 0; arg < NARGS; ++arg) offsets[arg] += divmod.mod * strides_[dim][arg];
    }
    return offsets;
  }

  int dims;
  at::cuda::detail::IntDivider<index_t> sizes_[MAX_DIMS];
  stride_t strides_[MAX_DIMS][NARGS < 1 ? 1 : NARGS];
};

/// Of tensors whose elements lie one after the other.
template <int NARGS, typename index_t = uint32_t>
struct TrivialOffsetCalculator {
  using offset_type = OffsetArray < index_t, NARGS<1 ? 1 : NARGS>;
  C10_HOST_DEVICE offset_type get(index_t linear_idx) const {
    offset_type offsets;
    for (int arg = 0; arg < NARGS; ++arg) offsets[arg] = linear_idx;
    return offsets;
  }
};

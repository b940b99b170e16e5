#pragma once
// Which dimensions of a tensor a transform takes, in which order, and where its numbers go: the same on all devices.

#include <cstdint>

#include "aten/core/tensor.h"
#include "aten/core/tensor_spec.h"

namespace at::native::fft {

/// `dim` without negative numbers. `op` names the operator in errors: IndexError for a dimension out of range,
/// c10::Error for a dimension that comes twice or is empty, or a normalization that is not 0, 1 or 2.
DimVector checked_dims(const char* op, const Tensor& self, IntArrayRef dim, int64_t normalization);

/// The same for transforms of real numbers, of which there is at least one: the last dimension stays last, the others
/// go by stride.
DimVector real_dims(const char* op, const Tensor& self, IntArrayRef dim, int64_t normalization);

/// Dimensions with larger strides first.
void sort_by_stride(DimVector& dims, IntArrayRef strides);

/// A result on self's device whose transformed dimensions are the innermost ones, the others outside in the order of
/// `strides`.
TensorSpec result_spec(const Tensor& self, IntArrayRef strides, const DimVector& dims, DimVector sizes,
                       ScalarType dtype);

/// What results are multiplied by, as `normalization` says: 1, the root of 1 / n or 1 / n, for the n numbers that
/// `signal` has in `dims`.
double factor(int64_t normalization, const Tensor& signal, const DimVector& dims);

inline DimVector sizes_of(const Tensor& self) {
  return DimVector(self.sizes().begin(), self.sizes().end());
}
inline DimVector all_but_last(const DimVector& dims) {
  return DimVector(dims.begin(), dims.end() - 1);
}

}  // namespace at::native::fft

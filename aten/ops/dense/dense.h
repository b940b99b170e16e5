#pragma once
// Contiguous stand-ins for kernels that walk dense memory only.

#include <cstring>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/cpu/support/alignment.h"
#include "aten/ops/copy/ops.h"

namespace at::native {

// Foreign memory (from_blob) may lie at an address at which no element may be read.
inline bool is_aligned(const TensorBase& t) {
  return cpu::is_aligned(t.const_data_ptr(), static_cast<int64_t>(t.itemsize()));
}
// Whether a kernel may walk a tensor's memory by a pointer to its elements.
inline bool is_dense(const TensorBase& t, MemoryFormat format = MemoryFormat::Contiguous) {
  return t.is_contiguous(format) && is_aligned(t);
}
// `t` itself where it is aligned, else a copy.
inline Tensor aligned(const Tensor& t) { return is_aligned(t) ? t : at::clone(t); }

// `t` itself where it is dense, else a dense copy.
inline Tensor dense(const Tensor& t, MemoryFormat format = MemoryFormat::Contiguous) {
  return is_dense(t, format) ? t : at::clone(t, format);
}

// The same of another dtype.
inline Tensor dense(const Tensor& t, ScalarType dtype, MemoryFormat format = MemoryFormat::Contiguous) {
  return t.scalar_type() == dtype ? dense(t, format) : at::_to_copy(t, TensorOptions().dtype(dtype), false, format);
}

// An uninitialised tensor without gaps.
inline Tensor empty_dense(IntArrayRef sizes, ScalarType dtype, Device device, MemoryFormat format) {
  if (format == MemoryFormat::Contiguous) return empty_contiguous(sizes, dtype, device);
  return empty_with_strides(sizes, strides_of_format(sizes, format), dtype, device);
}

// Where a kernel writes a dense result: `out` where it is dense and has the dtype, else a temporary that commit() copies.
class DenseOut {
 public:
  explicit DenseOut(Tensor& out, MemoryFormat format = MemoryFormat::Contiguous) : DenseOut(out, out.scalar_type(), format) {}
  DenseOut(Tensor& out, ScalarType dtype, MemoryFormat format = MemoryFormat::Contiguous) : out_(out) {
    if (!is_dense(out, format) || out.scalar_type() != dtype) temporary_ = empty_dense(out.sizes(), dtype, out.device(), format);
  }
  Tensor& tensor() { return temporary_.defined() ? temporary_ : out_; }
  template <class T>
  T* data() {
    return static_cast<T*>(tensor().mutable_data_ptr());
  }
  // All bits 0. Memory of nothing may be a null pointer, which memset does not take.
  void clear() {
    if (tensor().numel() != 0) std::memset(tensor().mutable_data_ptr(), 0, tensor().nbytes());
  }
  void commit() {
    if (temporary_.defined()) at::copy_(out_, temporary_);
  }

 private:
  Tensor& out_;
  Tensor temporary_;
};

// A contiguous tensor seen as [outer][size][inner] around one of its dimensions; a 0-dim tensor has one of size 1.
struct DimSplit {
  int64_t outer = 1, size = 1, inner = 1;
};
inline DimSplit split_at_dim(IntArrayRef sizes, int64_t dim) {
  DimSplit s;
  if (sizes.empty()) return s;
  for (int64_t d = 0; d < dim; ++d) s.outer *= sizes[d];
  s.size = sizes[dim];
  for (size_t d = static_cast<size_t>(dim) + 1; d < sizes.size(); ++d) s.inner *= sizes[d];
  return s;
}

}  // namespace at::native

#include "aten/core/tensor_base.h"

#include "c10/core/sym_int.h"

namespace at {
namespace detail {

void throw_undefined(const char* what) {
  TORCH_CHECK(false, what);
  __builtin_unreachable();
}

void throw_wrong_dtype(ScalarType expected, ScalarType found) {
  TORCH_CHECK(false, "expected scalar type ", toString(expected), " but found ", toString(found));
  __builtin_unreachable();
}

void throw_irregular_dim(int64_t dim) {
  TORCH_CHECK(false, "Given dimension ", dim, " is irregular and does not have a size.");
  __builtin_unreachable();
}

void throw_dim_out_of_range(int64_t dim, int64_t rank) {
  TORCH_CHECK_INDEX(rank > 0, "Dimension specified as ", dim, " but tensor has no dimensions");
  TORCH_CHECK_INDEX(
      false, "Dimension out of range (expected to be in range of [", -rank, ", ", rank - 1, "], but got ", dim, ")");
  __builtin_unreachable();
}

void throw_wrong_accessor_dim(int64_t expected, int64_t found) {
  TORCH_CHECK(false, "TensorAccessor expected ", expected, " dims but tensor has ", found);
  __builtin_unreachable();
}

void throw_too_large_for_int32() {
  TORCH_CHECK(false, "numel needs to be smaller than int32_t max; otherwise, please use packed_accessor64");
  __builtin_unreachable();
}

void check_may_be_null(const TensorBase& t) {
  TORCH_CHECK(t.numel() == 0, "Cannot access the data of a tensor on the ", t.device(), " device: it has none");
}

}  // namespace detail

ArrayRef<SymInt> TensorBase::sym_sizes() const {
  return fromIntArrayRefUnchecked(sizes());
}
ArrayRef<SymInt> TensorBase::sym_strides() const {
  return fromIntArrayRefUnchecked(strides());
}
SymInt TensorBase::sym_size(int64_t d) const {
  return size(d);
}
SymInt TensorBase::sym_stride(int64_t d) const {
  return stride(d);
}
SymInt TensorBase::sym_numel() const {
  return numel();
}
SymInt TensorBase::sym_storage_offset() const {
  return storage_offset();
}

MemoryFormat TensorBase::suggest_memory_format(bool channels_last_strides_exact_match) const {
  const TensorImpl& self = impl();
  MemoryFormat format = MemoryFormat::Contiguous;
  if (self.dim() == 4 && is_channels_last_strides_2d(self.sizes(), self.strides())) format = MemoryFormat::ChannelsLast;
  if (self.dim() == 5 && is_channels_last_strides_3d(self.sizes(), self.strides())) format = MemoryFormat::ChannelsLast3d;
  if (!channels_last_strides_exact_match || format == MemoryFormat::Contiguous) return format;
  const bool exact = self.strides() == IntArrayRef(strides_for_format(self.sizes(), format));
  return exact ? format : MemoryFormat::Contiguous;
}

}  // namespace at

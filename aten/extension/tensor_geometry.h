#pragma once

#include <cstdint>
#include <vector>

#include "aten/core/tensor.h"

namespace at {

/// The sizes, strides and offset of a tensor without its data. An undefined tensor has no elements.
///
///   at::TensorGeometry g(t);
///   g.transpose(0, 1).sizes();
struct TensorGeometry {
  TensorGeometry() = default;
  /// Contiguous.
  explicit TensorGeometry(IntArrayRef sizes);
  explicit TensorGeometry(const TensorBase& t);
  explicit TensorGeometry(std::vector<int64_t> sizes, std::vector<int64_t> strides, int64_t storage_offset);

  bool is_contiguous() const;
  int64_t dim() const { return static_cast<int64_t>(sizes_.size()); }
  int64_t size(int64_t d) const { return sizes_[static_cast<size_t>(maybe_wrap_dim(d, dim(), false))]; }
  int64_t stride(int64_t d) const { return strides_[static_cast<size_t>(maybe_wrap_dim(d, dim(), false))]; }
  IntArrayRef sizes() const { return sizes_; }
  IntArrayRef strides() const { return strides_; }
  int64_t storage_offset() const { return storage_offset_; }
  int64_t numel() const { return numel_; }
  TensorGeometry transpose(int64_t dim0, int64_t dim1) const;
  std::vector<int64_t>& mutable_sizes() { return sizes_; }
  std::vector<int64_t>& mutable_strides() { return strides_; }
  int64_t& mutable_storage_offset() { return storage_offset_; }
  /// After sizes were changed.
  void recompute();

 private:
  std::vector<int64_t> sizes_;
  std::vector<int64_t> strides_;
  int64_t storage_offset_ = 0;
  int64_t numel_ = 0;
};

/// Row-major without gaps.
bool geometry_is_contiguous(IntArrayRef sizes, IntArrayRef strides);

}  // namespace at

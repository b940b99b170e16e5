#pragma once

#include <memory>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/core/tensor_impl.h"

namespace at {

/// Where the parts of a nested tensor lie in its buffer. All have the same number of dimensions; numbers are in
/// elements.
struct NestedShape {
  int64_t parts = 0;
  int64_t dims = 0;              ///< of each part
  std::vector<int64_t> sizes;    ///< parts x dims
  std::vector<int64_t> strides;  ///< parts x dims
  std::vector<int64_t> offsets;  ///< one a part

  IntArrayRef sizes_of(int64_t part) const { return row(sizes, part); }
  IntArrayRef strides_of(int64_t part) const { return row(strides, part); }
  /// The size that all parts have in dimension `d` of a part, or -1; -1 where there are no parts.
  int64_t common_size(int64_t d) const;
  /// Of all parts. Throws c10::Error on overflow.
  int64_t numel() const;
  /// The parts lie one after the other without gaps, each row-major.
  bool is_packed() const;
  /// In some order they do, each in some order of its dimensions: no element is in two parts, and none between them.
  bool is_dense() const;

 private:
  IntArrayRef row(const std::vector<int64_t>& numbers, int64_t part) const {
    return IntArrayRef(numbers).slice(static_cast<size_t>(part * dims), static_cast<size_t>(dims));
  }
};

/// A nested tensor of the strided layout: parts of different sizes over one buffer, a contiguous tensor of one
/// dimension. Its first dimension counts the parts, the others are those of each part; a size in which parts differ is
/// -1 in sizes(), and size(d) throws for it. Storage and version are the buffer's, strides are 0, and the buffer takes
/// no part in any recording.
class NestedTensorImpl final : public c10::TensorImpl {
 public:
  /// `shape` lies within `buffer`; not checked.
  NestedTensorImpl(Tensor buffer, std::shared_ptr<const NestedShape> shape);

  const Tensor& buffer() const { return buffer_; }
  const std::shared_ptr<const NestedShape>& shape() const { return shape_; }
  /// Part i over the buffer's memory.
  Tensor part(int64_t i) const;
  std::vector<Tensor> parts() const;
  /// Each element of the buffer is in one part: what is computed element by element may be computed on the buffer.
  bool fills_buffer() const { return numel() == buffer_.numel() && (is_contiguous() || shape_->is_dense()); }

  c10::intrusive_ptr<c10::TensorImpl> shallow_copy() const override;
  void shallow_copy_from(const c10::TensorImpl& other) override;
  const char* kind() const override { return "NestedTensorImpl"; }

 protected:
  void release_resources() override;

 private:
  Tensor buffer_;
  std::shared_ptr<const NestedShape> shape_;
};

namespace nested {

/// The tensor's class. Throws c10::Error "<op>: expected a nested tensor, but got a dense one ..." for another.
NestedTensorImpl& impl_of(const char* op, const Tensor& t);

/// A nested tensor over the memory of `buffer`, without its autograd state.
Tensor make_nested(const Tensor& buffer, std::shared_ptr<const NestedShape> shape);

/// The shape of parts of these sizes (parts x dims) that lie one after the other.
std::shared_ptr<const NestedShape> packed_shape(int64_t parts, int64_t dims, std::vector<int64_t> sizes);

/// int64 numbers as a tensor of parts x dims (sizes, strides), or of one dimension (offsets).
Tensor matrix_of(const NestedShape& shape, const std::vector<int64_t>& numbers);
Tensor vector_of(const std::vector<int64_t>& numbers);

/// `t` without its autograd state, over the same memory.
Tensor plain(const Tensor& t);

}  // namespace nested
}  // namespace at

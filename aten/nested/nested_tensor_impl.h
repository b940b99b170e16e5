#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
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

/// How the packed dimension of jagged tensors is cut: part i begins at begin[i] and is length[i] long. Tensors made
/// with the same tensor of offsets (and of lengths) have the same one, and only they go together in one call.
struct RaggedStructure {
  Tensor offsets;  ///< as given, int64 or int32, one more than there are parts
  Tensor lengths;  ///< as given, or undefined: from each offset to the next
  std::vector<int64_t> begin, length;
  int64_t total = 0;         ///< of all lengths
  int64_t longest = 0;       ///< of them
  int64_t shortest = 0;      ///< of them
  int64_t end = 0;           ///< behind the last place of all parts
  bool has_no_gaps = false;  ///< the parts lie one after the other from 0 on
  int64_t number = 0;        ///< its name in texts: 1 is "j1"

  RaggedStructure() = default;
  RaggedStructure(const RaggedStructure&) = delete;
  RaggedStructure& operator=(const RaggedStructure&) = delete;
  ~RaggedStructure();

  int64_t parts() const { return static_cast<int64_t>(begin.size()); }
};

/// What a jagged tensor has beside its values.
struct Jagged {
  std::shared_ptr<const RaggedStructure> ragged;
  int64_t dim = 1;                           ///< the ragged dimension, counted in the nested tensor
  std::optional<int64_t> shortest, longest;  ///< lengths that the caller gave: no part is shorter or longer

  /// The size of that dimension where the parts are padded.
  int64_t padded_length() const { return longest.value_or(ragged->longest); }
};

/// A nested tensor: parts of different sizes as one tensor. Its first dimension counts the parts, the others are those
/// of each part; a size in which parts differ is -1 in sizes(), and size(d) throws for it. Storage and version are the
/// buffer's, strides are 0, and the buffer takes no part in any recording.
///
/// Of the strided layout the buffer is a contiguous tensor of one dimension, and each part lies anywhere in it. Of the
/// jagged layout the parts differ in one dimension, the ragged one (its size is always -1); the buffer, the values, are
/// a tensor of any strides with the dimensions of a part, in which those of all parts lie one behind the other.
class NestedTensorImpl final : public c10::TensorImpl {
 public:
  /// `shape` lies within `buffer`; not checked.
  NestedTensorImpl(Tensor buffer, std::shared_ptr<const NestedShape> shape);
  /// The structure lies within the values; not checked.
  NestedTensorImpl(Tensor values, Jagged jagged);

  const Tensor& buffer() const { return buffer_; }
  bool is_jagged() const { return jagged_.ragged != nullptr; }
  /// Of the jagged layout only.
  const Jagged& jagged() const { return jagged_; }
  const std::shared_ptr<const NestedShape>& shape() const;
  int64_t part_count() const { return is_jagged() ? jagged_.ragged->parts() : shape_->parts; }
  /// Part i over the buffer's memory.
  Tensor part(int64_t i) const;
  std::vector<Tensor> parts() const;
  /// Each element of the buffer is in one part: what is computed element by element may be computed on the buffer.
  bool fills_buffer() const;

  c10::intrusive_ptr<c10::TensorImpl> shallow_copy() const override;
  void shallow_copy_from(const c10::TensorImpl& other) override;
  const char* kind() const override { return "NestedTensorImpl"; }

 protected:
  void release_resources() override;

 private:
  void set_jagged_sizes();

  Tensor buffer_;
  Jagged jagged_;
  mutable std::mutex mutex_;  // of the next, which is made when it is asked for
  mutable std::shared_ptr<const NestedShape> shape_;
};

namespace nested {

/// The tensor's class. Throws c10::Error "<op>: expected a nested tensor, but got a dense one ..." for another.
NestedTensorImpl& impl_of(const char* op, const Tensor& t);

/// A nested tensor over the memory of `buffer`, without its autograd state.
Tensor make_nested(const Tensor& buffer, std::shared_ptr<const NestedShape> shape);

/// The structure of these offsets, and of these lengths or undefined ones. Throws TypeError for another dtype than
/// int64 and int32, ValueError for tensors that are not of one dimension on the CPU, for negative or decreasing
/// numbers, and where there are not as many lengths as parts. The numbers are read once.
std::shared_ptr<const RaggedStructure> ragged_structure(const char* op, const Tensor& offsets, const Tensor& lengths);

/// A jagged tensor over the memory of `values`, without its autograd state. Throws c10::Error where the values are not
/// dense ones on the CPU, have no such dimension, or do not hold the parts.
Tensor make_jagged(const char* op, const Tensor& values, Jagged jagged);

/// "(3, j1, 4)", as Python shows the size of a jagged tensor; of others "[3, 4]".
std::string size_text(const Tensor& t);

/// The shape of parts of these sizes (parts x dims) that lie one after the other.
std::shared_ptr<const NestedShape> packed_shape(int64_t parts, int64_t dims, std::vector<int64_t> sizes);

/// int64 numbers as a tensor of parts x dims (sizes, strides), or of one dimension (offsets).
Tensor matrix_of(const NestedShape& shape, const std::vector<int64_t>& numbers);
Tensor vector_of(const std::vector<int64_t>& numbers);

/// `t` without its autograd state, over the same memory.
Tensor plain(const Tensor& t);

}  // namespace nested
}  // namespace at

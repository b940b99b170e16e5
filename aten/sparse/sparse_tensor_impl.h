#pragma once

#include "aten/core/tensor.h"
#include "c10/core/tensor_impl.h"

namespace at {

/// A sparse tensor in coordinates (layout kSparse): `indices`, of int64 and size sparse_dim x nnz, says where the
/// `values` stand, whose first dimension is nnz and whose others are the last dense_dim dimensions of the tensor.
/// Elements that are not named are 0. A place may be named several times: its value is the sum, unless `coalesced` says
/// that places are in order, each once.
///
/// Such a tensor has sizes, no storage and strides of 0. Indices and values take no part in any recording.
class SparseTensorImpl final : public c10::TensorImpl {
 public:
  /// Nothing is checked but what nnz and the numbers of dimensions say.
  SparseTensorImpl(IntArrayRef sizes, Tensor indices, Tensor values, bool coalesced);

  int64_t sparse_dim() const { return indices_.size(0); }
  int64_t dense_dim() const { return values_.dim() - 1; }
  int64_t nnz() const { return values_.size(0); }
  bool coalesced() const { return coalesced_; }
  const Tensor& indices() const { return indices_; }
  const Tensor& values() const { return values_; }

  void set_coalesced(bool coalesced) { coalesced_ = coalesced; }
  /// Other elements, also of other sizes or another dtype.
  void set_elements(IntArrayRef sizes, Tensor indices, Tensor values, bool coalesced);

  c10::intrusive_ptr<c10::TensorImpl> shallow_copy() const override;
  void shallow_copy_from(const c10::TensorImpl& other) override;
  const char* kind() const override { return "SparseTensorImpl"; }

 protected:
  void release_resources() override;

 private:
  Tensor indices_;
  Tensor values_;
  bool coalesced_;
};

namespace sparse {

/// The tensor's class. Throws c10::Error "<op> expected sparse coordinate tensor layout but got Strided" for another
/// layout.
SparseTensorImpl& impl_of(const char* op, const Tensor& t);

/// `sizes`, whose places int64 counts: elements are told apart by such numbers. Throws c10::Error where it does not.
IntArrayRef counted(IntArrayRef sizes);

/// A tensor of these parts, which it shares; no autograd state of theirs comes along.
Tensor make_sparse(IntArrayRef sizes, const Tensor& indices, const Tensor& values, bool coalesced);

/// `t` without its autograd state, over the same memory.
Tensor plain(const Tensor& t);

}  // namespace sparse
}  // namespace at

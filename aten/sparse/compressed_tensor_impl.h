#pragma once

#include "aten/core/tensor.h"

namespace at {

/// A compressed sparse tensor (layouts kSparseCsr, kSparseCsc, kSparseBsr, kSparseBsc): a batch of matrices of
/// elements, which may be dense tensors themselves. Rows (columns for csc and bsc) are compressed: `compressed`, of
/// size batch x (rows + 1), says where the elements of each row begin, `plain`, of size batch x nnz, in which column
/// each stands; both are int32 or int64. `values` has size batch x nnz x dense, and batch x nnz x block x dense for bsr
/// and bsc, of which rows and columns are those of blocks.
///
/// Such a tensor has sizes, no storage and strides of 0. Its parts take no part in any recording. Nothing says that the
/// indices are in range: kernels look before they follow one.
class SparseCsrTensorImpl final : public c10::TensorImpl {
 public:
  /// Nothing is checked but the numbers of dimensions and what nnz says.
  SparseCsrTensorImpl(Layout layout, IntArrayRef sizes, Tensor compressed, Tensor plain, Tensor values);

  const Tensor& compressed() const { return compressed_; }
  const Tensor& plain() const { return plain_; }
  const Tensor& values() const { return values_; }

  int64_t batch_dim() const { return plain_.dim() - 1; }
  int64_t block_dim() const { return is_blocked(layout()) ? 2 : 0; }
  int64_t sparse_dim() const { return 2; }
  int64_t dense_dim() const { return dim() - 2 - batch_dim(); }
  int64_t nnz() const { return plain_.size(-1); }
  /// Rows and columns of a block; 1 and 1 where there are none.
  std::array<int64_t, 2> block() const;

  /// Other elements, also of other sizes or another dtype.
  void set_elements(IntArrayRef sizes, Tensor compressed, Tensor plain, Tensor values);

  c10::intrusive_ptr<c10::TensorImpl> shallow_copy() const override;
  void shallow_copy_from(const c10::TensorImpl& other) override;
  const char* kind() const override { return "SparseCsrTensorImpl"; }

  static constexpr bool is_blocked(Layout layout) { return layout == Layout::SparseBsr || layout == Layout::SparseBsc; }

 protected:
  void release_resources() override;

 private:
  Tensor compressed_;
  Tensor plain_;
  Tensor values_;
};

namespace sparse {

inline bool is_compressed(Layout layout) {
  return layout == Layout::SparseCsr || layout == Layout::SparseCsc || SparseCsrTensorImpl::is_blocked(layout);
}
inline bool is_compressed(const Tensor& t) {
  return is_compressed(t.layout());
}
/// Whether rows are what is compressed: csr and bsr.
inline bool by_rows(Layout layout) {
  return layout == Layout::SparseCsr || layout == Layout::SparseBsr;
}

/// The tensor's class. Throws c10::Error "<op> expected sparse compressed tensor layout but got Strided" for another
/// layout.
SparseCsrTensorImpl& compressed_impl_of(const char* op, const Tensor& t);

/// A tensor of these parts, which it shares; no autograd state of theirs comes along.
Tensor make_compressed(Layout layout, IntArrayRef sizes, const Tensor& compressed, const Tensor& plain,
                       const Tensor& values);

}  // namespace sparse
}  // namespace at

#include "aten/sparse/sparse_tensor_impl.h"

#include <utility>

#include "c10/core/layout.h"
#include "c10/util/exception.h"

namespace at {
namespace {

DispatchKeySet sparse_keys(Device device) {
  TORCH_CHECK_NOT_IMPLEMENTED(device.is_cpu() || device.is_cuda(), "sparse tensors are on the CPU or on CUDA, not on ",
                              device);
  return device.is_cpu() ? DispatchKey::SparseCPU : DispatchKey::SparseCUDA;
}

DimVector no_strides(IntArrayRef sizes) {
  return DimVector(sizes.size(), 0);
}

}  // namespace

SparseTensorImpl::SparseTensorImpl(IntArrayRef sizes, Tensor indices, Tensor values, bool coalesced)
    : TensorImpl(sparse_keys(values.device()), values.scalar_type(), values.device(), Layout::Sparse,
                 sparse::counted(sizes), no_strides(sizes)),
      indices_(std::move(indices)),
      values_(std::move(values)),
      coalesced_(coalesced) {
  TORCH_INTERNAL_ASSERT(indices_.dim() == 2 && values_.dim() > 0 && indices_.size(1) == values_.size(0) &&
                        sparse_dim() + dense_dim() == dim());
}

void SparseTensorImpl::set_elements(IntArrayRef sizes, Tensor indices, Tensor values, bool coalesced) {
  set_sizes_and_strides(sparse::counted(sizes), no_strides(sizes));
  set_dtype(values.scalar_type());
  indices_ = std::move(indices);
  values_ = std::move(values);
  coalesced_ = coalesced;
}

c10::intrusive_ptr<c10::TensorImpl> SparseTensorImpl::shallow_copy() const {
  auto copy = c10::make_intrusive<SparseTensorImpl>(sizes(), indices_, values_, coalesced_);
  copy->copy_metadata_from(*this);
  return copy;
}

void SparseTensorImpl::shallow_copy_from(const c10::TensorImpl& other) {
  TensorImpl::shallow_copy_from(other);
  const auto& from = static_cast<const SparseTensorImpl&>(other);
  indices_ = from.indices_;
  values_ = from.values_;
  coalesced_ = from.coalesced_;
}

void SparseTensorImpl::release_resources() {
  TensorImpl::release_resources();
  indices_.reset();
  values_.reset();
}

namespace sparse {

IntArrayRef counted(IntArrayRef sizes) {
  c10::checked_numel(sizes);
  return sizes;
}

SparseTensorImpl& impl_of(const char* op, const Tensor& t) {
  TORCH_CHECK(t.layout() == Layout::Sparse, op, " expected sparse coordinate tensor layout but got ", t.layout());
  return static_cast<SparseTensorImpl&>(*t.unsafeGetTensorImpl());
}

Tensor plain(const Tensor& t) {
  return Tensor(t.unsafeGetTensorImpl()->shallow_copy());
}

Tensor make_sparse(IntArrayRef sizes, const Tensor& indices, const Tensor& values, bool coalesced) {
  return Tensor(c10::make_intrusive<SparseTensorImpl>(sizes, plain(indices), plain(values), coalesced));
}

}  // namespace sparse
}  // namespace at

#include "aten/sparse/compressed_tensor_impl.h"

#include <utility>

#include "aten/sparse/sparse_tensor_impl.h"
#include "c10/util/exception.h"

namespace at {
namespace {

DispatchKeySet compressed_keys(Device device) {
  TORCH_CHECK_NOT_IMPLEMENTED(device.is_cpu() || device.is_cuda(), "sparse tensors are on the CPU or on CUDA, not on ",
                              device);
  return device.is_cpu() ? DispatchKey::SparseCsrCPU : DispatchKey::SparseCsrCUDA;
}

DimVector no_strides(IntArrayRef sizes) {
  return DimVector(sizes.size(), 0);
}

}  // namespace

SparseCsrTensorImpl::SparseCsrTensorImpl(Layout layout, IntArrayRef sizes, Tensor compressed, Tensor plain,
                                         Tensor values)
    : TensorImpl(compressed_keys(values.device()), values.scalar_type(), values.device(), layout,
                 sparse::counted(sizes), no_strides(sizes)),
      compressed_(std::move(compressed)),
      plain_(std::move(plain)),
      values_(std::move(values)) {
  TORCH_INTERNAL_ASSERT(sparse::is_compressed(layout) && plain_.dim() > 0 && compressed_.dim() == plain_.dim() &&
                        dense_dim() >= 0 && values_.dim() == plain_.dim() + block_dim() + dense_dim() &&
                        values_.size(batch_dim()) == nnz());
}

std::array<int64_t, 2> SparseCsrTensorImpl::block() const {
  if (block_dim() == 0) return {1, 1};
  return {values_.size(batch_dim() + 1), values_.size(batch_dim() + 2)};
}

void SparseCsrTensorImpl::set_elements(IntArrayRef sizes, Tensor compressed, Tensor plain, Tensor values) {
  set_sizes_and_strides(sparse::counted(sizes), no_strides(sizes));
  set_dtype(values.scalar_type());
  compressed_ = std::move(compressed);
  plain_ = std::move(plain);
  values_ = std::move(values);
}

c10::intrusive_ptr<c10::TensorImpl> SparseCsrTensorImpl::shallow_copy() const {
  auto copy = c10::make_intrusive<SparseCsrTensorImpl>(layout(), sizes(), compressed_, plain_, values_);
  copy->copy_metadata_from(*this);
  return copy;
}

void SparseCsrTensorImpl::shallow_copy_from(const c10::TensorImpl& other) {
  TORCH_CHECK(layout() == other.layout(), "a tensor of the layout ", layout(), " cannot take over the data of one of ",
              other.layout());
  TensorImpl::shallow_copy_from(other);
  const auto& from = static_cast<const SparseCsrTensorImpl&>(other);
  compressed_ = from.compressed_;
  plain_ = from.plain_;
  values_ = from.values_;
}

void SparseCsrTensorImpl::release_resources() {
  TensorImpl::release_resources();
  compressed_.reset();
  plain_.reset();
  values_.reset();
}

namespace sparse {

SparseCsrTensorImpl& compressed_impl_of(const char* op, const Tensor& t) {
  TORCH_CHECK(is_compressed(t), op, " expected sparse compressed tensor layout but got ", t.layout());
  return static_cast<SparseCsrTensorImpl&>(*t.unsafeGetTensorImpl());
}

Tensor make_compressed(Layout layout, IntArrayRef sizes, const Tensor& compressed, const Tensor& plain_indices,
                       const Tensor& values) {
  return Tensor(
      c10::make_intrusive<SparseCsrTensorImpl>(layout, sizes, plain(compressed), plain(plain_indices), plain(values)));
}

}  // namespace sparse
}  // namespace at

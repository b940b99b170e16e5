#include "aten/nested/nested_tensor_impl.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "aten/core/empty.h"
#include "c10/util/exception.h"

namespace at {
namespace {

DispatchKeySet nested_keys(Device device) {
  TORCH_CHECK_NOT_IMPLEMENTED(device.is_cpu(), "nested tensors are on the CPU, not on ", device);
  return DispatchKeySet(DispatchKey::NestedTensorCPU);
}

// Of the tensor, with -1 for sizes in which parts differ. Without parts nothing is known of their dimensions.
DimVector whole_sizes(const NestedShape& shape) {
  DimVector sizes{shape.parts};
  if (shape.parts == 0) return sizes;
  for (int64_t d = 0; d < shape.dims; ++d) sizes.push_back(shape.common_size(d));
  return sizes;
}

}  // namespace

int64_t NestedShape::common_size(int64_t d) const {
  if (parts == 0) return -1;
  for (int64_t i = 1; i < parts; ++i) {
    if (sizes[static_cast<size_t>(i * dims + d)] != sizes[static_cast<size_t>(d)]) return -1;
  }
  return sizes[static_cast<size_t>(d)];
}

int64_t NestedShape::numel() const {
  int64_t sum = 0;
  for (int64_t i = 0; i < parts; ++i) {
    const bool overflow = __builtin_add_overflow(sum, c10::checked_numel(sizes_of(i)), &sum);
    TORCH_CHECK(!overflow, "the parts of a nested tensor have too many elements");
  }
  return sum;
}

bool NestedShape::is_packed() const {
  int64_t next = 0;
  for (int64_t i = 0; i < parts; ++i) {
    const IntArrayRef own = sizes_of(i), steps = strides_of(i);
    int64_t numel = 1;
    bool row_major = true;
    for (int64_t d = dims - 1; d >= 0; --d) {
      row_major &= own[d] == 1 || steps[d] == numel;
      numel *= own[d];
    }
    if (numel == 0) continue;
    if (!row_major || offsets[static_cast<size_t>(i)] != next) return false;
    next += numel;
  }
  return true;
}

bool NestedShape::is_dense() const {
  std::vector<int64_t> order(static_cast<size_t>(parts));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](int64_t a, int64_t b) { return offsets[static_cast<size_t>(a)] < offsets[static_cast<size_t>(b)]; });
  int64_t next = 0;
  for (const int64_t i : order) {
    const IntArrayRef own = sizes_of(i), steps = strides_of(i);
    const int64_t numel = c10::checked_numel(own);
    if (numel == 0) continue;
    if (offsets[static_cast<size_t>(i)] != next) return false;
    DimVector inner;
    for (int64_t d = 0; d < dims; ++d) {
      if (own[d] != 1) inner.push_back(d);
    }
    std::sort(inner.begin(), inner.end(), [&](int64_t a, int64_t b) { return steps[a] < steps[b]; });
    int64_t step = 1;
    for (const int64_t d : inner) {
      if (steps[d] != step) return false;
      step *= own[d];
    }
    next += numel;
  }
  return true;
}

NestedTensorImpl::NestedTensorImpl(Tensor buffer, std::shared_ptr<const NestedShape> shape)
    : TensorImpl(nested_keys(buffer.device()), buffer.scalar_type(), buffer.device(), Layout::Strided, {}, {}),
      buffer_(std::move(buffer)),
      shape_(std::move(shape)) {
  TORCH_INTERNAL_ASSERT(buffer_.dim() == 1 && buffer_.is_contiguous());
  const c10::TensorImpl& memory = *buffer_.unsafeGetTensorImpl();
  set_storage(memory.storage());
  set_storage_offset(memory.storage_offset());
  set_version_counter(memory.own_version());
  set_irregular_sizes(whole_sizes(*shape_), shape_->numel(), shape_->is_packed());
}

Tensor NestedTensorImpl::part(int64_t i) const {
  auto impl = TensorImpl::strided(storage(), dtype(), device(), shape_->sizes_of(i), shape_->strides_of(i),
                                  storage_offset() + shape_->offsets[static_cast<size_t>(i)]);
  impl->set_inference(is_inference());
  return Tensor(std::move(impl));
}

std::vector<Tensor> NestedTensorImpl::parts() const {
  std::vector<Tensor> all;
  all.reserve(static_cast<size_t>(shape_->parts));
  for (int64_t i = 0; i < shape_->parts; ++i) all.push_back(part(i));
  return all;
}

c10::intrusive_ptr<c10::TensorImpl> NestedTensorImpl::shallow_copy() const {
  auto copy = c10::make_intrusive<NestedTensorImpl>(buffer_, shape_);
  copy->copy_metadata_from(*this);
  return copy;
}

void NestedTensorImpl::shallow_copy_from(const c10::TensorImpl& other) {
  TensorImpl::shallow_copy_from(other);
  const auto& from = static_cast<const NestedTensorImpl&>(other);
  buffer_ = from.buffer_;
  shape_ = from.shape_;
  set_irregular_sizes(whole_sizes(*shape_), shape_->numel(), shape_->is_packed());
}

void NestedTensorImpl::release_resources() {
  TensorImpl::release_resources();
  buffer_.reset();
  shape_.reset();
}

namespace nested {
namespace {

Tensor longs(IntArrayRef sizes, const std::vector<int64_t>& numbers) {
  const Tensor t = empty_contiguous(sizes, kLong);
  std::copy(numbers.begin(), numbers.end(), static_cast<int64_t*>(t.data_ptr()));
  return t;
}

}  // namespace

Tensor matrix_of(const NestedShape& shape, const std::vector<int64_t>& numbers) {
  return longs({shape.parts, shape.dims}, numbers);
}

Tensor vector_of(const std::vector<int64_t>& numbers) {
  return longs({static_cast<int64_t>(numbers.size())}, numbers);
}

NestedTensorImpl& impl_of(const char* op, const Tensor& t) {
  TORCH_CHECK(t.is_nested(), op, ": expected a nested tensor, but got a dense one of size ", t.sizes());
  return static_cast<NestedTensorImpl&>(*t.unsafeGetTensorImpl());
}

Tensor plain(const Tensor& t) {
  return Tensor(t.unsafeGetTensorImpl()->shallow_copy());
}

Tensor make_nested(const Tensor& buffer, std::shared_ptr<const NestedShape> shape) {
  const Tensor memory = plain(buffer);
  auto impl = c10::make_intrusive<NestedTensorImpl>(memory, std::move(shape));
  impl->set_inference(buffer.is_inference());
  return Tensor(std::move(impl));
}

std::shared_ptr<const NestedShape> packed_shape(int64_t parts, int64_t dims, std::vector<int64_t> sizes) {
  auto shape = std::make_shared<NestedShape>();
  shape->parts = parts;
  shape->dims = dims;
  shape->sizes = std::move(sizes);
  shape->strides.resize(shape->sizes.size());
  int64_t next = 0;
  for (int64_t i = 0; i < parts; ++i) {
    shape->offsets.push_back(next);
    const IntArrayRef own = shape->sizes_of(i);
    int64_t step = 1;
    for (int64_t d = dims - 1; d >= 0; --d) {
      shape->strides[static_cast<size_t>(i * dims + d)] = step;
      step *= own[d];
    }
    next += c10::checked_numel(own);
  }
  return shape;
}

}  // namespace nested
}  // namespace at

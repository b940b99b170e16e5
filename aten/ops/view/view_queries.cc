// Questions about tensors that are operators by name, and changes of a tensor's own geometry.
#include <utility>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/view/kernels.h"
#include "c10/core/accelerator.h"
#include "c10/core/device_guard_impl.h"
#include "c10/core/type_promotion.h"

namespace at::native {

bool is_false(const Tensor& self) {
  self.sizes();
  return false;
}

bool is_floating_point(const Tensor& self) {
  return self.is_floating_point();
}

bool is_complex(const Tensor& self) {
  return self.is_complex();
}

bool is_signed(const Tensor& self) {
  return self.is_signed();
}

bool is_inference(const Tensor& self) {
  return self.is_inference();
}

bool is_pinned(const Tensor& self, std::optional<Device> device) {
  if (!self.is_cpu()) return false;
  const std::optional<DeviceType> type = device.has_value() ? std::optional(device->type()) : getAccelerator();
  const AcceleratorHooksInterface* hooks = type.has_value() ? at::detail::acceleratorHooks(*type) : nullptr;
  return hooks != nullptr && hooks->isPinnedPtr(self.data_ptr());
}

Tensor pin_memory(const Tensor& self, std::optional<Device> device) {
  TORCH_CHECK(self.is_cpu(), "cannot pin '", self.toString(), "' only dense CPU tensors can be pinned");
  return is_pinned(self, device) ? self : at::_to_copy(self, TensorOptions().pinned_memory(true));
}

void record_stream(Tensor& self, Stream s) {
  TORCH_CHECK_NOT_IMPLEMENTED(!self.is_cpu() && !self.is_meta(), "record_stream: a tensor on ", self.device(), " has no streams");
  impl::getDeviceGuardImpl(self.device().type())->recordDataPtrOnStream(self.storage().data_ptr(), s);
}

bool is_same_size(const Tensor& self, const Tensor& other) {
  return self.sizes() == other.sizes();
}

bool is_nonzero(const Tensor& self) {
  TORCH_CHECK(self.numel() != 0, "Boolean value of Tensor with no values is ambiguous");
  TORCH_CHECK(self.numel() < 2, "Boolean value of Tensor with more than one value is ambiguous");
  const Scalar value = at::item(self);
  return value.isComplex() ? value.toComplexDouble() != c10::complex<double>(0, 0)
      : value.isFloatingPoint() ? value.toDouble() != 0
                                : value.toLong() != 0;
}

bool is_set_to(const Tensor& self, const Tensor& tensor) {
  return self.scalar_type() == tensor.scalar_type() && self.is_alias_of(tensor) &&
      self.storage_offset() == tensor.storage_offset() && self.sizes() == tensor.sizes() &&
      self.strides() == tensor.strides();
}

int64_t size_int(const Tensor& self, int64_t dim) {
  return self.size(dim);
}

int64_t stride_int(const Tensor& self, int64_t dim) {
  return self.stride(dim);
}

int64_t dim(const Tensor& self) {
  return self.dim();
}

int64_t get_device(const Tensor& self) {
  return self.get_device();
}

bool is_contiguous(const Tensor& self) {
  return self.is_contiguous();
}

bool is_contiguous_format(const Tensor& self, MemoryFormat memory_format) {
  return self.is_contiguous(memory_format);
}

int64_t numel(const Tensor& self) {
  return self.numel();
}

int64_t storage_offset(const Tensor& self) {
  return self.storage_offset();
}

Tensor shape_as_tensor(const Tensor& self) {
  Tensor result = empty_contiguous({self.dim()}, ScalarType::Long);
  int64_t* data = result.data_ptr<int64_t>();
  for (int64_t d = 0; d < self.dim(); ++d) data[d] = self.size(d);
  return result;
}

bool can_cast(ScalarType from, ScalarType to) {
  return c10::canCast(from, to);
}

namespace {

void add(c10::TypePromotion& state, const Tensor& tensor) {
  state.add_tensor(tensor.scalar_type(), tensor.dim(), tensor.unsafeGetTensorImpl()->is_wrapped_number());
}

}  // namespace

ScalarType result_type_tensor(const Tensor& tensor, const Tensor& other) {
  c10::TypePromotion state;
  add(state, tensor);
  add(state, other);
  return state.result();
}

ScalarType result_type_scalar(const Tensor& tensor, const Scalar& other) {
  c10::TypePromotion state;
  add(state, tensor);
  state.add(other);
  return state.result();
}

ScalarType result_type_scalar_tensor(const Scalar& scalar, const Tensor& tensor) {
  return result_type_scalar(tensor, scalar);
}

ScalarType result_type_scalar_scalar(const Scalar& scalar1, const Scalar& scalar2) {
  c10::TypePromotion state;
  state.add(scalar1);
  state.add(scalar2);
  return state.result();
}

ScalarType promote_types(ScalarType a, ScalarType b) {
  return c10::promoteTypes(a, b);
}

namespace {

Tensor& set_geometry(const char* op, Tensor& self, const Storage& source, int64_t offset, IntArrayRef size, IntArrayRef stride) {
  TORCH_CHECK(!self.requires_grad(), op, ": the tensor requires a gradient; its data cannot be replaced");
  TORCH_CHECK(source && source.device() == self.device(), op, ": expected a storage on device ", self.device());
  const DimVector sizes(size.begin(), size.end());
  checked_numel(sizes);
  DimVector strides(stride.begin(), stride.end());
  if (strides.empty()) strides = strides_of_format(sizes, MemoryFormat::Contiguous);
  TORCH_CHECK(strides.size() == sizes.size(), op, ": ", strides.size(), " strides given for ", sizes.size(), " sizes");
  TORCH_CHECK(offset >= 0, "Tensor: invalid storage offset ", offset);
  for (int64_t step : strides) TORCH_CHECK(step >= 0, op, ": negative strides are not supported, got ", stride);
  const int64_t nbytes = checked_storage_nbytes(sizes, strides, offset, self.itemsize());
  if (nbytes > static_cast<int64_t>(source.nbytes())) source.impl()->resize(nbytes);
  TensorImpl& impl = *self.unsafeGetTensorImpl();
  impl.set_storage(source.impl());
  impl.set_storage_offset(offset);
  impl.set_sizes_and_strides(sizes, strides);
  impl.bump_version();
  return self;
}

}  // namespace

const Tensor& resize_(const Tensor& self, IntArrayRef size, std::optional<MemoryFormat> memory_format) {
  const MemoryFormat format = memory_format.value_or(MemoryFormat::Contiguous);
  TORCH_CHECK(format != MemoryFormat::Preserve, "Unsupported memory format for resize: Preserve");
  if (format == MemoryFormat::Contiguous) {
    resize_output(self, size);
    return self;
  }
  checked_numel(size);
  Tensor target = self;
  set_geometry("resize_", target, self.storage(), self.storage_offset(), size, strides_of_format(size, format));
  return self;
}

const Tensor& resize_as_(const Tensor& self, const Tensor& the_template, std::optional<MemoryFormat> memory_format) {
  MemoryFormat format = memory_format.value_or(MemoryFormat::Contiguous);
  if (format == MemoryFormat::Preserve) format = the_template.suggest_memory_format();
  return resize_(self, the_template.sizes(), format);
}

Tensor& set_(Tensor& self) {
  Tensor fresh = empty_contiguous({0}, self.scalar_type(), self.device());
  return set_geometry("set_", self, fresh.storage(), 0, {0}, {1});
}

Tensor& set_tensor_(Tensor& self, const Tensor& source) {
  TORCH_CHECK(
      self.scalar_type() == source.scalar_type(),
      "Could not set tensor of type ", toString(source.scalar_type()), " to a tensor of type ",
      toString(self.scalar_type()));
  return set_geometry("set_", self, source.storage(), source.storage_offset(), source.sizes(), source.strides());
}

Tensor& set_tensor_offset_(
    Tensor& self, const Tensor& source, int64_t storage_offset, IntArrayRef size, IntArrayRef stride) {
  TORCH_CHECK(
      self.scalar_type() == source.scalar_type(),
      "Could not set tensor of type ", toString(source.scalar_type()), " to a tensor of type ",
      toString(self.scalar_type()));
  return set_geometry("set_", self, source.storage(), storage_offset, size, stride);
}

Tensor& set_storage_(Tensor& self, Storage source) {
  const int64_t count = static_cast<int64_t>(source.nbytes() / self.itemsize());
  return set_geometry("set_", self, source, 0, {count}, {1});
}

Tensor& set_storage_offset_(Tensor& self, Storage source, int64_t storage_offset, IntArrayRef size, IntArrayRef stride) {
  return set_geometry("set_", self, source, storage_offset, size, stride);
}

// The same of a tensor of its own.
Tensor set_empty(const Tensor& self) {
  return empty_contiguous({0}, self.scalar_type(), self.device());
}
Tensor set_tensor(const Tensor& self, const Tensor& source) {
  Tensor result = set_empty(self);
  return set_tensor_(result, source);
}
Tensor set_storage(const Tensor& self, Storage source) {
  Tensor result = set_empty(self);
  return set_storage_(result, std::move(source));
}
Tensor set_storage_offset(const Tensor& self, Storage source, int64_t storage_offset, IntArrayRef size,
                          IntArrayRef stride) {
  Tensor result = set_empty(self);
  return set_storage_offset_(result, std::move(source), storage_offset, size, stride);
}

}  // namespace at::native

#include "aten/core/empty.h"

#include <algorithm>
#include <utility>

#include "aten/cpu/cast.h"
#include "c10/core/accelerator.h"
#include "c10/core/memory_format.h"

namespace at {
namespace {

size_t checked_nbytes(int64_t numel, ScalarType dtype) {
  int64_t nbytes;
  TORCH_CHECK(
      !__builtin_mul_overflow(numel, static_cast<int64_t>(elementSize(dtype)), &nbytes),
      "empty: ", numel, " elements of ", toString(dtype), " overflow the size of memory");
  return static_cast<size_t>(nbytes);
}

}  // namespace

Tensor empty_contiguous(IntArrayRef sizes, ScalarType dtype, Device device) {
  // The common case in one pass: small sizes on the CPU.
  int64_t nbytes_small = static_cast<int64_t>(elementSize(dtype));
  bool small = device.type() == DeviceType::CPU;
  for (int64_t size : sizes) {
    small = small && size >= 0 && size <= (int64_t{1} << 31) && nbytes_small <= (int64_t{1} << 31);
    nbytes_small *= small ? size : 0;
    if (size == 0) small = false;
  }
  if (C10_LIKELY(small)) {
    return Tensor(
        TensorImpl::contiguous(StorageImpl::allocate_cpu(static_cast<size_t>(nbytes_small)), dtype, device, sizes));
  }
  const size_t nbytes = checked_nbytes(checked_numel(sizes), dtype);
  auto storage = StorageImpl::allocate(nbytes, device);
  const Device where = storage->device();
  return Tensor(TensorImpl::contiguous(std::move(storage), dtype, where, sizes));
}

namespace {
size_t checked_strided_nbytes(IntArrayRef sizes, IntArrayRef strides, ScalarType dtype) {
  TORCH_CHECK(
      sizes.size() == strides.size(),
      "mismatch in length of strides and shape: ", strides.size(), " strides for ", sizes.size(), " dimensions");
  checked_numel(sizes);
  for (int64_t stride : strides) {
    TORCH_CHECK(stride >= 0, "as_strided: Negative strides are not supported at the moment, got strides: ", strides);
  }
  return static_cast<size_t>(checked_storage_nbytes(sizes, strides, 0, elementSize(dtype)));
}
}  // namespace

Tensor empty_with_strides(IntArrayRef sizes, IntArrayRef strides, ScalarType dtype, Device device) {
  auto storage = StorageImpl::allocate(checked_strided_nbytes(sizes, strides, dtype), device);
  const Device where = storage->device();
  return Tensor(TensorImpl::strided(std::move(storage), dtype, where, sizes, strides, int64_t{0}));
}

namespace detail {

Tensor empty_strided_generic(
    IntArrayRef sizes, IntArrayRef strides, c10::Allocator* allocator, c10::DispatchKeySet keys, ScalarType dtype) {
  auto storage = StorageImpl::allocate_from(allocator, checked_strided_nbytes(sizes, strides, dtype));
  const Device device = storage->device();
  TORCH_CHECK(keys == backend_key_set(device), "empty_strided_generic: the allocator's memory is on ", device,
              ", whose keys are others than those given");
  return Tensor(TensorImpl::strided(std::move(storage), dtype, device, sizes, strides, int64_t{0}));
}

Tensor empty_generic(
    IntArrayRef sizes,
    c10::Allocator* allocator,
    c10::DispatchKeySet keys,
    ScalarType dtype,
    std::optional<MemoryFormat> memory_format) {
  checked_numel(sizes);
  const DimVector strides = strides_of_format(sizes, memory_format.value_or(MemoryFormat::Contiguous));
  return empty_strided_generic(sizes, strides, allocator, keys, dtype);
}

}  // namespace detail

Tensor empty_pinned(IntArrayRef sizes, IntArrayRef strides, ScalarType dtype, Device device) {
  TORCH_CHECK(device.is_cpu(), "Only dense CPU tensors can be pinned");
  const size_t nbytes = checked_strided_nbytes(sizes, strides, dtype);
  auto storage = StorageImpl::allocate_from(getPinnedMemoryAllocator(), nbytes);
  return Tensor(TensorImpl::strided(std::move(storage), dtype, device, sizes, strides, int64_t{0}));
}

void check_no_quantizer(const char* op, ScalarType dtype) {
  TORCH_CHECK_NOT_IMPLEMENTED(!isQIntType(dtype), op, ": a tensor of dtype ", dtype,
                              " needs a quantizer, which this function does not make");
}

Tensor empty_spec(const TensorSpec& spec) {
  if (C10_LIKELY(spec.strides.empty())) return empty_contiguous(spec.sizes, spec.dtype, spec.device);
  return empty_with_strides(spec.sizes, spec.strides, spec.dtype, spec.device);
}

DimVector strides_of_format(IntArrayRef sizes, MemoryFormat format) {
  DimVector strides(sizes.size());
  const int64_t rank = static_cast<int64_t>(sizes.size());
  int64_t step = 1;
  auto place = [&](int64_t d) {
    strides[d] = step;
    step *= std::max<int64_t>(sizes[d], 1);
  };
  if (format == MemoryFormat::ChannelsLast || format == MemoryFormat::ChannelsLast3d) {
    const int64_t expected = format == MemoryFormat::ChannelsLast ? 4 : 5;
    TORCH_CHECK(
        rank == expected,
        "required rank ", expected, " tensor to use ",
        expected == 4 ? "channels_last" : "channels_last_3d", " format");
    place(1);
    for (int64_t d = rank - 1; d >= 2; --d) place(d);
    place(0);
  } else {
    for (int64_t d = rank - 1; d >= 0; --d) place(d);
  }
  return strides;
}

DimVector strides_like(const TensorBase& self) {
  const IntArrayRef sizes = self.sizes();
  const IntArrayRef strides = self.strides();
  if (self.is_non_overlapping_and_dense()) return DimVector(strides.begin(), strides.end());
  const int64_t rank = self.dim();
  DimVector order(rank);
  for (int64_t d = 0; d < rank; ++d) order[d] = rank - 1 - d;
  // Innermost first, by stride; ties (and broadcast dimensions, whose stride is 0) keep row-major order. Ranks are small.
  for (int64_t i = 1; i < rank; ++i) {
    for (int64_t j = i; j > 0; --j) {
      const int64_t inner = strides[order[j - 1]];
      const int64_t outer = strides[order[j]];
      if (inner == 0 || outer == 0 || inner <= outer) break;
      std::swap(order[j - 1], order[j]);
    }
  }
  DimVector result(rank);
  int64_t step = 1;
  for (int64_t d : order) {
    result[d] = step;
    step *= std::max<int64_t>(sizes[d], 1);
  }
  return result;
}

void resize_output(const Tensor& self, IntArrayRef sizes) {
  if (self.sizes() == sizes) return;
  const int64_t numel = checked_numel(sizes);
  TORCH_CHECK(!self.requires_grad(), "cannot resize variables that require grad");
  TensorImpl& impl = *self.unsafeGetTensorImpl();
  const size_t needed =
      checked_nbytes(numel, impl.dtype()) + static_cast<size_t>(impl.storage_offset()) * impl.itemsize();
  if (numel != 0 && impl.storage() && needed > impl.storage()->nbytes()) impl.storage()->resize(needed);
  impl.set_sizes_contiguous(sizes);
}

Tensor wrapped_scalar_tensor(const Scalar& value) {
  const ScalarType dtype = value.type();
  Tensor result = empty_contiguous({}, dtype);
  void* data = result.data_ptr();
  if (dtype == ScalarType::Double) {
    *static_cast<double*>(data) = value.toDouble();
  } else if (dtype == ScalarType::Long) {
    *static_cast<int64_t*>(data) = value.toLong();
  } else if (dtype == ScalarType::Bool) {
    *static_cast<bool*>(data) = value.toBool();
  } else if (dtype == ScalarType::UInt64) {
    cpu::prepare_type(dtype);
    *static_cast<uint64_t*>(data) = value.toUInt64();
  } else {
    *static_cast<c10::complex<double>*>(data) = value.toComplexDouble();
  }
  result.unsafeGetTensorImpl()->set_wrapped_number(true);
  return result;
}

}  // namespace at

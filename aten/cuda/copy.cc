// Copies between devices and on one, fills.
#include <cuda_runtime_api.h>

#include <optional>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/cpu/pointwise.h"
#include "aten/cpu/strided_loop.h"
#include "aten/cuda/copy/transpose_call.h"
#include "aten/cuda/copy_kernels.h"
#include "aten/cuda/elementwise.h"
#include "aten/ops/copy/kernels.h"
#include "aten/ops/copy/ops.h"
#include "c10/core/device_guard.h"
#include "c10/cuda/event.h"
#include "c10/cuda/exception.h"
#include "c10/cuda/host_allocator.h"
#include "c10/cuda/peer_access.h"
#include "c10/cuda/stream.h"

namespace at {
namespace cuda {
namespace {

using c10::cuda::CUDAStream;

// The type that elements of a dtype pass through on their way to another.
ScalarType type_between(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Double:
      return ScalarType::Double;
    case ScalarType::UInt64:
      return ScalarType::UInt64;
    case ScalarType::ComplexDouble:
      return ScalarType::ComplexDouble;
    default:
      break;
  }
  if (isComplexType(dtype)) return ScalarType::ComplexFloat;
  return isIntegralType(dtype, /*includeBool=*/true) ? ScalarType::Long : ScalarType::Float;
}

// Whether the elements of the two lie in memory in the same order, without gaps.
bool is_one_block(const TensorBase& a, const TensorBase& b) {
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() && a.strides() == b.strides() &&
         a.unsafeGetTensorImpl()->is_non_overlapping_and_dense();
}

Tensor contiguous_on(Device device, const Tensor& like, ScalarType dtype) {
  return empty_contiguous(like.sizes(), dtype, device);
}

void copy_bytes(const Tensor& dst, const Tensor& src, CUDAStream stream) {
  C10_CUDA_CHECK(
      cudaMemcpyAsync(dst.mutable_data_ptr(), src.const_data_ptr(), src.nbytes(), cudaMemcpyDefault, stream));
}

// Elements of one device.
void copy_on_device(const Tensor& dst, const Tensor& src) {
  if (is_one_block(dst, src)) return copy_bytes(dst, src, c10::cuda::getCurrentCUDAStream());
  copy_elements(dst, src);
}

// The two streams wait for each other: the copy begins when dst may be written, and dst's stream goes on behind it.
void copy_between_devices(const Tensor& dst, const Tensor& src) {
  const c10::DeviceGuard guard(src.device());
  const CUDAStream from = c10::cuda::getCurrentCUDAStream(src.device().index());
  const CUDAStream to = c10::cuda::getCurrentCUDAStream(dst.device().index());
  const Tensor block = is_one_block(dst, src) ? src : contiguous_on(src.device(), src, dst.scalar_type());
  if (!block.is_same(src)) copy_on_device(block, src);
  const bool direct = is_one_block(dst, block);
  Tensor target = dst;
  {
    const c10::DeviceGuard on_target(dst.device());
    if (!direct) target = contiguous_on(dst.device(), dst, dst.scalar_type());
    CUDAEvent writable;
    writable.record(to);
    writable.block(from);
  }
  C10_CUDA_CHECK(cudaMemcpyPeerAsync(target.mutable_data_ptr(), dst.device().index(), block.const_data_ptr(),
                                     src.device().index(), block.nbytes(), from));
  CUDAEvent copied;
  copied.record(from);
  copied.block(to);
  if (direct) return;
  const c10::DeviceGuard on_target(dst.device());
  copy_on_device(dst, target);
}

void wait_unless_late(const Tensor& on_host, CUDAStream stream, bool non_blocking) {
  if (non_blocking && CachingHostAllocator_recordEvent(const_cast<void*>(on_host.const_data_ptr()),
                                                       on_host.storage().data_ptr().get_context(), stream)) {
    return;
  }
  if (!non_blocking) stream.synchronize();
}

void copy_to_device(const Tensor& dst, const Tensor& src, bool non_blocking) {
  const CUDAStream stream = c10::cuda::getCurrentCUDAStream();
  const Tensor same = src.scalar_type() == dst.scalar_type() ? src : at::to(src, dst.scalar_type());
  if (is_one_block(dst, same)) {
    copy_bytes(dst, same, stream);
    return wait_unless_late(same, stream, non_blocking);
  }
  const Tensor block = same.is_contiguous() ? same : at::clone(same, MemoryFormat::Contiguous);
  if (dst.is_contiguous()) {
    copy_bytes(dst, block, stream);
  } else {
    const Tensor landed = contiguous_on(dst.device(), dst, dst.scalar_type());
    copy_bytes(landed, block, stream);
    copy_elements(dst, landed);
  }
  wait_unless_late(block, stream, non_blocking);
}

void copy_to_host(const Tensor& dst, const Tensor& src, bool non_blocking) {
  const CUDAStream stream = c10::cuda::getCurrentCUDAStream();
  Tensor block = src;
  if (!is_one_block(dst, src) && !(src.scalar_type() == dst.scalar_type() && src.is_contiguous())) {
    block = contiguous_on(src.device(), src, dst.scalar_type());
    copy_elements(block, src);
  }
  if (is_one_block(dst, block) || (dst.is_contiguous() && block.is_contiguous())) {
    copy_bytes(dst, block, stream);
    return wait_unless_late(dst, stream, non_blocking);
  }
  const Tensor landed = empty_contiguous(dst.sizes(), dst.scalar_type());
  copy_bytes(landed, block, stream);
  stream.synchronize();
  Tensor target = dst;
  at::copy_(target, landed, false);
}

}  // namespace

namespace {

// A dimension shorter than this leaves most of a tile empty.
constexpr int64_t kLeastTransposed = 12;

// Whether neighbours of the one are no neighbours in the other, and what the copy is then.
std::optional<TransposeCall> transposed(const TensorBase& dst, const TensorBase& src) {
  if (dst.scalar_type() != src.scalar_type()) return std::nullopt;
  const cpu::Operand operands[2] = {pointwise::operand_of(dst), pointwise::operand_of(src)};
  const cpu::LoopNest nest(operands, 2);
  const auto item = static_cast<int64_t>(dst.itemsize());
  if (nest.dim() < 2 || nest.dim() > 2 + kMaxTransposeDims) return std::nullopt;
  if (nest.byte_stride(0, 0) != item || nest.byte_stride(1, 0) == item || nest.size(0) < kLeastTransposed) return std::nullopt;
  int along = 1;
  while (along < nest.dim() && nest.byte_stride(1, along) != item) ++along;
  if (along == nest.dim() || nest.size(along) < kLeastTransposed) return std::nullopt;
  TransposeCall call{};
  call.out = nest.data(0);
  call.in = nest.data(1);
  call.across = nest.size(0);
  call.along = nest.size(along);
  call.in_across = nest.byte_stride(1, 0);
  call.out_along = nest.byte_stride(0, along);
  for (int d = 1; d < nest.dim(); ++d) {
    if (d == along) continue;
    call.sizes[call.dims] = nest.size(d);
    call.in_strides[call.dims] = nest.byte_stride(1, d);
    call.out_strides[call.dims] = nest.byte_stride(0, d);
    ++call.dims;
  }
  // Also elements of 16 bytes are read and written whole.
  uintptr_t places = reinterpret_cast<uintptr_t>(call.out) | reinterpret_cast<uintptr_t>(call.in) |
                     static_cast<uintptr_t>(call.in_across) | static_cast<uintptr_t>(call.out_along);
  for (int d = 0; d < call.dims; ++d) {
    places |= static_cast<uintptr_t>(call.in_strides[d]) | static_cast<uintptr_t>(call.out_strides[d]);
  }
  return places % static_cast<uintptr_t>(item) == 0 ? std::optional(call) : std::nullopt;
}

}  // namespace

void copy_elements(const TensorBase& dst, const TensorBase& src) {
  if (dst.numel() == 0) return;
  if (const auto call = transposed(dst, src)) return launch_transpose(*call, static_cast<int64_t>(dst.itemsize()));
  elementwise("copy", kCopyKernels, type_between(src.scalar_type()), nullptr, dst, {src});
}

}  // namespace cuda

namespace native {

Tensor _copy_from_cuda(const Tensor& self, const Tensor& dst, bool non_blocking) {
  if (self.numel() == 0) return dst;
  if (self.is_cpu()) {
    cuda::copy_to_device(dst, self, non_blocking);
  } else if (dst.is_cpu()) {
    cuda::copy_to_host(dst, self, non_blocking);
  } else if (self.device() == dst.device()) {
    cuda::copy_on_device(dst, self);
  } else {
    cuda::copy_between_devices(dst, self);
  }
  return dst;
}

Tensor& fill_scalar_cuda_(Tensor& self, const Scalar& value) {
  alignas(16) char checked[16];
  pointwise::store_element(value, self.scalar_type(), checked);
  const Scalar element = pointwise::load_element(checked, self.scalar_type());
  cuda::elementwise("fill", cuda::kCopyKernels, cuda::type_between(self.scalar_type()), nullptr, self, {element});
  return self;
}

Tensor& zero_cuda_(Tensor& self) {
  if (!self.unsafeGetTensorImpl()->is_non_overlapping_and_dense()) return fill_scalar_cuda_(self, 0);
  if (self.numel() > 0) {
    C10_CUDA_CHECK(cudaMemsetAsync(self.mutable_data_ptr(), 0, self.nbytes(), c10::cuda::getCurrentCUDAStream()));
  }
  return self;
}

}  // namespace native
}  // namespace at

// Tensors on several CUDA devices, by libtorch's names; a device is a number here.
//
//   auto parts = torch::cuda::scatter(x, {0, 1});
//   at::Tensor whole = torch::cuda::gather(parts, /*dim=*/0, /*destination_index=*/0);
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/extension/comm.h"
#include "c10/cuda/stream.h"

namespace torch::cuda {

using tensor_list2d = comm::TensorLists;
/// A stream for each part, or none of them: the device's current one.
using OptionalStreams = std::optional<std::vector<std::optional<c10::cuda::CUDAStream>>>;

// Copies go by the current streams of both devices, which then wait for each other. All throw c10::Error for devices
// that do not exist, for sizes that do not go together, and where there is nothing to copy to or from.

/// The tensor on each device. The first of the devices is where a CUDA tensor is.
std::vector<at::Tensor> broadcast(const at::Tensor& tensor, at::IntArrayRef devices);
/// The same into tensors of CUDA devices of its size. Returns them.
std::vector<at::Tensor>& broadcast_out(const at::Tensor& tensor, std::vector<at::Tensor>& out_tensors);
/// See torch::comm::broadcast_coalesced.
tensor_list2d broadcast_coalesced(at::TensorList tensors, at::IntArrayRef devices,
                                  size_t buffer_size = comm::kBufferSize);

/// The tensor in parts along `dim`, one a device, of the sizes given or of equal ones. A part's copy and memory are its
/// stream's, which must be one of the part's device.
std::vector<at::Tensor> scatter(const at::Tensor& tensor, at::IntArrayRef devices,
                                const std::optional<std::vector<int64_t>>& chunk_sizes = std::nullopt, int64_t dim = 0,
                                const OptionalStreams& streams = std::nullopt);
/// The same into tensors of CUDA devices, whose sizes along `dim` say the parts. Returns them.
std::vector<at::Tensor>& scatter_out(const at::Tensor& tensor, std::vector<at::Tensor>& out_tensors, int64_t dim = 0,
                                     const OptionalStreams& streams = std::nullopt);

/// The tensors joined along `dim` on a device, by default the current one; -1 is the CPU.
at::Tensor gather(at::TensorList tensors, int64_t dim, std::optional<int32_t> destination_index);
at::Tensor& gather_out(at::TensorList tensors, at::Tensor& out_tensor, int64_t dim);

/// Sums of one tensor a device, or of lists of as many tensors (see torch::comm), on a device, by default the current
/// one.
at::Tensor reduce_add(at::TensorList inputs, std::optional<int32_t> destination_index = std::nullopt);
std::vector<at::Tensor> reduce_add_coalesced(const tensor_list2d& inputs,
                                             std::optional<int32_t> destination_index = std::nullopt,
                                             size_t buffer_size = comm::kBufferSize);

}  // namespace torch::cuda

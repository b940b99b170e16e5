// Tensors spread over devices and brought together, without derivatives of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/core/device.h"

namespace torch::comm {

using TensorLists = std::vector<std::vector<at::Tensor>>;

/// Bytes of small tensors that go together.
inline constexpr size_t kBufferSize = 10485760;

/// The tensor, or a copy on the device.
at::Tensor moved(const at::Tensor& tensor, const at::Device& device);

/// The tensor on each device; itself where it is there.
std::vector<at::Tensor> broadcast(const at::Tensor& tensor, const std::vector<at::Device>& devices);

/// All tensors, which are on the first device, on each device: results[i] are those on devices[i]. Copies are views of
/// buffers of at most `buffer_size` bytes, one copy each. Throws c10::Error without devices and for tensors elsewhere.
TensorLists broadcast_coalesced(at::TensorList tensors, const std::vector<at::Device>& devices,
                                size_t buffer_size = kBufferSize);

/// The tensor in parts along `dim`, of the sizes given or of equal ones (the last may be smaller, and there may be
/// fewer parts than devices): views of it. Throws c10::Error without devices, and where the sizes are not one a device.
std::vector<at::Tensor> parts_for(const at::Tensor& tensor, size_t devices,
                                  const std::optional<std::vector<int64_t>>& chunk_sizes, int64_t dim);

/// Those parts, each on its device.
std::vector<at::Tensor> scatter(const at::Tensor& tensor, const std::vector<at::Device>& devices,
                                const std::optional<std::vector<int64_t>>& chunk_sizes = std::nullopt, int64_t dim = 0);

/// The tensors joined along `dim` on the destination; numbers, without dimensions, become a vector.
at::Tensor gather(const std::vector<at::Tensor>& tensors, int64_t dim, const at::Device& destination);

/// The sum on the destination, added up in the order given. Tensors that are undefined are left out. Throws c10::Error
/// for tensors of different sizes.
at::Tensor reduce_add(const std::vector<at::Tensor>& tensors, const at::Device& destination);

/// inputs[i] are tensors on one device, as many of the same sizes and dtypes for each i: their sums over i on the
/// destination. Small dense tensors go together, in buffers of at most `buffer_size` bytes.
std::vector<at::Tensor> reduce_add_coalesced(const TensorLists& inputs, const at::Device& destination,
                                             size_t buffer_size = kBufferSize);

}  // namespace torch::comm

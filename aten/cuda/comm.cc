#include "aten/cuda/comm.h"

#include "aten/ops/copy/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/cuda/device.h"
#include "c10/cuda/guard.h"

namespace torch::cuda {
namespace {

at::Device device_at(int64_t index) {
  const c10::DeviceIndex count = c10::cuda::device_count_ensure_non_zero();
  TORCH_CHECK(index >= 0 && index < count, "there is no CUDA device ", index, " among ", int{count});
  return at::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(index));
}

std::vector<at::Device> devices_at(at::IntArrayRef indices) {
  std::vector<at::Device> devices;
  for (const int64_t index : indices) devices.push_back(device_at(index));
  return devices;
}

at::Device destination_at(std::optional<int32_t> index) {
  if (!index.has_value()) return device_at(c10::cuda::current_device());
  return *index == -1 ? at::Device(c10::kCPU) : device_at(*index);
}

void check_outputs(const char* name, at::TensorList out_tensors) {
  TORCH_CHECK(!out_tensors.empty(), name, ": expected at least one output tensor");
  for (size_t i = 0; i < out_tensors.size(); ++i) {
    TORCH_CHECK(out_tensors[i].is_cuda(), name, ": expected all output tensors to be CUDA tensors, but output tensor ",
                i, " has device ", out_tensors[i].device());
  }
}

// The stream that part `i` is to be copied on.
std::optional<c10::cuda::CUDAStream> stream_of(const OptionalStreams& streams, size_t i, const at::Device& device) {
  if (!streams.has_value() || !(*streams)[i].has_value()) return std::nullopt;
  TORCH_CHECK((*streams)[i]->device() == device, "scatter: stream ", i, " is one of ", (*streams)[i]->device(),
              ", but the part's device is ", device);
  return (*streams)[i];
}

void check_streams(const OptionalStreams& streams, size_t parts) {
  TORCH_CHECK(!streams.has_value() || streams->size() >= parts, "scatter: expected a stream, or none, for each of the ",
              parts, " parts, but got ", streams.has_value() ? streams->size() : 0);
}

}  // namespace

std::vector<at::Tensor> broadcast(const at::Tensor& tensor, at::IntArrayRef devices) {
  TORCH_CHECK(!devices.empty(), "Expected at least one device to broadcast to");
  const std::vector<at::Device> to = devices_at(devices);
  TORCH_CHECK(!tensor.is_cuda() || tensor.device() == to[0], "broadcast: the tensor is on ", tensor.device(),
              ", but the first of the devices is ", to[0]);
  return comm::broadcast(tensor, to);
}

std::vector<at::Tensor>& broadcast_out(const at::Tensor& tensor, std::vector<at::Tensor>& out_tensors) {
  check_outputs("broadcast_out", out_tensors);
  for (const at::Tensor& out : out_tensors) {
    TORCH_CHECK(out.sizes() == tensor.sizes(), "broadcast_out: expected output tensors of size ", tensor.sizes(),
                ", but got one of size ", out.sizes());
  }
  for (at::Tensor& out : out_tensors) at::copy_(out, tensor, /*non_blocking=*/true);
  return out_tensors;
}

tensor_list2d broadcast_coalesced(at::TensorList tensors, at::IntArrayRef devices, size_t buffer_size) {
  return comm::broadcast_coalesced(tensors, devices_at(devices), buffer_size);
}

std::vector<at::Tensor> scatter(const at::Tensor& tensor, at::IntArrayRef devices,
                                const std::optional<std::vector<int64_t>>& chunk_sizes, int64_t dim,
                                const OptionalStreams& streams) {
  const std::vector<at::Device> to = devices_at(devices);
  std::vector<at::Tensor> parts = comm::parts_for(tensor, to.size(), chunk_sizes, dim);
  check_streams(streams, parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    const c10::cuda::OptionalCUDAStreamGuard guard(stream_of(streams, i, to[i]));
    parts[i] = comm::moved(parts[i], to[i]);
  }
  return parts;
}

std::vector<at::Tensor>& scatter_out(const at::Tensor& tensor, std::vector<at::Tensor>& out_tensors, int64_t dim,
                                     const OptionalStreams& streams) {
  check_outputs("scatter_out", out_tensors);
  check_streams(streams, out_tensors.size());
  std::vector<int64_t> sizes;
  for (const at::Tensor& out : out_tensors) sizes.push_back(out.size(dim));
  const std::vector<at::Tensor> parts = at::split_with_sizes(tensor, sizes, dim);
  for (size_t i = 0; i < parts.size(); ++i) {
    TORCH_CHECK(parts[i].sizes() == out_tensors[i].sizes(), "scatter_out: expected output tensor ", i, " of size ",
                parts[i].sizes(), ", but got one of size ", out_tensors[i].sizes());
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    const c10::cuda::OptionalCUDAStreamGuard guard(stream_of(streams, i, out_tensors[i].device()));
    at::copy_(out_tensors[i], parts[i], /*non_blocking=*/true);
  }
  return out_tensors;
}

at::Tensor gather(at::TensorList tensors, int64_t dim, std::optional<int32_t> destination_index) {
  return comm::gather(tensors.vec(), dim, destination_at(destination_index));
}

at::Tensor& gather_out(at::TensorList tensors, at::Tensor& out_tensor, int64_t dim) {
  TORCH_CHECK(!tensors.empty(), "Expected at least one tensor to gather from");
  std::vector<int64_t> sizes;
  for (const at::Tensor& t : tensors) sizes.push_back(t.size(dim));
  std::vector<at::Tensor> parts = at::split_with_sizes(out_tensor, sizes, dim);
  for (size_t i = 0; i < parts.size(); ++i) {
    TORCH_CHECK(parts[i].sizes() == tensors[i].sizes(), "gather_out: the output tensor of size ", out_tensor.sizes(),
                " has no place for tensor ", i, " of size ", tensors[i].sizes());
  }
  // What the host reads must be there.
  for (size_t i = 0; i < parts.size(); ++i) at::copy_(parts[i], tensors[i], /*non_blocking=*/out_tensor.is_cuda());
  return out_tensor;
}

at::Tensor reduce_add(at::TensorList inputs, std::optional<int32_t> destination_index) {
  return comm::reduce_add(inputs.vec(), destination_at(destination_index));
}

std::vector<at::Tensor> reduce_add_coalesced(const tensor_list2d& inputs, std::optional<int32_t> destination_index,
                                             size_t buffer_size) {
  return comm::reduce_add_coalesced(inputs, destination_at(destination_index), buffer_size);
}

}  // namespace torch::cuda

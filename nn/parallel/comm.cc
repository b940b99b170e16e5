#include "nn/parallel/comm.h"

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/view/ops.h"

namespace torch {
namespace comm {
namespace {

at::Tensor moved(const at::Tensor& t, const at::Device& device) {
  return t.device() == device ? t : at::to(t, t.options().device(device), /*non_blocking=*/true, false, std::nullopt);
}

}  // namespace

std::vector<at::Tensor> broadcast(const at::Tensor& tensor, const std::vector<at::Device>& devices) {
  std::vector<at::Tensor> all;
  for (const at::Device& device : devices) all.push_back(moved(tensor, device));
  return all;
}

std::vector<at::Tensor> scatter(const at::Tensor& tensor, const std::vector<at::Device>& devices,
                                const std::optional<std::vector<int64_t>>& chunk_sizes, int64_t dim) {
  TORCH_CHECK(!devices.empty(), "Expected at least one device to scatter to");
  TORCH_CHECK(!chunk_sizes.has_value() || chunk_sizes->size() == devices.size(),
              "Expected devices and chunk_sizes to be of same length, but got len(devices) = ", devices.size(),
              " and len(chunk_sizes) = ", chunk_sizes.has_value() ? chunk_sizes->size() : 0);
  const std::vector<at::Tensor> parts = chunk_sizes.has_value()
                                            ? at::split_with_sizes(tensor, *chunk_sizes, dim)
                                            : at::chunk(tensor, static_cast<int64_t>(devices.size()), dim);
  std::vector<at::Tensor> all;
  for (size_t i = 0; i < parts.size(); ++i) all.push_back(moved(parts[i], devices[i]));
  return all;
}

at::Tensor gather(const std::vector<at::Tensor>& tensors, int64_t dim, const at::Device& destination) {
  TORCH_CHECK(!tensors.empty(), "Expected at least one tensor to gather from");
  bool numbers = dim == 0;
  for (const at::Tensor& t : tensors) numbers = numbers && t.dim() == 0;
  std::vector<at::Tensor> all;
  for (const at::Tensor& t : tensors) {
    const at::Tensor here = moved(t, destination);
    all.push_back(numbers ? at::unsqueeze(here, 0) : here);
  }
  return at::cat(all, dim);
}

at::Tensor reduce_add(const std::vector<at::Tensor>& tensors, const at::Device& destination) {
  at::Tensor sum;
  for (const at::Tensor& t : tensors) {
    if (!t.defined()) continue;
    const at::Tensor here = moved(t, destination);
    sum = sum.defined() ? at::add(sum, here) : here;
  }
  return sum;
}

}  // namespace comm

namespace autograd {

Scatter::Scatter(std::vector<at::Device> devices, std::optional<std::vector<int64_t>> chunk_sizes, int64_t dim,
                 bool unsqueeze_scalars)
    : devices_(std::move(devices)),
      chunk_sizes_(std::move(chunk_sizes)),
      dim_(dim),
      unsqueeze_scalars_(unsqueeze_scalars) {}

variable_list Scatter::apply(variable_list&& inputs) {
  TORCH_CHECK(inputs.size() == 1, "Scatter takes one tensor, but got ", inputs.size());
  // The operators record their own derivatives: what Gather would do.
  variable_list parts = comm::scatter(inputs[0], devices_, chunk_sizes_, dim_);
  if (!unsqueeze_scalars_) return parts;
  for (at::Tensor& part : parts) part = at::squeeze(part, dim_);
  return parts;
}

Gather::Gather(const at::Device& destination_device, int64_t dim)
    : destination_device_(destination_device), dim_(dim) {}

variable_list Gather::apply(variable_list&& inputs) {
  return {comm::gather(inputs, dim_, destination_device_)};
}

}  // namespace autograd
}  // namespace torch

#include "nn/parallel/comm.h"

#include "aten/ops/view/ops.h"

namespace torch::autograd {

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

}  // namespace torch::autograd

// Tensors spread over devices and brought together, with derivatives.
//
//   torch::autograd::Scatter scatter({torch::Device(torch::kCUDA, 0), torch::Device(torch::kCUDA, 1)});
//   std::vector<torch::Tensor> parts = scatter.apply({x});
//   torch::Tensor whole = torch::autograd::Gather(torch::Device(torch::kCUDA, 0)).apply(std::move(parts)).front();
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/extension/comm.h"
#include "autograd/engine/node.h"
#include "c10/core/device.h"

namespace torch::autograd {

// Splits a tensor along `dim` and moves the parts to devices: of the sizes `chunk_sizes`, or of equal ones (the last is
// smaller); there may be fewer parts than devices. With `unsqueeze_scalars` the parts are results of a dimension less.
struct Scatter : public Node {
  explicit Scatter(std::vector<at::Device> devices, std::optional<std::vector<int64_t>> chunk_sizes = std::nullopt,
                   int64_t dim = 0, bool unsqueeze_scalars = false);

  // One tensor.
  variable_list apply(variable_list&& inputs) override;

  std::vector<at::Device> devices_;
  std::optional<std::vector<int64_t>> chunk_sizes_;
  int64_t dim_;
  bool unsqueeze_scalars_;
};

// Moves tensors to a device and joins them along `dim`; numbers, without dimensions, become a vector.
struct Gather : public Node {
  explicit Gather(const at::Device& destination_device, int64_t dim = 0);

  variable_list apply(variable_list&& inputs) override;

  at::Device destination_device_;
  int64_t dim_;
};

}  // namespace torch::autograd

// What the programs' kernels offer to the programs that are C++ alone.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "torch/types.h"

namespace programs {

std::vector<torch::Tensor> gated_cell(torch::Tensor gates, torch::Tensor old_cell);
torch::Tensor square_distances(const torch::Tensor& points);

std::pair<torch::Tensor, torch::Tensor> row_statistics(const torch::Tensor& x);
torch::Tensor tree_sum(const torch::Tensor& x);
std::pair<torch::Tensor, torch::Tensor> histogram(const torch::Tensor& values, int64_t bins);
torch::Tensor gathered(const torch::Tensor& x);
torch::Tensor added_by_offsets(const torch::Tensor& a, const torch::Tensor& b);

torch::Tensor random_mask(at::IntArrayRef sizes, double p, torch::Device device,
                          std::optional<at::Generator> gen = std::nullopt);

}  // namespace programs

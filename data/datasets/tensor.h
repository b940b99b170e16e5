#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "data/datasets/base.h"

namespace torch::data::datasets {

/// Tensors as a dataset: those of a list, or the slices of one along its first dimension.
struct TensorDataset : public Dataset<TensorDataset, TensorExample> {
  explicit TensorDataset(const std::vector<at::Tensor>& tensors) : tensors(tensors) {}
  explicit TensorDataset(const at::Tensor& tensor);

  /// IndexError out of range.
  TensorExample get(size_t index) override;
  std::optional<size_t> size() const override { return tensors.size(); }

  std::vector<at::Tensor> tensors;
};

}  // namespace torch::data::datasets

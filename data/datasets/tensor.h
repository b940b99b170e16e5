#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "data/datasets/base.h"

namespace torch::data::datasets {

/// The slices of a tensor along its first dimension, or (stacked) the tensors of a list, which are of one size.
struct TensorDataset : public Dataset<TensorDataset, TensorExample> {
  explicit TensorDataset(const std::vector<at::Tensor>& tensors);
  explicit TensorDataset(at::Tensor tensor);

  /// IndexError out of range.
  TensorExample get(size_t index) override;
  std::optional<size_t> size() const override;

  at::Tensor tensor;
};

/// Several tensors of one first size: for an index, the slice of each. What Python calls TensorDataset(*tensors).
///
///   torch::data::datasets::TensorTupleDataset set({x, y, weight});   set.get(3)   // {x[3], y[3], weight[3]}
struct TensorTupleDataset : public Dataset<TensorTupleDataset, std::vector<at::Tensor>> {
  /// ValueError "Size mismatch between tensors".
  explicit TensorTupleDataset(std::vector<at::Tensor> tensors);

  std::vector<at::Tensor> get(size_t index) override;
  std::optional<size_t> size() const override;

  std::vector<at::Tensor> tensors;
};

/// A tensor of inputs and one of targets, as examples.
struct TensorPairDataset : public Dataset<TensorPairDataset> {
  /// ValueError "Size mismatch between tensors".
  TensorPairDataset(at::Tensor data, at::Tensor target);

  Example<> get(size_t index) override;
  std::optional<size_t> size() const override;

  at::Tensor data, target;
};

}  // namespace torch::data::datasets

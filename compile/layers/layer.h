// Convolutions and products with constant weights, ready to run.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "graph/ir/graph.h"

namespace torch::compiler {

/// A group of find_fusions(), or such a convolution or product alone, for tensors of the sizes that their infos have.
/// Its weights are laid out once.
class Layer {
 public:
  explicit Layer(const std::vector<const graph::Node*>& group);
  ~Layer();
  Layer(Layer&&) noexcept;

  /// What is read: the input, and the tensor that is added, where there is one.
  const std::vector<graph::Value*>& inputs() const { return inputs_; }
  /// Of their first elements. The result's memory may be that of the tensor that is added.
  void run(const float* input, const float* add, float* result) const;
  size_t bytes() const;

 private:
  struct Packed;
  std::vector<graph::Value*> inputs_;
  std::unique_ptr<const Packed> packed_;
};

}  // namespace torch::compiler

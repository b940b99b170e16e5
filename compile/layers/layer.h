// Convolutions and products with constant weights, ready to run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "graph/ir/graph.h"

namespace torch::compiler {

/// Weights as layers have them: executables of one module for several sizes share theirs. From several threads.
class LayerWeights {
 public:
  LayerWeights();
  ~LayerWeights();
  /// Of those that layers have now.
  size_t bytes() const;

 private:
  friend class Layer;
  struct Laid;
  // What they are laid out for, and two hashes of the numbers.
  using Key = std::vector<int64_t>;
  std::shared_ptr<const Laid> find(const Key& key) const;
  std::shared_ptr<const Laid> keep(const Key& key, Laid&& laid);

  mutable std::mutex mutex_;
  std::map<Key, std::weak_ptr<const Laid>> laid_;
};

/// A group of find_fusions(), or such a convolution or product alone, for tensors of the sizes that their infos have.
/// Its weights are laid out once.
class Layer {
 public:
  Layer(const std::vector<const graph::Node*>& group, LayerWeights& weights);
  ~Layer();
  Layer(Layer&&) noexcept;

  /// Of the first elements of inputs_of(group) and the result. The result's memory may be that of the tensor that is
  /// added.
  void run(const float* input, const float* add, float* result) const;

 private:
  struct Call;
  std::shared_ptr<const LayerWeights::Laid> weights_;
  std::unique_ptr<const Call> call_;
};

}  // namespace torch::compiler

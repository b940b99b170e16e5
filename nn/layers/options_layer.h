// What layers share that have no parameters.
#pragma once

#include <utility>

#include "nn/module/cloneable.h"

namespace torch::nn::detail {

// A layer without parameters and options.
template <typename Derived>
class StatelessLayer : public Cloneable<Derived> {
 public:
  void reset() override {}
};

// A layer that is its options and a forward: made of options, or of what makes options (Softmax(1), Threshold(0.1,
// 20)).
template <typename Derived, typename Options>
class OptionsLayer : public StatelessLayer<Derived> {
 public:
  // The compiler's own trait: a constraint of the library's costs a millisecond a layer.
  template <typename... Args>
  requires(__is_constructible(Options, Args...))
  explicit OptionsLayer(Args&&... args) : options(std::forward<Args>(args)...) {}

  Options options;
};

// A loss with class weights: a buffer, so that they move with the module.
template <typename Derived, typename Options>
class WeightedLoss : public Cloneable<Derived> {
 public:
  explicit WeightedLoss(Options options_ = {}) : options(std::move(options_)) { reset(); }
  void reset() override { weight = this->register_buffer("weight", options.weight()); }

  Options options;
  at::Tensor weight;

 protected:
  TORCH_MODULE_TENSORS(weight)
  // The options with the weights as they are now.
  Options current() const {
    Options now = options;
    now.weight(weight);
    return now;
  }
};

}  // namespace torch::nn::detail

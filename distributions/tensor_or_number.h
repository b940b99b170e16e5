// An argument that is a tensor or a number.
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"

namespace torch::distributions {

using at::IntArrayRef;
using at::Tensor;

/// A tensor, a number, or nothing (`{}`): what parameters of distributions and bounds of constraints are given as.
///
///     Normal(0.0, torch::ones({3}));      // the number takes the tensor's dtype and device
///     Bernoulli({}, logits);              // no probabilities
class TensorOrNumber {
 public:
  TensorOrNumber() = default;
  TensorOrNumber(Tensor tensor) : tensor_(std::move(tensor)) {}
  TensorOrNumber(const at::Scalar& number) : number_(number), is_number_(true) {}
  template <class T>
  requires std::is_arithmetic_v<T> TensorOrNumber(T number) : number_(number), is_number_(true) {}

  bool is_number() const { return is_number_; }
  bool is_tensor() const { return tensor_.defined(); }
  explicit operator bool() const { return is_number_ || tensor_.defined(); }

  const Tensor& tensor() const { return tensor_; }
  const at::Scalar& number() const { return number_; }

  /// The tensor, or the number as a tensor without dimensions of these options.
  Tensor as_tensor(const at::TensorOptions& options) const;

  /// As Python writes it into a text: "0.0", "3", "tensor([1., 2.])".
  std::string text() const;

 private:
  Tensor tensor_;
  at::Scalar number_;
  bool is_number_ = false;
};

/// The arguments broadcast to one shape. Numbers become tensors of the first tensor's dtype and device, without a
/// tensor among the arguments of the default dtype. Throws c10::Error for shapes that do not broadcast.
std::vector<Tensor> broadcast_all(std::initializer_list<TensorOrNumber> arguments);

}  // namespace torch::distributions

#pragma once

#include <utility>

#include "aten/core/tensor.h"

namespace torch::data {

/// What a dataset gives for one index: an input and what is to be predicted from it.
template <typename Data = at::Tensor, typename Target = at::Tensor>
struct Example {
  using DataType = Data;
  using TargetType = Target;

  Example() = default;
  Example(Data data, Target target) : data(std::move(data)), target(std::move(target)) {}

  Data data;
  Target target;
};

namespace example {
struct NoTarget {};
}  // namespace example

/// An example without a target; converts to its data.
template <typename Data>
struct Example<Data, example::NoTarget> {
  using DataType = Data;
  using TargetType = example::NoTarget;

  Example() = default;
  /* implicit */ Example(Data data) : data(std::move(data)) {}

  operator Data&() { return data; }
  operator const Data&() const { return data; }

  Data data;
};

using TensorExample = Example<at::Tensor, example::NoTarget>;

}  // namespace torch::data

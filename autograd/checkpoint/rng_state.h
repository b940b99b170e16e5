#pragma once

#include <vector>

#include "autograd/engine/node.h"
#include "c10/core/generator.h"
#include "c10/core/tensor_impl.h"

namespace torch::utils::checkpoint {

// The states of the default random generators that a function of some arguments draws from.
class RngState {
 public:
  // Now: the CPU's and those of the devices of `inputs`.
  static RngState of(const autograd::variable_list& inputs);
  // The same generators, as they are now.
  RngState again() const;
  void restore() const;
  // Whether both are of the same generators, in the same states.
  bool operator==(const RngState& other) const;

 private:
  struct One {
    at::Generator generator;
    c10::intrusive_ptr<c10::TensorImpl> state;
  };
  void add(at::Generator generator);
  std::vector<One> states_;
};

}  // namespace torch::utils::checkpoint

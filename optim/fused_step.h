#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "aten/core/tensor.h"

// What the optimizers of this folder share: parameters of a group, brought to runs of memory, stepped together.

namespace torch::optim {

/// One parameter with its gradient and state, as operands of aten/cpu/optimizer: [parameter, gradient, state...], null
/// where a state is not used.
struct FusedOperands {
  static constexpr int kMax = 5;
  std::array<void*, kMax> data{};
  int64_t numel = 0;
  at::ScalarType dtype = at::ScalarType::Float;
};

/// Collects the parameters of one update.
class FusedParameters {
 public:
  /// Adds a parameter that has a gradient. Each state is made zero if it is undefined and brought to the parameter's
  /// layout if it has another. Throws for a gradient of another size, dtype or device, and for sparse ones.
  /// Returns the index of the entry.
  size_t add(at::Tensor& param, std::initializer_list<at::Tensor*> states);

  /// Calls `step(index, operands)` on pieces of all parameters, in parallel. The pieces' results may not depend on how the
  /// parameters are cut. Marks the parameters as changed.
  void run(void (*step)(const void* context, size_t index, const FusedOperands& piece), const void* context);

  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    FusedOperands operands;
    at::Tensor param;
    at::Tensor working;  // what is stepped: the parameter, or a dense copy of it
    at::Tensor grad;     // keeps a converted gradient alive
  };
  std::vector<Entry> entries_;
};

/// A zero tensor (or one filled with `value`) of the parameter's layout.
at::Tensor make_state_tensor(const at::Tensor& param, double value = 0);

}  // namespace torch::optim

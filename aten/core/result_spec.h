#pragma once

#include <cstdint>
#include <initializer_list>

#include "aten/core/tensor_base.h"
#include "aten/core/tensor_spec.h"
#include "c10/core/scalar.h"
#include "c10/core/type_promotion.h"

// What the shape rules of pointwise operators share, for every device: type promotion, broadcasting, the layout of results.

namespace at::pointwise {

/// An input: a tensor, or a number that takes part in the loop as a 0-dim operand.
class Input {
 public:
  Input(const TensorBase& tensor) : bits_(reinterpret_cast<uintptr_t>(&tensor)) {}
  Input(const Scalar& number) : bits_(reinterpret_cast<uintptr_t>(&number) | 1) {}
  // Null for a number.
  const TensorBase* tensor() const { return (bits_ & 1) == 0 ? reinterpret_cast<const TensorBase*>(bits_) : nullptr; }
  const Scalar& number() const { return *reinterpret_cast<const Scalar*>(bits_ & ~uintptr_t{1}); }

 private:
  // An address, odd for a number: one word, because a copy of two words just stored stalls.
  uintptr_t bits_;
};
using Inputs = std::initializer_list<Input>;

/// The documented result type of several arguments.
ScalarType promoted_type(Inputs inputs);
/// Integers and bool become the default floating-point dtype.
ScalarType to_floating(ScalarType type);

/// The specification of a pointwise result: the broadcast shape of the inputs, a dense layout that follows theirs, their
/// device. Throws "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0" and, for tensors
/// of two devices, "Expected all tensors to be on the same device, but found at least two devices, cpu and meta!" (a 0-dim
/// CPU tensor goes with any).
TensorSpec result_spec(Inputs inputs, ScalarType dtype);

}  // namespace at::pointwise

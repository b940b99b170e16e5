#pragma once
// The result of a composition by one loop, where that takes the tensors as they are.

#include <initializer_list>

#include "aten/core/tensor.h"
#include "aten/cpu/pointwise.h"

namespace at::native {

/// Whether loops of floating numbers take `a` and `b` together: of one floating dtype that is not one of 8 bits.
bool are_alike(const TensorBase& a, const TensorBase& b);

/// `op` of `inputs` in the layout of `like`, which is one of them; `numbers` are the loop's context. Undefined, and the
/// numbers not looked at, unless all are alike, on one device, and of the sizes of `like` or one element.
Tensor one_pass(const char* name, const cpu::ElementOp& op, const Tensor& like, pointwise::Inputs inputs,
                std::initializer_list<Scalar> numbers);

}  // namespace at::native

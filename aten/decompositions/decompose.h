#pragma once

#include "c10/dispatch/registry.h"

namespace at {

/// Whether an operator's table names a decomposition: a function that computes the same from core operators, or from
/// operators that are composed or have a decomposition themselves. In-place and out= forms have that of the functional
/// one; in-place forms of views, which change the sizes of their tensor, have none.
bool has_decomposition(const c10::OperatorHandle& op);

/// Calls the operator's decomposition in place of its kernel: replaces the arguments on the stack (missing ones at the
/// end take their defaults) by the results. In-place and out= forms write these into the tensors that they are given.
/// Arguments are strided tensors.
///
///   const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("aten::addcmul", "");
///   c10::Stack stack{self, tensor1, tensor2};
///   at::decompose(op, stack);  // as at::add(self, at::mul(tensor1, tensor2))
///
/// Throws NotImplementedError for an operator without one, TypeError for arguments of the wrong number or type, and
/// what the operator itself throws for sizes and dtypes. What kernels find by reading elements (a probability above 1)
/// is not checked.
void decompose(const c10::OperatorHandle& op, c10::Stack& stack);

}  // namespace at

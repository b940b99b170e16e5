// What an operator without a derivative gets for the Autograd key: it can be called with tensors that require gradients,
// and backward through its results throws.
//
//   TORCH_LIBRARY_IMPL(my_ops, Autograd, m) {
//     m.impl("sample", torch::autograd::autogradNotImplementedFallback());
//   }
#pragma once

#include "aten/core/library.h"

namespace torch::autograd {

/// Records a NotImplemented node over all tensors of the call where one of them requires a gradient: backward throws
/// "derivative for my_ops::sample is not implemented". Arguments that the schema marks as written to are checked as those of
/// any operator that writes in place. Results that are views of an argument may not be written to.
/// The schema may have one result with an alias annotation that is not written to, of the first argument: else c10::Error.
torch::CppFunction autogradNotImplementedFallback();

/// The same, but backward gives undefined gradients and warns.
torch::CppFunction basicAutogradNotImplementedFallback();

/// For the ADInplaceOrView key. Views and versions are kept by the kernels here, so this passes calls on.
torch::CppFunction autogradNotImplementedInplaceOrViewFallback();

}  // namespace torch::autograd

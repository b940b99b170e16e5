#pragma once

#include <map>
#include <string>
#include <vector>

#include "c10/dispatch/registry.h"

namespace torch::library {

/// Checks an operator that a program registered, with one set of arguments, for the mistakes that show only later, in training
/// or in a captured graph:
///
///   test_schema                 what the schema says of it is so: only arguments marked (a!) are written to, only results marked
///                               (a) share memory with an argument, and no result is an argument that was not written to
///   test_autograd_registration  gradients come from a kernel for Autograd or from the operators it is composed of: not from a
///                               backend's kernel that records, and not from nowhere
///   test_meta                   on the meta device it gives results of the same sizes, strides and dtypes
///   test_gradient               its derivative is that of its values (gradcheck; arguments that require a gradient are double or
///                               complex double)
///
/// Returns, by the name of the check, "SUCCESS" or what is wrong. Throws Error with all that is wrong instead where
/// `raise_exception` is set, and for a check of another name. The arguments come back unchanged.
///
///   auto op = c10::Dispatcher::singleton().findSchemaOrThrow("mine::scale", "");
///   torch::library::opcheck(op, {torch::randn({3}, torch::kDouble).requires_grad_(), 2.0});
std::map<std::string, std::string> opcheck(const c10::OperatorHandle& op, const c10::Stack& arguments,
                                           const std::vector<std::string>& test_utils = {"test_schema", "test_autograd_registration",
                                                                                         "test_meta", "test_gradient"},
                                           bool raise_exception = true);

}  // namespace torch::library

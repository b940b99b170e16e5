// The operators that other compilers know: the core ATen set of PyTorch 2.15.
#pragma once

#include <string>
#include <vector>

#include "c10/dispatch/function_schema.h"

namespace torch::graph {

/// The overloads of the set, without their namespace, in alphabetical order: "add.Tensor", "relu".
const std::vector<std::string>& core_operators();

/// Whether an operator of the namespace aten is one.
bool is_core_operator(const c10::OperatorName& name);

}  // namespace torch::graph

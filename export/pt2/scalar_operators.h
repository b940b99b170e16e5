// Arithmetic of numbers and truth values in exported programs: what Python's operators do.
#pragma once

#include <optional>
#include <string_view>

#include "graph/ir/callable.h"

namespace torch::pt2 {

/// "_operator.add", "math.trunc", "torch.sym_max" and their like; nothing else.
std::optional<graph::Callable> scalar_operator(std::string_view target);

/// torch::wrapped_number(Any a) -> Tensor: a number where an operator wants a tensor, whose dtype gives way to those of
/// others.
graph::Callable wrapped_number();

}  // namespace torch::pt2

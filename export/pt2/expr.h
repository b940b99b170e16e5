// Sizes as .pt2 files write them: sympy's constructors, "Add(Symbol('s77', positive=True, integer=True), Integer(1))".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "graph/ir/int_expr.h"

namespace torch::pt2 {

/// Null for what is well-formed but no whole number of this language, such as a quotient of floats; then `error` is
/// empty. Else it says what is wrong. Nothing is evaluated but whole numbers.
std::optional<graph::IntExpr> parse_sympy(std::string_view text, std::string* error);

}  // namespace torch::pt2

// Sizes as .pt2 files write them: sympy's constructors, "Add(Symbol('s77', positive=True, integer=True), Integer(1))".
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "graph/ir/int_expr.h"

namespace torch::pt2 {

/// Null for what is well-formed but no whole number of this language, such as a quotient of floats; then `error` is
/// empty. Else it says what is wrong. Nothing is evaluated but whole numbers.
std::optional<graph::IntExpr> parse_sympy(std::string_view text, std::string* error);

/// The texts of symbols that stand for other expressions (ExportedProgram::opaque_sizes).
using OpaqueSizes = std::map<std::string, std::string>;
/// The text of an expression, which parse_sympy() reads. Symbols "u0", "u1" ... are any whole numbers, all others are
/// positive. `ranges`: what the symbols may be.
std::string sympy_of(const graph::IntExpr& e, const std::map<std::string, graph::IntRange>& ranges,
                     const OpaqueSizes& opaque = {});
std::string sympy_symbol(const std::string& name);
/// Whether a symbol stands for a number that only the run itself tells: "u0".
bool is_unbacked(std::string_view symbol);
/// The same for a float: "zuf0".
bool is_float_symbol(std::string_view symbol);

}  // namespace torch::pt2

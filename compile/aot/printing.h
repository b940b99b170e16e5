// Pieces of C++ text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "c10/core/scalar_type.h"
#include "graph/ir/int_expr.h"

namespace torch::aot {

/// "{a, b}"
std::string braces(const std::vector<std::string>& parts);
std::string joined(const std::vector<std::string>& parts, const char* separator);
/// A number as an int64_t: "12", "4 * s0 + 1".
std::string print(const graph::IntExpr& expr);
std::string print(int64_t number);
/// "{2, 4 * s0}"
std::string print(const std::vector<graph::IntExpr>& list);
/// A double that reads as the same one.
std::string print_double(double number);
/// A C++ string literal.
std::string quoted(const std::string& text);
/// "float", "uint16_t" for types of two bytes that C++ has none for. Empty for a dtype that programs do not take.
const char* element_type(c10::ScalarType dtype);
/// "c10::ScalarType::Float"
std::string print(c10::ScalarType dtype);

}  // namespace torch::aot

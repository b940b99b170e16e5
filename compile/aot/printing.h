// Pieces of C++ text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "c10/core/scalar_type.h"
#include "graph/ir/graph.h"
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
/// "m + 64"; the base alone for no bytes.
std::string byte_offset(const std::string& base, const graph::IntExpr& bytes);
/// Of a dense tensor; of a part of it that has only the dimensions from `first_dim` on.
graph::IntExpr bytes_of(const graph::TensorInfo& info, size_t first_dim = 0);
/// A double that reads as the same one.
std::string print_double(double number);
/// A C++ string literal.
std::string quoted(const std::string& text);
/// "float", "uint16_t" for types of two bytes that C++ has none for. Empty for a dtype that programs do not take.
const char* element_type(c10::ScalarType dtype);
/// "c10::ScalarType::Float"
std::string print(c10::ScalarType dtype);

}  // namespace torch::aot

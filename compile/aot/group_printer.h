// Fused groups as C++: a loop over elements in registers, compiled once an instruction set.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compile/group/group.h"

namespace torch::aot {

/// Whether a group can be printed: elements of float32 and truth values, operations that have vector code.
bool is_printable(const compiler::Group& group);

struct PrintedGroup {
  /// The function `void name(char* const* data, const int64_t* symbols, int64_t begin, int64_t end)`, to be put into
  /// HWY_NAMESPACE: elements of the rows [begin, end). `data`: outputs, then inputs.
  std::string code;
  graph::IntExpr rows = 1;      ///< of which there are
  graph::IntExpr elements = 1;  ///< of a row
};

/// `symbols`: the names of sizes, in the order in which the function is given them.
PrintedGroup print_group(const compiler::Group& group, const std::string& name, const std::vector<std::string>& symbols);

}  // namespace torch::aot

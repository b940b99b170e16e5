// Numbers and strings as programs write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace torch::jit::detail {

struct NumberLiteral {
  enum class Kind { kInt, kFloat, kImaginary } kind = Kind::kInt;
  int64_t integer = 0;
  double number = 0;
};
// False where it is no number or does not fit into 64 bits.
bool read_number(std::string_view text, NumberLiteral* out);

// Appends what a string in quotes stands for; false for an escape that is none.
bool append_string(std::string_view quoted, std::string& out);

}  // namespace torch::jit::detail

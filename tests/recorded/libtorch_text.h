#pragma once

#include <string>

#include "tests/recorded/fields.h"

namespace recorded {

// Whether what the field holds is not compared: kernels that do not exist, and what libtorch_text.cc names.
bool libtorch_text_leaves_out(const Json& one, const std::string& field);

}  // namespace recorded

// libtorch's names for conversions between numbers and text.
#pragma once

#include <string>

namespace c10 {
using std::stod;
using std::stoi;
using std::stoll;
using std::stoull;
using std::to_string;
}  // namespace c10

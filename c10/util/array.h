// libtorch's names for std::array.
#pragma once

#include <array>

namespace c10 {
using std::array;
using std::to_array;
}  // namespace c10

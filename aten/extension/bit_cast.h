// c10::bit_cast: a value's bytes as another type of the same size.
#pragma once

#include <bit>

namespace c10 {

using std::bit_cast;

}  // namespace c10

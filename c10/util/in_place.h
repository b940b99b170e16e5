// libtorch's names for std::in_place.
#pragma once

#include <utility>

namespace c10 {
using std::in_place;
using std::in_place_t;
}  // namespace c10

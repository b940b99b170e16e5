// c10::ssize(values): the size as a signed number.
#pragma once

#include <iterator>

namespace c10 {
using std::ssize;
}

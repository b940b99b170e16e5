// libtorch's names for conversions between numbers and text.
#pragma once

#include <cstdint>
#include <string>

namespace c10 {
using std::stod;
using std::stoi;
using std::stoll;
using std::stoull;
using std::to_string;

namespace guts {

using std::to_string;

/// An address as text: "0x55e0".
template <class T>
std::string to_string(T* pointer) {
  std::string digits;
  for (auto rest = reinterpret_cast<uintptr_t>(pointer); rest != 0; rest /= 16) {
    digits.insert(digits.begin(), "0123456789abcdef"[rest % 16]);
  }
  return "0x" + (digits.empty() ? "0" : digits);
}

}  // namespace guts
}  // namespace c10

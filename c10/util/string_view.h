// libtorch's name for std::string_view.
#pragma once

#include <string_view>

namespace c10 {
using std::string_view;

inline namespace literals {
constexpr std::string_view operator""_sv(const char* text, size_t length) { return {text, length}; }
}  // namespace literals
}  // namespace c10

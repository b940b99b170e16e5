// UTF-8, as far as file headers need it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace torch::serialize {

// The length of the well-formed sequence that `text` begins with: 1 to 4, or 0 (overlong forms, surrogates and values
// over U+10FFFF are not well-formed; Unicode 15, table 3-7).
inline size_t utf8_length(std::string_view text) {
  const auto at = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto tail = [&](size_t i) { return (at(i) & 0xc0) == 0x80; };
  const unsigned a = at(0), b = at(1);
  if (text.empty()) return 0;
  if (a < 0x80) return 1;
  if (a >= 0xc2 && a <= 0xdf) return tail(1) ? 2 : 0;
  if (a >= 0xe0 && a <= 0xef) {
    const bool ok = tail(1) && !(a == 0xe0 && b < 0xa0) && !(a == 0xed && b > 0x9f);
    return ok && tail(2) ? 3 : 0;
  }
  if (a >= 0xf0 && a <= 0xf4) {
    const bool ok = tail(1) && !(a == 0xf0 && b < 0x90) && !(a == 0xf4 && b > 0x8f);
    return ok && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

inline bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t n = utf8_length(text);
    if (n == 0) return false;
    text.remove_prefix(n);
  }
  return true;
}

// Writes a code point (not a surrogate, at most U+10FFFF) and returns how many bytes it took.
inline int encode_utf8(uint32_t code, char out[4]) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | ((code >> shift) & 0x3f)); };
  if (code < 0x80) {
    out[0] = static_cast<char>(code);
    return 1;
  }
  if (code < 0x800) {
    out[0] = static_cast<char>(0xc0 | code >> 6);
    out[1] = tail(0);
    return 2;
  }
  if (code < 0x10000) {
    out[0] = static_cast<char>(0xe0 | code >> 12);
    out[1] = tail(6);
    out[2] = tail(0);
    return 3;
  }
  out[0] = static_cast<char>(0xf0 | code >> 18);
  out[1] = tail(12);
  out[2] = tail(6);
  out[3] = tail(0);
  return 4;
}

// 0 to 15, or -1.
inline int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace torch::serialize

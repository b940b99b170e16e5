// Between the bytes of Store's interface and the strings that hold them inside.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace c10d::detail {

inline std::vector<uint8_t> to_bytes(const std::string& text) {
  return {text.begin(), text.end()};
}
inline std::string to_text(const std::vector<uint8_t>& bytes) {
  return {bytes.begin(), bytes.end()};
}

}  // namespace c10d::detail

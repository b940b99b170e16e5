#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace torch::hub {

// SHA-256 (FIPS 180-4) of bytes that come piece by piece.
//
//   Sha256 hash;
//   hash.update("abc", 3);
//   hash.hexadecimal();     // "ba7816bf..."
class Sha256 {
 public:
  void update(const void* data, size_t bytes);
  // Of all that was added; nothing may be added after.
  std::string hexadecimal();

 private:
  void block(const uint8_t* bytes);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> rest_{};
  uint64_t bytes_ = 0;
};

}  // namespace torch::hub

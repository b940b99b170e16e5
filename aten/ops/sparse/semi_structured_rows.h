#pragma once

#include <array>
#include <cstdint>

namespace at::semi_structured {

/// For a byte with the numbers of two groups: which of the bytes of their kept elements each byte of both groups is,
/// 0x80 for none.
using PairTable = std::array<std::array<uint8_t, 16>, 256>;

/// `count` times two groups of 8 bytes each (of 4 bytes each: `narrow`), one behind the other, from their kept
/// elements, which are half as long. What a number that names no places gives is not said.
void expand_pairs(const PairTable& table, bool narrow, const uint8_t* numbers, int64_t count, const void* kept,
                  void* groups);

}  // namespace at::semi_structured

// The bits of a float.
#pragma once

#include <bit>
#include <cstdint>

namespace c10::detail {
constexpr float fp32_from_bits(uint32_t w) { return std::bit_cast<float>(w); }
constexpr uint32_t fp32_to_bits(float f) { return std::bit_cast<uint32_t>(f); }
}  // namespace c10::detail

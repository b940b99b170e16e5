// Arithmetic on bits, under the names of LLVM's MathExtras.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace c10::llvm {

/// Zeros from the lowest, or the highest, bit on; all bits for 0.
template <class T>
constexpr size_t countTrailingZeros(T x) {
  return static_cast<size_t>(std::countr_zero(x));
}
template <class T>
constexpr size_t countLeadingZeros(T x) {
  return static_cast<size_t>(std::countl_zero(x));
}
template <class T>
constexpr size_t countTrailingOnes(T x) {
  return static_cast<size_t>(std::countr_one(x));
}
template <class T>
constexpr size_t countLeadingOnes(T x) {
  return static_cast<size_t>(std::countl_one(x));
}
template <class T>
constexpr unsigned countPopulation(T x) {
  return static_cast<unsigned>(std::popcount(x));
}
/// The index of the lowest, or the highest, bit that is set; the largest T for 0.
template <class T>
constexpr T findFirstSet(T x) {
  return x == 0 ? std::numeric_limits<T>::max() : static_cast<T>(std::countr_zero(x));
}
template <class T>
constexpr T findLastSet(T x) {
  return x == 0 ? std::numeric_limits<T>::max() : static_cast<T>(std::bit_width(x) - 1);
}
constexpr uint32_t Hi_32(uint64_t x) {
  return static_cast<uint32_t>(x >> 32);
}
constexpr uint32_t Lo_32(uint64_t x) {
  return static_cast<uint32_t>(x);
}
constexpr uint64_t Make_64(uint32_t high, uint32_t low) {
  return uint64_t{high} << 32 | low;
}
constexpr bool isPowerOf2_32(uint32_t x) {
  return std::has_single_bit(x);
}
constexpr bool isPowerOf2_64(uint64_t x) {
  return std::has_single_bit(x);
}
/// floor and ceiling of the logarithm to base 2; of 0 the floor is -1 and the ceiling 32 or 64.
constexpr unsigned Log2_32(uint32_t x) {
  return static_cast<unsigned>(std::bit_width(x) - 1);
}
constexpr unsigned Log2_64(uint64_t x) {
  return static_cast<unsigned>(std::bit_width(x) - 1);
}
constexpr unsigned Log2_32_Ceil(uint32_t x) {
  return x == 0 ? 32 : static_cast<unsigned>(std::bit_width(x - 1));
}
constexpr unsigned Log2_64_Ceil(uint64_t x) {
  return x == 0 ? 64 : static_cast<unsigned>(std::bit_width(x - 1));
}
/// The next power above `x`; 0 where there is none in 64 bits.
constexpr uint64_t NextPowerOf2(uint64_t x) {
  return std::bit_width(x) == 64 ? 0 : uint64_t{1} << std::bit_width(x);
}
/// The least power that is at least `x`; 0 for 0.
constexpr uint64_t PowerOf2Ceil(uint64_t x) {
  return x == 0 ? 0 : NextPowerOf2(x - 1);
}
/// The largest power that is at most `x`; 0 for 0.
constexpr uint64_t PowerOf2Floor(uint64_t x) {
  return std::bit_floor(x);
}
/// The least number >= `value` that is `skew` modulo `align`.
constexpr uint64_t alignTo(uint64_t value, uint64_t align, uint64_t skew = 0) {
  skew %= align;
  return (value + align - 1 - skew) / align * align + skew;
}
constexpr uint64_t alignDown(uint64_t value, uint64_t align, uint64_t skew = 0) {
  skew %= align;
  return (value - skew) / align * align + skew;
}
/// Whether `x` has a place in that many bits.
template <unsigned bits>
constexpr bool isInt(int64_t x) {
  return bits >= 64 || (x >= -(int64_t{1} << (bits - 1)) && x < int64_t{1} << (bits - 1));
}
template <unsigned bits>
constexpr bool isUInt(uint64_t x) {
  return bits >= 64 || x < uint64_t{1} << bits;
}
/// The number that the lowest `bits` of `x` are in two's complement.
template <unsigned bits>
constexpr int64_t SignExtend64(uint64_t x) {
  return static_cast<int64_t>(x << (64 - bits)) >> (64 - bits);
}

}  // namespace c10::llvm

#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "c10/core/scalar_type.h"

namespace at::cpu {

// An element of a bool tensor as it lies in memory. Foreign memory (from_blob, view(dtype)) may hold any byte, and reading one
// other than 0 and 1 as C++'s bool is undefined: kernels read bools as this. Every byte but 0 is true; 0 and 1 are written.
struct Boolean {
  uint8_t byte;

  Boolean() = default;
  constexpr Boolean(bool value) : byte(value ? 1 : 0) {}
  constexpr operator bool() const { return byte != 0; }
};
static_assert(sizeof(Boolean) == 1 && std::is_trivially_copyable_v<Boolean>);

// Integers and bool.
template <class T>
inline constexpr bool kIsIntegral = std::is_integral_v<T> || std::is_same_v<T, Boolean>;

}  // namespace at::cpu

template <>
struct std::numeric_limits<at::cpu::Boolean> : std::numeric_limits<bool> {};
template <>
struct c10::CppTypeToScalarType<at::cpu::Boolean> : std::integral_constant<c10::ScalarType, c10::ScalarType::Bool> {};

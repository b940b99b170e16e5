// Reading an element of memory that may hold anything: a bool is true for any byte but 0.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace c10 {

template <class T>
constexpr T load(const void* source) {
  if constexpr (std::is_same_v<T, bool>) {
    return *static_cast<const unsigned char*>(source) != 0;
  } else {
    T value;
    std::memcpy(&value, source, sizeof(T));
    return value;
  }
}
template <class T>
T load(const T* source) {
  return load<T>(static_cast<const void*>(source));
}

}  // namespace c10

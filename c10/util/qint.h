// Storage types of quantized elements: an integer that stands for scale * (value - zero_point).
#pragma once

#include <cstdint>

namespace c10 {

struct alignas(1) qint8 {
  using underlying = int8_t;
  int8_t val_;
  qint8() = default;
  explicit constexpr qint8(int8_t val) : val_(val) {}
};
struct alignas(1) quint8 {
  using underlying = uint8_t;
  uint8_t val_;
  quint8() = default;
  explicit constexpr quint8(uint8_t val) : val_(val) {}
};
struct alignas(4) qint32 {
  using underlying = int32_t;
  int32_t val_;
  qint32() = default;
  explicit constexpr qint32(int32_t val) : val_(val) {}
};
// Two values of four bits.
struct alignas(1) quint4x2 {
  using underlying = uint8_t;
  uint8_t val_;
  quint4x2() = default;
  explicit constexpr quint4x2(uint8_t val) : val_(val) {}
};
// Four values of two bits.
struct alignas(1) quint2x4 {
  using underlying = uint8_t;
  uint8_t val_;
  quint2x4() = default;
  explicit constexpr quint2x4(uint8_t val) : val_(val) {}
};

}  // namespace c10

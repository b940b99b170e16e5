#include "aten/cpu/loops/loops.h"

#include <cmath>

// Loops that would gain nothing from wider instructions.

namespace at::cpu {
namespace {

// The angle of a number on the real line.
template <class T>
void angle(char* const* data, int64_t n, const void*) {
  T* out = reinterpret_cast<T*>(data[0]);
  const T* a = reinterpret_cast<const T*>(data[1]);
  for (int64_t i = 0; i < n; ++i) out[i] = std::isnan(a[i]) ? a[i] : a[i] < 0 ? static_cast<T>(3.14159265358979323846) : T(0);
}
template <class T>
void heaviside_of(char* const* data, int64_t n, const void*) {
  T* out = reinterpret_cast<T*>(data[0]);
  const T* a = reinterpret_cast<const T*>(data[1]);
  const T* at_zero = reinterpret_cast<const T*>(data[2]);
  for (int64_t i = 0; i < n; ++i) out[i] = a[i] == 0 ? at_zero[i] : static_cast<T>(a[i] > 0);
}
template <class T>
void truncated_quotient(char* const* data, int64_t n, const void*) {
  T* out = reinterpret_cast<T*>(data[0]);
  const T* a = reinterpret_cast<const T*>(data[1]);
  const T* b = reinterpret_cast<const T*>(data[2]);
  for (int64_t i = 0; i < n; ++i) out[i] = std::trunc(a[i] / b[i]);
}

constexpr ElementTable table(ElementLoop f) { return baseline_table<ElementLoop>(f); }

// On 16-bit floating-point numbers whose infinity is kInfinity and whose quiet NaN is kNan.
template <uint16_t kInfinity, uint16_t kNan>
void nextafter_16(char* const* data, int64_t n) {
  uint16_t* out = reinterpret_cast<uint16_t*>(data[0]);
  const uint16_t* a = reinterpret_cast<const uint16_t*>(data[1]);
  const uint16_t* b = reinterpret_cast<const uint16_t*>(data[2]);
  const auto is_nan = [](uint16_t x) { return (x & 0x7fff) > kInfinity; };
  // The numbers in order as integers.
  const auto rank = [](uint16_t x) { return (x & 0x8000) != 0 ? -static_cast<int32_t>(x & 0x7fff) : static_cast<int32_t>(x); };
  for (int64_t i = 0; i < n; ++i) {
    const uint16_t x = a[i], y = b[i];
    if (is_nan(x) || is_nan(y)) {
      out[i] = kNan;
    } else if (rank(x) == rank(y)) {
      out[i] = y;
    } else if ((x & 0x7fff) == 0) {
      out[i] = rank(y) > 0 ? 0x0001 : 0x8001;
    } else {
      const bool grows = (rank(x) < rank(y)) == (rank(x) > 0);
      out[i] = static_cast<uint16_t>(grows ? x + 1 : x - 1);
    }
  }
}
}  // namespace

void nextafter_bfloat16(char* const* data, int64_t n, const void*) { nextafter_16<0x7f80, 0x7fc0>(data, n); }
void nextafter_half(char* const* data, int64_t n, const void*) { nextafter_16<0x7c00, 0x7e00>(data, n); }

namespace loops {

AT_ELEMENT_OP(real_angle, {table(angle<float>), table(angle<double>), {}, {}, {}, {}});
AT_ELEMENT_OP(trunc_divide, {table(truncated_quotient<float>), table(truncated_quotient<double>), {}, {}, {}, {}});
AT_ELEMENT_OP(heaviside, {table(heaviside_of<float>), table(heaviside_of<double>), table(heaviside_of<int32_t>),
              table(heaviside_of<int64_t>), {}, {}});

}  // namespace loops
}  // namespace at::cpu

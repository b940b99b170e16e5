// Conversions of the rarer types: plain loops for every processor.
#include "aten/cpu/cast.h"
#include "c10/util/float8.h"

namespace at::cpu {
namespace {

template <class Float8>
void decode_float8(void* dst, const void* src, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    static_cast<float*>(dst)[i] = Float8::Format::decode(static_cast<const uint8_t*>(src)[i]);
}
template <class Float8>
void encode_float8(void* dst, const void* src, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    static_cast<uint8_t*>(dst)[i] = Float8::Format::encode(static_cast<const float*>(src)[i]);
}

// Between the unsigned types and to what holds them.
template <class To, class From>
void convert_unsigned(void* dst, const void* src, int64_t n) {
  for (int64_t i = 0; i < n; ++i) static_cast<To*>(dst)[i] = static_cast<To>(static_cast<const From*>(src)[i]);
}
// The upper half of uint64 is what int64 does not hold.
template <class From>
void to_uint64(void* dst, const void* src, int64_t n) {
  constexpr From kHalf = static_cast<From>(0x1p63);
  for (int64_t i = 0; i < n; ++i) {
    const From x = static_cast<const From*>(src)[i];
    const bool upper = x >= kHalf;
    const From rest = upper ? x - kHalf : x;
    const bool fits = rest >= -kHalf && rest < kHalf;
    const uint64_t whole = fits ? static_cast<uint64_t>(static_cast<int64_t>(rest)) : uint64_t{1} << 63;
    static_cast<uint64_t*>(dst)[i] = upper ? whole ^ (uint64_t{1} << 63) : whole;
  }
}

// A complex number is two of its parts.
template <c10::ScalarType to, c10::ScalarType from>
void convert_parts(void* dst, const void* src, int64_t n) {
  find_common_step(to, from)(dst, src, 2 * n);
}

constexpr int pair(c10::ScalarType to, c10::ScalarType from) {
  return static_cast<int>(to) * 64 + static_cast<int>(from);
}

ConvertRun find_step(c10::ScalarType to, c10::ScalarType from) {
  using enum c10::ScalarType;
  switch (pair(to, from)) {
    case pair(Float, Float8_e5m2):
      return decode_float8<c10::Float8_e5m2>;
    case pair(Float, Float8_e4m3fn):
      return decode_float8<c10::Float8_e4m3fn>;
    case pair(Float, Float8_e5m2fnuz):
      return decode_float8<c10::Float8_e5m2fnuz>;
    case pair(Float, Float8_e4m3fnuz):
      return decode_float8<c10::Float8_e4m3fnuz>;
    case pair(Float, Float8_e8m0fnu):
      return decode_float8<c10::Float8_e8m0fnu>;
    case pair(Float8_e5m2, Float):
      return encode_float8<c10::Float8_e5m2>;
    case pair(Float8_e4m3fn, Float):
      return encode_float8<c10::Float8_e4m3fn>;
    case pair(Float8_e5m2fnuz, Float):
      return encode_float8<c10::Float8_e5m2fnuz>;
    case pair(Float8_e4m3fnuz, Float):
      return encode_float8<c10::Float8_e4m3fnuz>;
    case pair(Float8_e8m0fnu, Float):
      return encode_float8<c10::Float8_e8m0fnu>;
    case pair(UInt64, UInt16):
      return convert_unsigned<uint64_t, uint16_t>;
    case pair(UInt64, UInt32):
      return convert_unsigned<uint64_t, uint32_t>;
    case pair(UInt16, UInt64):
      return convert_unsigned<uint16_t, uint64_t>;
    case pair(UInt32, UInt64):
      return convert_unsigned<uint32_t, uint64_t>;
    case pair(UInt64, Long):
    case pair(Long, UInt64):
      return convert_unsigned<uint64_t, uint64_t>;
    case pair(Float, UInt64):
      return convert_unsigned<float, uint64_t>;
    case pair(Double, UInt64):
      return convert_unsigned<double, uint64_t>;
    case pair(UInt64, Float):
      return to_uint64<float>;
    case pair(UInt64, Double):
      return to_uint64<double>;
    case pair(ComplexFloat, ComplexHalf):
      return convert_parts<Float, Half>;
    case pair(ComplexHalf, ComplexFloat):
      return convert_parts<Half, Float>;
    case pair(ComplexFloat, BComplex32):
      return convert_parts<Float, BFloat16>;
    case pair(BComplex32, ComplexFloat):
      return convert_parts<BFloat16, Float>;
    default:
      return nullptr;
  }
}

}  // namespace

void use_rare_types() {
  __atomic_store_n(&detail::find_rare_step, &find_step, __ATOMIC_RELAXED);
}

}  // namespace at::cpu

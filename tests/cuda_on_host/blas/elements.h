// Elements of every type that the library multiplies, as complex numbers of doubles, which hold each of them exactly.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <library_types.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>

namespace cublas_standin {

using Number = std::complex<double>;

inline bool is_complex(int type) {
  return type == CUDA_C_32F || type == CUDA_C_64F;
}
inline bool is_fp8(int type) {
  return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2;
}

// 0 for types that the stand-in has not.
inline size_t bytes_of(int type) {
  switch (type) {
    case CUDA_R_8I:
    case CUDA_R_8F_E4M3:
    case CUDA_R_8F_E5M2:
      return 1;
    case CUDA_R_16F:
    case CUDA_R_16BF:
      return 2;
    case CUDA_R_32F:
    case CUDA_R_32I:
      return 4;
    case CUDA_R_64F:
    case CUDA_C_32F:
      return 8;
    case CUDA_C_64F:
      return 16;
    default:
      return 0;
  }
}

inline double from_fp8(uint8_t bits, __nv_fp8_interpretation_t kind) {
  return __half2float(__half(__nv_cvt_fp8_to_halfraw(bits, kind)));
}

inline Number load(const void* base, int type, int64_t i) {
  switch (type) {
    case CUDA_R_8I:
      return static_cast<const int8_t*>(base)[i];
    case CUDA_R_32I:
      return static_cast<const int32_t*>(base)[i];
    case CUDA_R_8F_E4M3:
      return from_fp8(static_cast<const uint8_t*>(base)[i], __NV_E4M3);
    case CUDA_R_8F_E5M2:
      return from_fp8(static_cast<const uint8_t*>(base)[i], __NV_E5M2);
    case CUDA_R_16F:
      return __half2float(static_cast<const __half*>(base)[i]);
    case CUDA_R_16BF:
      return __bfloat162float(static_cast<const __nv_bfloat16*>(base)[i]);
    case CUDA_R_32F:
      return static_cast<const float*>(base)[i];
    case CUDA_R_64F:
      return static_cast<const double*>(base)[i];
    case CUDA_C_32F:
      return static_cast<const std::complex<float>*>(base)[i];
    default:
      return static_cast<const Number*>(base)[i];
  }
}

// Rounds to the nearest; 8-bit types saturate, int32 wraps.
inline void store(void* base, int type, int64_t i, Number value) {
  const double x = value.real();
  switch (type) {
    case CUDA_R_8I:
      static_cast<int8_t*>(base)[i] = static_cast<int8_t>(std::clamp(std::nearbyint(x), -128.0, 127.0));
      break;
    case CUDA_R_32I:
      static_cast<int32_t*>(base)[i] = static_cast<int32_t>(static_cast<int64_t>(std::nearbyint(x)));
      break;
    case CUDA_R_8F_E4M3:
      static_cast<uint8_t*>(base)[i] = __nv_cvt_double_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
      break;
    case CUDA_R_8F_E5M2:
      static_cast<uint8_t*>(base)[i] = __nv_cvt_double_to_fp8(x, __NV_SATFINITE, __NV_E5M2);
      break;
    case CUDA_R_16F:
      static_cast<__half*>(base)[i] = __double2half(x);
      break;
    case CUDA_R_16BF:
      static_cast<__nv_bfloat16*>(base)[i] = __double2bfloat16(x);
      break;
    case CUDA_R_32F:
      static_cast<float*>(base)[i] = static_cast<float>(x);
      break;
    case CUDA_R_64F:
      static_cast<double*>(base)[i] = x;
      break;
    case CUDA_C_32F:
      static_cast<std::complex<float>*>(base)[i] = std::complex<float>(value);
      break;
    default:
      static_cast<Number*>(base)[i] = value;
  }
}

// What is left of a number that is stored in a type.
inline Number rounded_to(int type, Number value) {
  alignas(16) char memory[16];
  store(memory, type, 0, value);
  return load(memory, type, 0);
}

// TF32: 10 bits behind the leading one, rounded to the nearest, halves away from zero.
inline double rounded_to_tf32(double x) {
  if (!std::isfinite(x) || x == 0) return x;
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);
  return std::ldexp(std::round(std::ldexp(fraction, 11)), exponent - 11);
}

}  // namespace cublas_standin

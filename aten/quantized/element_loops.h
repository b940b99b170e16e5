#pragma once

#include <cstdint>

// Loops over contiguous elements of quantized tensors, chosen for the processor. T is the type of their integers:
// uint8_t, int8_t or int32_t.
namespace at::quantized {

/// How numbers become integers: scales and zero points, one for all elements or `each` its own.
struct Steps {
  const float* scale;
  const float* zero;
  bool each = false;

  Steps from(int64_t i) const { return each ? Steps{scale + i, zero + i, true} : *this; }
};

/// Zero points up to here keep their differences from 8-bit integers exact in float.
constexpr float kNear = 8388608;

/// Integers that stand for numbers: nearbyint(x * (1 / scale)) + zero in float, within the range of T; NaN gives its
/// least. `whole`: zero points are whole numbers; if not, nearbyint(x * (1 / scale) + zero).
template <class T>
void quantize_run(const float* x, T* q, int64_t n, const Steps& steps, bool whole);

/// The numbers: (q - zero) * scale; the difference is exact where zero points are whole numbers.
template <class T>
void dequantize_run(const T* q, float* x, int64_t n, const Steps& steps, bool whole);

/// What combines two quantized tensors: scales, and zero points, whole numbers of at most kNear.
struct Combination {
  bool multiply = false;   // else they are added
  bool rectified = false;  // negative results are 0
  float scale_a = 1, zero_a = 0, scale_b = 1, zero_b = 0, scale = 1, zero = 0;
};
/// T: of 8 bits.
template <class T>
void combine_run(const T* a, const T* b, T* q, int64_t n, const Combination& how);

/// nearbyint(slope * (q - zero_in) + offset) + zero_out, saturated; slopes and offsets are the scales and the zeros of
/// `lines`, zero points near. T: of 8 bits.
template <class T>
void line_run(const T* q, T* out, int64_t n, const Steps& lines, float zero_in, float zero_out);

/// table[q[i]], of 256 bytes.
void look_up_run(const uint8_t* q, uint8_t* out, int64_t n, const uint8_t* table);

/// The sum of integers of 8 bits.
int64_t sum_run(const uint8_t* q, int64_t n);
int64_t sum_run(const int8_t* q, int64_t n);

/// Integers within [least, most].
template <class T>
void clamp_run(const T* q, T* out, int64_t n, T least, T most);

/// The least and the greatest of n > 0 numbers; NaN both where one is.
void extremes_run(const float* x, int64_t n, float* least, float* most);

/// Numbers moved to those that integers within [least, most] stand for; `inside`, where not null, tells which were
/// within. `whole` as of quantize_run. N: float or double.
template <class N>
void fake_quantize_run(const N* x, N* y, bool* inside, int64_t n, const Steps& steps, bool whole, N least, N most);

/// The gradient of that by its input, for one scale; adds those by scale and zero point to *of_scale and *of_zero.
template <class N>
void fake_quantize_backward_run(const N* x, const N* grad, N* out, int64_t n, float scale, float zero, N least, N most,
                                double* of_scale, double* of_zero);

}  // namespace at::quantized

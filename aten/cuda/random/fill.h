// Random numbers written into tensors: what the host asks of kernels.
#pragma once

#include <cstdint>

#include "aten/cuda/elementwise_call.h"
#include "aten/cuda/philox_state.h"
#include "c10/cuda/launch.h"

namespace at::cuda::random {

/// Up to 2^31 - 1 elements of one dtype in merged dimensions, the innermost first. Thread t of T draws four words at a
/// time, of which it makes the elements t, t + T, ... in the order of memory: numbers_per_draw of them.
struct Target {
  char* data;
  ScalarType dtype;
  uint32_t numel;
  int dims;
  bool contiguous;
  FastDivisor sizes[kMaxElementwiseDims];
  int64_t strides[kMaxElementwiseDims];  // in bytes
  PhiloxCudaState random;
};

/// Four numbers of 32 bits, two of 64.
inline constexpr uint32_t kNumbersPerDraw = 4;
inline constexpr uint32_t kWideNumbersPerDraw = 2;

using Launch = c10::cuda::Launch;

// Computed in double for a target of float64, with two numbers a draw, and in float for others, with four.
/// In [from, to), or `from` where they are equal. The bounds are numbers of the target's dtype.
void fill_uniform(const Target& target, const Launch& launch, double from, double to);
void fill_normal(const Target& target, const Launch& launch, double mean, double std);
void fill_log_normal(const Target& target, const Launch& launch, double mean, double std);
void fill_cauchy(const Target& target, const Launch& launch, double median, double sigma);
void fill_exponential(const Target& target, const Launch& launch, double lambd);
void fill_geometric(const Target& target, const Launch& launch, double p);
void fill_bernoulli(const Target& target, const Launch& launch, double p);

/// base + word % range, of words of 64 bits (two a draw) where `wide`, else of 32 bits; a range of 0 is all 2^64.
void fill_integers(const Target& target, const Launch& launch, uint64_t range, int64_t base, bool wide);

}  // namespace at::cuda::random

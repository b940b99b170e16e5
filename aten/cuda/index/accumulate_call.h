#pragma once

#include "aten/cuda/elementwise_call.h"

namespace at::cuda {

enum class Reduction { kAssign, kSum, kProd, kMean, kMax, kMin };

// A call of accumulate.h as its kernels get it: the places in ascending order, and where each comes from.
struct AccumulateCall {
  const char* name;
  Reduction reduction;
  ScalarType dtype;
  char* to;
  const char* from;
  bool one_element;
  bool include_self;
  bool wide;            // int64 keys and origins, else int32
  const void* keys;     // n, sorted
  const void* origins;  // n
  int64_t n, rows, outer, inner;
  int64_t skipped;
  FastDivisor inner_divisor;
  int64_t first;   // the first key of the launch ...
  uint32_t count;  // ... and how many
  bool scales;
  alignas(16) char alpha[16];  // in the compute type
};

/// For keys first .. first + count - 1; count * inner < 2^31.
void launch_accumulate(const AccumulateCall& call, ScalarType compute);
/// For the places of more than kShortSegment keys.
void launch_accumulate_long(const AccumulateCall& call, ScalarType compute);

inline constexpr int kShortSegment = 256;

/// numbers[i] = i; int64 or int32.
void launch_count_up(void* numbers, bool wide, int64_t n);

}  // namespace at::cuda

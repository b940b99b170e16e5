#pragma once

#include "aten/cuda/elementwise_call.h"

namespace at::cuda {

struct CoordinatesCall {
  int64_t* to;
  const int64_t* positions;
  int64_t count;
  int rank;
  bool small;                // positions are below 2^31
  FastDivisor divisors[64];  // of small ones
  int64_t sizes[64];
};
void launch_coordinates(const CoordinatesCall& call);

void launch_take_flagged(char* to, const uint8_t* flags, const int64_t* ranks, const char* from, int64_t size,
                         int64_t n, int item_size);

}  // namespace at::cuda

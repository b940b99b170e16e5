#include "aten/cpu/matrix/packed_strips.h"

namespace at::matrix::internal {

float* pack_bias(const float* bias, int64_t outer, int64_t vector, float* to) {
  const int64_t filled = rounded_up(outer, vector);
  for (int64_t j = 0; j < filled; ++j) *to++ = bias != nullptr && j < outer ? bias[j] : 0;
  return to;
}

}  // namespace at::matrix::internal

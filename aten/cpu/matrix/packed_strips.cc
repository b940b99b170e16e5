#include "aten/cpu/matrix/packed_strips.h"

namespace at::matrix::internal {

float* pack_strips(const float* weights, int64_t outer, int64_t inner, int64_t places, int64_t strip, int64_t vector,
                   float* to) {
  const int64_t filled = rounded_up(outer, vector);
  for (int64_t first = 0; first < filled; first += strip) {
    const int64_t last = filled < first + strip ? filled : first + strip;
    for (int64_t place = 0; place < places; ++place) {
      for (int64_t i = 0; i < inner; ++i) {
        for (int64_t j = first; j < last; ++j) {
          *to++ = j < outer ? weights[(j * inner + i) * places + place] : 0;
        }
      }
    }
  }
  return to;
}

float* pack_bias(const float* bias, int64_t outer, int64_t vector, float* to) {
  const int64_t filled = rounded_up(outer, vector);
  for (int64_t j = 0; j < filled; ++j) *to++ = bias != nullptr && j < outer ? bias[j] : 0;
  return to;
}

}  // namespace at::matrix::internal

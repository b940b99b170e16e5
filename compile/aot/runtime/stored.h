// Weights as a program holds them.
#pragma once

#include <cstdint>

#include "aten/cpu/matrix/packed_strips.h"
#include "c10/util/bfloat16.h"
#include "c10/util/half.h"

namespace torch::aot {

/// T: float, c10::BFloat16, c10::Half; or int8_t, where a weight of output channel j is scale[j] * data[j, ...].
template <class T>
struct Stored {
  const char* data;
  const char* scale;  ///< floats; null where T is not int8_t

  const T* numbers() const { return reinterpret_cast<const T*>(data); }
  const float* scales() const { return reinterpret_cast<const float*>(scale); }
};

/// As floats, `each` an output channel.
template <class T>
at::matrix::internal::Floats expanded(const Stored<T>& stored, int64_t channels, int64_t each) {
  at::matrix::internal::Floats floats(channels * each);
  for (int64_t j = 0; j < channels; ++j) {
    const float scale = stored.scale == nullptr ? 1.0f : stored.scales()[j];
    for (int64_t i = j * each; i < (j + 1) * each; ++i) {
      floats.data()[i] = scale * static_cast<float>(stored.numbers()[i]);
    }
  }
  return floats;
}

}  // namespace torch::aot

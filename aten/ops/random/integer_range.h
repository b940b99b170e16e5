#pragma once

#include <cstdint>
#include <optional>

#include "aten/core/tensor.h"

namespace at::native::random {

/// What random_ draws: base + word % range, of words of 64 bits where `wide`, else of 32. A range of 0 is all 2^64,
/// `wide` and with a base of 0.
struct IntegerRange {
  uint64_t range;
  int64_t base;
  bool wide;
};

/// Of random_(): from 0 up to the largest number of the dtype, or the largest integer up to which a floating dtype has
/// all.
IntegerRange integer_range(const Tensor& self);
/// Of random_(from, to). Throws c10::Error for bounds that make no sense, NotImplementedError for complex dtypes.
IntegerRange integer_range(const Tensor& self, int64_t from, std::optional<int64_t> to);

}  // namespace at::native::random

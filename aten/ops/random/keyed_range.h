#pragma once

#include <cstdint>
#include <optional>

#include "aten/core/tensor.h"

namespace at::native::random {

/// The keys of the parts of `self` that have one each, [..., 2]. `key` fits.
Tensor keys_of_parts(const Tensor& self, const Tensor& key);

/// What _philox_randint_ draws: from + word % range, where 0 is all 2^64. Throws c10::Error for bounds that make no
/// sense.
struct KeyedRange {
  uint64_t from, range;
};
KeyedRange keyed_range(const Tensor& self, std::optional<int64_t> low, std::optional<int64_t> high);

}  // namespace at::native::random

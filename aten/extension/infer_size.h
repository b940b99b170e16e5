// Sizes with one left open. A header of its own: beside the other at::infer_size, of two shapes, a call such as
// at::infer_size({2, 1}, {3}) would mean this one.
#pragma once

#include <cstdint>
#include <vector>

#include "aten/core/view.h"

namespace at {

/// `shape` with its -1 replaced by what is left of numel elements. Throws "shape '[3]' is invalid for input of size 2".
///
///   at::infer_size({-1, 2}, 6)    // {3, 2}
inline DimVector infer_size_dv(IntArrayRef shape, int64_t numel) {
  return infer_shape(shape, numel);
}
inline std::vector<int64_t> infer_size(IntArrayRef shape, int64_t numel) {
  const DimVector sizes = infer_shape(shape, numel);
  return {sizes.begin(), sizes.end()};
}

}  // namespace at

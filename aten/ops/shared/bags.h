#pragma once
// The bags of an embedding_bag.

#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/sort/ops.h"

namespace at::native {

// The bag of each index: as the forward call gave it in `offset2bag`, or found by the offsets where that is empty.
inline Tensor bags_of(const char* op, const Tensor& offset2bag, const Tensor& indices, const Tensor& offsets) {
  if (offset2bag.numel() == indices.numel()) return offset2bag;
  TORCH_CHECK(offset2bag.numel() == 0, op, ": expected offset2bag of ", indices.numel(), " elements or none, but got ",
              offset2bag.numel());
  const Tensor places = at::arange(indices.numel(), offsets.options());
  return at::sub(at::searchsorted(offsets, places, false, /*right=*/true), Scalar(1));
}

}  // namespace at::native

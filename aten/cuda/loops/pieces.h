// Calls of pointwise operators on floats of several dtypes and on broadcast operands (pieces.cuh).
#pragma once

#include "aten/cuda/elementwise_call.h"

namespace at::cuda {

/// Neighbours that a kernel takes together.
inline constexpr int64_t kElementwisePiece = 4;
/// Makes a call what such a kernel gets; false where it does not take it, or others read more at a time.
bool in_pieces(ElementwiseCall& call);

}  // namespace at::cuda

// Elements that flags select.
#pragma once

#include "aten/core/tensor.h"

namespace at::cuda {

/// The positions of the bytes that are not 0 in a contiguous tensor of bool or uint8, in order, as a vector of int64.
/// Waits for the stream: the number of them is the result's size.
Tensor positions_of(const Tensor& flags);

/// Row i of the result holds the coordinates in a tensor of `sizes` of the flat position positions[i]; to: contiguous.
void write_coordinates(const Tensor& to, const Tensor& positions, IntArrayRef sizes);

/// to[i] = from[ranks[i]] where flags[i] is not 0; all contiguous, `from` has `size` elements and the kernel ends where
/// one is missing.
void take_flagged(const Tensor& to, const Tensor& flags, const Tensor& ranks, const Tensor& from);

}  // namespace at::cuda

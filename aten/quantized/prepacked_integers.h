#pragma once
// Weights of signed bytes that remember how the processor wants them.

#include <memory>

#include "aten/core/tensor.h"

namespace at::matrix {
class IntegerWeights;
}

namespace at::quantized {

/// The weight [out, in / groups, kernel...], dense and of dtype Char, as a tensor of the same numbers that keeps what
/// products take from it. Copies and views of it are ordinary tensors. Throws c10::Error for another dtype, less than 2
/// dimensions, and channels that do not divide into `groups`.
Tensor prepack_integers(const char* op, const Tensor& weight, int64_t groups);

/// What products take from a weight: what it keeps, unless it was written to since, or made now. Zero points are 0.
std::shared_ptr<const matrix::IntegerWeights> integer_weights(const char* op, const Tensor& weight, int64_t groups);

/// Whether the processor multiplies bytes four at a time (AVX-512 VNNI); else products are of 16 bits, no faster
/// than those of floats.
bool multiplies_bytes();

}  // namespace at::quantized

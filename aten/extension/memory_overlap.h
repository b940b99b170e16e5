// Whether tensors share memory, for operators that write to one of their arguments.
#pragma once

#include "aten/core/tensor_base.h"

namespace at {

/// Do elements of one tensor lie at one place? TooHard: the strides do not tell.
enum class MemOverlap { No, Yes, TooHard };
/// Do two tensors lie over each other? Full: element by element.
enum class MemOverlapStatus { Full, Partial, No, TooHard };

MemOverlap has_internal_overlap(const TensorBase& t);
MemOverlapStatus get_overlap_status(const TensorBase& a, const TensorBase& b);
/// Throw c10::Error: "unsupported operation: more than one element of the written-to tensor refers to a single memory
/// location. ..", "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single
/// memory location. .."
void assert_no_internal_overlap(const TensorBase& t);
void assert_no_partial_overlap(const TensorBase& a, const TensorBase& b);
void assert_no_overlap(const TensorBase& a, const TensorBase& b);

}  // namespace at

// Reductions of two arrays.
#pragma once

#include <cstddef>

#include "distributed/process_group/engine.h"

namespace c10d {

/// Throws c10::Error, naming `operation`, where elements of the dtype cannot be reduced like that.
void check_reducible(const char* operation, const ReduceOp& op, c10::ScalarType dtype);

/// out = a op b, of `n` elements each; arrays may be the same. Takes what engines take.
void reduce_into(ReduceOp::RedOpType op, c10::ScalarType dtype, void* out, const void* a, const void* b, size_t n);

}  // namespace c10d

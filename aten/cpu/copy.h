#pragma once

#include "aten/cpu/strided_loop.h"
#include "c10/core/scalar_type.h"

namespace at::cpu {

/// dst = src, converted where the dtypes differ; src broadcasts to dst's shape. They must not overlap, unless they are the
/// same elements. A transposed source is read in tiles; results beyond half of the last cache are streamed.
void copy(const Operand& dst, c10::ScalarType dst_dtype, const Operand& src, c10::ScalarType src_dtype);

/// Every element of dst = the item (dst.item_size bytes).
void fill(const Operand& dst, const void* item);

}  // namespace at::cpu

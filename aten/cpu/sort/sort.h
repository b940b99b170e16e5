#pragma once
// Ordering of one row of elements, without Tensor. NaN is larger than all numbers, -0 equals 0. Real dtypes only.

#include <cstdint>

#include "aten/cpu/support/scratch.h"
#include "c10/core/scalar_type.h"

namespace at::cpu {

// Memory that rows of one thread share.
struct SortScratch {
  ReusedScratch keys, other;
};

// order[0..n) = the positions of the elements in ascending (descending) order; equal elements stay in their order. Elements
// are `stride` elements apart. Short rows are compared, long ones sorted by their digits.
void sort_row(c10::ScalarType type, const void* x, int64_t stride, int64_t n, bool descending, SortScratch& scratch, int64_t* order);

// order[0..k) = the positions of the k largest (smallest) elements, best first. Of equal elements the first ones are taken.
// 0 <= k <= n.
void topk_row(c10::ScalarType type, const void* x, int64_t stride, int64_t n, int64_t k, bool largest, SortScratch& scratch,
              int64_t* order);

// The position of the element with k elements before it in ascending order, 0 <= k < n; equal elements stay in their order.
int64_t kth_row(c10::ScalarType type, const void* x, int64_t stride, int64_t n, int64_t k, SortScratch& scratch);

}  // namespace at::cpu

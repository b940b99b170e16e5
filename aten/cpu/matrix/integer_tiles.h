#pragma once

#include <cstdint>

#include "aten/cpu/matrix/integer.h"

namespace at::matrix::internal {

/// Columns that are packed together: those of one multiple after the other are packed one behind the other.
int64_t packed_columns();
/// How many 16-bit integers n columns of k lie in.
int64_t packed_shorts(int64_t n, int64_t k);
/// Packs b[n, k] (row-major: a column of the product is a row).
void pack_shorts(int64_t n, int64_t k, const int16_t* b, int16_t* packed);
/// sums[m, n] = a[m, k] b, exact where pairs of products are below 2^31. Rows of `a` are `a_row` apart, with a 0 behind
/// an odd k.
void multiply_shorts(int64_t m, int64_t n, int64_t k, const int16_t* a, int64_t a_row, const int16_t* packed,
                     int32_t* sums, int64_t sums_row);

/// Writes `rows` rows of the result, from row `first`; of each sum its channel's correction is taken first.
void finish_sums(const IntegerResult& result, const int32_t* corrections, int64_t channels, int64_t first, int64_t rows,
                 const int32_t* sums);

}  // namespace at::matrix::internal

#pragma once

#include <cstdint>

#include "c10/core/scalar_type.h"

namespace at::cuda::solver {

/// to[i] = first + i * bytes, count > 0.
void launch_addresses(const char* first, int64_t bytes, int64_t count, const char** to);

/// For each of `count` > 0 rows of k pivots from 1 on: the places order[0 .. m) of m >= k rows before they were
/// exchanged.
void launch_permutations(const int* pivots, int64_t count, int64_t k, int64_t m, int64_t* order);

/// The lower triangles of `count` > 0 n x n matrices, n > 0, become L and D, as LAPACK's sytrf and hetrf leave them; a
/// block of threads takes a matrix. `scratch` holds 2 n elements for each.
void launch_ldl_factor(c10::ScalarType type, void* a, int64_t n, int64_t count, bool hermitian, int* pivots, int* info,
                       void* scratch);

/// b = A^-1 b for so many columns of each matrix, by its factors. Pivots that no factorization leaves end the launch
/// with an error.
void launch_ldl_solve(c10::ScalarType type, const void* a, int64_t n, int64_t count, bool hermitian, const int* pivots,
                      void* b, int64_t columns);

}  // namespace at::cuda::solver

// Linear algebra that multivariate distributions and their divergences share.
#pragma once

#include "distributions/tensor_or_number.h"

namespace torch::distributions::detail {

/// The sum of the logarithms of a triangular matrix's diagonal: half the log-determinant of L L^T.
Tensor log_diagonal_sum(const Tensor& factor);
/// Matrix times vector, [*, N, M] and [*, M].
Tensor times_vector(const Tensor& matrix, const Tensor& vector);
/// v^T (L L^T)^-1 v of a lower triangular L [*, D, D] and vectors [*, D].
Tensor squared_distance(const Tensor& factor, const Tensor& vectors);
/// The sizes that two batches broadcast to. Throws c10::Error where they do not.
std::vector<int64_t> broadcast_sizes(IntArrayRef a, IntArrayRef b);

}  // namespace torch::distributions::detail

#pragma once

#include <cstdint>

// Vectorised steps of the attention kernels on blocks of rows; T is float or double.

namespace at::matrix::internal {

/// Online softmax: for each row r, max[r] becomes the larger of itself and the row's maximum, the row becomes
/// exp(row - max[r]), correction[r] the factor that earlier results of the row must be multiplied with, and sum[r] is kept
/// up to date. A row without anything above -infinity becomes zero.
template <class T>
void softmax_step(T* rows, int64_t count, int64_t cols, int64_t stride, T* max, T* sum, T* correction);

/// rows[r] *= factor[r]
template <class T>
void scale_rows(T* rows, int64_t count, int64_t cols, int64_t stride, const T* factor);

/// rows[r] = exp(rows[r] - shift[r])
template <class T>
void exp_rows(T* rows, int64_t count, int64_t cols, int64_t stride, const T* shift);

/// grad[r] = weights[r] * (grad[r] - shift[r]) * scale
template <class T>
void softmax_gradient(T* grad, const T* weights, int64_t count, int64_t cols, int64_t stride, const T* shift, T scale);

}  // namespace at::matrix::internal

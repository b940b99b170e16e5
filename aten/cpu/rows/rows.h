#pragma once
// Vectorised primitives over one contiguous row, or over a block of rows with contiguous columns, of a floating dtype. They
// are the inner loops of reductions, softmax and layer_norm. The reductions exist for float, double, c10::Half and
// c10::BFloat16, of which the latter two compute in float32; the others for float and double only: their callers widen 16-bit
// rows with convert_row. Nothing here allocates or starts threads. `n`, `rows` and `cols` may be zero.
//
// Sums: within blocks of at most 1,024 elements in the compute type over many independent lanes, across blocks in double
// (for double with a compensation term), so that the error does not grow with n.

#include <cstdint>

#include "c10/util/bfloat16.h"
#include "c10/util/half.h"

namespace at::cpu {

// The type in which a floating dtype is computed.
template <class T>
struct ComputeType {
  using type = float;
};
template <>
struct ComputeType<double> {
  using type = double;
};

// sum_i x[i]
template <class T>
double row_sum(const T* x, int64_t n);

// The same of integers of 8 to 64 bits, modulo 2^64.
template <class T>
int64_t integer_row_sum(const T* x, int64_t n);

// acc[j] += sum_i x[j * n + i] for `rows` short rows, one after the other; n is 2, 4 or 8, the lanes of a row are added pairwise.
template <class T>
void packed_row_sums(const T* x, int64_t rows, int64_t n, double* acc);

// sum_i (x[i] - shift)^2
template <class T>
double row_square_sum(const T* x, int64_t n, double shift);

// sum_i |x[i]|
template <class T>
double row_abs_sum(const T* x, int64_t n);

// The same of the elements that are numbers.
template <class T>
double row_nansum(const T* x, int64_t n);

// In double: the product of the elements, and sum_i |x[i]|^exponent, exponent > 0.
template <class T>
double row_product(const T* x, int64_t n);
template <class T>
double row_power_sum(const T* x, int64_t n, int exponent);

// max_i or min_i x[i]; NaN if any element is NaN; -inf (max) or inf (min) for n = 0.
template <class T>
typename ComputeType<T>::type row_max(const T* x, int64_t n);
template <class T>
typename ComputeType<T>::type row_min(const T* x, int64_t n);

// The least i with x[i] == v, or where v is NaN that of the first NaN; n if there is none.
template <class T>
int64_t row_find(const T* x, int64_t n, typename ComputeType<T>::type v);

// The greatest (least) of integers of at most 64 bits, the type's least (greatest) for none; acc[j] with column j of rows that
// start row_stride bytes after each other.
template <class T>
T integer_row_extreme(const T* x, int64_t n, bool greatest);
template <class T>
void integer_column_extreme(const T* x, int64_t row_stride, int64_t rows, int64_t cols, bool greatest, T* acc);

// 16-bit rows to float32 and back, to nearest even.
void convert_row(const c10::Half* x, float* y, int64_t n);
void convert_row(const c10::BFloat16* x, float* y, int64_t n);
void convert_row(const float* x, c10::Half* y, int64_t n);
void convert_row(const float* x, c10::BFloat16* y, int64_t n);

// sum_i exp(x[i] - shift), float and double.
template <class T>
double row_exp_sum(const T* x, int64_t n, typename ComputeType<T>::type shift);

// acc[j] += sum_i x[i][j], row i starting i * row_stride bytes after x.
template <class T>
void column_sum(const T* x, int64_t row_stride, int64_t rows, int64_t cols, double* acc);
// The same of the elements that are numbers, and acc[j] *= prod_i x[i][j].
template <class T>
void column_nansum(const T* x, int64_t row_stride, int64_t rows, int64_t cols, double* acc);
template <class T>
void column_product(const T* x, int64_t row_stride, int64_t rows, int64_t cols, double* acc);
// acc[j] += sum_i exp(x[i][j] - shift[j]), float and double.
template <class T>
void column_exp_sum(const T* x, int64_t row_stride, int64_t rows, int64_t cols, const typename ComputeType<T>::type* shift, double* acc);

// acc[j] += sum_i (x[i][j] - center[j])^2
template <class T>
void column_square_sum(
    const T* x, int64_t row_stride, int64_t rows, int64_t cols, const typename ComputeType<T>::type* center, double* acc);

// sum[j] += sum_i (x[i][j] - center[j]), square[j] += sum_i (x[i][j] - center[j])^2
template <class T>
void column_moments(const T* x, int64_t row_stride, int64_t rows, int64_t cols,
                    const typename ComputeType<T>::type* center, double* sum, double* square);

// acc[j] = max(acc[j], max_i x[i][j]) and the same with min; NaN wins.
template <class T>
void column_max(const T* x, int64_t row_stride, int64_t rows, int64_t cols, typename ComputeType<T>::type* acc);
template <class T>
void column_min(const T* x, int64_t row_stride, int64_t rows, int64_t cols, typename ComputeType<T>::type* acc);

// y = exp(x - max x) / sum exp(x - max x) of `rows` rows of n elements, one after the other; x == y allowed. NaN
// throughout a row whose maximum is not finite.
template <class T>
void softmax_rows(const T* x, T* y, int64_t rows, int64_t n);
// The same of y = x - max x - log sum exp(x - max x).
template <class T>
void log_softmax_rows(const T* x, T* y, int64_t rows, int64_t n);
// gx = (g - sum_i g[i] y[i]) * y
template <class T>
void softmax_backward_row(const T* g, const T* y, T* gx, int64_t n);
// gx = g - exp(y) * sum_i g[i]
template <class T>
void log_softmax_backward_row(const T* g, const T* y, T* gx, int64_t n);

// The same for `cols` neighbouring columns of a matrix of `rows` rows, each row `stride` elements after the one before:
// softmax along the rows' index.
template <class T>
void softmax_columns(const T* x, T* y, int64_t stride, int64_t rows, int64_t cols, bool log);
template <class T>
void softmax_backward_columns(const T* g, const T* y, T* gx, int64_t stride, int64_t rows, int64_t cols, bool log);

// y = (x - mean) * rstd * w + b, with mean and biased variance of the row, rstd = 1 / sqrt(var + eps); w, b may be null.
template <class T>
void layer_norm_row(const T* x, const T* w, const T* b, T* y, int64_t n, double eps, T* mean, T* rstd);
// gx = rstd * (g w - mean(g w) - xhat mean(g w xhat)) with xhat = (x - mean) rstd; w may be null.
template <class T>
void layer_norm_backward_row(const T* g, const T* x, const T* w, T* gx, int64_t n, T mean, T rstd);
// gw[j] += g[j] (x[j] - mean) rstd, gb[j] += g[j]; either may be null.
template <class T>
void layer_norm_weight_row(const T* g, const T* x, int64_t n, T mean, T rstd, T* gw, T* gb);

}  // namespace at::cpu

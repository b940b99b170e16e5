#pragma once
// What normalisation by channel does to memory, for float, double, c10::Half and c10::BFloat16, computed in the compute type. A
// run is `n` neighbouring elements of one channel, a row one element of each of `n` neighbouring channels. Nothing here
// allocates or starts threads.

#include "aten/cpu/rows/rows.h"

namespace at::cpu {

// One number for a run, a pointer to one for each channel of a row.
template <class Numbers>
struct Affine {
  Numbers mean, scale, shift;
};
template <class Numbers>
struct ChannelGradient {
  Numbers mean, scale, offset, slope;
};

// y = (x - mean) * scale + shift; x == y allowed.
template <class T>
void normalize_run(const T* x, T* y, int64_t n, Affine<typename ComputeType<T>::type> a);
template <class T>
void normalize_row(const T* x, T* y, int64_t n, Affine<const typename ComputeType<T>::type*> a);

// sum_g += sum_i g[i], sum_gx += sum_i g[i] (x[i] - mean)
template <class T>
void gradient_sums_run(
    const T* g, const T* x, int64_t n, typename ComputeType<T>::type mean, double* sum_g, double* sum_gx);
// The same by channel, of `rows` rows of `cols` elements, one after the other.
template <class T>
void gradient_sums_rows(
    const T* g, const T* x, int64_t rows, int64_t cols, const typename ComputeType<T>::type* mean, double* sum_g,
    double* sum_gx);

// gx = g * scale - offset - (x - mean) * slope
template <class T>
void gradient_run(const T* g, const T* x, T* gx, int64_t n, ChannelGradient<typename ComputeType<T>::type> c);
template <class T>
void gradient_row(const T* g, const T* x, T* gx, int64_t n, ChannelGradient<const typename ComputeType<T>::type*> c);

}  // namespace at::cpu

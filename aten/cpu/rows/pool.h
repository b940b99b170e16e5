#pragma once
// What pooling does to memory, for float and double. A row is one line of outputs of a plane, a pixel one output of
// each of `channels` neighbouring channels. Nothing here allocates or starts threads.

#include <cstdint>

namespace at::cpu {

// The innermost dimension: output x covers the inputs x * stride - padding + k * dilation that exist, k in [0, kernel).
struct PoolColumns {
  int64_t in, out, kernel, stride, padding, dilation;
};

// The maximum over `rows` input rows, which begin at plane[row_starts[i]], and where in the plane it lies. Of equal
// values the first counts, in the order of rows, then columns; a NaN wins over everything, the last one over others. A
// plane must have fewer than 2^31 elements. Windows must not be empty. Without `index` only the maxima are written.
template <class T>
void max_pool_row(const T* plane, const int64_t* row_starts, int64_t rows, const PoolColumns& c, T* out,
                  int64_t* index);

// The same for windows of one shape, of whichever lines: window x has the places corners[x] + offsets[i].
template <class T>
void max_pool_windows(const T* plane, const int64_t* corners, int64_t outputs, const int64_t* offsets, int64_t count,
                      T* out, int64_t* index);

// The same for one output of `channels` channels: place i of the window is image[places[i] * channels ...].
template <class T>
void max_pool_pixel(const T* image, const int64_t* places, int64_t count, int64_t channels, T* out, int64_t* index);

// sums[j] = sum of plane[row_starts[i] + j] over i
template <class T>
void pool_sum_rows(const T* plane, const int64_t* row_starts, int64_t rows, int64_t n, T* sums);

// out[x] = sum of sums over the window of x, divided by divisors[x]
template <class T>
void pool_sum_columns(const T* sums, const PoolColumns& c, const T* divisors, T* out);

// out[j] = (sum of image[places[i] * channels + j] over i) / divisor
template <class T>
void avg_pool_pixel(const T* image, const int64_t* places, int64_t count, int64_t channels, T divisor, T* out);

// to[j] += from[j]
template <class T>
void pool_add(const T* from, T* to, int64_t n);

// to[j] = from[j] / divisors[j]
template <class T>
void pool_divide(const T* from, const T* divisors, T* to, int64_t n);

// line[k] = sum of share[x] over the windows x that cover input k, without dilation. There must be kernel - 1 zeros
// before the shares and behind them.
template <class T>
void pool_spread_columns(const T* share, const PoolColumns& c, T* line);

// image[index[j] * step + j] += grad[j] for the channels j whose index[j] is among the `count` places, and whether all
// were. Places and indices lie in [0, 2^31).
template <class T>
bool pool_spread_maxima(const T* grad, const int64_t* index, const int64_t* places, int64_t count, int64_t channels,
                        int64_t step, T* image);

}  // namespace at::cpu

#pragma once
// The inner loops of resampling: weighted sums of whole rows, and of some elements of one row for each element of
// another. They exist for rows of float and double, and from and to rows of c10::Half and c10::BFloat16, which compute
// in float32: (From, To) is (float, float), (double, double), or one of the 16-bit types with float. Nothing here
// allocates or starts threads.

#include <cstdint>

#include "aten/cpu/rows/rows.h"

namespace at::cpu {

// Which elements of a row make an element of another: element i is sum_k weight[k] * x[index[k]] over
// offset[i] <= k < offset[i + 1].
template <class C>
struct RowTaps {
  const int64_t* offset;
  const int64_t* index;
  const C* weight;
  // Where every element has the same number of them, `uniform`, also ordered by their number, which is faster: tap k of
  // element i is at k * n + i, and the three above are not read. Else 0, and null.
  int uniform;
  int64_t n;
  const int32_t* index_by_tap;
  const C* weight_by_tap;
  int64_t x_size;  ///< elements of x
};

// y[i] = sum_k weight[k] * rows[k][i] for i < n, k < count
template <class From, class To>
void combine_rows(const From* const* rows, const typename ComputeType<From>::type* weight, int64_t count, To* y,
                  int64_t n);

// y[i] by `taps`, for all its elements.
template <class From, class To>
void resample_row(const From* x, const RowTaps<typename ComputeType<From>::type>& taps, To* y);

// Which pixels, of `channels` neighbouring elements that lie `step` apart, make others: tap k of pixel b is pixel
// index[k * n + b], none where that is -1, with weight[k * n + b].
template <class C>
struct PixelTaps {
  int count;
  int64_t n;
  const int64_t* index;
  const C* weight;
  int64_t channels, step;
};

// y[b][c] = sum_k weight * x[index][c], in the four floating dtypes.
template <class T>
void sample_pixels(const T* x, const PixelTaps<typename ComputeType<T>::type>& taps, T* y);
// y[index][c] += weight * g[b][c]
template <class T>
void spread_pixels(const T* g, const PixelTaps<typename ComputeType<T>::type>& taps, typename ComputeType<T>::type* y);
// products[k * n + b] = sum_c x[index][c] * g[b][c], 0 where there is no pixel. Weights are not read.
template <class T>
void multiply_pixels(const T* x, const T* g, const PixelTaps<typename ComputeType<T>::type>& taps,
                     typename ComputeType<T>::type* products);

// The same in integers, as images are resized: weights have `shift` fractional bits, sums are rounded and saturated.
void combine_byte_rows(const uint8_t* const* rows, const int16_t* weight, int64_t count, int shift, uint8_t* y,
                       int64_t n);
void resample_byte_row(const uint8_t* x, const RowTaps<int16_t>& taps, int shift, uint8_t* y);

}  // namespace at::cpu

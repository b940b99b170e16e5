// Which elements a window of pooling covers, and which windows cover an element.
#pragma once

#include "aten/cuda/pool/pool_call.h"
#include "aten/cuda/spatial/spatial.cuh"

namespace at::cuda {

/// The places [begin, end) of one dimension, `step` apart, and how many a mean counts with the padding.
struct PoolWindow {
  int begin, end, step;
  int64_t padded;
  KD_DEVICE int64_t length() const { return end > begin ? end - begin : 0; }
};

KD_DEVICE PoolWindow window_of(const PoolWindows& w, int d, int64_t place) {
  const int64_t in = w.in[d], out = w.out[d];
  if (w.kind == PoolWindows::Kind::kAdaptive) {
    const int64_t begin = place * in / out, end = 1 + ((place + 1) * in - 1) / out;
    return {static_cast<int>(begin), static_cast<int>(end), 1, end - begin};
  }
  int64_t begin = place * w.stride[d] - w.padding[d];
  const int64_t reach = begin + (w.kernel[d] - 1) * w.dilation[d] + 1, limit = in + w.padding[d];
  const int64_t end = reach < limit ? reach : limit, padded = end - begin, dilation = w.dilation[d];
  if (begin < 0) begin += (-begin + dilation - 1) / dilation * dilation;
  return {static_cast<int>(begin < in ? begin : in), static_cast<int>(end < in ? end : in),
          static_cast<int>(dilation < in ? dilation : in), padded};
}

/// A window of fractional pooling: steps of (in - kernel) / (out - 1) from a random offset, and the last at the end.
template <class Real>
KD_DEVICE PoolWindow fractional_window_of(const PoolWindows& w, int d, int64_t place, Real sample) {
  const int64_t room = w.in[d] - w.kernel[d];
  int64_t begin = room;
  if (place < w.out[d] - 1) {
    const Real step = static_cast<Real>(room) / static_cast<Real>(w.out[d] - 1);
    begin = static_cast<int64_t>((static_cast<Real>(place) + sample) * step) - static_cast<int64_t>(sample * step);
    begin = begin < 0 ? 0 : begin > room ? room : begin;  // samples outside of [0, 1)
  }
  return {static_cast<int>(begin), static_cast<int>(begin + w.kernel[d]), 1, w.kernel[d]};
}

/// What the sum of a window is divided by: 1 where it lies outside of the input altogether.
KD_DEVICE int64_t count_of(const PoolCall& call, const PoolWindow& wz, const PoolWindow& wy, const PoolWindow& wx) {
  const int64_t inside = wz.length() * wy.length() * wx.length();
  if (inside == 0) return 1;
  return call.divisor != 0 ? call.divisor : call.count_padding ? wz.padded * wy.padded * wx.padded : inside;
}

/// The windows [begin, end) that cover a place in one dimension; of dilated ones also some that step over it.
struct PoolRange {
  int begin, end;
  KD_DEVICE bool has(int64_t window) const { return window >= begin && window < end; }
};

KD_DEVICE PoolRange windows_over(const PoolWindows& w, int d, int64_t place) {
  const int64_t in = w.in[d], out = w.out[d];
  if (w.kind == PoolWindows::Kind::kAdaptive)
    return {static_cast<int>(place * out / in), static_cast<int>(((place + 1) * out - 1) / in + 1)};
  const int64_t stride = w.stride[d], shift = place + w.padding[d], reach = (w.kernel[d] - 1) * w.dilation[d];
  const int64_t begin = shift <= reach ? 0 : (shift - reach + stride - 1) / stride, end = shift / stride + 1;
  return {static_cast<int>(begin < out ? begin : out), static_cast<int>(end < out ? end : out)};
}

}  // namespace at::cuda

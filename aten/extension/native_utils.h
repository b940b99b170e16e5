// Arithmetic that kernels of windows and of blocked loops share: places of a flat index, sizes of what windows leave.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "aten/extension/numeric_utils.h"
#include "c10/util/exception.h"

namespace at::native {

template <class T>
inline T data_index_init(T offset) {
  return offset;
}
/// Writes the place of the flat index `offset` in a block of sizes X, ... to x, ..., the last fastest, and returns what
/// is left of `offset` beyond the block.
///
///   int64_t n, c, w;
///   data_index_init(begin, n, N, c, C, w, W);
///   for (int64_t i = begin; i < end; ++i, data_index_step(n, N, c, C, w, W)) ...
template <class T, class... Rest>
inline T data_index_init(T offset, T& x, const T& X, Rest&&... rest) {
  offset = data_index_init(offset, std::forward<Rest>(rest)...);
  x = offset % X;
  return offset / X;
}

inline bool data_index_step() {
  return true;
}
/// The next place; true where it is the first again.
template <class T, class... Rest>
inline bool data_index_step(T& x, const T& X, Rest&&... rest) {
  if (!data_index_step(std::forward<Rest>(rest)...)) return false;
  x = x + 1 == X ? T(0) : x + 1;
  return x == 0;
}

/// `value` in a narrower integer type. Throws c10::Error where it does not fit.
template <class Dest, class Source>
inline Dest safe_downcast(Source value) {
  TORCH_CHECK(std::numeric_limits<Dest>::min() <= value && value <= std::numeric_limits<Dest>::max(),
              "integer out of range");
  return static_cast<Dest>(value);
}

/// How many windows of `kernel_size` fit into `input_size` numbers padded on both sides, with that stride and dilation.
/// With `ceil_mode` the last may end beyond the padding, but begins before it does. The stride is not 0.
template <class T>
inline T pooling_output_shape_pad_lr(T input_size, T kernel_size, T pad_left, T pad_right, T stride, T dilation,
                                     bool ceil_mode) {
  const T span = input_size + pad_left + pad_right - dilation * (kernel_size - 1) - 1;
  T output = div_rtn<T>(span + (ceil_mode ? stride - 1 : 0), stride) + 1;
  if (ceil_mode && (output - 1) * stride >= input_size + pad_left) --output;
  return output;
}

/// The same with equal pads. Throws c10::Error for a stride of 0 and for a pad that is negative or above half of the
/// window.
template <class T>
inline T pooling_output_shape(T input_size, T kernel_size, T pad, T stride, T dilation, bool ceil_mode) {
  TORCH_CHECK(stride != 0, "stride should not be zero");
  TORCH_CHECK(pad >= 0, "pad must be non-negative, but got pad: ", pad);
  TORCH_CHECK(pad <= ((kernel_size - 1) * dilation + 1) / 2,
              "pad should be at most half of effective kernel size, but got pad=", pad, ", kernel_size=", kernel_size,
              " and dilation=", dilation);
  return pooling_output_shape_pad_lr(input_size, kernel_size, pad, pad, stride, dilation, ceil_mode);
}

}  // namespace at::native

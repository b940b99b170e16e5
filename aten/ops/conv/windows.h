#pragma once
// The windows of im2col and col2im.

#include "aten/core/tensor.h"

namespace at::native {

struct Windows {
  int64_t batch = 1, channels = 0, size[2], kernel[2], dilation[2], padding[2], stride[2], count[2];
  int64_t columns() const { return count[0] * count[1]; }
  int64_t places() const { return kernel[0] * kernel[1]; }
};

/// Throw what im2col and col2im throw for arguments that do not fit together.
Windows im2col_windows(const Tensor& self, IntArrayRef kernel_size, IntArrayRef dilation, IntArrayRef padding,
                       IntArrayRef stride);
Windows col2im_windows(const Tensor& self, IntArrayRef output_size, IntArrayRef kernel_size, IntArrayRef dilation,
                       IntArrayRef padding, IntArrayRef stride);

}  // namespace at::native

#pragma once

#include <optional>

#include "aten/core/tensor.h"
#include "aten/core/tensor_spec.h"
#include "aten/cpu/rows/pool.h"

// The geometry of pooling over the last one to three dimensions, checked.

namespace at::native {

struct PoolGeometry {
  int dims = 2;
  int64_t planes = 1;  // product of the dimensions before the pooled ones
  // Depth, height, width, right-aligned: with two dimensions the first stays 1.
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  int64_t kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1}, padding[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};
  DimVector result;  // sizes

  int64_t inputs() const { return in[0] * in[1] * in[2]; }
  int64_t outputs() const { return out[0] * out[1] * out[2]; }
};

/// For max_poolNd and avg_poolNd. An empty stride means the kernel's. Throws in the documented wording: "max_pool2d:
/// kernel_size must either be a single int, or a tuple of two ints", "pad should be at most half of effective kernel size, but got pad=2
/// and kernel_size=2", "Given input size: (2x5x5). Calculated output size: (2x0x0). Output size is too small" and others.
PoolGeometry pool_geometry(const char* op, int dims, const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride,
                           IntArrayRef padding, IntArrayRef dilation, bool ceil_mode);

/// For adaptive pooling: only planes, in, out and result.
PoolGeometry adaptive_geometry(const char* op, int dims, const Tensor& self, IntArrayRef output_size);

/// For fractional pooling, whose samples are `samples`: windows of `kernel` elements without steps.
PoolGeometry fractional_geometry(const char* op, int dims, const Tensor& self, IntArrayRef kernel, IntArrayRef size,
                                 const Tensor& samples);

/// Whether pooling walks memory pixel by pixel: two pooled dimensions of a tensor whose channels are innermost. Its
/// results and gradients are laid out so, too.
bool pools_pixels(const PoolGeometry& g, const TensorBase& self);
/// The strides of a result or gradient of such sizes: empty where contiguous.
DimVector pooled_strides(const PoolGeometry& g, const TensorBase& self, IntArrayRef sizes);
/// The innermost windows, where all of them are kernel columns in steps of `stride`.
std::optional<cpu::PoolColumns> pool_columns(const PoolGeometry& g);
std::optional<cpu::PoolColumns> adaptive_columns(const PoolGeometry& g);

/// The window of an adaptive pooling's output place.
inline int64_t adaptive_start(int64_t place, int64_t out, int64_t in) { return place / out * in + place % out * in / out; }
inline int64_t adaptive_end(int64_t place, int64_t out, int64_t in) {
  return 1 + ((place + 1) * in - 1) / out;
}

}  // namespace at::native

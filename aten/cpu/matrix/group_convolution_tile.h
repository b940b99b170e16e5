#pragma once

#include <cstdint>

// A convolution of one group of one image as a product with its unfolded input, all of it in the first caches: for
// groups so small that calls of anything larger would cost more than their work.

namespace at::matrix::internal {

/// One group of one image. Input memory, or a copy with its padding: channel i, row y begins at i * plane + y * pitch.
struct GroupShape {
  int64_t in = 0, out = 0;       // channels
  int64_t plane = 0, pitch = 0;  // of the input, with padding
  int64_t kernel[2] = {1, 1}, output[2] = {1, 1}, stride[2] = {1, 1}, dilation[2] = {1, 1};

  int64_t window() const { return kernel[0] * kernel[1]; }
  int64_t unfolded() const { return in * window(); }
  int64_t outputs() const { return output[0] * output[1]; }
};

/// Floats of memory that the functions below work in.
int64_t group_scratch(const GroupShape& s);

/// output [out, outputs] = bias [out], or 0 if null, + weight [out, in, window] * unfolded input
void group_forward(const GroupShape& s, const float* input, const float* weight, const float* bias, float* scratch,
                   float* output);
/// grad_input [in, planes], which holds zeros, += weight^T * grad_output, folded
void group_backward_input(const GroupShape& s, const float* grad_output, const float* weight, float* scratch,
                          float* grad_input);
/// grad_weight [out, in, window], if `add` on top of what it holds, = grad_output * unfolded input^T
void group_backward_weight(const GroupShape& s, const float* grad_output, const float* input, bool add, float* scratch,
                           float* grad_weight);

}  // namespace at::matrix::internal

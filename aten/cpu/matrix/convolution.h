#pragma once

#include <cstdint>

#include "aten/cpu/matrix/gemm.h"

// Convolution in one to three spatial dimensions on dense memory: where the weights or the result outweigh
// the work, one that reads and writes them where they lie; many small groups one after the other, within the first
// caches; Winograd's algorithm for windows of 3 x 3; then oneDNN, then unfolding into a matrix a piece at a time and a
// product. The definition is the cross-correlation
//
//   output[n, o, x] = bias[o] + sum_{i, k} weight[o, i, k] * input[n, group(o) * inputs + i, x * stride - padding + k *
//   dilation]
//
// A transposed convolution is convolution_backward_input with the roles of input and output exchanged.

namespace at::matrix {

struct Convolution {
  Type type = Type::kFloat32;
  int dims = 2;  // spatial dimensions, 1 to 3
  int64_t batch = 0, groups = 1;
  int64_t in_channels = 0;  // of all groups
  int64_t out_channels = 0;
  // Depth, height, width; with fewer dimensions the last ones count and the others stay 1.
  int64_t input[3] = {1, 1, 1};
  int64_t kernel[3] = {1, 1, 1};
  int64_t output[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1};
  int64_t dilation[3] = {1, 1, 1};
  int64_t padding[3] = {0, 0, 0};  // in front; behind it follows from the sizes
  bool plain_sums = false;  // no algorithm but the definition's: others round a little more and spread NaN and infinity
  // What convolution_forward does to each sum before it is stored, for floating types: sum + alpha * add, then what is
  // below 0 becomes 0. `add` lies like the output, which it may not overlap.
  const void* add = nullptr;
  double alpha = 1;
  bool relu = false;
  bool channels_last =
      false;  // input, output and their gradients are [batch, places..., channels]; weights stay as below
};

/// Writes output [batch, out_channels, output...] from input [batch, in_channels, input...], weight
/// [out_channels, in_channels / groups, kernel...] and bias [out_channels] or null.
void convolution_forward(const Convolution& c, const void* input, const void* weight, const void* bias, void* output);

/// Writes grad_input. Also the transposed convolution of `grad_output`.
void convolution_backward_input(const Convolution& c, const void* grad_output, const void* weight, void* grad_input);

/// Writes grad_weight.
void convolution_backward_weight(const Convolution& c, const void* grad_output, const void* input, void* grad_weight);

/// What is computed.
enum class ConvolutionPart { kForward, kGradInput, kGradWeight };

/// One way to compute convolutions.
struct ConvolutionCandidate {
  const char* name;
  /// Whether it takes channels_last; else it is given copies with the channels first.
  bool takes_channels_last;
  /// Whether its forward sees to add and relu; else that is done afterwards.
  bool takes_relu;
  /// Null if it takes `part` of `c`, else why not.
  const char* (*refusal)(const Convolution& c, ConvolutionPart part);
  /// False if it turned out that it cannot.
  bool (*forward)(const Convolution& c, const void* input, const void* weight, const void* bias, void* output);
  bool (*backward_input)(const Convolution& c, const void* grad_output, const void* weight, void* grad_input);
  bool (*backward_weight)(const Convolution& c, const void* grad_output, const void* input, void* grad_weight);
};

/// The candidates, best first. The last takes everything.
const ConvolutionCandidate* convolution_candidate(int i);
int convolution_candidate_count();

}  // namespace at::matrix

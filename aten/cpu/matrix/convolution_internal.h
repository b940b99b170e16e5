#pragma once

#include "aten/cpu/matrix/convolution.h"

namespace at::matrix::internal {

/// A window of one place at stride 1 without padding: the input is its own unfolding, and the convolution a matrix product.
bool is_product(const Convolution& c);

/// Whether it is a product of matrices that lie in memory as they are, and large enough not to be worth another order.
bool is_product_in_place(const Convolution& c, ConvolutionPart part);

/// Adds and rectifies as `c` asks, in place.
void finish_output(const Convolution& c, void* output);

extern const ConvolutionCandidate kUnfoldingConvolution;
#if KINDLING_HAVE_ONEDNN
extern const ConvolutionCandidate kFlatConvolution;
extern const ConvolutionCandidate kGroupConvolution;
extern const ConvolutionCandidate kWinogradConvolution;
extern const ConvolutionCandidate kOneDnnConvolution;
#endif

}  // namespace at::matrix::internal

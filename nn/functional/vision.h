// Images at the places of a grid.
#pragma once

#include "aten/core/tensor.h"
#include "nn/options/vision.h"

namespace torch::nn::functional {

using at::Tensor;

// The grid for grid_sample by which the matrices `theta`, [N, 2, 3] or [N, 3, 4], map an image of `size` [N, C, H, W]
// or [N, C, D, H, W]. Throws c10::ValueError for other sizes and dtypes.
Tensor affine_grid(const Tensor& theta, at::IntArrayRef size, bool align_corners = false);

// The values of `input` [N, C, H, W] or [N, C, D, H, W] at the places of `grid`, [N, H_out, W_out, 2] or [N, D_out,
// H_out, W_out, 3]: numbers from -1 to 1, x first.
//   F::grid_sample(image, grid, F::GridSampleFuncOptions().mode(torch::kBilinear).align_corners(false))
Tensor grid_sample(const Tensor& input, const Tensor& grid, const GridSampleFuncOptions& options = {});

}  // namespace torch::nn::functional

// Tensors as PNG files, and many images as one.
//
//   write_png("samples.png", make_grid(images, 8));
#pragma once

#include <cstdint>
#include <string>

#include "aten/core/tensor.h"

namespace torch::utils::plot {

// The image as a PNG file's bytes. [H, W] or [1, H, W] is grey, [3, H, W] red, green and blue; floats count from 0
// (black) to 1 and are clamped, NaN is black; uint8 is taken as it is. Throws c10::ValueError for other shapes, an
// empty image and one with a side above 65,535, c10::TypeError for other dtypes.
std::string to_png(const at::Tensor& image);

// Replaces the file in one step. Throws torch::serialize::IoError where it cannot be written.
void write_png(const std::string& path, const at::Tensor& image);

// Images [N, C, H, W] in rows of `nrow`, `padding` pixels of `pad_value` around each:
// [C, rows * (H + padding) + padding, columns * (W + padding) + padding]. Throws c10::ValueError for other shapes, no
// image, nrow < 1 or padding < 0.
at::Tensor make_grid(const at::Tensor& images, int64_t nrow = 8, int64_t padding = 2, double pad_value = 0);

}  // namespace torch::utils::plot

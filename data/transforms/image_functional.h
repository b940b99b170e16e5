#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/util/array_ref.h"

/// Images as tensors [..., C, H, W], of a floating dtype with values in [0, 1] or of uint8: what
/// torchvision.transforms.functional does with tensors. Results are new tensors or views; ValueError for sizes and
/// factors that make no sense, naming the function.
namespace torch::data::transforms::functional {

/// The rows from `top` and columns from `left` on; what lies outside is 0.
at::Tensor crop(const at::Tensor& image, int64_t top, int64_t left, int64_t height, int64_t width);
/// The middle; a smaller image is padded with 0. `size` is one number or {height, width}.
at::Tensor center_crop(const at::Tensor& image, at::IntArrayRef size);
at::Tensor hflip(const at::Tensor& image);
at::Tensor vflip(const at::Tensor& image);
/// `padding`: one number; {left and right, top and bottom}; or {left, top, right, bottom}. `mode`: "constant" (with
/// `fill`), "edge", "reflect" (without the border itself), "symmetric" (with it).
at::Tensor pad(const at::Tensor& image, at::IntArrayRef padding, double fill = 0, std::string_view mode = "constant");
/// 0.2989 R + 0.587 G + 0.114 B, in one channel or in three equal ones.
at::Tensor rgb_to_grayscale(const at::Tensor& image, int64_t num_output_channels = 1);
/// factor 0: black, 1: the image.
at::Tensor adjust_brightness(const at::Tensor& image, double factor);
/// factor 0: the mean of its gray values, 1: the image.
at::Tensor adjust_contrast(const at::Tensor& image, double factor);
/// factor 0: gray, 1: the image.
at::Tensor adjust_saturation(const at::Tensor& image, double factor);
/// Turns the hue by `factor` of a full circle, from -0.5 to 0.5.
at::Tensor adjust_hue(const at::Tensor& image, double factor);
/// image^gamma * gain.
at::Tensor adjust_gamma(const at::Tensor& image, double gamma, double gain = 1);
/// (image - mean) / stddev, for each channel.
at::Tensor normalize(const at::Tensor& image, at::ArrayRef<double> mean, at::ArrayRef<double> stddev);
/// Between uint8 (0 ... 255) and floating dtypes (0 ... 1).
at::Tensor convert_image_dtype(const at::Tensor& image, at::ScalarType dtype = at::kFloat);

}  // namespace torch::data::transforms::functional

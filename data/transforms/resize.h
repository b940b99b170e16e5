#pragma once

#include <cstdint>
#include <optional>

#include "aten/core/tensor.h"
#include "c10/util/array_ref.h"

namespace torch::data::transforms {

enum class Interpolation { kNearest, kNearestExact, kBilinear, kBicubic };

namespace functional {

/// An image [..., C, H, W], resized to {height, width}, or such that its smaller edge is the one number of `size` (and,
/// with `max_size`, the larger one no more than that). With `antialias` (bilinear and bicubic) a smaller result
/// averages over all pixels that it stands for. uint8 images are rounded. ValueError for sizes that make no sense.
at::Tensor resize(const at::Tensor& image, at::IntArrayRef size, Interpolation interpolation = Interpolation::kBilinear,
                  std::optional<int64_t> max_size = std::nullopt, bool antialias = true);

}  // namespace functional

}  // namespace torch::data::transforms

// Options of grid_sample.
#pragma once

#include <optional>
#include <variant>

#include "c10/util/arg.h"
#include "nn/options/enum.h"

namespace torch::nn::functional {

struct GridSampleFuncOptions {
  using mode_t = std::variant<enumtype::kBilinear, enumtype::kNearest, enumtype::kBicubic>;
  using padding_mode_t = std::variant<enumtype::kZeros, enumtype::kBorder, enumtype::kReflection>;
  TORCH_ARG(mode_t, mode) = torch::kBilinear;
  // What lies outside of the input.
  TORCH_ARG(padding_mode_t, padding_mode) = torch::kZeros;
  // Whether -1 and 1 are the centers of the outermost elements, not their outer edges.
  TORCH_ARG(std::optional<bool>, align_corners) = std::nullopt;
};

}  // namespace torch::nn::functional

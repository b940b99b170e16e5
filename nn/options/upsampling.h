// Options of Upsample and interpolate.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "c10/util/arg.h"
#include "nn/options/enum.h"

namespace torch::nn {
namespace functional {

// The size of the result's spatial dimensions, or what theirs are multiplied with: one of both, with a number for each.
struct InterpolateFuncOptions {
  using mode_t = std::variant<enumtype::kNearest, enumtype::kLinear, enumtype::kBilinear, enumtype::kBicubic,
                              enumtype::kTrilinear, enumtype::kArea, enumtype::kNearestExact, enumtype::kLanczos>;
  TORCH_ARG(std::optional<std::vector<int64_t>>, size) = std::nullopt;
  TORCH_ARG(std::optional<std::vector<double>>, scale_factor) = std::nullopt;
  TORCH_ARG(mode_t, mode) = torch::kNearest;
  // Whether the corners of input and result are the same points; for linear and cubic modes only.
  TORCH_ARG(std::optional<bool>, align_corners) = std::nullopt;
  // Whether the sizes of the result, not the scales as given, say where its elements lie.
  TORCH_ARG(std::optional<bool>, recompute_scale_factor) = std::nullopt;
  // Whether every element counts when images become smaller; for kBilinear, kBicubic and kLanczos of two dimensions.
  TORCH_ARG(bool, antialias) = false;
};

}  // namespace functional

struct UpsampleOptions {
  using mode_t = functional::InterpolateFuncOptions::mode_t;
  TORCH_ARG(std::optional<std::vector<int64_t>>, size) = std::nullopt;
  TORCH_ARG(std::optional<std::vector<double>>, scale_factor) = std::nullopt;
  TORCH_ARG(mode_t, mode) = torch::kNearest;
  TORCH_ARG(std::optional<bool>, align_corners) = std::nullopt;
  TORCH_ARG(std::optional<bool>, recompute_scale_factor) = std::nullopt;
};

// Of UpsamplingNearest2d and UpsamplingBilinear2d.
struct Upsampling2dOptions {
  TORCH_ARG(std::optional<std::vector<int64_t>>, size) = std::nullopt;
  TORCH_ARG(std::optional<std::vector<double>>, scale_factor) = std::nullopt;
};
using UpsamplingNearest2dOptions = Upsampling2dOptions;
using UpsamplingBilinear2dOptions = Upsampling2dOptions;

}  // namespace torch::nn

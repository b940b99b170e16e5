#include "nn/functional/upsampling.h"

#include "aten/ops/pool/ops.h"
#include "aten/ops/upsample/ops.h"

namespace torch::nn::functional {
namespace {

using Options = InterpolateFuncOptions;

template <typename Choice>
bool is(const Options& options) {
  return std::holds_alternative<Choice>(options.mode());
}

// "bilinear"
std::string mode_name(const Options& options) {
  std::string name = enumtype::get_enum_name(options.mode()).substr(1);
  name[0] = static_cast<char>(name[0] - 'A' + 'a');
  return is<enumtype::kNearestExact>(options) ? "nearest-exact" : name;
}

void check_options(const Tensor& input, const Options& options) {
  TORCH_CHECK_NOT_IMPLEMENTED(input.dim() >= 3 && input.dim() <= 5,
                              "Input Error: Only 3D, 4D and 5D input Tensors supported (got ", input.dim(),
                              "D) for the modes: nearest | linear | bilinear | bicubic | trilinear (got ",
                              enumtype::get_enum_name(options.mode()), ")");
  const bool corners =
      !is<enumtype::kNearest>(options) && !is<enumtype::kArea>(options) && !is<enumtype::kNearestExact>(options);
  // libtorch lets false pass for kNearestExact.
  const bool harmless = is<enumtype::kNearestExact>(options) && !options.align_corners().value_or(true);
  TORCH_CHECK_VALUE(
      corners || harmless || !options.align_corners().has_value(),
      "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear");
  const size_t dims = static_cast<size_t>(input.dim()) - 2;
  const auto& size = options.size();
  const auto& scale = options.scale_factor();
  TORCH_CHECK_VALUE(size.has_value() || scale.has_value(), "either size or scale_factor should be defined");
  TORCH_CHECK_VALUE(!size.has_value() || !scale.has_value(), "only one of size or scale_factor should be defined");
  TORCH_CHECK_VALUE(
      !size.has_value() || size->size() == dims,
      "Input and output must have the same number of spatial dimensions, but got input with spatial dimensions of ",
      input.sizes().slice(2), " and output size of ", IntArrayRef(*size),
      ". Please provide input tensor in (N, C, d1, d2, ...,dK) format and output size in (o1, o2, ...,oK) format.");
  TORCH_CHECK_VALUE(!scale.has_value() || scale->size() == dims, "scale_factor shape must match input shape. Input is ",
                    dims, "D, scale_factor size is ", ArrayRef<double>(*scale));
  TORCH_CHECK_VALUE(!is<enumtype::kLanczos>(options) || !options.align_corners().value_or(false),
                    "Lanczos mode does not support align_corners=True");
  TORCH_CHECK_VALUE(!size.has_value() || !options.recompute_scale_factor().value_or(false),
                    "recompute_scale_factor is not meaningful with an explicit size.");
  const bool can_antialias = input.dim() == 4 && (is<enumtype::kBilinear>(options) || is<enumtype::kBicubic>(options) ||
                                                  is<enumtype::kLanczos>(options));
  TORCH_CHECK_VALUE(
      !options.antialias() || can_antialias,
      "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input");
  TORCH_CHECK_VALUE(!is<enumtype::kLanczos>(options) || options.antialias(), "lanczos mode requires antialias=True");
}

// What a form that takes lists is called with: sizes or scales.
struct Target {
  std::optional<std::vector<int64_t>> size;
  std::optional<ArrayRef<double>> scales;
  OptionalIntArrayRef sizes() const {
    return size.has_value() ? OptionalIntArrayRef(IntArrayRef(*size)) : std::nullopt;
  }
};

Target target_of(const Tensor& input, const Options& options) {
  if (options.size().has_value()) return {options.size(), std::nullopt};
  const std::vector<double>& scale = *options.scale_factor();
  if (!options.recompute_scale_factor().value_or(false) && !is<enumtype::kArea>(options)) {
    return {std::nullopt, ArrayRef<double>(scale)};
  }
  std::vector<int64_t> size;
  for (size_t d = 0; d < scale.size(); ++d) {
    const double n = static_cast<double>(input.size(static_cast<int64_t>(d) + 2)) * scale[d];
    TORCH_CHECK_VALUE(n >= 0 && n < 0x1p62, "interpolate: scale_factor ", scale[d], " is out of range");
    size.push_back(static_cast<int64_t>(n));
  }
  return {size, std::nullopt};
}

Tensor nearest(const Tensor& x, const Target& t, bool exact) {
  switch (x.dim()) {
    case 3:
      return exact ? at::_upsample_nearest_exact1d(x, t.sizes(), t.scales)
                   : at::upsample_nearest1d(x, t.sizes(), t.scales);
    case 4:
      return exact ? at::_upsample_nearest_exact2d(x, t.sizes(), t.scales)
                   : at::upsample_nearest2d(x, t.sizes(), t.scales);
    default:
      return exact ? at::_upsample_nearest_exact3d(x, t.sizes(), t.scales)
                   : at::upsample_nearest3d(x, t.sizes(), t.scales);
  }
}
Tensor area(const Tensor& x, IntArrayRef size) {
  switch (x.dim()) {
    case 3:
      return at::adaptive_avg_pool1d(x, size);
    case 4:
      return at::adaptive_avg_pool2d(x, size);
    default:
      return at::adaptive_avg_pool3d(x, size);
  }
}

}  // namespace

Tensor interpolate(const Tensor& input, const InterpolateFuncOptions& options) {
  check_options(input, options);
  const Target t = target_of(input, options);
  if (is<enumtype::kNearest>(options)) return nearest(input, t, false);
  if (is<enumtype::kNearestExact>(options)) return nearest(input, t, true);
  if (is<enumtype::kArea>(options)) return area(input, *t.size);
  const int64_t dims = is<enumtype::kLinear>(options) ? 3 : is<enumtype::kTrilinear>(options) ? 5 : 4;
  TORCH_CHECK_NOT_IMPLEMENTED(input.dim() == dims, "Got ", input.dim(), "D input, but ", mode_name(options),
                              " mode needs ", dims, "D input");
  const bool align = options.align_corners().value_or(false);
  if (is<enumtype::kLinear>(options)) return at::upsample_linear1d(input, t.sizes(), align, t.scales);
  if (is<enumtype::kTrilinear>(options)) return at::upsample_trilinear3d(input, t.sizes(), align, t.scales);
  if (is<enumtype::kLanczos>(options)) return at::_upsample_lanczos2d_aa(input, t.sizes(), align, t.scales);
  if (is<enumtype::kBicubic>(options)) {
    return options.antialias() ? at::_upsample_bicubic2d_aa(input, t.sizes(), align, t.scales)
                               : at::upsample_bicubic2d(input, t.sizes(), align, t.scales);
  }
  return options.antialias() ? at::_upsample_bilinear2d_aa(input, t.sizes(), align, t.scales)
                             : at::upsample_bilinear2d(input, t.sizes(), align, t.scales);
}

Tensor upsample(const Tensor& input, const UpsampleOptions& options) {
  return interpolate(input, InterpolateFuncOptions()
                                .size(options.size())
                                .scale_factor(options.scale_factor())
                                .mode(options.mode())
                                .align_corners(options.align_corners())
                                .recompute_scale_factor(options.recompute_scale_factor()));
}
Tensor upsample_nearest(const Tensor& input, const Upsampling2dOptions& options) {
  return interpolate(input, InterpolateFuncOptions().size(options.size()).scale_factor(options.scale_factor()));
}
Tensor upsample_bilinear(const Tensor& input, const Upsampling2dOptions& options) {
  return interpolate(input, InterpolateFuncOptions()
                                .size(options.size())
                                .scale_factor(options.scale_factor())
                                .mode(torch::kBilinear)
                                .align_corners(true));
}

}  // namespace torch::nn::functional

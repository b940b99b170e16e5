#include "data/transforms/resize.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/upsample/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"

namespace torch::data::transforms::functional {

namespace {

// [planes, 1, H, W], of a dtype that has the operators.
at::Tensor resampled(const at::Tensor& planes, at::IntArrayRef size, Interpolation interpolation, bool antialias) {
  switch (interpolation) {
    case Interpolation::kNearest:
      return at::upsample_nearest2d(planes, size);
    case Interpolation::kNearestExact:
      return at::_upsample_nearest_exact2d(planes, size);
    case Interpolation::kBilinear:
      return antialias ? at::_upsample_bilinear2d_aa(planes, size, /*align_corners=*/false)
                       : at::upsample_bilinear2d(planes, size, /*align_corners=*/false);
    case Interpolation::kBicubic:
      return antialias ? at::_upsample_bicubic2d_aa(planes, size, /*align_corners=*/false)
                       : at::upsample_bicubic2d(planes, size, /*align_corners=*/false);
  }
  TORCH_CHECK_VALUE(false, "resize: no such interpolation");
}

std::pair<int64_t, int64_t> result_size(int64_t h, int64_t w, at::IntArrayRef size, std::optional<int64_t> max_size) {
  TORCH_CHECK_VALUE((size.size() == 1 || size.size() == 2) && size.front() > 0 && size.back() > 0,
                    "resize: expected one or two positive numbers for the size, but got ", size);
  if (size.size() == 2) {
    TORCH_CHECK_VALUE(!max_size,
                      "resize: max_size should only be passed if size specifies the length of the smaller edge");
    return {size[0], size[1]};
  }
  const int64_t smaller = std::min(h, w), larger = std::max(h, w);
  int64_t a = size[0], b = static_cast<int64_t>(static_cast<double>(size[0]) * static_cast<double>(larger) /
                                                static_cast<double>(smaller));
  if (max_size) {
    TORCH_CHECK_VALUE(*max_size > size[0], "resize: max_size = ", *max_size,
                      " must be strictly greater than the requested size for the smaller edge size = ", size[0]);
    if (b > *max_size) {
      a = std::max<int64_t>(*max_size * a / b, 1);
      b = *max_size;
    }
  }
  return h <= w ? std::pair(a, b) : std::pair(b, a);
}

}  // namespace

at::Tensor resize(const at::Tensor& image, at::IntArrayRef size, Interpolation interpolation,
                  std::optional<int64_t> max_size, bool antialias) {
  TORCH_CHECK_VALUE(image.defined() && image.dim() >= 2 && image.size(-1) > 0 && image.size(-2) > 0,
                    "resize: expected an image [..., H, W] with pixels");
  const auto [height, width] = result_size(image.size(-2), image.size(-1), size, max_size);
  if (height == image.size(-2) && width == image.size(-1)) return image;
  std::vector<int64_t> sizes = image.sizes().vec();
  sizes[sizes.size() - 2] = height, sizes.back() = width;
  if (image.numel() == 0) return at::empty(sizes, image.options());
  const at::ScalarType type = image.scalar_type();
  const bool picks = interpolation == Interpolation::kNearest || interpolation == Interpolation::kNearestExact;
  const bool as_it_is = type == at::kFloat || type == at::kDouble || (picks && type == at::kByte);
  const at::Tensor from = as_it_is ? image : at::_to_copy(image, at::TensorOptions(picks ? at::kDouble : at::kFloat));
  const at::Tensor planes = at::reshape(from, {-1, 1, image.size(-2), image.size(-1)});
  at::Tensor result = at::reshape(resampled(planes, {height, width}, interpolation, antialias), sizes);
  if (as_it_is) return result;
  if (!image.is_floating_point()) {
    result = at::round(result);
    if (type == at::kByte) result = at::clamp(result, 0, 255);
  }
  return at::_to_copy(result, at::TensorOptions(type));
}

}  // namespace torch::data::transforms::functional

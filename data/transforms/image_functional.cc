#include "data/transforms/image_functional.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/padding/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/rearrange/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"

namespace torch::data::transforms::functional {

using at::Tensor;

namespace {

void check_image(const Tensor& image, const char* function) {
  TORCH_CHECK_VALUE(image.defined() && image.dim() >= 2, function,
                    ": expected an image of at least two dimensions [..., H, W], but got ",
                    image.defined() ? image.dim() : 0);
}
int64_t channels(const Tensor& image) { return image.dim() < 3 ? 1 : image.size(-3); }
void check_channels(const Tensor& image, const char* function) {
  check_image(image, function);
  TORCH_CHECK_VALUE(channels(image) == 1 || channels(image) == 3, function,
                    ": expected an image of 1 or 3 channels, but got ", channels(image));
}
void check_factor(double factor, const char* function) {
  TORCH_CHECK_VALUE(factor >= 0, function, ": expected a factor of at least 0, but got ", factor);
}

double bound(const Tensor& image) { return image.is_floating_point() ? 1.0 : 255.0; }

Tensor as(const Tensor& image, at::ScalarType dtype) {
  return image.scalar_type() == dtype ? image : at::_to_copy(image, at::TensorOptions(dtype));
}
Tensor as_float(const Tensor& image) { return image.is_floating_point() ? image : as(image, at::kFloat); }

// ratio * a + (1 - ratio) * b, within the range of the image's values.
Tensor blend(const Tensor& a, const Tensor& b, double ratio) {
  const Tensor mixed = at::add(at::mul(as_float(a), ratio), at::mul(as_float(b), 1 - ratio));
  return as(at::clamp(mixed, 0, bound(a)), a.scalar_type());
}

Tensor channel(const Tensor& image, int64_t c) { return at::select(image, -3, c); }

// Indices of `length` positions before, within and after `size` ones.
Tensor padded_indices(int64_t size, int64_t before, int64_t after, std::string_view mode) {
  Tensor indices = at::empty({before + size + after}, at::kLong);
  int64_t* out = indices.mutable_data_ptr<int64_t>();
  for (int64_t i = -before; i < size + after; ++i) {
    int64_t from = i;
    if (mode == "edge") {
      from = std::clamp<int64_t>(i, 0, size - 1);
    } else if (mode == "reflect") {
      from = i < 0 ? -i : i >= size ? 2 * size - 2 - i : i;
    } else {
      from = i < 0 ? -i - 1 : i >= size ? 2 * size - 1 - i : i;
    }
    *out++ = from;
  }
  return indices;
}

Tensor rgb_to_hsv(const Tensor& rgb) {
  const Tensor r = channel(rgb, 0), g = channel(rgb, 1), b = channel(rgb, 2);
  const Tensor value = at::amax(rgb, -3), range = at::sub(value, at::amin(rgb, -3));
  const Tensor gray = at::eq(range, 0);
  const Tensor ones = at::ones_like(value);
  const Tensor saturation = at::div(range, at::where(gray, ones, value));
  const Tensor divisor = at::where(gray, ones, range);
  const Tensor rc = at::div(at::sub(value, r), divisor), gc = at::div(at::sub(value, g), divisor),
               bc = at::div(at::sub(value, b), divisor);
  const Tensor is_r = at::eq(value, r), is_g = at::logical_and(at::eq(value, g), at::logical_not(is_r));
  const Tensor sextant =
      at::where(is_r, at::sub(bc, gc), at::where(is_g, at::sub(at::add(rc, 2), bc), at::sub(at::add(gc, 4), rc)));
  const Tensor hue = at::fmod(at::add(at::div(sextant, 6), 1), 1);
  return at::stack({hue, saturation, value}, -3);
}

Tensor hsv_to_rgb(const Tensor& hsv) {
  const Tensor h = at::mul(channel(hsv, 0), 6), s = channel(hsv, 1), v = channel(hsv, 2);
  // A channel is v (1 - s max(0, min(k, 4 - k, 1))) with k = n + 6h mod 6, n = 5, 3, 1.
  std::vector<Tensor> rgb;
  for (const int64_t n : {5, 3, 1}) {
    const Tensor k = at::fmod(at::add(h, n), 6);
    const Tensor part = at::clamp(at::minimum(k, at::rsub(k, 4)), 0, 1);
    rgb.push_back(at::mul(v, at::rsub(at::mul(s, part), 1)));
  }
  return at::stack(rgb, -3);
}

}  // namespace

Tensor crop(const Tensor& image, int64_t top, int64_t left, int64_t height, int64_t width) {
  check_image(image, "crop");
  TORCH_CHECK_VALUE(height > 0 && width > 0, "crop: expected a positive size, but got ", height, " x ", width);
  const int64_t h = image.size(-2), w = image.size(-1);
  if (top >= 0 && left >= 0 && height <= h - top && width <= w - left)
    return at::slice(at::slice(image, -2, top, top + height), -1, left, left + width);
  const int64_t t = std::clamp<int64_t>(top, 0, h), l = std::clamp<int64_t>(left, 0, w);
  const int64_t b = std::clamp<int64_t>(top + height, t, h), r = std::clamp<int64_t>(left + width, l, w);
  const Tensor inside = at::slice(at::slice(image, -2, t, b), -1, l, r);
  const int64_t above = std::min(std::max<int64_t>(-top, 0), height),
                before = std::min(std::max<int64_t>(-left, 0), width);
  return at::constant_pad_nd(inside, {before, width - before - (r - l), above, height - above - (b - t)}, 0);
}

Tensor center_crop(const Tensor& image, at::IntArrayRef size) {
  check_image(image, "center_crop");
  TORCH_CHECK_VALUE((size.size() == 1 || size.size() == 2) && size.front() > 0 && size.back() > 0,
                    "center_crop: expected one or two positive numbers, but got ", size);
  const int64_t height = size.front(), width = size.back();
  const int64_t h = image.size(-2), w = image.size(-1);
  Tensor padded = image;
  if (width > w || height > h) {
    const int64_t x = std::max<int64_t>(width - w, 0), y = std::max<int64_t>(height - h, 0);
    padded = at::constant_pad_nd(image, {x / 2, (x + 1) / 2, y / 2, (y + 1) / 2}, 0);
  }
  const auto middle = [](int64_t has, int64_t wants) {
    return static_cast<int64_t>(std::nearbyint(static_cast<double>(has - wants) / 2.0));
  };
  return crop(padded, middle(padded.size(-2), height), middle(padded.size(-1), width), height, width);
}

Tensor hflip(const Tensor& image) {
  check_image(image, "hflip");
  return at::flip(image, {-1});
}
Tensor vflip(const Tensor& image) {
  check_image(image, "vflip");
  return at::flip(image, {-2});
}

Tensor pad(const Tensor& image, at::IntArrayRef padding, double fill, std::string_view mode) {
  check_image(image, "pad");
  TORCH_CHECK_VALUE(padding.size() == 1 || padding.size() == 2 || padding.size() == 4,
                    "pad: expected 1, 2 or 4 numbers, but got ", padding.size());
  const size_t n = padding.size();
  const int64_t left = padding[0], top = padding[n == 1 ? 0 : 1], right = padding[n == 4 ? 2 : 0],
                bottom = padding[n == 4   ? 3
                                 : n == 2 ? 1
                                          : 0];
  if (mode == "constant") {
    TORCH_CHECK_VALUE(image.size(-1) + left + right >= 0 && image.size(-2) + top + bottom >= 0, "pad: ", padding,
                      " leaves nothing of ", image.sizes());
    return at::constant_pad_nd(image, {left, right, top, bottom}, fill);
  }
  TORCH_CHECK_VALUE(mode == "edge" || mode == "reflect" || mode == "symmetric",
                    "Padding mode should be either constant, edge, reflect or symmetric, but got ", mode);
  const int64_t inside = mode == "reflect" ? 1 : 0;
  for (const auto& [size, before, after] :
       {std::array<int64_t, 3>{image.size(-1), left, right}, {image.size(-2), top, bottom}}) {
    TORCH_CHECK_VALUE(before >= 0 && after >= 0 && size > 0, "pad: expected no negative padding in mode ", mode,
                      ", but got ", padding);
    TORCH_CHECK_VALUE(mode == "edge" || (before <= size - inside && after <= size - inside), "pad: padding ", padding,
                      " is larger than the image ", image.sizes(), " allows in mode ", mode);
  }
  const Tensor rows = at::index_select(image, image.dim() - 2, padded_indices(image.size(-2), top, bottom, mode));
  return at::index_select(rows, image.dim() - 1, padded_indices(image.size(-1), left, right, mode));
}

Tensor rgb_to_grayscale(const Tensor& image, int64_t num_output_channels) {
  check_channels(image, "rgb_to_grayscale");
  TORCH_CHECK_VALUE(image.dim() >= 3, "rgb_to_grayscale: expected an image [..., C, H, W], but got two dimensions");
  TORCH_CHECK_VALUE(num_output_channels == 1 || num_output_channels == 3,
                    "num_output_channels should be either 1 or 3, but got ", num_output_channels);
  Tensor gray = image;
  if (channels(image) == 3) {
    const Tensor from = as_float(image);
    const Tensor sum = at::add(at::add(at::mul(channel(from, 0), 0.2989), at::mul(channel(from, 1), 0.587)),
                               at::mul(channel(from, 2), 0.114));
    gray = as(at::unsqueeze(sum, -3), image.scalar_type());
  }
  if (num_output_channels == 1) return gray;
  std::vector<int64_t> sizes = gray.sizes().vec();
  sizes[sizes.size() - 3] = 3;
  return at::expand(gray, sizes);
}

Tensor adjust_brightness(const Tensor& image, double factor) {
  check_factor(factor, "adjust_brightness");
  check_channels(image, "adjust_brightness");
  return blend(image, at::zeros_like(image), factor);
}

Tensor adjust_contrast(const Tensor& image, double factor) {
  check_factor(factor, "adjust_contrast");
  check_channels(image, "adjust_contrast");
  const Tensor gray = channels(image) == 3 ? rgb_to_grayscale(image) : image;
  std::vector<int64_t> dims = {-2, -1};
  if (image.dim() >= 3) dims.push_back(-3);
  return blend(image, at::mean(as_float(gray), dims, /*keepdim=*/true), factor);
}

Tensor adjust_saturation(const Tensor& image, double factor) {
  check_factor(factor, "adjust_saturation");
  check_channels(image, "adjust_saturation");
  return channels(image) == 1 ? image : blend(image, rgb_to_grayscale(image), factor);
}

Tensor adjust_hue(const Tensor& image, double factor) {
  TORCH_CHECK_VALUE(factor >= -0.5 && factor <= 0.5, "hue_factor (", factor, ") is not in [-0.5, 0.5].");
  check_channels(image, "adjust_hue");
  if (channels(image) == 1) return image;
  const Tensor hsv =
      rgb_to_hsv(convert_image_dtype(image, image.is_floating_point() ? image.scalar_type() : at::kFloat));
  const Tensor hue = at::remainder(at::add(channel(hsv, 0), factor), 1);
  const Tensor turned = at::stack({hue, channel(hsv, 1), channel(hsv, 2)}, -3);
  return convert_image_dtype(hsv_to_rgb(turned), image.scalar_type());
}

Tensor adjust_gamma(const Tensor& image, double gamma, double gain) {
  TORCH_CHECK_VALUE(gamma >= 0, "Gamma should be a non-negative real number, but got ", gamma);
  check_channels(image, "adjust_gamma");
  const Tensor from = convert_image_dtype(image, image.is_floating_point() ? image.scalar_type() : at::kFloat);
  return convert_image_dtype(at::clamp(at::mul(at::pow(from, gamma), gain), 0, 1), image.scalar_type());
}

Tensor normalize(const Tensor& image, at::ArrayRef<double> mean, at::ArrayRef<double> stddev) {
  TORCH_CHECK_TYPE(image.is_floating_point(), "normalize: expected a floating dtype, but got ", image.scalar_type());
  check_image(image, "normalize");
  const auto per_channel = [&](at::ArrayRef<double> values, const char* what) {
    TORCH_CHECK_VALUE(values.size() == 1 || static_cast<int64_t>(values.size()) == channels(image),
                      "normalize: expected 1 or ", channels(image), " numbers for ", what, ", but got ", values.size());
    Tensor t = at::empty({static_cast<int64_t>(values.size()), 1, 1}, at::kDouble);
    std::copy(values.begin(), values.end(), t.mutable_data_ptr<double>());
    return as(t, image.scalar_type());
  };
  for (const double s : stddev)
    TORCH_CHECK_VALUE(s != 0, "normalize: std evaluated to zero, leading to division by zero.");
  return at::div(at::sub(image, per_channel(mean, "mean")), per_channel(stddev, "stddev"));
}

Tensor convert_image_dtype(const Tensor& image, at::ScalarType dtype) {
  const bool to_float = c10::isFloatingType(dtype);
  const auto known = [](at::ScalarType type) { return c10::isFloatingType(type) || type == at::kByte; };
  TORCH_CHECK_TYPE(known(image.scalar_type()) && known(dtype),
                   "convert_image_dtype: expected uint8 and floating dtypes, but got ", image.scalar_type(), " and ",
                   dtype);
  if (image.is_floating_point() == to_float) return as(image, dtype);
  if (to_float) return at::div(as(image, dtype), 255);
  // Each of the 256 values has an equal share of [0, 1].
  return as(at::mul(image, 256.0 - 1e-3), dtype);
}

}  // namespace torch::data::transforms::functional

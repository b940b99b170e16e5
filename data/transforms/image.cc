#include "data/transforms/image.h"

#include <algorithm>
#include <cmath>

#include "aten/ops/creation/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/reduce/ops.h"
#include "data/dataloader/worker_info.h"

namespace torch::data::transforms::detail {

double random_uniform(double low, double high) {
  at::Tensor t = at::empty({1}, at::kFloat);
  at::uniform_(t, low, high, random_generator());
  return t.data_ptr<float>()[0];
}

int64_t random_integer(int64_t low, int64_t high) {
  return at::randint(low, high, {1}, random_generator(), at::TensorOptions(at::kLong)).data_ptr<int64_t>()[0];
}

std::vector<int64_t> random_order_of(int64_t n) {
  const at::Tensor order = at::randperm(n, random_generator());
  return std::vector<int64_t>(order.data_ptr<int64_t>(), order.data_ptr<int64_t>() + n);
}

std::array<int64_t, 2> image_size(at::IntArrayRef size, const char* transform) {
  TORCH_CHECK_VALUE((size.size() == 1 || size.size() == 2) && size.front() > 0 && size.back() > 0, transform,
                    ": expected one or two positive numbers for the size, but got ", size);
  return {size.front(), size.back()};
}

void check_probability(double p, const char* transform) {
  TORCH_CHECK_VALUE(p >= 0 && p <= 1, transform, ": expected a probability from 0 to 1, but got ", p);
}

at::Tensor random_crop(at::Tensor image, const RandomCropSettings& s) {
  if (!s.padding.empty()) image = functional::pad(image, s.padding, s.fill, s.padding_mode);
  const auto [height, width] = s.size;
  if (s.pad_if_needed && image.size(-1) < width)
    image = functional::pad(image, {width - image.size(-1), 0}, s.fill, s.padding_mode);
  if (s.pad_if_needed && image.size(-2) < height)
    image = functional::pad(image, {0, height - image.size(-2)}, s.fill, s.padding_mode);
  const int64_t h = image.size(-2), w = image.size(-1);
  TORCH_CHECK_VALUE(h >= height && w >= width, "RandomCrop: Required crop size (", height, ", ", width,
                    ") is larger than input image size (", h, ", ", w, ")");
  if (h == height && w == width) return image;
  const int64_t top = random_integer(0, h - height + 1);
  const int64_t left = random_integer(0, w - width + 1);
  return functional::crop(image, top, left, height, width);
}

at::Tensor random_resized_crop(const at::Tensor& image, std::array<int64_t, 2> size, std::array<double, 2> scale,
                               std::array<double, 2> ratio, Interpolation interpolation, bool antialias) {
  TORCH_CHECK_VALUE(scale[0] >= 0 && scale[0] <= scale[1] && ratio[0] > 0 && ratio[0] <= ratio[1],
                    "RandomResizedCrop: expected ranges of scale and ratio in order, from 0 on");
  TORCH_CHECK_VALUE(image.dim() >= 2 && image.size(-1) > 0 && image.size(-2) > 0,
                    "RandomResizedCrop: expected an image, but got ", image.sizes());
  const int64_t h = image.size(-2), w = image.size(-1);
  const double area = static_cast<double>(h) * static_cast<double>(w);
  const auto resized = [&](int64_t top, int64_t left, int64_t height, int64_t width) {
    return functional::resize(functional::crop(image, top, left, height, width), size, interpolation, std::nullopt,
                              antialias);
  };
  const float low = std::log(static_cast<float>(ratio[0])), high = std::log(static_cast<float>(ratio[1]));
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double target = area * random_uniform(scale[0], scale[1]);
    const double aspect = std::exp(static_cast<float>(random_uniform(low, high)));
    const int64_t width = static_cast<int64_t>(std::nearbyint(std::sqrt(target * aspect)));
    const int64_t height = static_cast<int64_t>(std::nearbyint(std::sqrt(target / aspect)));
    if (width < 1 || width > w || height < 1 || height > h) continue;
    const int64_t top = random_integer(0, h - height + 1);
    return resized(top, random_integer(0, w - width + 1), height, width);
  }
  // No luck: the largest part in the middle that has an allowed ratio.
  const double has = static_cast<double>(w) / static_cast<double>(h);
  int64_t height = h, width = w;
  if (has < ratio[0]) height = static_cast<int64_t>(std::nearbyint(static_cast<double>(w) / ratio[0]));
  if (has > ratio[1]) width = static_cast<int64_t>(std::nearbyint(static_cast<double>(h) * ratio[1]));
  height = std::max<int64_t>(height, 1);
  width = std::max<int64_t>(width, 1);
  return resized((h - height) / 2, (w - width) / 2, height, width);
}

Range jitter_range(double value, double center, const char* what) {
  TORCH_CHECK_VALUE(value >= 0, "ColorJitter: If ", what, " is a single number, it must be non negative, but got ",
                    value);
  TORCH_CHECK_VALUE(center != 0 || value <= 0.5, "ColorJitter: ", what,
                    " values should be between -0.5 and 0.5, but got ", value);
  if (value == 0) return std::nullopt;
  return std::array<double, 2>{center == 0 ? -value : std::max(0.0, center - value), center + value};
}

at::Tensor color_jitter(at::Tensor image, const Range& brightness, const Range& contrast, const Range& saturation,
                        const Range& hue) {
  using Adjust = at::Tensor (*)(const at::Tensor&, double);
  constexpr Adjust kAdjust[] = {functional::adjust_brightness, functional::adjust_contrast,
                                functional::adjust_saturation, functional::adjust_hue};
  const std::vector<int64_t> order = random_order_of(4);
  std::array<std::optional<double>, 4> factors;
  const Range* const ranges[] = {&brightness, &contrast, &saturation, &hue};
  for (size_t i = 0; i < 4; ++i)
    if (*ranges[i]) factors[i] = random_uniform((**ranges[i])[0], (**ranges[i])[1]);
  for (const int64_t i : order)
    if (const auto& factor = factors[static_cast<size_t>(i)]) image = kAdjust[i](image, *factor);
  return image;
}

}  // namespace torch::data::transforms::detail

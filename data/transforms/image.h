#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "c10/util/exception.h"
#include "data/transforms/image_functional.h"
#include "data/transforms/resize.h"
#include "data/transforms/transforms.h"

/// torchvision.transforms for tensors [..., C, H, W]: random ones draw the numbers that torchvision draws from the same
/// seed, with data::random_generator().
///
///   using namespace torch::data::transforms;
///   set.map(Compose<>(RandomResizedCrop<>(224), RandomHorizontalFlip<>(), Normalize<>({0.5}, {0.25})))
namespace torch::data::transforms {

namespace detail {

double random_uniform(double low, double high);         // as empty(1).uniform_(low, high)
int64_t random_integer(int64_t low, int64_t high);      // as randint(low, high, 1)
std::vector<int64_t> random_order_of(int64_t n);        // as randperm(n)

// {height, width} from one or two numbers.
std::array<int64_t, 2> image_size(at::IntArrayRef size, const char* transform);
void check_probability(double p, const char* transform);

struct RandomCropSettings {
  std::array<int64_t, 2> size;
  std::vector<int64_t> padding;  // none: no padding
  bool pad_if_needed;
  double fill;
  std::string padding_mode;
};
at::Tensor random_crop(at::Tensor image, const RandomCropSettings& settings);
at::Tensor random_resized_crop(const at::Tensor& image, std::array<int64_t, 2> size, std::array<double, 2> scale,
                               std::array<double, 2> ratio, Interpolation interpolation, bool antialias);

using Range = std::optional<std::array<double, 2>>;
// ValueError for negative numbers; none where the range is one point that changes nothing.
Range jitter_range(double value, double center, const char* what);
at::Tensor color_jitter(at::Tensor image, const Range& brightness, const Range& contrast, const Range& saturation,
                        const Range& hue);

}  // namespace detail

/// Several tensor transforms, one after another.
template <typename Target = at::Tensor>
class Compose : public TensorTransform<Target> {
 public:
  template <typename... Transforms>
  explicit Compose(Transforms... transforms) {
    (steps_.push_back([t = std::move(transforms)](at::Tensor image) mutable { return t(std::move(image)); }), ...);
  }
  at::Tensor operator()(at::Tensor image) override {
    for (auto& step : steps_) image = step(std::move(image));
    return image;
  }

 private:
  std::vector<std::function<at::Tensor(at::Tensor)>> steps_;
};

/// To {height, width}, or the smaller edge to one number.
template <typename Target = at::Tensor>
struct Resize : public TensorTransform<Target> {
  explicit Resize(std::vector<int64_t> size, Interpolation interpolation = Interpolation::kBilinear,
                  std::optional<int64_t> max_size = std::nullopt, bool antialias = true)
      : size(std::move(size)), interpolation(interpolation), max_size(max_size), antialias(antialias) {}
  explicit Resize(int64_t size) : Resize(std::vector<int64_t>{size}) {}
  at::Tensor operator()(at::Tensor image) override {
    return functional::resize(image, size, interpolation, max_size, antialias);
  }

  std::vector<int64_t> size;
  Interpolation interpolation;
  std::optional<int64_t> max_size;
  bool antialias;
};

template <typename Target = at::Tensor>
struct CenterCrop : public TensorTransform<Target> {
  explicit CenterCrop(at::IntArrayRef size) : size(detail::image_size(size, "CenterCrop")) {}
  at::Tensor operator()(at::Tensor image) override { return functional::center_crop(image, size); }

  std::array<int64_t, 2> size;
};

/// A random place of `size`, of the image padded first (functional::pad), and where that is too small and
/// pad_if_needed, padded until it fits.
template <typename Target = at::Tensor>
struct RandomCrop : public TensorTransform<Target> {
  explicit RandomCrop(at::IntArrayRef size, std::vector<int64_t> padding = {}, bool pad_if_needed = false,
                      double fill = 0, std::string padding_mode = "constant")
      : settings{detail::image_size(size, "RandomCrop"), std::move(padding), pad_if_needed, fill,
                 std::move(padding_mode)} {}
  at::Tensor operator()(at::Tensor image) override { return detail::random_crop(std::move(image), settings); }

  detail::RandomCropSettings settings;
};

/// A random part of between scale[0] and scale[1] of the area and with a ratio of sides in `ratio`, resized.
template <typename Target = at::Tensor>
struct RandomResizedCrop : public TensorTransform<Target> {
  explicit RandomResizedCrop(at::IntArrayRef size, std::array<double, 2> scale = {0.08, 1.0},
                             std::array<double, 2> ratio = {3.0 / 4.0, 4.0 / 3.0},
                             Interpolation interpolation = Interpolation::kBilinear, bool antialias = true)
      : size(detail::image_size(size, "RandomResizedCrop")),
        scale(scale),
        ratio(ratio),
        interpolation(interpolation),
        antialias(antialias) {}
  at::Tensor operator()(at::Tensor image) override {
    return detail::random_resized_crop(image, size, scale, ratio, interpolation, antialias);
  }

  std::array<int64_t, 2> size;
  std::array<double, 2> scale, ratio;
  Interpolation interpolation;
  bool antialias;
};

/// With probability p the image mirrored left to right.
template <typename Target = at::Tensor>
struct RandomHorizontalFlip : public TensorTransform<Target> {
  explicit RandomHorizontalFlip(double p = 0.5) : p(p) { detail::check_probability(p, "RandomHorizontalFlip"); }
  at::Tensor operator()(at::Tensor image) override {
    return detail::random_uniform(0, 1) < p ? functional::hflip(image) : image;
  }

  double p;
};

template <typename Target = at::Tensor>
struct RandomVerticalFlip : public TensorTransform<Target> {
  explicit RandomVerticalFlip(double p = 0.5) : p(p) { detail::check_probability(p, "RandomVerticalFlip"); }
  at::Tensor operator()(at::Tensor image) override {
    return detail::random_uniform(0, 1) < p ? functional::vflip(image) : image;
  }

  double p;
};

template <typename Target = at::Tensor>
struct Pad : public TensorTransform<Target> {
  explicit Pad(std::vector<int64_t> padding, double fill = 0, std::string padding_mode = "constant")
      : padding(std::move(padding)), fill(fill), padding_mode(std::move(padding_mode)) {}
  at::Tensor operator()(at::Tensor image) override { return functional::pad(image, padding, fill, padding_mode); }

  std::vector<int64_t> padding;
  double fill;
  std::string padding_mode;
};

/// Brightness, contrast and saturation by random factors within [max(0, 1 - x), 1 + x], the hue by one within [-hue,
/// hue], in random order.
template <typename Target = at::Tensor>
struct ColorJitter : public TensorTransform<Target> {
  explicit ColorJitter(double brightness = 0, double contrast = 0, double saturation = 0, double hue = 0)
      : brightness(detail::jitter_range(brightness, 1, "brightness")),
        contrast(detail::jitter_range(contrast, 1, "contrast")),
        saturation(detail::jitter_range(saturation, 1, "saturation")),
        hue(detail::jitter_range(hue, 0, "hue")) {}
  at::Tensor operator()(at::Tensor image) override {
    return detail::color_jitter(std::move(image), brightness, contrast, saturation, hue);
  }

  detail::Range brightness, contrast, saturation, hue;
};

template <typename Target = at::Tensor>
struct Grayscale : public TensorTransform<Target> {
  explicit Grayscale(int64_t num_output_channels = 1) : num_output_channels(num_output_channels) {}
  at::Tensor operator()(at::Tensor image) override { return functional::rgb_to_grayscale(image, num_output_channels); }

  int64_t num_output_channels;
};

/// With probability p gray, in as many channels as before.
template <typename Target = at::Tensor>
struct RandomGrayscale : public TensorTransform<Target> {
  explicit RandomGrayscale(double p = 0.1) : p(p) { detail::check_probability(p, "RandomGrayscale"); }
  at::Tensor operator()(at::Tensor image) override {
    return detail::random_uniform(0, 1) < p ? functional::rgb_to_grayscale(image, image.size(-3)) : image;
  }

  double p;
};

/// uint8 images to floating ones in [0, 1], and back.
template <typename Target = at::Tensor>
struct ConvertImageDtype : public TensorTransform<Target> {
  explicit ConvertImageDtype(at::ScalarType dtype = at::kFloat) : dtype(dtype) {}
  at::Tensor operator()(at::Tensor image) override { return functional::convert_image_dtype(image, dtype); }

  at::ScalarType dtype;
};

}  // namespace torch::data::transforms

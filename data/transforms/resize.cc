#include "data/transforms/resize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"

namespace torch::data::transforms::functional {

namespace {

// What one result is made of: the pixels from `first` on, each times its weight.
struct Taps {
  int64_t first;
  std::vector<double> weights;
};

double cubic(double x, double a) {
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

// Weights that fall outside go to the border.
Taps clamped(int64_t first, const std::vector<double>& weights, int64_t in) {
  const int64_t end = first + static_cast<int64_t>(weights.size());
  Taps taps{std::clamp<int64_t>(first, 0, in - 1), {}};
  taps.weights.resize(static_cast<size_t>(std::clamp<int64_t>(end, 1, in) - taps.first));
  for (size_t i = 0; i < weights.size(); ++i) {
    const int64_t at = std::clamp<int64_t>(first + static_cast<int64_t>(i), 0, in - 1) - taps.first;
    taps.weights[static_cast<size_t>(at)] += weights[i];
  }
  return taps;
}

std::vector<Taps> taps_of(int64_t in, int64_t out, bool is_cubic, bool antialias) {
  std::vector<Taps> all;
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  for (int64_t i = 0; i < out; ++i) {
    const double center = scale * (static_cast<double>(i) + 0.5);
    if (!antialias) {
      const double at = is_cubic ? center - 0.5 : std::max(center - 0.5, 0.0);
      const int64_t below = static_cast<int64_t>(std::floor(at));
      const double t = at - static_cast<double>(below);
      constexpr double kA = -0.75;
      all.push_back(is_cubic
                        ? clamped(below - 1, {cubic(t + 1, kA), cubic(t, kA), cubic(1 - t, kA), cubic(2 - t, kA)}, in)
                        : clamped(below, {1 - t, t}, in));
      continue;
    }
    // The filter is as wide as the pixels of the result.
    const double width = std::max(scale, 1.0), support = (is_cubic ? 2 : 1) * width;
    const int64_t first = std::max<int64_t>(static_cast<int64_t>(center - support + 0.5), 0);
    const int64_t end = std::min<int64_t>(static_cast<int64_t>(center + support + 0.5), in);
    Taps taps{first, {}};
    double sum = 0;
    for (int64_t j = first; j < end; ++j) {
      const double x = (static_cast<double>(j) - center + 0.5) / width;
      taps.weights.push_back(is_cubic ? cubic(x, -0.5) : std::max(1 - std::abs(x), 0.0));
      sum += taps.weights.back();
    }
    for (double& w : taps.weights) w /= sum;
    all.push_back(std::move(taps));
  }
  return all;
}

// Along the middle of [outer, in, inner].
template <class T>
void resample(const T* from, T* to, int64_t outer, int64_t in, int64_t inner, const std::vector<Taps>& taps) {
  for (int64_t o = 0; o < outer; ++o, from += in * inner)
    for (const Taps& t : taps) {
      std::fill(to, to + inner, T(0));
      for (size_t k = 0; k < t.weights.size(); ++k) {
        const T* row = from + (t.first + static_cast<int64_t>(k)) * inner;
        const T w = static_cast<T>(t.weights[k]);
        for (int64_t x = 0; x < inner; ++x) to[x] += w * row[x];
      }
      to += inner;
    }
}

template <class T>
at::Tensor resampled(const at::Tensor& image, int64_t height, int64_t width, bool is_cubic, bool antialias) {
  const at::Tensor from = at::contiguous(image);
  const int64_t h = from.size(-2), w = from.size(-1), planes = from.numel() / (h * w);
  std::vector<int64_t> sizes = from.sizes().vec();
  sizes.back() = width;
  at::Tensor wide = at::empty(sizes, from.options());
  resample(from.data_ptr<T>(), wide.mutable_data_ptr<T>(), planes * h, w, 1, taps_of(w, width, is_cubic, antialias));
  sizes[sizes.size() - 2] = height;
  at::Tensor result = at::empty(sizes, from.options());
  resample(wide.data_ptr<T>(), result.mutable_data_ptr<T>(), planes, h, width, taps_of(h, height, is_cubic, antialias));
  return result;
}

at::Tensor nearest(const at::Tensor& image, int64_t height, int64_t width, double offset) {
  const auto indices = [&](int64_t in, int64_t out) {
    at::Tensor t = at::empty({out}, at::kLong);
    const float scale = static_cast<float>(in) / static_cast<float>(out);
    for (int64_t i = 0; i < out; ++i)
      t.mutable_data_ptr<int64_t>()[i] = std::min(
          static_cast<int64_t>(std::floor((static_cast<float>(i) + static_cast<float>(offset)) * scale)), in - 1);
    return t;
  };
  const at::Tensor rows = at::index_select(image, image.dim() - 2, indices(image.size(-2), height));
  return at::index_select(rows, image.dim() - 1, indices(image.size(-1), width));
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
  if (interpolation == Interpolation::kNearest) return nearest(image, height, width, 0);
  if (interpolation == Interpolation::kNearestExact) return nearest(image, height, width, 0.5);
  const bool is_cubic = interpolation == Interpolation::kBicubic;
  if (image.scalar_type() == at::kDouble) return resampled<double>(image, height, width, is_cubic, antialias);
  const at::Tensor from =
      image.scalar_type() == at::kFloat ? image : at::_to_copy(image, at::TensorOptions(at::kFloat));
  at::Tensor result = resampled<float>(from, height, width, is_cubic, antialias);
  if (image.scalar_type() == at::kFloat) return result;
  if (!image.is_floating_point()) {
    result = at::round(result);
    if (image.scalar_type() == at::kByte) result = at::clamp(result, 0, 255);
  }
  return at::_to_copy(result, at::TensorOptions(image.scalar_type()));
}

}  // namespace torch::data::transforms::functional

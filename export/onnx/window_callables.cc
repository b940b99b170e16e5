// Windows that slide over the spatial dimensions, and images that change their size.
#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "aten/aten.h"
#include "export/onnx/boxed.h"
#include "export/onnx/callables.h"
#include "export/onnx/runtime.h"

namespace torch::onnx {
namespace {

using c10::ScalarType;

constexpr int64_t kMostElements = int64_t{1} << 40;

// --- windows ---

// Of a spatial dimension: what is added at both ends, and how often the window fits then.
struct Slide {
  int64_t before, after, windows, extent;
};
Slide slide_of(int64_t size, int64_t kernel, int64_t stride, int64_t dilation, int64_t before, int64_t after,
               std::string_view auto_pad, bool ceil) {
  const int64_t extent = (kernel - 1) * dilation + 1;
  if (auto_pad != "NOTSET") {
    const int64_t windows = (size + stride - 1) / stride;
    const int64_t total = std::max<int64_t>(0, (windows - 1) * stride + extent - size);
    before = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
    return {before, total - before, windows, extent};
  }
  const int64_t room = size + before + after - extent;
  TORCH_CHECK_VALUE(room >= 0, "a window of ", extent, " does not fit into ", size, " with pads ", before, " and ",
                    after);
  int64_t windows = room / stride + 1;
  // One more may begin within the input or what is added before it.
  if (ceil && room % stride != 0 && windows * stride < size + before) ++windows;
  return {before, after, windows, extent};
}
std::vector<Slide> slides_of(const Tensor& x, const Ints& kernel, const Ints& strides, const Ints& dilations,
                             const Ints& pads, std::string_view auto_pad, bool ceil) {
  const size_t n = kernel.size();
  TORCH_CHECK_VALUE(x.dim() == static_cast<int64_t>(n) + 2, "a window of ", n, " dimensions over sizes ", x.sizes());
  std::vector<Slide> slides;
  for (size_t d = 0; d < n; ++d) {
    slides.push_back(
        slide_of(x.sizes()[d + 2], kernel[d], strides[d], dilations[d], pads[d], pads[n + d], auto_pad, ceil));
  }
  return slides;
}
// Padded so that all windows are whole: N, C, windows..., then the elements of each in as many dimensions.
Tensor windows_of(const Tensor& x, const std::vector<Slide>& slides, const Ints& strides, const Ints& dilations,
                  const c10::Scalar& fill) {
  const size_t n = slides.size();
  Ints pairs;
  __int128 elements = 1;
  for (size_t d = n; d-- > 0;) {
    const Slide& s = slides[d];
    const int64_t needed = (s.windows - 1) * strides[d] + s.extent;
    const int64_t after = std::max<int64_t>(0, needed - x.sizes()[d + 2] - s.before);
    pairs.insert(pairs.end(), {s.before, after});
    elements *= s.before + after + x.sizes()[d + 2];
    TORCH_CHECK_VALUE(elements <= kMostElements, "windows over more than ", kMostElements, " elements");
  }
  Tensor view = at::constant_pad_nd(x, pairs, fill);
  for (size_t d = 0; d < n; ++d) {
    view = view.unfold(static_cast<int64_t>(d) + 2, slides[d].extent, strides[d]);
    if (dilations[d] > 1) view = at::slice(view, -1, 0, slides[d].extent, dilations[d]);
    view = at::narrow(view, static_cast<int64_t>(d) + 2, 0, slides[d].windows);
  }
  return view;
}
Ints last_axes(size_t n) {
  Ints axes;
  for (size_t d = 0; d < n; ++d) axes.push_back(static_cast<int64_t>(d) - static_cast<int64_t>(n));
  return axes;
}

Tensor pad_window(const Tensor& x, const Tensor& weight, const Ints& strides, const Ints& dilations, const Ints& pads,
                  const std::string& auto_pad) {
  TORCH_CHECK_VALUE(weight.dim() == static_cast<int64_t>(strides.size()) + 2, "a weight of sizes ", weight.sizes(),
                    " for ", strides.size(), " dimensions");
  const Ints kernel(weight.sizes().begin() + 2, weight.sizes().end());
  const std::vector<Slide> slides = slides_of(x, kernel, strides, dilations, pads, auto_pad, false);
  Ints pairs;
  for (size_t d = slides.size(); d-- > 0;) pairs.insert(pairs.end(), {slides[d].before, slides[d].after});
  return at::constant_pad_nd(x, pairs, 0);
}

std::tuple<Tensor, Tensor> max_pool(const Tensor& x, const Ints& kernel, const Ints& strides, const Ints& pads,
                                    const Ints& dilations, const std::string& auto_pad, bool ceil, bool column_major) {
  const std::vector<Slide> slides = slides_of(x, kernel, strides, dilations, pads, auto_pad, ceil);
  const size_t n = kernel.size();
  const bool whole = c10::isIntegralType(x.scalar_type(), false);
  const Tensor wide = whole ? at::to(x, ScalarType::Float) : x;
  const Tensor windows = windows_of(wide, slides, strides, dilations, -INFINITY);
  const Tensor flat = windows.flatten(-static_cast<int64_t>(n), -1);
  const Tensor largest = at::amax(flat, {-1});
  // Where each element of a window comes from.
  const Tensor winner = at::argmax(flat, -1, true);
  const auto options = at::TensorOptions().dtype(ScalarType::Long);
  Tensor place = at::zeros({1}, options);
  int64_t plane = 1;
  for (size_t d = 0; d < n; ++d) plane *= x.sizes()[d + 2];
  int64_t factor = column_major ? 1 : plane;
  for (size_t d = 0; d < n; ++d) {
    const int64_t size = x.sizes()[d + 2];
    if (!column_major) factor /= std::max<int64_t>(size, 1);
    Ints starts_shape(n + 1, 1), offsets_shape;
    starts_shape[d] = slides[d].windows;
    const Tensor starts = at::sub(at::mul(at::arange(0, slides[d].windows, options), strides[d]), slides[d].before);
    int64_t inner = 1, outer = 1;
    for (size_t k = 0; k < n; ++k) (k < d ? outer : inner) *= k == d ? 1 : kernel[k];
    const Tensor offsets = at::mul(at::arange(0, kernel[d], options), dilations[d]);
    const Tensor spread = offsets.reshape({1, kernel[d], 1}).expand({outer, kernel[d], inner}).reshape({-1});
    place = at::add(place, at::mul(at::add(starts.reshape(starts_shape), spread), factor));
    if (column_major) factor *= size;
  }
  Ints sizes(flat.sizes().begin(), flat.sizes().end());
  const Tensor index = at::gather(place.expand(sizes), -1, winner).squeeze(-1);
  // Places count through the whole tensor.
  Ints planes_shape(x.sizes().size(), 1);
  planes_shape[0] = x.size(0), planes_shape[1] = x.size(1);
  const Tensor planes = at::mul(at::arange(0, x.size(0) * x.size(1), options), plane).reshape(planes_shape);
  return {at::to(largest, x.scalar_type()), at::add(index, planes)};
}
Tensor average_pool(const Tensor& x, const Ints& kernel, const Ints& strides, const Ints& pads, const Ints& dilations,
                    const std::string& auto_pad, bool ceil, bool include) {
  const std::vector<Slide> slides = slides_of(x, kernel, strides, dilations, pads, auto_pad, ceil);
  const size_t n = kernel.size();
  const Tensor total = at::sum(windows_of(x, slides, strides, dilations, 0), last_axes(n));
  // How many elements of each window count.
  Ints sizes(x.sizes().begin(), x.sizes().end());
  sizes[0] = sizes[1] = 1;
  Tensor ones = at::ones(sizes, x.options());
  std::vector<Slide> rest = slides;
  if (include) {
    Ints pairs;
    for (size_t d = n; d-- > 0;) {
      pairs.insert(pairs.end(), {slides[d].before, slides[d].after});
      rest[d].before = 0;
    }
    ones = at::constant_pad_nd(ones, pairs, 1);
  }
  return at::div(total, at::sum(windows_of(ones, rest, strides, dilations, 0), last_axes(n)));
}
Tensor lp_pool(const Tensor& x, const Ints& kernel, const Ints& strides, const Ints& pads, const Ints& dilations,
               const std::string& auto_pad, bool ceil, int64_t p) {
  const std::vector<Slide> slides = slides_of(x, kernel, strides, dilations, pads, auto_pad, ceil);
  const Tensor powers = at::pow(at::abs(windows_of(x, slides, strides, dilations, 0)), p);
  return at::pow(at::sum(powers, last_axes(kernel.size())), 1.0 / static_cast<double>(p));
}
Tensor max_unpool(const Tensor& x, const Tensor& index, const std::optional<Ints>& sizes, const Ints& kernel,
                  const Ints& strides, const Ints& pads) {
  const size_t n = kernel.size();
  TORCH_CHECK_VALUE(x.dim() == static_cast<int64_t>(n) + 2 && index.sizes() == x.sizes(), "MaxUnpool of sizes ",
                    x.sizes(), " with places of sizes ", index.sizes());
  // Places count through a tensor of these sizes.
  Ints own{x.size(0), x.size(1)};
  for (size_t d = 0; d < n; ++d) {
    own.push_back((x.sizes()[d + 2] - 1) * strides[d] + kernel[d] - pads[d] - pads[n + d]);
    TORCH_CHECK_VALUE(own.back() >= 0, "MaxUnpool to a size of ", own.back());
  }
  const Ints wanted = sizes.value_or(own);
  TORCH_CHECK_VALUE(wanted.size() == n + 2, "expected ", n + 2, " sizes, but got ", wanted);
  for (const int64_t size : wanted) TORCH_CHECK_VALUE(size >= 0, "MaxUnpool to sizes ", wanted);
  const Tensor flat = at::zeros(own, x.options()).reshape({-1});
  Tensor out = at::scatter(flat, 0, index.reshape({-1}), x.reshape({-1})).reshape(own);
  Ints pairs;
  for (size_t d = n + 2; d-- > 0;) pairs.insert(pairs.end(), {0, wanted[d] - own[d]});
  return at::constant_pad_nd(out, pairs, 0);
}
Tensor conv_transpose(const Tensor& x, const Tensor& weight, const MaybeTensor& bias, const Ints& strides, Ints pads,
                      const Ints& dilations, const Ints& extra, int64_t groups, const std::string& auto_pad,
                      const std::optional<Ints>& sizes) {
  const size_t n = strides.size();
  TORCH_CHECK_VALUE(x.dim() == static_cast<int64_t>(n) + 2 && weight.dim() == x.dim(), "ConvTranspose of sizes ",
                    x.sizes(), " with a weight of sizes ", weight.sizes(), " for ", n, " dimensions");
  TORCH_CHECK_VALUE(!sizes.has_value() || sizes->size() == n || sizes->size() == n + 2, "expected ", n,
                    " sizes in output_shape, but got ", sizes->size());
  // All that the weight reaches, of which the pads are cut off.
  Tensor out = at::convolution(x, weight, bias, strides, Ints(n, 0), dilations, true, Ints(n, 0), groups);
  for (size_t d = 0; d < n; ++d) {
    const auto axis = static_cast<int64_t>(d) + 2;
    const int64_t full = out.size(axis) + extra[d];
    int64_t begin = pads[d], end = pads[n + d];
    if (sizes.has_value() || auto_pad != "NOTSET") {
      const int64_t wanted = sizes.has_value() ? (*sizes)[sizes->size() - n + d] : x.size(axis) * strides[d];
      TORCH_CHECK_VALUE(wanted >= 0 && wanted <= kMostElements, "ConvTranspose to a size of ", wanted);
      const int64_t total = full - wanted;
      begin = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      if (auto_pad == "NOTSET") begin = total / 2;
      end = total - begin;
    }
    const int64_t length = full - begin - end;
    TORCH_CHECK_VALUE(length >= 0 && length <= kMostElements, "ConvTranspose to a size of ", length);
    // Beyond what the weight reaches there is the bias.
    Ints pairs(2 * (n - d), 0);
    pairs[pairs.size() - 2] = -begin, pairs[pairs.size() - 1] = length - (out.size(axis) - begin);
    const bool grows = pairs[pairs.size() - 2] > 0 || pairs[pairs.size() - 1] > 0;
    if (grows && bias.has_value()) {
      const auto fill = [&](int64_t count) {
        Ints shape(out.sizes().begin(), out.sizes().end());
        shape[static_cast<size_t>(axis)] = std::max<int64_t>(count, 0);
        Ints one(out.sizes().size(), 1);
        one[1] = -1;
        return bias->reshape(one).expand(shape);
      };
      out = at::cat({fill(pairs[pairs.size() - 2]), out, fill(pairs[pairs.size() - 1])}, axis);
      out = at::narrow(out, axis, std::max<int64_t>(begin, 0), length);
    } else {
      out = at::constant_pad_nd(out, pairs, 0);
    }
  }
  return out;
}
Tensor col2im(const Tensor& x, const Ints& sizes, const Ints& kernel, Ints dilations, Ints pads, Ints strides) {
  const size_t n = sizes.size();
  TORCH_CHECK_VALUE(x.dim() == 3 && n > 0 && kernel.size() == n, "Col2Im of sizes ", x.sizes(), " to ", sizes,
                    " with blocks of ", kernel);
  if (dilations.empty()) dilations.assign(n, 1);
  if (strides.empty()) strides.assign(n, 1);
  if (pads.empty()) pads.assign(2 * n, 0);
  TORCH_CHECK_VALUE(dilations.size() == n && strides.size() == n && pads.size() == 2 * n, "Col2Im with dilations ",
                    dilations, ", strides ", strides, " and pads ", pads, " for ", n, " dimensions");
  Ints padded, windows;
  int64_t block = 1, blocks = 1, elements = 1;
  for (size_t d = 0; d < n; ++d) {
    TORCH_CHECK_VALUE(sizes[d] > 0 && sizes[d] <= kMostElements && kernel[d] > 0 && kernel[d] <= INT32_MAX &&
                          dilations[d] > 0 && strides[d] > 0,
                      "Col2Im to ", sizes, " with blocks of ", kernel);
    padded.push_back(sizes[d] + pads[d] + pads[n + d]);
    const int64_t room = padded[d] - (kernel[d] - 1) * dilations[d] - 1;
    TORCH_CHECK_VALUE(room >= 0, "a block of ", kernel, " does not fit into ", padded);
    windows.push_back(room / strides[d] + 1);
    TORCH_CHECK_VALUE(!__builtin_mul_overflow(elements, padded[d], &elements) && elements <= kMostElements,
                      "Col2Im to sizes ", sizes);
    block *= kernel[d], blocks *= windows[d];
  }
  TORCH_CHECK_VALUE(x.size(1) % block == 0 && x.size(2) == blocks, "Col2Im of sizes ", x.sizes(), ", but blocks of ",
                    kernel, " in ", sizes, " are ", block, " by ", blocks);
  // For every element of the blocks, its place in the padded image.
  const auto options = at::TensorOptions().dtype(ScalarType::Long);
  Tensor place = at::zeros({1, 1}, options);
  for (size_t d = 0; d < n; ++d) {
    const Tensor inside = at::mul(at::arange(0, kernel[d], options), dilations[d]);
    const Tensor starts = at::mul(at::arange(0, windows[d], options), strides[d]);
    const Tensor own = at::add(inside.reshape({kernel[d], 1}), starts.reshape({1, windows[d]}));
    const int64_t rows = place.size(0), columns = place.size(1);
    place =
        at::add(at::mul(place, padded[d]).reshape({rows, 1, columns, 1}), own.reshape({1, kernel[d], 1, windows[d]}))
            .reshape({rows * kernel[d], columns * windows[d]});
  }
  const int64_t channels = x.size(1) / block;
  const Tensor values = x.reshape({x.size(0) * channels, block * blocks});
  const Tensor index = place.reshape({1, block * blocks}).expand(values.sizes());
  Tensor image = at::scatter_add(at::zeros({x.size(0) * channels, elements}, x.options()), 1, index, values);
  Ints shape{x.size(0), channels};
  shape.insert(shape.end(), padded.begin(), padded.end());
  image = image.reshape(shape);
  for (size_t d = 0; d < n; ++d) image = at::narrow(image, static_cast<int64_t>(d) + 2, pads[d], sizes[d]);
  return image;
}
// Samples between the elements, where the offsets say; zeros outside.
Tensor deform_conv(const Tensor& x, const Tensor& weight, const Tensor& offset, const MaybeTensor& bias,
                   const MaybeTensor& mask, const Ints& strides, const Ints& pads, const Ints& dilations,
                   int64_t groups, int64_t offset_groups) {
  TORCH_CHECK_VALUE(x.dim() == 4 && weight.dim() == 4 && offset.dim() == 4 && x.size(1) % offset_groups == 0 &&
                        x.size(1) == weight.size(1) * groups && weight.size(0) % groups == 0 && x.numel() > 0,
                    "DeformConv of sizes ", x.sizes(), " with a weight of sizes ", weight.sizes(),
                    " and offsets of sizes ", offset.sizes(), " in ", groups, " and ", offset_groups, " groups");
  const int64_t n = x.size(0), channels = x.size(1), rows = x.size(2), columns = x.size(3);
  const Slide down = slide_of(rows, weight.size(2), strides[0], dilations[0], pads[0], pads[2], "NOTSET", false);
  const Slide right = slide_of(columns, weight.size(3), strides[1], dilations[1], pads[1], pads[3], "NOTSET", false);
  const int64_t places = weight.size(2) * weight.size(3), height = down.windows, width = right.windows;
  const auto check = [&](const Tensor& t, int64_t count, const char* what) {
    const Ints wanted{n, count, height, width};
    TORCH_CHECK_VALUE(t.sizes() == c10::IntArrayRef(wanted), "expected ", what, " of sizes ", wanted, ", but got ",
                      t.sizes());
  };
  check(offset, offset_groups * places * 2, "offsets");
  if (mask.has_value()) check(*mask, offset_groups * places, "a mask");
  const auto options = x.options();
  const Tensor moves = offset.reshape({n * offset_groups, places, 2, height, width});
  const Tensor image = x.reshape({n * offset_groups, channels / offset_groups, rows, columns});
  const Tensor from_row = at::sub(at::mul(at::arange(0, height, options), strides[0]), pads[0]).unsqueeze(1);
  const Tensor from_column = at::sub(at::mul(at::arange(0, width, options), strides[1]), pads[1]);
  std::vector<Tensor> samples;
  for (int64_t k = 0; k < places; ++k) {
    const Tensor move = at::select(moves, 1, k);
    const Tensor y = at::add(at::add(at::select(move, 1, 0), from_row), (k / weight.size(3)) * dilations[0]);
    const Tensor z = at::add(at::add(at::select(move, 1, 1), from_column), (k % weight.size(3)) * dilations[1]);
    // As the grid sampler counts: -1 and 1 are the borders.
    const auto scaled = [](const Tensor& v, int64_t size) {
      return at::sub(at::div(at::add(at::mul(v, 2), 1), static_cast<double>(size)), 1);
    };
    Tensor sample = at::grid_sampler(image, at::stack({scaled(z, columns), scaled(y, rows)}, -1), 0, 0, false);
    if (mask.has_value()) {
      sample = at::mul(sample, at::select(mask->reshape({n * offset_groups, places, 1, height, width}), 1, k));
    }
    samples.push_back(sample.reshape({n, channels, height * width}));
  }
  const Tensor all = at::stack(samples, 2).reshape({n, groups, channels / groups * places, height * width});
  const Tensor out = at::matmul(weight.reshape({groups, weight.size(0) / groups, -1}), all);
  const Tensor shaped = out.reshape({n, weight.size(0), height, width});
  return bias.has_value() ? at::add(shaped, bias->reshape({-1, 1, 1})) : shaped;
}
Tensor local_response_norm(const Tensor& x, int64_t size, double alpha, double beta, double bias) {
  TORCH_CHECK_VALUE(x.dim() >= 3, "expected at least three dimensions, but got sizes ", x.sizes());
  const Tensor squares = at::mul(x, x).flatten(2, -1);
  const int64_t before = std::min((size - 1) / 2, x.size(1)), after = std::min(size / 2, x.size(1));
  const Tensor padded = at::constant_pad_nd(squares, Ints{0, 0, before, after}, 0);
  const Tensor total = at::sum(padded.unfold(1, before + after + 1, 1), Ints{-1}).reshape(x.sizes());
  return at::div(x, at::pow(at::add(at::mul(total, alpha / static_cast<double>(size)), bias), beta));
}

// --- images of another size ---

struct Resizing {
  std::string mode, transform, nearest;
  double cubic, extrapolation;
  bool exclude, antialias;
};

double kernel_at(const Resizing& r, double t) {
  t = std::abs(t);
  if (r.mode == "linear") return std::max(0.0, 1 - t);
  const double a = r.cubic;
  if (t < 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
  return t < 2 ? a * (((t - 5) * t + 8) * t - 4) : 0;
}

// One axis: each element of the result is a sum of elements with weights.
Tensor resized(const Tensor& x, int64_t axis, int64_t out_size, double scale, double begin, double end,
               const Resizing& r) {
  const int64_t size = x.size(axis);
  const double length = static_cast<double>(size);
  // In float: what others round to the lower of two neighbours is rounded to it here.
  const auto factor = static_cast<float>(scale), size_before = static_cast<float>(size),
             size_after = static_cast<float>(out_size), first_part = static_cast<float>(begin),
             last_part = static_cast<float>(end);
  const auto place_of = [&](int64_t i) -> float {
    const auto at = static_cast<float>(i);
    if (r.transform == "half_pixel") return (at + 0.5F) / factor - 0.5F;
    if (r.transform == "half_pixel_symmetric") {
      const float adjusted = size_after / (factor * size_before);
      return size_before / 2 * (1 - adjusted) + ((at + 0.5F) / factor - 0.5F);
    }
    if (r.transform == "pytorch_half_pixel") return out_size > 1 ? (at + 0.5F) / factor - 0.5F : 0;
    if (r.transform == "align_corners") return out_size > 1 ? at * (size_before - 1) / (size_after - 1) : 0;
    if (r.transform == "asymmetric") return at / factor;
    if (r.transform == "tf_half_pixel_for_nn") return (at + 0.5F) / factor;
    if (out_size == 1) return 0.5F * (first_part + last_part) * (size_before - 1);
    return first_part * (size_before - 1) + at * (last_part - first_part) * (size_before - 1) / (size_after - 1);
  };
  const double shrink = r.antialias && scale < 1 ? scale : 1;
  const double reach = (r.mode == "cubic" ? 2 : 1) / shrink;
  const int64_t taps = r.mode == "nearest" ? 1 : static_cast<int64_t>(std::ceil(2 * reach)) + 1;
  TORCH_CHECK_VALUE(taps <= 4 * size + 16, "a resize by ", scale);
  const Tensor index = at::empty({taps, out_size}, at::TensorOptions().dtype(ScalarType::Long));
  const Tensor weights = at::zeros({taps, out_size}, at::TensorOptions().dtype(ScalarType::Double));
  int64_t* index_to = index.data_ptr<int64_t>();
  double* weight_to = weights.data_ptr<double>();
  // A crop by what is not a number is not a number either.
  const auto within = [&](double at) { return at > 0 ? static_cast<int64_t>(std::min(at, length - 1)) : 0; };
  for (int64_t i = 0; i < out_size; ++i) {
    const double from = place_of(i);
    if (r.mode == "nearest") {
      double near = 0;
      if (r.nearest == "floor") {
        near = std::floor(from);
      } else if (r.nearest == "ceil") {
        near = std::ceil(from);
      } else if (r.nearest == "round_prefer_floor") {
        near = std::ceil(from - 0.5);
      } else {
        near = std::floor(from + 0.5);
      }
      index_to[i] = within(near);
      weight_to[i] = 1;
      continue;
    }
    const double first = std::ceil(from - reach);
    double total = 0;
    for (int64_t k = 0; k < taps; ++k) {
      const double at = first + static_cast<double>(k);
      double weight = kernel_at(r, (at - from) * shrink);
      if (r.exclude && (at < 0 || at > length - 1)) weight = 0;
      index_to[k * out_size + i] = within(at);
      weight_to[k * out_size + i] = weight;
      total += weight;
    }
    for (int64_t k = 0; k < taps && total != 0; ++k) weight_to[k * out_size + i] /= total;
  }
  Ints along(x.sizes().size(), 1);
  along[static_cast<size_t>(axis)] = out_size;
  Tensor out;
  for (int64_t k = 0; k < taps; ++k) {
    const Tensor taken = at::index_select(x, axis, at::select(index, 0, k));
    if (r.mode == "nearest") {
      out = taken;
      break;
    }
    const Tensor weighted = at::mul(taken, at::to(at::select(weights, 0, k), x.scalar_type()).reshape(along));
    out = out.defined() ? at::add(out, weighted) : weighted;
  }
  if (r.transform == "tf_crop_and_resize") {
    const Tensor beyond = at::empty({out_size}, at::TensorOptions().dtype(ScalarType::Bool));
    for (int64_t i = 0; i < out_size; ++i) {
      beyond.data_ptr<bool>()[i] = !(place_of(i) >= 0 && place_of(i) <= length - 1);
    }
    out = at::masked_fill(out, beyond.reshape(along), r.extrapolation);
  }
  return out;
}

Tensor resize(const Tensor& x, const MaybeTensor& scales, const std::optional<Ints>& sizes, const MaybeTensor& roi,
              const std::string& mode, const std::string& transform, const std::string& nearest,
              const std::string& policy, double cubic, double extrapolation, bool exclude, bool antialias,
              const std::optional<Ints>& given_axes) {
  const Resizing r{mode, transform, nearest, cubic, extrapolation, exclude, antialias};
  Ints axes;
  if (given_axes.has_value()) {
    for (const int64_t axis : *given_axes) axes.push_back(axis_of(x, axis));
  } else {
    for (int64_t d = 0; d < x.dim(); ++d) axes.push_back(d);
  }
  const size_t n = axes.size();
  std::vector<double> factors, corners;
  const auto doubles = [](const Tensor& t) {
    const Tensor wide = at::to(t, ScalarType::Double).contiguous();
    return std::vector<double>(wide.data_ptr<double>(), wide.data_ptr<double>() + wide.numel());
  };
  if (scales.has_value()) factors = doubles(*scales);
  if (roi.has_value()) corners = doubles(*roi);
  TORCH_CHECK_VALUE(scales.has_value() ? factors.size() == n : sizes.has_value() && sizes->size() == n, "expected ", n,
                    " scales or sizes for sizes ", x.sizes());
  TORCH_CHECK_VALUE(!roi.has_value() || corners.size() == 2 * n, "expected ", 2 * n, " numbers in roi, but got ",
                    corners.size());
  Ints wanted;
  for (size_t k = 0; k < n; ++k) {
    const int64_t size = x.size(axes[k]);
    TORCH_CHECK_VALUE(size > 0, "a resize of sizes ", x.sizes());
    if (sizes.has_value()) {
      wanted.push_back((*sizes)[k]);
      factors.push_back(static_cast<double>(wanted[k]) / static_cast<double>(size));
    } else {
      const double cut = roi.has_value() ? corners[n + k] - corners[k] : 1;
      // In float, as scales are: 5 by 1.8 is 9.
      const double length = std::floor(static_cast<float>(size) * static_cast<float>(cut * factors[k]));
      TORCH_CHECK_VALUE(factors[k] > 0 && length >= 0 && length <= static_cast<double>(kMostElements), "a resize by ",
                        factors[k], " of sizes ", x.sizes());
      wanted.push_back(static_cast<int64_t>(length));
    }
  }
  if (sizes.has_value() && policy != "stretch") {
    const double one = policy == "not_larger" ? *std::min_element(factors.begin(), factors.end())
                                              : *std::max_element(factors.begin(), factors.end());
    for (size_t k = 0; k < n; ++k) {
      factors[k] = one;
      wanted[k] = static_cast<int64_t>(std::floor(one * static_cast<double>(x.size(axes[k])) + 0.5));
    }
  }
  __int128 elements = 1;
  for (const int64_t size : wanted) {
    TORCH_CHECK_VALUE(size > 0 && size <= kMostElements, "a resize to ", wanted);
    elements *= size;
    TORCH_CHECK_VALUE(elements <= kMostElements, "a resize to ", wanted);
  }
  const bool whole = c10::isIntegralType(x.scalar_type(), false);
  Tensor out = whole && mode != "nearest" ? at::to(x, ScalarType::Float) : x;
  for (size_t k = 0; k < n; ++k) {
    const bool crops = roi.has_value();
    if (wanted[k] == x.size(axes[k]) && factors[k] == 1 && !crops) continue;
    out = resized(out, axes[k], wanted[k], factors[k], crops ? corners[k] : 0, crops ? corners[n + k] : 1, r);
  }
  return at::to(out, x.scalar_type());
}

// --- boxes ---

// Of each sample between two neighbours, which are the columns of its row of weights that are not 0, one of both.
struct Corner {
  Tensor place, weight;
};
Corner corner(const Tensor& weights, bool high) {
  const Tensor there = at::to(at::gt(weights, 0), ScalarType::Long);
  const int64_t n = weights.size(1);
  const Tensor number = at::add(at::arange(0, n, at::TensorOptions().dtype(ScalarType::Long)), 1);
  const Tensor ranked = at::mul(there, high ? number : at::rsub(number, n + 1));
  const Tensor place = at::argmax(ranked, 1);
  const Tensor weight = at::gather(weights, 1, place.unsqueeze(1)).squeeze(1);
  // Where there is one alone, the other has no weight.
  const Tensor alone = at::le(at::sum(there, at::IntArrayRef{1}), 1);
  return {place, high ? at::masked_fill(weight, alone, 0) : weight};
}

Tensor roi_align(const Tensor& x, const Tensor& rois, const Tensor& batch, bool by_max, bool half_pixel, int64_t height,
                 int64_t width, int64_t ratio, double scale) {
  TORCH_CHECK_VALUE(
      x.dim() == 4 && rois.dim() == 2 && rois.size(1) == 4 && batch.dim() == 1 && batch.size(0) == rois.size(0) &&
          height > 0 && width > 0 && ratio >= 0 && height < 65536 && width < 65536 && ratio < 65536,
      "RoiAlign of sizes ", x.sizes(), " with boxes of sizes ", rois.sizes(), " to ", height, " by ", width);
  const int64_t n = rois.size(0), channels = x.size(1), rows = x.size(2), columns = x.size(3);
  const Tensor boxes = at::to(rois, ScalarType::Double).contiguous(),
               images = at::to(batch, ScalarType::Long).contiguous();
  const auto options = at::TensorOptions();
  std::vector<Tensor> results;
  // The weights of the rows (or columns) of one axis for its samples.
  const auto samples = [&](double begin, double size, int64_t bins, int64_t& each, int64_t length) {
    const double bin = size / static_cast<double>(bins);
    each = ratio > 0 ? ratio : static_cast<int64_t>(std::clamp(std::ceil(bin), 1.0, 65536.0));
    TORCH_CHECK_VALUE(bins * each <= 65536, "RoiAlign with ", bins * each, " samples");
    const Tensor weights = at::zeros({bins * each, length}, options.dtype(ScalarType::Double));
    double* to = weights.data_ptr<double>();
    for (int64_t k = 0; k < bins * each; ++k) {
      double at = begin + static_cast<double>(k / each) * bin +
                  (static_cast<double>(k % each) + 0.5) * bin / static_cast<double>(each);
      if (at < -1 || at > static_cast<double>(length)) continue;
      at = std::max(at, 0.0);
      auto low = std::min(static_cast<int64_t>(at), length - 1);
      const int64_t high = std::min(low + 1, length - 1);
      const double part = low == length - 1 ? 0 : at - static_cast<double>(low);
      to[k * length + low] += 1 - part;
      to[k * length + high] += part;
    }
    return weights;
  };
  for (int64_t b = 0; b < n; ++b) {
    const double* box = boxes.data_ptr<double>() + 4 * b;
    const int64_t image = images.data_ptr<int64_t>()[b];
    TORCH_CHECK_INDEX(image >= 0 && image < x.size(0), "RoiAlign of image ", image, " of ", x.size(0));
    const double offset = half_pixel ? 0.5 : 0;
    const double left = box[0] * scale - offset, top = box[1] * scale - offset;
    double box_width = box[2] * scale - offset - left, box_height = box[3] * scale - offset - top;
    if (!half_pixel) box_width = std::max(box_width, 1.0), box_height = std::max(box_height, 1.0);
    TORCH_CHECK_VALUE(std::isfinite(left + top + box_width + box_height), "RoiAlign with a box that is not finite");
    int64_t each_row = 0, each_column = 0;
    const Tensor by_row = samples(top, box_height, height, each_row, rows);
    const Tensor by_column = samples(left, box_width, width, each_column, columns);
    const Tensor plane = at::to(at::select(x, 0, image), ScalarType::Double);
    if (!by_max) {
      const Tensor values = at::matmul(at::matmul(by_row, plane), by_column.t());
      results.push_back(at::mean(values.reshape({channels, height, each_row, width, each_column}), Ints{2, 4}));
      continue;
    }
    // Of each sample the largest of the four weighted corners.
    Tensor largest;
    for (const bool high_row : {false, true}) {
      for (const bool high_column : {false, true}) {
        const Corner row = corner(by_row, high_row), column = corner(by_column, high_column);
        const Tensor taken = at::index_select(at::index_select(plane, 1, row.place), 2, column.place);
        const Tensor weighted = at::mul(taken, at::mul(row.weight.unsqueeze(1), column.weight));
        largest = largest.defined() ? at::maximum(largest, weighted) : weighted;
      }
    }
    results.push_back(at::amax(largest.reshape({channels, height, each_row, width, each_column}), {2, 4}));
  }
  if (results.empty()) return at::zeros({0, channels, height, width}, x.options());
  return at::to(at::stack(results, 0), x.scalar_type());
}

Tensor non_max_suppression(const Tensor& boxes, const Tensor& scores, int64_t most, double overlap,
                           const std::optional<c10::Scalar>& threshold, bool center) {
  TORCH_CHECK_VALUE(boxes.dim() == 3 && boxes.size(2) == 4 && scores.dim() == 3 && scores.size(0) == boxes.size(0) &&
                        scores.size(2) == boxes.size(1),
                    "NonMaxSuppression of boxes of sizes ", boxes.sizes(), " and scores of sizes ", scores.sizes());
  const Tensor corners = at::to(boxes, ScalarType::Double).contiguous(),
               values = at::to(scores, ScalarType::Double).contiguous();
  const int64_t n = boxes.size(1), classes = scores.size(1);
  struct Box {
    double top, left, bottom, right;
    double area() const { return (bottom - top) * (right - left); }
  };
  std::vector<int64_t> chosen;
  for (int64_t b = 0; b < boxes.size(0); ++b) {
    std::vector<Box> all;
    for (int64_t k = 0; k < n; ++k) {
      const double* v = corners.data_ptr<double>() + (b * n + k) * 4;
      if (center) {
        all.push_back({v[1] - v[3] / 2, v[0] - v[2] / 2, v[1] + v[3] / 2, v[0] + v[2] / 2});
      } else {
        all.push_back({std::min(v[0], v[2]), std::min(v[1], v[3]), std::max(v[0], v[2]), std::max(v[1], v[3])});
      }
    }
    for (int64_t c = 0; c < classes; ++c) {
      const double* score = values.data_ptr<double>() + (b * classes + c) * n;
      std::vector<int64_t> order;
      for (int64_t k = 0; k < n; ++k) {
        if (!threshold.has_value() || score[k] > threshold->toDouble()) order.push_back(k);
      }
      std::stable_sort(order.begin(), order.end(), [&](int64_t p, int64_t q) { return score[p] > score[q]; });
      std::vector<int64_t> kept;
      for (const int64_t k : order) {
        if (static_cast<int64_t>(kept.size()) >= most) break;
        const Box& one = all[static_cast<size_t>(k)];
        const bool free = std::none_of(kept.begin(), kept.end(), [&](int64_t other) {
          const Box& o = all[static_cast<size_t>(other)];
          const double height = std::min(one.bottom, o.bottom) - std::max(one.top, o.top),
                       width = std::min(one.right, o.right) - std::max(one.left, o.left);
          if (height <= 0 || width <= 0) return false;
          return height * width / (one.area() + o.area() - height * width) > overlap;
        });
        if (free) kept.push_back(k);
      }
      for (const int64_t k : kept) chosen.insert(chosen.end(), {b, c, k});
    }
  }
  return at::tensor(chosen, at::TensorOptions().dtype(ScalarType::Long)).reshape({-1, 3});
}

constexpr OwnCallable kCallables[] = {
    {"onnx::average_pool(Tensor x, int[] kernel, int[] strides, int[] pads, int[] dilations, str auto_pad, bool ceil, "
     "bool include) -> Tensor",
     boxed<&average_pool>},
    {"onnx::col2im(Tensor x, int[] sizes, int[] kernel, int[] dilations, int[] pads, int[] strides) -> Tensor",
     boxed<&col2im>},
    {"onnx::conv_transpose(Tensor x, Tensor weight, Tensor? bias, int[] strides, int[] pads, int[] dilations, int[] "
     "extra, "
     "int groups, str auto_pad, int[]? sizes) -> Tensor",
     boxed<&conv_transpose>},
    {"onnx::deform_conv(Tensor x, Tensor weight, Tensor offset, Tensor? bias, Tensor? mask, int[] strides, int[] pads, "
     "int[] dilations, int groups, int offset_groups) -> Tensor",
     boxed<&deform_conv>},
    {"onnx::local_response_norm(Tensor x, int size, float alpha, float beta, float bias) -> Tensor",
     boxed<&local_response_norm>},
    {"onnx::lp_pool(Tensor x, int[] kernel, int[] strides, int[] pads, int[] dilations, str auto_pad, bool ceil, int "
     "p) -> Tensor",
     boxed<&lp_pool>},
    {"onnx::max_pool(Tensor x, int[] kernel, int[] strides, int[] pads, int[] dilations, str auto_pad, bool ceil, "
     "bool column_major) -> (Tensor, Tensor)",
     boxed<&max_pool>},
    {"onnx::max_unpool(Tensor x, Tensor index, int[]? sizes, int[] kernel, int[] strides, int[] pads) -> Tensor",
     boxed<&max_unpool>},
    {"onnx::non_max_suppression(Tensor boxes, Tensor scores, int most, float overlap, Scalar? threshold, bool center) "
     "-> Tensor",
     boxed<&non_max_suppression>},
    {"onnx::pad_window(Tensor x, Tensor weight, int[] strides, int[] dilations, int[] pads, str auto_pad) -> Tensor",
     boxed<&pad_window>},
    {"onnx::resize(Tensor x, Tensor? scales, int[]? sizes, Tensor? roi, str mode, str transform, str nearest, str "
     "policy, "
     "float cubic, float extrapolation, bool exclude, bool antialias, int[]? axes) -> Tensor",
     boxed<&resize>},
    {"onnx::roi_align(Tensor x, Tensor rois, Tensor batch, bool by_max, bool half_pixel, int height, int width, int "
     "ratio, "
     "float scale) -> Tensor",
     boxed<&roi_align>},
};

}  // namespace

c10::ArrayRef<OwnCallable> window_callables() {
  return kCallables;
}

}  // namespace torch::onnx

#include "aten/ops/upsample/ops.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/testing/testing.h"

namespace {

using namespace at;
using namespace at::testing;
using Matrix = std::vector<std::vector<double>>;  // [out][in]
using Scale = std::optional<double>;

enum class Mode { kNearest, kExact, kLinear, kCubic, kLinearAa, kCubicAa, kLanczosAa };

double cubic(double x, double a) {
  x = std::abs(x);
  if (x <= 1) return (a + 2) * x * x * x - (a + 3) * x * x + 1;
  return x < 2 ? a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a : 0;
}
double lanczos(double x) {
  if (x == 0) return 1;
  const double p = std::numbers::pi * x;
  return std::abs(x) < 3 ? 3 * std::sin(p) * std::sin(p / 3) / (p * p) : 0;
}

// The weights of one dimension, written down from the definitions.
Matrix weights(Mode mode, int64_t in, int64_t out, bool align, Scale scale) {
  Matrix m(static_cast<size_t>(out), std::vector<double>(static_cast<size_t>(in)));
  double step = scale.has_value() ? 1 / *scale : static_cast<double>(in) / static_cast<double>(out);
  if (align) step = out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0;
  const auto add = [&](int64_t i, int64_t j, double w) {
    m[static_cast<size_t>(i)][static_cast<size_t>(std::clamp<int64_t>(j, 0, in - 1))] += w;
  };
  for (int64_t i = 0; i < out; ++i) {
    const double center = step * (static_cast<double>(i) + 0.5);
    const double at = align ? step * static_cast<double>(i) : center - 0.5;
    if (mode == Mode::kNearest) {
      add(i, static_cast<int64_t>(static_cast<float>(i) * static_cast<float>(step)), 1);
    } else if (mode == Mode::kExact) {
      add(i, static_cast<int64_t>((static_cast<float>(i) + 0.5f) * static_cast<float>(step)), 1);
    } else if (mode == Mode::kLinear) {
      const double x = std::max(at, 0.0), left = std::floor(x);
      add(i, static_cast<int64_t>(left), 1 - (x - left));
      add(i, static_cast<int64_t>(left) + 1, x - left);
    } else if (mode == Mode::kCubic) {
      const double left = std::floor(at);
      for (int k = -1; k <= 2; ++k) add(i, static_cast<int64_t>(left) + k, cubic(at - left - k, -0.75));
    } else {
      const double stretch = std::max(step, 1.0);
      std::vector<double>& row = m[static_cast<size_t>(i)];
      double total = 0;
      for (int64_t j = 0; j < in; ++j) {
        const double x = (static_cast<double>(j) + 0.5 - center) / stretch;
        row[static_cast<size_t>(j)] = mode == Mode::kLinearAa  ? std::max(0.0, 1 - std::abs(x))
                                      : mode == Mode::kCubicAa ? cubic(x, -0.5)
                                                               : lanczos(x);
        total += row[static_cast<size_t>(j)];
      }
      for (double& w : row) w /= total;
    }
  }
  return m;
}

// Each dimension behind the first two multiplied by its matrix.
std::vector<double> reference(const Tensor& x, const std::vector<Matrix>& m) {
  std::vector<double> v = values(x);
  int64_t outer = x.size(0) * x.size(1);
  for (size_t d = 0; d < m.size(); ++d) {
    int64_t inner = 1;
    for (size_t e = d + 1; e < m.size(); ++e) inner *= x.size(static_cast<int64_t>(e) + 2);
    const int64_t out = static_cast<int64_t>(m[d].size()), in = x.size(static_cast<int64_t>(d) + 2);
    std::vector<double> y(static_cast<size_t>(outer * out * inner));
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < out; ++i)
        for (int64_t j = 0; j < in; ++j)
          for (int64_t k = 0; k < inner; ++k)
            y[static_cast<size_t>((o * out + i) * inner + k)] +=
                m[d][static_cast<size_t>(i)][static_cast<size_t>(j)] * v[static_cast<size_t>((o * in + j) * inner + k)];
    v = std::move(y);
    outer *= out;
  }
  return v;
}

struct Call {
  Tensor (*forward)(const Tensor&, IntArrayRef, bool, const std::vector<Scale>&);
  Tensor (*backward)(const Tensor&, IntArrayRef, IntArrayRef, bool, const std::vector<Scale>&);
  Mode mode;
  int dims;
};
#define KINDLING_ALIGNED(op, mode, dims, ...)                                                        \
  {                                                                                                  \
    [](const Tensor& x, IntArrayRef o, bool align, const std::vector<Scale>& s) {                    \
      return at::op(x, o, align, __VA_ARGS__);                                                       \
    },                                                                                               \
        [](const Tensor& g, IntArrayRef o, IntArrayRef i, bool align, const std::vector<Scale>& s) { \
          return at::op##_backward(g, o, i, align, __VA_ARGS__);                                     \
        },                                                                                           \
        mode, dims                                                                                   \
  }
#define KINDLING_NEAREST(op, mode, dims, ...)                                                                    \
  {                                                                                                              \
    [](const Tensor& x, IntArrayRef o, bool, const std::vector<Scale>& s) { return at::op(x, o, __VA_ARGS__); }, \
        [](const Tensor& g, IntArrayRef o, IntArrayRef i, bool, const std::vector<Scale>& s) {                   \
          return at::op##_backward(g, o, i, __VA_ARGS__);                                                        \
        },                                                                                                       \
        mode, dims                                                                                               \
  }
const Call kCalls[] = {
    KINDLING_ALIGNED(upsample_linear1d, Mode::kLinear, 1, s[0]),
    KINDLING_ALIGNED(upsample_bilinear2d, Mode::kLinear, 2, s[0], s[1]),
    KINDLING_ALIGNED(upsample_trilinear3d, Mode::kLinear, 3, s[0], s[1], s[2]),
    KINDLING_ALIGNED(upsample_bicubic2d, Mode::kCubic, 2, s[0], s[1]),
    KINDLING_ALIGNED(_upsample_bilinear2d_aa, Mode::kLinearAa, 2, s[0], s[1]),
    KINDLING_ALIGNED(_upsample_bicubic2d_aa, Mode::kCubicAa, 2, s[0], s[1]),
    KINDLING_ALIGNED(_upsample_lanczos2d_aa, Mode::kLanczosAa, 2, s[0], s[1]),
    KINDLING_NEAREST(upsample_nearest1d, Mode::kNearest, 1, s[0]),
    KINDLING_NEAREST(upsample_nearest2d, Mode::kNearest, 2, s[0], s[1]),
    KINDLING_NEAREST(upsample_nearest3d, Mode::kNearest, 3, s[0], s[1], s[2]),
    KINDLING_NEAREST(_upsample_nearest_exact1d, Mode::kExact, 1, s[0]),
    KINDLING_NEAREST(_upsample_nearest_exact2d, Mode::kExact, 2, s[0], s[1]),
    KINDLING_NEAREST(_upsample_nearest_exact3d, Mode::kExact, 3, s[0], s[1], s[2]),
};

bool has_corners(Mode mode) {
  return mode != Mode::kNearest && mode != Mode::kExact;
}

TEST(Upsample, EveryModeLayoutAndDtype) {
  const std::vector<std::pair<std::vector<int64_t>, std::vector<int64_t>>> sizes = {
      {{5, 4, 7}, {9, 8, 3}}, {{1, 6, 3}, {2, 5, 12}}, {{4, 1, 5}, {3, 3, 1}}};
  for (const Call& call : kCalls) {
    for (const auto& [in, out] : sizes) {
      for (const int64_t channels : {3, 17}) {
        for (const bool align : {false, true}) {
          if (align && !has_corners(call.mode)) continue;
          const std::vector<int64_t> o(out.end() - call.dims, out.end());
          std::vector<int64_t> x_size{2, channels};
          x_size.insert(x_size.end(), in.end() - call.dims, in.end());
          std::vector<Matrix> m;
          for (size_t d = 0; d < o.size(); ++d) m.push_back(weights(call.mode, x_size[d + 2], o[d], align, {}));
          const std::vector<Scale> none(3);
          for (const ScalarType type : {kFloat, kDouble, kHalf, kBFloat16}) {
            const Tensor x = sample(x_size, type);
            const std::vector<double> want = reference(x, m);
            for (const Tensor& t : layouts(x)) {
              expect_close(call.forward(t, o, align, none), want, tolerance(type), 4 * tolerance(type));
            }
          }
        }
      }
    }
  }
}

// <g, up(x)> == <backward(g), x>
TEST(Upsample, GradientsAreAdjoint) {
  for (const Call& call : kCalls) {
    for (const bool align : {false, true}) {
      if (align && !has_corners(call.mode)) continue;
      const std::vector<int64_t> in{3, 5, 4}, out{7, 3, 6};
      std::vector<int64_t> x_size{2, 17}, y_size{2, 17};
      const std::vector<int64_t> o(out.end() - call.dims, out.end());
      x_size.insert(x_size.end(), in.end() - call.dims, in.end());
      y_size.insert(y_size.end(), o.begin(), o.end());
      for (const std::vector<Scale>& scales : {std::vector<Scale>(3), std::vector<Scale>{1.9, 0.7, 1.3}}) {
        const Tensor x = sample(x_size, kDouble), g = sample(y_size, kDouble, 2);
        for (const Tensor& t : layouts(g)) {
          const std::vector<double> y = values(call.forward(x, o, align, scales)), gs = values(g), xs = values(x);
          const std::vector<double> back = values(call.backward(t, o, x_size, align, scales));
          double left = 0, right = 0;
          for (size_t i = 0; i < y.size(); ++i) left += y[i] * gs[i];
          for (size_t i = 0; i < xs.size(); ++i) right += back[i] * xs[i];
          EXPECT_NEAR(left, right, 1e-9) << call.dims << " dimensions, mode " << static_cast<int>(call.mode);
        }
      }
    }
  }
}

TEST(Upsample, ScalesDecideUnlessCornersAreAligned) {
  const Tensor x = sample({1, 2, 4, 5}, kDouble);
  std::vector<Matrix> m{weights(Mode::kLinear, 4, 7, false, 1.9), weights(Mode::kLinear, 5, 3, false, 0.7)};
  expect_close(at::upsample_bilinear2d(x, {7, 3}, false, 1.9, 0.7), reference(x, m));
  m = {weights(Mode::kLinear, 4, 7, true, {}), weights(Mode::kLinear, 5, 3, true, {})};
  expect_close(at::upsample_bilinear2d(x, {7, 3}, true, 1.9, 0.7), reference(x, m));
  const double scales[] = {1.9, 0.7};
  expect_close(at::upsample_bilinear2d(x, std::nullopt, false, ArrayRef<double>(scales)),
               at::upsample_bilinear2d(x, {7, 3}, false, 1.9, 0.7));
  expect_close(at::upsample_bilinear2d(x, OptionalIntArrayRef(IntArrayRef{7, 3}), false, std::nullopt),
               at::upsample_bilinear2d(x, {7, 3}, false));
}

TEST(Upsample, ChannelsLastStays) {
  const Tensor x = sample({2, 5, 4, 3}).contiguous(MemoryFormat::ChannelsLast);
  EXPECT_TRUE(at::upsample_bilinear2d(x, {6, 6}, false).is_contiguous(MemoryFormat::ChannelsLast));
  EXPECT_TRUE(at::upsample_nearest2d(x, {6, 6}).is_contiguous(MemoryFormat::ChannelsLast));
  EXPECT_TRUE(at::upsample_nearest2d_backward(x, {4, 3}, {2, 5, 2, 2}).is_contiguous(MemoryFormat::ChannelsLast));
  EXPECT_TRUE(at::upsample_nearest2d(x.contiguous(), {6, 6}).is_contiguous());
}

// More than a thread's work, in rows that end between vectors.
TEST(Upsample, LargePlanes) {
  const Tensor x = sample({2, 1, 61, 83}, kDouble);
  for (const bool align : {false, true}) {
    const std::vector<Matrix> m{weights(Mode::kLinear, 61, 203, align, {}), weights(Mode::kLinear, 83, 191, align, {})};
    expect_close(at::upsample_bilinear2d(x, {203, 191}, align), reference(x, m));
  }
  const std::vector<Matrix> m{weights(Mode::kNearest, 61, 122, false, {}), weights(Mode::kNearest, 83, 166, false, {})};
  expect_close(at::upsample_nearest2d(x, {122, 166}), reference(x, m));
}

TEST(Upsample, Bytes) {
  const Tensor x = tensor_of({0, 255, 10, 200, 30, 90}, {1, 1, 2, 3}, kByte);
  expect_close(at::upsample_nearest2d(x, {2, 6}), {0, 0, 255, 255, 10, 10, 200, 200, 30, 30, 90, 90});
  expect_close(at::upsample_bilinear2d(x, {1, 3}, false), {100, 143, 50});
  expect_close(at::upsample_bilinear2d(x, {2, 2}, false), {64, 71, 158, 75});
  // Rounded after each dimension, and held within 0 to 255.
  expect_close(at::upsample_bicubic2d(tensor_of({0, 0, 255, 255}, {1, 1, 1, 4}, kByte), {1, 8}, false),
               {0, 0, 0, 58, 197, 255, 255, 255});
  expect_close(at::_upsample_bilinear2d_aa(x, {1, 1}, false), {104});
}

TEST(Upsample, EmptyBatchAndResults) {
  EXPECT_EQ(sizes(at::upsample_bilinear2d(blank({0, 2, 3, 3}), {4, 5}, false)), (std::vector<int64_t>{0, 2, 4, 5}));
  EXPECT_EQ(sizes(at::upsample_nearest1d_backward(blank({0, 2, 4}), {4}, {0, 2, 3})), (std::vector<int64_t>{0, 2, 3}));
  Tensor out = at::transpose(blank({2, 1, 6, 4}), 2, 3);
  const Tensor x = sample({2, 1, 2, 3});
  expect_close(at::upsample_bilinear2d_out(out, x, {4, 6}, false), at::upsample_bilinear2d(x, {4, 6}, false));
}

TEST(Upsample, BadArguments) {
  const Tensor x = sample({1, 2, 3, 3});
  const auto refused = [](const auto& f, const std::string& text) { expect_error<c10::Error>(f, text); };
  refused([&] { at::upsample_bilinear2d(x, {2}, false); }, "It is expected output_size equals to 2, but got size 1");
  refused([&] { at::upsample_nearest1d(x, {2}); }, "It is expected input_size equals to 3, but got size 4");
  refused(
      [&] {
        at::upsample_nearest2d(x, {2, 0});
      },
      "Input and output sizes should be greater than 0, but got input (H: 3, W: 3) output (H: 2, W: 0)");
  refused(
      [&] {
        at::upsample_nearest2d(blank({1, 0, 2, 2}), {2, 2});
      },
      "Non-empty 4D data tensor expected but got a tensor with sizes [1, 0, 2, 2]");
  refused([&] { at::upsample_bicubic2d(x, std::nullopt, false, std::nullopt); },
          "Must specify exactly one of output_size and scale_factors");
  const double one[] = {2.0}, far[] = {2.0, 1e300};
  refused([&] { at::upsample_bilinear2d(x, std::nullopt, false, ArrayRef<double>(one)); },
          "expected scale_factors equals to 2, but got size 1");
  refused([&] { at::upsample_bilinear2d(x, std::nullopt, false, ArrayRef<double>(far)); }, "out of range");
  refused(
      [&] {
        at::upsample_nearest2d_backward(x, {2, 2}, {1, 2, 1, 1});
      },
      "output.size(2) = 2 but got grad_output.size(2) = 3");
  expect_error<c10::NotImplementedError>(
      [&] {
        at::upsample_linear1d(blank({1, 1, 2}, kByte), {4}, false);
      },
      "not implemented for 'Byte'");
  expect_error<c10::NotImplementedError>(
      [&] {
        at::upsample_nearest2d(blank({1, 1, 2, 2}, kLong), {4, 4});
      },
      "not implemented for 'Long'");
  // Scales beyond all bounds, and none.
  for (const double scale : {5e-324, 1e-300, 1e300, 0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    at::upsample_nearest2d(x, {4, 4}, scale, scale);
    at::upsample_bilinear2d(x, {4, 4}, false, scale, scale);
    at::upsample_bicubic2d(x, {4, 4}, false, scale, scale);
    at::_upsample_lanczos2d_aa(x, {4, 4}, false, scale, scale);
    at::upsample_bicubic2d_backward(x, {3, 3}, {1, 2, 5, 5}, false, scale, scale);
  }
}

// The value of a plane [h][w] at (x, y) in pixels: bilinear, zeros outside.
double at_pixel(const std::vector<double>& plane, int64_t h, int64_t w, double x, double y) {
  double sum = 0;
  for (int64_t i = 0; i < h; ++i)
    for (int64_t j = 0; j < w; ++j)
      sum += plane[static_cast<size_t>(i * w + j)] * std::max(0.0, 1 - std::abs(y - static_cast<double>(i))) *
             std::max(0.0, 1 - std::abs(x - static_cast<double>(j)));
  return sum;
}

TEST(GridSampler, BilinearAgainstItsDefinition) {
  const int64_t h = 5, w = 7, out = 150;
  const Tensor x = sample({2, 3, h, w}, kDouble), grid = sample({2, out, 2, 2}, kDouble, 3);
  const std::vector<double> xs = values(x), gs = values(grid);
  for (const bool align : {false, true}) {
    std::vector<double> want;
    for (int64_t n = 0; n < 2; ++n)
      for (int64_t c = 0; c < 3; ++c)
        for (int64_t p = 0; p < out * 2; ++p) {
          const auto pixel = [&](double g, int64_t size) {
            const double s = static_cast<double>(size);
            return align ? (g + 1) / 2 * (s - 1) : ((g + 1) * s - 1) / 2;
          };
          const std::vector<double> plane(xs.begin() + (n * 3 + c) * h * w, xs.begin() + (n * 3 + c + 1) * h * w);
          const size_t at = static_cast<size_t>((n * out * 2 + p) * 2);
          want.push_back(at_pixel(plane, h, w, pixel(gs[at], w), pixel(gs[at + 1], h)));
        }
    for (const Tensor& t : layouts(x)) expect_close(at::grid_sampler_2d(t, grid, 0, 0, align), want);
    for (const Tensor& t : layouts(grid)) expect_close(at::grid_sampler_2d(x, t, 0, 0, align), want);
    expect_close(at::grid_sampler(x.to(kFloat), grid.to(kFloat), 0, 0, align), want, 1e-4, 1e-4);
    expect_close(at::_grid_sampler_2d_cpu_fallback(x, grid, 0, 0, align), want);
  }
}

TEST(GridSampler, PaddingAndOtherModes) {
  const Tensor x = tensor_of({1, 2, 3, 4}, {1, 1, 1, 4}, kDouble);
  // In pixels: -1, 0, 1.5, 4 and 5 of 0 to 3.
  const Tensor grid = tensor_of({-1.25, 0, -0.75, 0, 0, 0, 1.25, 0, 1.75, 0}, {1, 1, 5, 2}, kDouble);
  expect_close(at::grid_sampler_2d(x, grid, 0, 0, false), {0, 1, 2.5, 0, 0});
  expect_close(at::grid_sampler_2d(x, grid, 0, 1, false), {1, 1, 2.5, 4, 4});
  expect_close(at::grid_sampler_2d(x, grid, 0, 2, false), {1, 1, 2.5, 4, 3});
  expect_close(at::grid_sampler_2d(x, grid, 1, 2, false), {1, 1, 3, 4, 3});
  expect_close(at::grid_sampler_2d(x, grid, 2, 1, false), {1, 1, 2.5, 4, 4});
  expect_close(at::grid_sampler_3d(x.view({1, 1, 1, 1, 4}), tensor_of({-0.75, 0, 0, 0, 0, 0}, {1, 1, 1, 2, 3}, kDouble),
                                   0, 0, false),
               {1, 2.5});
  const double inf = std::numeric_limits<double>::infinity();
  expect_close(at::grid_sampler_2d(x, tensor_of({inf, 0, -inf, 0, 1e300, 0, std::nan(""), 0}, {1, 1, 4, 2}, kDouble), 1,
                                   0, false),
               {0, 0, 0, 0});
}

// Places beyond the input read nothing, whatever lies where the planes begin, and their neighbours in a long row are not
// touched by that.
TEST(GridSampler, EdgesBetweenInnerPlaces) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  std::vector<double> at, want, grad;
  for (int i = 0; i < 200; ++i) {  // in pixels of 0 to 3: 2, far away, 2, NaN
    at.insert(at.end(), {i % 4 == 1 ? 9.0 : i % 4 == 3 ? nan : 0.25, 0});
    want.push_back(i % 2 == 0 ? -0.0 : 0);
    grad.push_back(i % 2 == 0 ? 8 * 2 : 0), grad.push_back(0);
  }
  for (const ScalarType type : {kDouble, kFloat, kHalf}) {
    const Tensor x = tensor_of({inf, 5, -0.0, 8, nan, 5, -0.0, 8, inf, 5, -0.0, 8}, {1, 3, 1, 4}, type);
    const Tensor grid = tensor_of(at, {1, 200, 1, 2}, type);
    for (const int64_t mode : {0, 1}) {
      const Tensor y = at::grid_sampler_2d(x, grid, mode, 0, false);
      for (int64_t c = 0; c < 3; ++c) expect_close(at::select(y, 1, c).view({200}), want);
      const auto [to_x, to_grid] =
          at::grid_sampler_2d_backward(sample({1, 3, 200, 1}, type), x, grid, mode, 0, false, {true, true});
      for (const int64_t i : {0, 1, 3}) expect_close(at::select(at::select(to_x, 1, 0).view({4}), 0, i), {0});
      if (mode == 1) expect_close(to_grid.view({400}), std::vector<double>(400));
    }
    // Three channels of slope 8 a pixel, two pixels a unit.
    const Tensor ones = tensor_of(std::vector<double>(600, 1.0), {1, 3, 200, 1}, type);
    const Tensor to_grid = std::get<1>(at::grid_sampler_2d_backward(ones, x, grid, 0, 0, false, {false, true}));
    std::vector<double> thrice = grad;
    for (double& g : thrice) g *= 3;
    expect_close(to_grid.view({400}), thrice);
  }
  // A step has no slope, infinite neighbours or not.
  const Tensor x = tensor_of({inf, inf, inf, inf}, {1, 1, 2, 2}), grid = tensor_of({0.5, 0.5}, {1, 1, 1, 2});
  expect_close(std::get<1>(at::grid_sampler_2d_backward(sample({1, 1, 1, 1}), x, grid, 1, 0, false, {false, true})),
               {0, 0});
}

// Halves go to the even element, as numbers are rounded.
// Many channels go another way than few, of which they are several: results and gradients are the same.
TEST(GridSampler, ManyChannelsAreAsFewOnes) {
  const int64_t high = at::testing::device().is_cuda() ? 3 : 13;  // the CPU takes 128 places at once
  for (const ScalarType type : {kFloat, kDouble, kHalf, kBFloat16}) {
    for (const int64_t channels : {8, 16, 37}) {
      for (const int64_t dims : {2, 3}) {
        std::vector<int64_t> size{2, channels, 5, 6}, places{2, high, 11}, out{2, channels, high, 11};
        if (dims == 3) size.push_back(4), places.push_back(3), out.push_back(3);
        places.push_back(dims);
        const Tensor x = sample(size, type), g = sample(out, type, 4);
        const Tensor grid = at::mul(sample(places, type, 3), Scalar(0.7));
        for (const int64_t mode : {0, 1, 2}) {
          if (mode == 2 && dims == 3) continue;
          for (const int64_t padding : {0, 1, 2}) {
            const auto run = [&](const Tensor& t) {
              return dims == 2 ? at::grid_sampler_2d(t, grid, mode, padding, false)
                               : at::grid_sampler_3d(t, grid, mode, padding, false);
            };
            const auto back = [&](const Tensor& grad, const Tensor& t) {
              return dims == 2 ? at::grid_sampler_2d_backward(grad, t, grid, mode, padding, false, {true, true})
                               : at::grid_sampler_3d_backward(grad, t, grid, mode, padding, false, {true, true});
            };
            std::vector<Tensor> parts, gradients;
            Tensor to_grid;
            for (int64_t c = 0; c < channels; c += 4) {
              const int64_t count = std::min<int64_t>(4, channels - c);
              const Tensor few = at::narrow(x, 1, c, count);
              parts.push_back(run(few));
              const auto [to_few, part] = back(at::narrow(g, 1, c, count), few);
              gradients.push_back(to_few);
              to_grid = to_grid.defined() ? at::add(to_grid, part.to(kDouble)) : part.to(kDouble);
            }
            const double wide = type == kDouble ? 1e-12 : type == kFloat ? 2e-5 : type == kHalf ? 2e-2 : 0.15;
            expect_close(run(x), values(at::cat(parts, 1)), wide, wide);
            const auto [to_x, to_places] = back(g, x);
            expect_close(to_x, values(at::cat(gradients, 1)), wide, wide);
            expect_close(to_places, values(to_grid), 10 * wide, 10 * wide);
          }
        }
      }
    }
  }
}

TEST(GridSampler, NearestOfHalves) {
  const Tensor x = tensor_of({1, 2, 3, 4}, {1, 1, 1, 4});
  const Tensor grid = tensor_of({-1, 0, -0.5, 0, 0, 0, 0.5, 0, 1, 0}, {1, 1, 5, 2});
  expect_close(at::grid_sampler_2d(x, grid, 1, 0, false), {1, 1, 3, 3, 0});  // -0.5, 0.5, 1.5, 2.5 and 3.5
}

TEST(GridSampler, MaskedGradients) {
  const Tensor x = sample({1, 2, 3, 3}), grid = sample({1, 2, 2, 2}), g = sample({1, 2, 2, 2}, kFloat, 4);
  const auto both = at::grid_sampler_2d_backward(g, x, grid, 0, 0, false, {true, true});
  expect_close(std::get<0>(at::grid_sampler_2d_backward(g, x, grid, 0, 0, false, {true, false})), std::get<0>(both));
  expect_close(std::get<1>(at::grid_sampler_2d_backward(g, x, grid, 0, 0, false, {false, true})), std::get<1>(both));
  EXPECT_EQ(std::get<0>(at::grid_sampler_2d_backward(g, x, grid, 0, 0, false, {false, true})).numel(), 0);
}

TEST(GridSampler, BadArguments) {
  const Tensor x = sample({1, 2, 3, 3}), grid = sample({1, 2, 2, 2});
  const auto refused = [](const auto& f, const std::string& text) { expect_error<c10::Error>(f, text); };
  refused(
      [&] {
        at::grid_sampler(x, sample({1, 2, 2, 3}), 0, 0, false);
      },
      "expected grid to have size 2 in last dimension");
  refused(
      [&] {
        at::grid_sampler(x, sample({2, 2, 2, 2}), 0, 0, false);
      },
      "expected grid and input to have same batch size");
  refused([&] { at::grid_sampler(x, grid.to(kDouble), 0, 0, false); }, "expected scalar type");
  refused([&] { at::grid_sampler(blank({1, 2, 0, 3}), grid, 0, 0, false); }, "non-empty spatial dimensions");
  refused([&] { at::grid_sampler(x, grid, 3, 0, false); }, "interpolation_mode 3");
  refused([&] { at::grid_sampler(x, grid, 0, -1, false); }, "padding_mode -1");
  refused(
      [&] {
        at::grid_sampler(sample({1, 1, 2, 2, 2}), sample({1, 1, 1, 1, 3}), 2, 0, false);
      },
      "bicubic interpolation only supports 4D input");
  refused([&] { at::grid_sampler(sample({2, 2, 2}), grid, 0, 0, false); }, "expected 4D or 5D input");
  expect_error<c10::NotImplementedError>(
      [&] {
        at::grid_sampler(blank({1, 1, 2, 2}, kLong), blank({1, 1, 1, 2}, kLong), 0, 0, false);
      },
      "'Long'");
}

TEST(AffineGrid, PlacesOfAnImage) {
  const Tensor theta = tensor_of({2, 0, 1, 0, 1, 0}, {1, 2, 3}, kDouble);
  expect_close(at::affine_grid_generator(theta, {1, 1, 2, 2}, true), {-1, -1, 3, -1, -1, 1, 3, 1});
  expect_close(at::affine_grid_generator(theta, {1, 1, 2, 2}, false), {0, -0.5, 2, -0.5, 0, 0.5, 2, 0.5});
  EXPECT_EQ(sizes(at::affine_grid_generator(sample({2, 3, 4}), {2, 1, 2, 3, 4}, false)),
            (std::vector<int64_t>{2, 2, 3, 4, 3}));
  expect_error<c10::Error>(
      [&] {
        at::affine_grid_generator(theta, {1, 1, 2}, true);
      },
      "4d (spatial) or 5d (volumetric)");
  expect_error<c10::Error>(
      [&] {
        at::affine_grid_generator(theta, {2, 1, 2, 2}, true);
      },
      "Expected a batch of 2D affine matrices");
}

}  // namespace

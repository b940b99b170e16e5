#include "aten/ops/pool/ops.h"

#include <cmath>
#include <limits>

#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/matmul/matrix_test_support.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"
#include "gtest/gtest.h"

namespace {

using namespace at;
using namespace at::matrix_testing;

struct Case {
  std::vector<int64_t> input, kernel, stride, padding, dilation;
  bool ceil = false;
};

const Case kCases[] = {
    {{2, 3, 6, 7}, {2}, {}, {0}, {1}},
    {{2, 3, 6, 7}, {2, 3}, {1, 2}, {1}, {1}},
    {{3, 7, 9}, {3, 2}, {2}, {1, 0}, {2, 1}},
    {{1, 2, 5, 5}, {2}, {2}, {0}, {1}, true},
    {{1, 1, 5, 6}, {3}, {2}, {1}, {1}, true},
    {{0, 2, 5, 5}, {2}, {2}, {0}, {1}},
    // Lines of whole vectors, with every kind of step and both ends in the padding.
    {{1, 2, 7, 71}, {3}, {2}, {1}, {1}},
    {{1, 2, 7, 40}, {3}, {1}, {1}, {1}},
    {{2, 1, 9, 80}, {2, 5}, {2, 3}, {1, 2}, {2, 3}, true},
    {{1, 1, 4, 33}, {2}, {}, {0}, {1}},
    {{1, 1, 6, 37}, {4, 5}, {1}, {1, 2}, {1}},
    {{1, 2, 40, 36}, {3}, {2}, {1}, {1}},
    {{1, 1, 20, 41}, {2}, {3}, {0}, {1}},
};

int64_t pick(const std::vector<int64_t>& v, int d) { return v[v.size() == 1 ? 0 : d]; }

int64_t out_size(const Case& c, int d, bool dilated) {
  const int64_t in = c.input[c.input.size() - 2 + d], k = pick(c.kernel, d), s = c.stride.empty() ? k : pick(c.stride, d), p = pick(c.padding, d);
  const int64_t room = in + 2 * p - (dilated ? pick(c.dilation, d) : 1) * (k - 1) - 1;
  int64_t out = (room + (c.ceil ? s - 1 : 0)) / s + 1;
  if (c.ceil && (out - 1) * s >= in + p) --out;
  return out;
}

struct Reference {
  std::vector<int64_t> sizes;
  std::vector<Number> max, index, average, inner_average;
};

Reference reference(const Case& c, const Tensor& x, bool dilated) {
  Reference r;
  const auto v = values(x);
  const int64_t h = x.size(-2), w = x.size(-1), planes = h * w == 0 ? 0 : x.numel() / (h * w), oh = out_size(c, 0, dilated), ow = out_size(c, 1, dilated);
  r.sizes.assign(x.sizes().begin(), x.sizes().end() - 2);
  r.sizes.push_back(oh), r.sizes.push_back(ow);
  const int64_t sh = c.stride.empty() ? pick(c.kernel, 0) : pick(c.stride, 0), sw = c.stride.empty() ? pick(c.kernel, 1) : pick(c.stride, 1);
  for (int64_t p = 0; p < planes; ++p)
    for (int64_t i = 0; i < oh; ++i)
      for (int64_t j = 0; j < ow; ++j) {
        double max = -INFINITY, sum = 0;
        int64_t at = -1, inside = 0, counted = 0;
        for (int64_t a = 0; a < pick(c.kernel, 0); ++a)
          for (int64_t b = 0; b < pick(c.kernel, 1); ++b) {
            const int64_t y = i * sh - pick(c.padding, 0) + a * (dilated ? pick(c.dilation, 0) : 1), z = j * sw - pick(c.padding, 1) + b * (dilated ? pick(c.dilation, 1) : 1);
            if (y < h + pick(c.padding, 0) && z < w + pick(c.padding, 1)) ++counted;
            if (y < 0 || z < 0 || y >= h || z >= w) continue;
            const double value = v[(p * h + y) * w + z].real();
            if (value > max) max = value, at = y * w + z;
            sum += value;
            ++inside;
          }
        r.max.emplace_back(max), r.index.emplace_back(static_cast<double>(at));
        r.average.emplace_back(sum / static_cast<double>(counted)), r.inner_average.emplace_back(inside == 0 ? 0 : sum / static_cast<double>(inside));
      }
  return r;
}

TEST(Pool, MaxOfEveryDtypeAndLayoutWithGradient) {
  for (ScalarType t : {kFloat, kDouble, kHalf, kBFloat16, kLong})
    for (const Case& c : kCases)
      for (Arrangement l : kLayouts) {
        const Tensor x = random_tensor(c.input, t, l);
        const Reference r = reference(c, x, true);
        const auto got = at::max_pool2d_with_indices(x, c.kernel, c.stride, c.padding, c.dilation, c.ceil);
        expect_values(std::get<0>(got), r.sizes, r.max, "max_pool2d");
        if (t == kDouble) expect_values(std::get<1>(got), r.sizes, r.index, "indices");
        expect_values(at::max_pool2d(x, c.kernel, c.stride, c.padding, c.dilation, c.ceil), r.sizes, r.max, "max_pool2d");
        if (t == kLong) continue;
        const Tensor grad = random_tensor(r.sizes, t, l);
        std::vector<Number> want(static_cast<size_t>(x.numel()));
        const auto g = values(grad), index = values(std::get<1>(got));
        for (size_t i = 0; i < g.size(); ++i) want[i / (r.sizes.end()[-1] * r.sizes.end()[-2]) * x.size(-1) * x.size(-2) + static_cast<int64_t>(index[i].real())] += g[i];
        expect_values(at::max_pool2d_with_indices_backward(grad, x, c.kernel, c.stride, c.padding, c.dilation, c.ceil, std::get<1>(got)), c.input, want, "backward");
        if (c.input[0] > 0 && l == Arrangement::kContiguous) {
          const Tensor back = at::max_unpool2d(std::get<0>(got), std::get<1>(got), {x.size(-2), x.size(-1)});
          const auto filled = values(back), xs = values(x);
          for (size_t i = 0; i < filled.size(); ++i) EXPECT_TRUE(filled[i] == 0.0 || filled[i] == xs[i]);
        }
      }
}

TEST(Pool, AverageOfEveryDtypeAndLayoutWithGradient) {
  for (ScalarType t : {kFloat, kDouble, kHalf, kBFloat16})
    for (const Case& c : kCases)
      for (Arrangement l : kLayouts) {
        const Tensor x = random_tensor(c.input, t, l);
        const Reference r = reference(c, x, false);
        expect_values(at::avg_pool2d(x, c.kernel, c.stride, c.padding, c.ceil, true), r.sizes, r.average, "avg_pool2d");
        expect_values(at::avg_pool2d(x, c.kernel, c.stride, c.padding, c.ceil, false), r.sizes, r.inner_average, "avg_pool2d without padding");
        // The gradient is the transposed linear map: <g, pool(x)> == <backward(g), x>.
        if (t != kDouble && t != kFloat) continue;
        for (bool count : {false, true}) {
          const Tensor grad = random_tensor(r.sizes, t, l);
          const Tensor back = at::avg_pool2d_backward(grad, x, c.kernel, c.stride, c.padding, c.ceil, count, std::nullopt);
          Number left = 0, right = 0;
          const auto g = values(grad), y = values(at::avg_pool2d(x, c.kernel, c.stride, c.padding, c.ceil, count)), b = values(back), xs = values(x);
          for (size_t i = 0; i < g.size(); ++i) left += g[i] * y[i];
          for (size_t i = 0; i < b.size(); ++i) right += b[i] * xs[i];
          EXPECT_NEAR(std::abs(left - right), 0, t == kDouble ? 1e-10 : 1e-4);
        }
      }
  const Tensor x = random_tensor({1, 1, 4, 4}, kDouble);
  expect_same(at::avg_pool2d(x, 2, {}, 0, false, true, 1), at::avg_pool2d(x, 2, {}, 0, false, true, 1), "divisor");
  EXPECT_NEAR(values(at::avg_pool2d(x, 2, {}, 0, false, true, 8))[0].real() * 2, values(at::avg_pool2d(x, 2))[0].real(), 1e-12);
}

TEST(Pool, AverageOfIntegersDropsTheFraction) {
  const Tensor x = at::testing::indices_of({1, 2, -3, -4, 5, 5, 7, 8}, {1, 2, 4});
  expect_values(at::avg_pool1d(x, 2), {1, 2, 2}, {1, -3, 5, 7}, "avg_pool1d");
}

// Bytes, a pixel's channels at once, as pixel by pixel.
TEST(Pool, MaximaOfBytesChannelsLast) {
  for (int64_t channels : {2, 3, 19, 64}) {
    const Tensor x = at::testing::tensor_of({7, 0, 255, 3, 128, 127, 9, 200, 1, 31, 54, 254, 13}, {2, channels, 9, 11}, kByte);
    const Tensor last = at::clone(x, MemoryFormat::ChannelsLast);
    for (bool ceil : {false, true}) {
      const Tensor got = at::max_pool2d(last, {3, 2}, {2, 2}, {1, 1}, {1, 2}, ceil);
      EXPECT_TRUE(got.is_contiguous(MemoryFormat::ChannelsLast));
      expect_same(got, at::max_pool2d(x, {3, 2}, {2, 2}, {1, 1}, {1, 2}, ceil), "max_pool2d of bytes");
    }
  }
}

// Indices out of range; kernels of CUDA end with a fault there.
void expect_refused_indices(const Tensor& x, const Tensor& last, const Tensor& g, const Tensor& anywhere) {
  const Tensor outside = at::full_like(at::clone(anywhere, MemoryFormat::ChannelsLast), 99);
  KINDLING_EXPECT_ERROR(
      at::max_pool2d_with_indices_backward(g, last, {3, 2}, {2, 2}, {1, 1}, 1, false, outside),
      "index 99 is out of range for a plane of 99 elements");
  // One place that is wrong: nothing of the result is written before it is found.
  for (const Tensor& input : {last, x}) {
    Tensor places = at::clone(anywhere, input.suggest_memory_format()), kept = at::full_like(input, 7);
    places.select(0, places.size(0) - 1).select(0, places.size(1) - 1).fill_(99);
    KINDLING_EXPECT_ERROR(
        at::max_pool2d_with_indices_backward_out(kept, g, input, {3, 2}, {2, 2}, {1, 1}, 1, false, places),
        "index 99 is out of range for a plane of 99 elements");
    EXPECT_TRUE(at::equal(kept, at::full_like(input, 7)));
  }
}

// What channels last gives is what it gives in the usual order, laid out as it came; places and gradients, too.
TEST(Pool, ChannelsLast) {
  for (ScalarType t : {kFloat, kDouble, kHalf}) {
    for (int64_t channels : {1, 3, 19, 64}) {
      const Tensor x = random_tensor({2, channels, 9, 11}, t), last = at::clone(x, MemoryFormat::ChannelsLast);
      const auto same = [&](const Tensor& got, const Tensor& want, const char* what) {
        expect_same(got, want, what);
        // Pictures of one pixel lie the same in both.
        if (channels > 1 && got.size(2) * got.size(3) > 1)
          EXPECT_TRUE(got.is_contiguous(MemoryFormat::ChannelsLast)) << what;
      };
      const auto a = at::max_pool2d_with_indices(last, {3, 2}, {2, 2}, {1, 1}),
                 b = at::max_pool2d_with_indices(x, {3, 2}, {2, 2}, {1, 1});
      same(std::get<0>(a), std::get<0>(b), "max_pool2d");
      same(std::get<1>(a), std::get<1>(b), "places");
      same(at::max_pool2d(last, {3, 2}, {2, 2}, {1, 1}), std::get<0>(b), "max_pool2d without places");
      const Tensor g = random_tensor(std::get<0>(b).sizes().vec(), t);
      same(at::max_pool2d_with_indices_backward(g, last, {3, 2}, {2, 2}, {1, 1}, 1, false, std::get<1>(a)),
           at::max_pool2d_with_indices_backward(g, x, {3, 2}, {2, 2}, {1, 1}, 1, false, std::get<1>(b)),
           "its gradient");
      // Places of the caller's own lie outside of the windows, too.
      const Tensor anywhere = at::remainder(at::mul(at::add(std::get<1>(b), 7), 31), 99),
                   anywhere_last = at::clone(anywhere, MemoryFormat::ChannelsLast);
      same(at::max_pool2d_with_indices_backward(g, last, {3, 2}, {2, 2}, {1, 1}, 1, false, anywhere_last),
           at::max_pool2d_with_indices_backward(g, x, {3, 2}, {2, 2}, {1, 1}, 1, false, anywhere), "other places");
      if (!at::testing::device().is_cuda()) expect_refused_indices(x, last, g, anywhere);
      same(at::avg_pool2d(last, 3, 2, 1), at::avg_pool2d(x, 3, 2, 1), "avg_pool2d");
      const Tensor h = random_tensor(at::avg_pool2d(x, 3, 2, 1).sizes().vec(), t);
      same(at::avg_pool2d_backward(h, last, 3, 2, 1, false, true, std::nullopt),
           at::avg_pool2d_backward(h, x, 3, 2, 1, false, true, std::nullopt), "its gradient");
      same(at::adaptive_avg_pool2d(last, {4, 5}), at::adaptive_avg_pool2d(x, {4, 5}), "adaptive_avg_pool2d");
      same(at::adaptive_avg_pool2d(last, {3, 11}), at::adaptive_avg_pool2d(x, {3, 11}),
           "adaptive_avg_pool2d of even windows");
      same(at::adaptive_avg_pool2d(last, {1, 1}), at::adaptive_avg_pool2d(x, {1, 1}), "adaptive_avg_pool2d of all");
      same(std::get<0>(at::adaptive_max_pool2d(last, {3, 1})), std::get<0>(at::adaptive_max_pool2d(x, {3, 1})),
           "adaptive_max_pool2d");
      Tensor out = at::empty(at::avg_pool2d(x, 2).sizes(), TensorOptions().dtype(t));
      expect_same(at::avg_pool2d_out(out, last, 2), at::avg_pool2d(x, 2), "out");
    }
  }
}

// Equal values, NaN and infinities where a vector holds several windows.
TEST(Pool, TheFirstOfEqualMaximaAndTheLastNan) {
  std::vector<double> v(2 * 6 * 40);
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<double>(i * 7 % 3);
  for (size_t i = 0; i < v.size(); i += 11)
    v[i] = i % 2 == 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  for (size_t i = 40; i < 120; ++i) v[i] = -std::numeric_limits<double>::infinity();
  for (ScalarType t : {kFloat, kDouble}) {
    const Tensor x = at::testing::tensor_of(v, {1, 2, 6, 40}, t);
    for (bool last : {false, true}) {
      const Tensor input = last ? at::clone(x, MemoryFormat::ChannelsLast) : x;
      const auto [y, places] = at::max_pool2d_with_indices(input, {2, 3}, {2, 1}, {1, 1});
      const std::vector<double> alone = at::testing::values(at::max_pool2d(input, {2, 3}, {2, 1}, {1, 1})),
                                got = at::testing::values(y), at = at::testing::values(places);
      const int64_t oh = y.size(2), ow = y.size(3);
      for (size_t o = 0; o < got.size(); ++o) {
        const int64_t plane = static_cast<int64_t>(o) / (oh * ow), i = static_cast<int64_t>(o) / ow % oh,
                      j = static_cast<int64_t>(o) % ow;
        double max = -std::numeric_limits<double>::infinity();
        int64_t best = -1;
        for (int64_t r = i * 2 - 1; r < i * 2 + 1; ++r)
          for (int64_t c = j - 1; c < j + 2; ++c) {
            if (r < 0 || r >= 6 || c < 0 || c >= 40) continue;
            const double value = v[static_cast<size_t>((plane * 6 + r) * 40 + c)];
            if (best < 0 || value > max || std::isnan(value)) max = value, best = r * 40 + c;
          }
        EXPECT_EQ(at[o], static_cast<double>(best)) << o;
        for (const double value : {got[o], alone[o]})
          EXPECT_TRUE(std::isnan(max) ? std::isnan(value) : value == max) << o;
      }
    }
  }
}

// Lines shorter than vectors, whose windows all lie inside: equal values, NaN and infinities.
TEST(Pool, SmallPlanes) {
  constexpr int64_t kPlanes = 3, kHeight = 7, kWidth = 10;
  std::vector<double> v(kPlanes * kHeight * kWidth);
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<double>(i * 7 % 5);
  for (size_t i = 0; i < v.size(); i += 13) v[i] = std::numeric_limits<double>::quiet_NaN();
  for (size_t i = 70; i < 100; ++i) v[i] = -std::numeric_limits<double>::infinity();
  for (const ScalarType t : {kFloat, kDouble}) {
    for (const int64_t dilation : {1, 2}) {
      const Tensor x = at::testing::tensor_of(v, {kPlanes, kHeight, kWidth}, t);
      const auto [y, places] = at::max_pool2d_with_indices(x, {2, 3}, {2, 2}, {0, 0}, {dilation, dilation});
      const std::vector<double> got = at::testing::values(y), at = at::testing::values(places);
      const int64_t oh = y.size(1), ow = y.size(2);
      for (size_t o = 0; o < got.size(); ++o) {
        const int64_t n = static_cast<int64_t>(o), plane = n / (oh * ow), i = n / ow % oh, j = n % ow;
        double max = -std::numeric_limits<double>::infinity();
        int64_t best = i * 2 * kWidth + j * 2;
        for (int64_t r = 0; r < 2; ++r)
          for (int64_t c = 0; c < 3; ++c) {
            const int64_t place = (i * 2 + r * dilation) * kWidth + j * 2 + c * dilation;
            const double value = v[static_cast<size_t>(plane * kHeight * kWidth + place)];
            if (value > max || std::isnan(value)) max = value, best = place;
          }
        EXPECT_EQ(at[o], static_cast<double>(best)) << o;
        EXPECT_TRUE(std::isnan(max) ? std::isnan(got[o]) : got[o] == max) << o;
      }
    }
  }
}

// Windows as wide as a vector and wider.
TEST(Pool, WideWindows) {
  for (const ScalarType type : {ScalarType::Float, ScalarType::Double}) {
    for (const int64_t kernel : {8, 11, 20}) {
      std::vector<double> numbers;
      for (int64_t i = 0; i < 60 * 60; ++i) numbers.push_back(static_cast<double>(i * 7919 % 50));  // with equal ones
      numbers[61 * 2] = numbers[61 * 3] = std::numeric_limits<double>::quiet_NaN();
      // In the ends of windows as well, which vectors read twice.
      for (const size_t at : {25 * 60 + 7, 25 * 60 + 10, 26 * 60 + 19, 30 * 60 + 39, 40 * 60 + 32})
        numbers[at] = std::numeric_limits<double>::quiet_NaN();
      numbers[59] = -std::numeric_limits<double>::infinity();
      for (size_t i = 0; i < 20; ++i) numbers[20 * 60 + 20 + i] = 60;  // the greatest, many times
      const auto [max, place] = at::max_pool2d_with_indices(at::testing::tensor_of(numbers, {1, 60, 60}, type),
                                                            {kernel, kernel}, {kernel, kernel});
      const std::vector<double> m = at::testing::values(max), at = at::testing::values(place);
      at::testing::expect_close(at::max_pool2d(at::testing::tensor_of(numbers, {1, 60, 60}, type), {kernel, kernel},
                                               {kernel, kernel}), m, 0, 0);
      const int64_t out = (60 - kernel) / kernel + 1;
      for (int64_t y = 0; y < out; ++y) {
        for (int64_t x = 0; x < out; ++x) {
          int64_t best = y * kernel * 60 + x * kernel;
          for (int64_t i = 0; i < kernel * kernel; ++i) {
            const int64_t here = (y * kernel + i / kernel) * 60 + x * kernel + i % kernel;
            const double v = numbers[static_cast<size_t>(here)];
            if (v > numbers[static_cast<size_t>(best)] || v != v) best = here;
          }
          ASSERT_EQ(at[static_cast<size_t>(y * out + x)], static_cast<double>(best));
          const double v = numbers[static_cast<size_t>(best)], got = m[static_cast<size_t>(y * out + x)];
          ASSERT_TRUE(got == v || (got != got && v != v));
        }
      }
    }
  }
}

TEST(Pool, AdaptiveForms) {
  for (const std::vector<int64_t>& out : std::vector<std::vector<int64_t>>{{1, 1}, {2, 3}, {5, 7}, {6, 9}, {0, 2}}) {
    const Tensor x = random_tensor({2, 3, 5, 7}, kDouble, Arrangement::kTransposed);
    const auto v = values(x);
    std::vector<Number> mean, max;
    for (int64_t p = 0; p < 6; ++p)
      for (int64_t i = 0; i < out[0]; ++i)
        for (int64_t j = 0; j < out[1]; ++j) {
          const int64_t y0 = i * 5 / out[0], y1 = ((i + 1) * 5 + out[0] - 1) / out[0], x0 = j * 7 / out[1], x1 = ((j + 1) * 7 + out[1] - 1) / out[1];
          double sum = 0, most = -INFINITY;
          for (int64_t a = y0; a < y1; ++a)
            for (int64_t b = x0; b < x1; ++b) sum += v[(p * 5 + a) * 7 + b].real(), most = std::max(most, v[(p * 5 + a) * 7 + b].real());
          mean.emplace_back(sum / static_cast<double>((y1 - y0) * (x1 - x0)));
          max.emplace_back(most);
        }
    expect_values(at::adaptive_avg_pool2d(x, out), {2, 3, out[0], out[1]}, mean, "adaptive_avg_pool2d");
    expect_values(std::get<0>(at::adaptive_max_pool2d(x, out)), {2, 3, out[0], out[1]}, max, "adaptive_max_pool2d");
    const Tensor grad = random_tensor({2, 3, out[0], out[1]}, kDouble);
    Number left = 0, right = 0;
    const auto g = values(grad), b = values(at::_adaptive_avg_pool2d_backward(grad, x));
    for (size_t i = 0; i < g.size(); ++i) left += g[i] * mean[i];
    for (size_t i = 0; i < b.size(); ++i) right += b[i] * v[i];
    EXPECT_NEAR(std::abs(left - right), 0, 1e-10);
  }
}

TEST(Pool, OneAndThreeDimensions) {
  const Tensor x = random_tensor({2, 3, 10}), wide = at::unsqueeze(x, -2);
  expect_same(at::max_pool1d(x, 3, 2, 1), at::squeeze(at::max_pool2d(wide, {1, 3}, {1, 2}, {0, 1}), -2), "max_pool1d");
  expect_same(at::avg_pool1d(x, 3, 2, 1), at::squeeze(at::avg_pool2d(wide, {1, 3}, {1, 2}, {0, 1}), -2), "avg_pool1d");
  expect_same(at::adaptive_avg_pool1d(x, 4), at::squeeze(at::adaptive_avg_pool2d(wide, {1, 4}), -2), "adaptive_avg_pool1d");
  EXPECT_EQ(std::get<1>(at::adaptive_max_pool1d(x, 4)).sizes(), IntArrayRef({2, 3, 4}));
  // A window over the depth alone is a window over the first of two dimensions.
  const Tensor y = random_tensor({2, 3, 6, 4, 1});
  expect_same(at::squeeze(at::max_pool3d(y, {2, 3, 1}), -1), at::max_pool2d(at::squeeze(y, -1), {2, 3}), "max_pool3d");
  expect_same(at::squeeze(at::avg_pool3d(y, {2, 3, 1}), -1), at::avg_pool2d(at::squeeze(y, -1), {2, 3}), "avg_pool3d");
  const auto p = at::max_pool3d_with_indices(y, {2, 3, 1});
  const Tensor grad = random_tensor({2, 3, 3, 1, 1});
  const auto q = at::max_pool2d_with_indices(at::squeeze(y, -1), {2, 3});
  expect_same(at::squeeze(at::max_pool3d_with_indices_backward(grad, y, {2, 3, 1}, {2, 3, 1}, {0}, {1}, false, std::get<1>(p)), -1),
              at::max_pool2d_with_indices_backward(at::squeeze(grad, -1), at::squeeze(y, -1), {2, 3}, {2, 3}, {0}, {1}, false, std::get<1>(q)), "gradient");
}

// Windows that overlap in depth, that leave gaps, and planes that no window reaches.
TEST(Pool, GradientOfAverageInThreeDimensions) {
  for (const std::vector<int64_t>& stride : std::vector<std::vector<int64_t>>{{1, 1, 1}, {2, 1, 2}, {4, 5, 3}}) {
    const Tensor x = random_tensor({2, 6, 12, 37}, kDouble);
    const Tensor y = at::avg_pool3d(x, 3, stride, 1), g = random_tensor(y.sizes().vec(), kDouble);
    const Tensor back = at::avg_pool3d_backward(g, x, 3, stride, 1, false, true, std::nullopt);
    EXPECT_NEAR(values(at::sum(at::mul(g, y)))[0].real(), values(at::sum(at::mul(back, x)))[0].real(), 1e-9);
    // What one output is the mean of, and nothing else, has its gradient.
    std::vector<double> last(static_cast<size_t>(y.numel()));
    last.back() = 27;
    const Tensor one = at::testing::tensor_of(last, y.sizes(), kDouble);
    const Tensor at_corner = at::avg_pool3d_backward(one, x, 3, stride, 1, false, true, std::nullopt);
    EXPECT_EQ(values(at::sum(at_corner))[0].real(), values(at::count_nonzero(at_corner))[0].real());
    EXPECT_GT(values(at::count_nonzero(at_corner))[0].real(), 0);
  }
}

TEST(Pool, WindowsLongerThanAnyInput) {
  const Tensor x = random_tensor({2, 3, 5, 4}, kFloat), largest = at::amax(x, {2, 3}, true);
  constexpr int64_t kLongest = std::numeric_limits<int64_t>::max();
  const auto [maxima, places] = at::max_pool2d_with_indices(x, {kLongest, kLongest}, {}, {2, 1}, {1, 1}, true);
  EXPECT_EQ(at::testing::values(maxima), at::testing::values(largest));
  EXPECT_EQ(at::testing::values(at::max_pool2d(x, {kLongest, kLongest}, {}, {2, 1}, {1, 1}, true)),
            at::testing::values(largest));
}

// Windows of 2 in 5 places and 3 outputs: steps of 1.5 from the sample on, the last at the end.
TEST(Pool, FractionalWindows) {
  const Tensor x = random_tensor({2, 3, 5, 5});
  const Tensor samples = at::zeros({2, 3, 2});
  const auto [y, index] = at::fractional_max_pool2d(x, {2, 2}, {3, 3}, samples);
  const int64_t starts[] = {0, 1, 3};
  for (int64_t i = 0; i < 3; ++i) {
    for (int64_t j = 0; j < 3; ++j) {
      const Tensor window = at::slice(at::slice(x, 2, starts[i], starts[i] + 2), 3, starts[j], starts[j] + 2);
      const Tensor expected = at::select(at::select(at::max_pool2d(window, 2), 3, 0), 2, 0);
      expect_same(at::select(at::select(y, 3, j), 2, i), expected, "window");
    }
  }
  EXPECT_EQ(index.scalar_type(), kLong);
  // A window of depth 1 does what two dimensions do; their samples come in the other order, equal ones here.
  const Tensor deep = at::unsqueeze(x, 2);
  const auto in_three = at::fractional_max_pool3d(deep, {1, 2, 2}, {1, 3, 3}, at::zeros({2, 3, 3}));
  expect_same(at::squeeze(std::get<0>(in_three), 2), y, "three dimensions");
  KINDLING_EXPECT_ERROR(at::fractional_max_pool2d(x, {2, 2}, {5, 5}, samples),
                        "pool size 2 too large relative to input size 5");
  KINDLING_EXPECT_ERROR(at::fractional_max_pool2d(x, {2, 2}, {3, 3}, at::zeros({2, 2, 2})),
                        "equals to input channel size");
  KINDLING_EXPECT_ERROR(at::fractional_max_pool2d(x, {0, 2}, {3, 3}, samples), "must be positive");
  KINDLING_EXPECT_ERROR(at::fractional_max_pool2d(random_tensor({5, 5}), {2, 2}, {3, 3}, samples),
                        "Expected 3D or 4D tensor");
}

TEST(Pool, NanIsTheMaximum) {
  const Tensor x = at::testing::tensor_of({1, std::numeric_limits<double>::quiet_NaN(), 2, 3}, {1, 1, 2, 2});
  EXPECT_TRUE(std::isnan(at::testing::elements<float>(at::max_pool2d(x, 2))[0]));
}

// Beyond the first place such a window reaches nothing, in either direction of the line of numbers.
TEST(Pool, HugeSteps) {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max() - 1;
  const Tensor x = random_tensor({1, 2, 6, 6});
  const auto [value, index] = at::max_pool2d_with_indices(x, {3, 1}, {2, 2}, 0, {1, kHuge});
  const auto [expected, expected_index] = at::max_pool2d_with_indices(x, {3, 1}, {2, 2}, 0, 1);
  ASSERT_EQ(index.sizes(), expected_index.sizes());
  EXPECT_EQ(at::testing::elements<int64_t>(index), at::testing::elements<int64_t>(expected_index));
  EXPECT_EQ(at::testing::elements<float>(value), at::testing::elements<float>(expected));
  const Tensor padding = std::get<1>(at::max_pool2d_with_indices(x, 2, kHuge, 1, kHuge - 10, /*ceil_mode=*/true));
  for (const int64_t i : at::testing::elements<int64_t>(padding)) {
    EXPECT_GE(i, 0);
    EXPECT_LT(i, 36);
  }
}

TEST(Pool, BadArguments) {
  auto r = [](std::vector<int64_t> s, ScalarType t = kFloat) { return random_tensor(std::move(s), t); };
  const Tensor x = r({1, 2, 5, 5});
  KINDLING_EXPECT_ERROR(at::max_pool2d(r({5}), 2), "non-empty 3D or 4D (batch mode) tensor expected for input");
  EXPECT_THROW(at::avg_pool2d(r({5}), 2), c10::IndexError);
  KINDLING_EXPECT_ERROR(at::avg_pool2d(r({1, 1, 1, 5, 5}), 2),
                        "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:[1, 1, 1, 5, 5]");
  KINDLING_EXPECT_ERROR(at::adaptive_avg_pool2d(r({1, 5, 5}), {2}), "adaptive_avg_pool2d: output_size must be 2");
  KINDLING_EXPECT_ERROR(at::max_pool2d(x, 0), "stride should not be zero");
  KINDLING_EXPECT_ERROR(at::max_pool2d(x, 2, 2, 2), "pad should be at most half of effective kernel size, but got pad=2, kernel_size=2 and dilation=1");
  KINDLING_EXPECT_ERROR(at::max_pool2d(x, 2, 0), "stride should not be zero");
  const Tensor line = r({1, 2, 5});
  KINDLING_EXPECT_ERROR(at::max_pool1d(line, 0), "max_pool1d() kernel_size must be greater than zero, but got 0");
  KINDLING_EXPECT_ERROR(at::max_pool1d(line, 2, 0), "max_pool1d() stride must be greater than zero, but got 0");
  KINDLING_EXPECT_ERROR(at::max_pool1d(line, 2, 1, -1), "max_pool1d() padding must be non-negative, but got -1");
  KINDLING_EXPECT_ERROR(at::max_pool1d(line, 2, 1, 2), "max_pool1d() padding should be at most half of kernel size, but got padding=2 and kernel_size=2");
  KINDLING_EXPECT_ERROR(at::max_pool1d(line, 2, 1, 0, 0), "max_pool1d() dilation must be greater than zero, but got 0");
  KINDLING_EXPECT_ERROR(at::max_pool2d(x, 7), "Given input size: (2x5x5). Calculated output size: (2x0x0). Output size is too small");
  KINDLING_EXPECT_ERROR(at::max_pool2d(x, 2, 2, 0, 0), "dilation should be greater than zero");
  KINDLING_EXPECT_ERROR(at::max_pool2d(x, {2, 2, 2}), "max_pool2d: kernel_size must either be a single int, or a tuple of two ints");
  KINDLING_EXPECT_ERROR(at::max_pool2d(x, 2, 2, -1), "pad must be non-negative");
  KINDLING_EXPECT_ERROR(at::max_pool2d(r({1, 0, 5, 5}), 2), "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:[1, 0, 5, 5]");
  KINDLING_EXPECT_ERROR(at::max_pool2d(r({1, 1, 5, 5}, kBool), 2), "not implemented for 'Bool'");
  KINDLING_EXPECT_ERROR(at::avg_pool2d(x, 2, 2, 0, false, true, 0), "divisor must be not zero");
  KINDLING_EXPECT_ERROR(at::avg_pool2d(r({1, 2, 5, 5}, kInt), 2), "not implemented for 'Int'");
  KINDLING_EXPECT_ERROR(at::adaptive_avg_pool2d(r({5}), {2, 2}), "adaptive_avg_pool2d(): Expected 3D or 4D tensor, but got [5]");
  KINDLING_EXPECT_ERROR(at::adaptive_avg_pool2d(x, {2, -1}), "elements of output_size must be greater than or equal to 0");
  KINDLING_EXPECT_ERROR(at::adaptive_avg_pool2d(r({1, 2, 0, 5}), {2, 2}), "with dimension 2 being empty");
  if (at::testing::device().is_cuda()) return;  // its kernels end with a fault
  const Tensor bad = at::testing::indices_of({1000, 0, 0, 0, 0, 0, 0, 0}, {1, 2, 2, 2});
  KINDLING_EXPECT_ERROR(at::max_pool2d_with_indices_backward(r({1, 2, 2, 2}), x, 2, 2, 0, 1, false, bad), "out of range");
}

TEST(Pool, GradientsFindTheMaximaAgain) {
  const Tensor x = random_tensor({2, 3, 6, 5}), grad = random_tensor({2, 3, 3, 2});
  const Tensor indices = std::get<1>(at::max_pool2d_with_indices(x, 2));
  at::testing::expect_close(at::max_pool2d_backward(grad, x, 2),
                            at::max_pool2d_with_indices_backward(grad, x, 2, 2, 0, 1, false, indices));
  KINDLING_EXPECT_ERROR(at::max_pool2d_backward(x, x, 2), "expected grad_output of size [2, 3, 3, 2]");
}

}  // namespace

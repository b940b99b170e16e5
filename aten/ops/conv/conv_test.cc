#include "aten/ops/conv/ops.h"

#include <limits>

#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/matmul/matrix_test_support.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "gtest/gtest.h"

namespace {

using namespace at;
using namespace at::matrix_testing;
using at::testing::expect_close;

int64_t volume(IntArrayRef sizes, size_t from) {
  int64_t n = 1;
  for (size_t i = from; i < sizes.size(); ++i) n *= sizes[i];
  return n;
}

struct Case {
  const char* name;
  std::vector<int64_t> input, weight;
  std::vector<int64_t> stride, padding, dilation;
  int64_t groups = 1;
};

const Case kCases[] = {
    {"2d", {2, 3, 7, 8}, {4, 3, 3, 2}, {1}, {0}, {1}},
    {"2d stride padding dilation", {2, 2, 9, 8}, {3, 2, 3, 2}, {2, 1}, {1, 2}, {2, 1}},
    {"2d groups", {1, 4, 5, 6}, {6, 2, 3, 3}, {1}, {1}, {1}, 2},
    {"2d depthwise", {2, 3, 5, 5}, {3, 1, 2, 2}, {2}, {1}, {1}, 3},
    {"1d", {2, 3, 10}, {4, 3, 3}, {2}, {1}, {2}},
    {"3d", {1, 2, 4, 5, 4}, {3, 2, 2, 3, 2}, {1, 2, 1}, {1}, {1}},
    {"empty batch", {0, 3, 7, 8}, {4, 3, 3, 2}, {1}, {0}, {1}},
};

int64_t pick(const std::vector<int64_t>& v, size_t i) {
  return v[v.size() == 1 ? 0 : i];
}

// Calls f(output offset, input offset, weight offset) for every term, whatever the number of dimensions.
template <class F>
void for_each_term(const Case& c, const std::vector<int64_t>& out, const F& f) {
  const size_t dims = c.input.size() - 2;
  const int64_t in_group = c.input[1] / c.groups, out_group = c.weight[0] / c.groups;
  const int64_t outs = volume(out, 2), kernels = volume(c.weight, 2), ins = volume(c.input, 2);
  for (int64_t n = 0; n < c.input[0]; ++n)
    for (int64_t o = 0; o < c.weight[0]; ++o)
      for (int64_t x = 0; x < outs; ++x)
        for (int64_t i = 0; i < in_group; ++i)
          for (int64_t k = 0; k < kernels; ++k) {
            int64_t place = 0, step = 1, rest_x = x, rest_k = k;
            bool inside = true;
            for (size_t d = dims; d-- > 0;) {
              const int64_t at = rest_x % out[2 + d] * pick(c.stride, d) - pick(c.padding, d) +
                                 rest_k % c.weight[2 + d] * pick(c.dilation, d);
              rest_x /= out[2 + d];
              rest_k /= c.weight[2 + d];
              inside = inside && at >= 0 && at < c.input[2 + d];
              place += at * step;
              step *= c.input[2 + d];
            }
            if (inside)
              f((n * c.weight[0] + o) * outs + x, (n * c.input[1] + o / out_group * in_group + i) * ins + place,
                (o * in_group + i) * kernels + k);
          }
}

TEST(Conv, ForwardAndGradientsOfEveryLayout) {
  for (ScalarType t : {kFloat, kDouble, kHalf, kBFloat16}) {
    for (const Case& c : kCases) {
      for (Arrangement l : {Arrangement::kContiguous, Arrangement::kTransposed, Arrangement::kStrided}) {
        const Tensor x = random_tensor(c.input, t, l), w = random_tensor(c.weight, t, l),
                     b = random_tensor({c.weight[0]}, t);
        const Tensor got = at::convolution(x, w, b, c.stride, c.padding, c.dilation, false, {0}, c.groups);
        const std::vector<int64_t> out(got.sizes().begin(), got.sizes().end());
        const Tensor grad = random_tensor(out, t, l);
        std::vector<Number> want(got.numel()), gx(x.numel()), gw(w.numel()), gb(c.weight[0]);
        const auto xs = values(x), ws = values(w), bs = values(b), gs = values(grad);
        for (size_t i = 0; i < want.size(); ++i) {
          const int64_t o = static_cast<int64_t>(i) / volume(out, 2) % c.weight[0];
          want[i] = bs[o];
          gb[o] += gs[i];
        }
        for_each_term(c, out, [&](int64_t o, int64_t i, int64_t k) {
          want[o] += xs[i] * ws[k];
          gx[i] += gs[o] * ws[k];
          gw[k] += gs[o] * xs[i];
        });
        expect_values(got, out, want, c.name);
        const auto g = at::convolution_backward(grad, x, w, IntArrayRef{c.weight[0]}, c.stride, c.padding, c.dilation,
                                                false, {0}, c.groups, {true, true, true});
        expect_values(std::get<0>(g), c.input, gx, c.name);
        expect_values(std::get<1>(g), c.weight, gw, c.name);
        expect_values(std::get<2>(g), {c.weight[0]}, gb, c.name);
        const auto none = at::convolution_backward(grad, x, w, IntArrayRef{c.weight[0]}, c.stride, c.padding,
                                                   c.dilation, false, {0}, c.groups, {false, false, false});
        EXPECT_FALSE(std::get<0>(none).defined() || std::get<1>(none).defined() || std::get<2>(none).defined());
        // A transposed convolution is the gradient of the input, where the windows reach its end.
        if (c.input[0] > 0) {
          std::vector<int64_t> output_padding;
          for (size_t d = 0; d + 2 < c.input.size(); ++d)
            output_padding.push_back(c.input[2 + d] - ((out[2 + d] - 1) * pick(c.stride, d) - 2 * pick(c.padding, d) +
                                                       pick(c.dilation, d) * (c.weight[2 + d] - 1) + 1));
          expect_values(
              at::convolution(grad, w, std::nullopt, c.stride, c.padding, c.dilation, true, output_padding, c.groups),
              c.input, gx, c.name);
          const auto back = at::convolution_backward(x, grad, w, std::nullopt, c.stride, c.padding, c.dilation, true,
                                                     output_padding, c.groups, {true, true, false});
          std::vector<Number> plain = want;
          for (size_t i = 0; i < plain.size(); ++i)
            plain[i] -= bs[static_cast<int64_t>(i) / volume(out, 2) % c.weight[0]];
          expect_values(std::get<0>(back), out, plain, c.name);
          expect_values(std::get<1>(back), c.weight, gw, c.name);
        }
      }
    }
  }
}

// As PyTorch: the result and the gradients have their channels last where the input or the weight has.
TEST(Conv, ChannelsLastStays) {
  struct Form {
    std::vector<int64_t> input, weight;
    int64_t groups;
    bool transposed;
  };
  const Form forms[] = {
      {{2, 4, 9, 8}, {6, 4, 3, 3}, 1, false},      {{2, 4, 6, 5}, {6, 2, 3, 2}, 2, false},
      {{3, 24, 13, 11}, {32, 24, 3, 3}, 1, false}, {{2, 4, 5, 6}, {4, 3, 2, 2}, 1, true},
      {{2, 16, 7, 7}, {40, 16, 1, 1}, 1, false},   {{1, 3, 4, 5, 6}, {5, 3, 2, 2, 2}, 1, false},
  };
  for (const Form& f : forms) {
    const MemoryFormat last = f.input.size() == 5 ? MemoryFormat::ChannelsLast3d : MemoryFormat::ChannelsLast;
    for (const ScalarType dtype : {kFloat, kDouble}) {
      const Tensor x = random_tensor(f.input, dtype), w = random_tensor(f.weight, dtype);
      const int64_t outputs = f.transposed ? f.weight[1] * f.groups : f.weight[0];
      const Tensor b = random_tensor({outputs}, dtype);
      const auto convolved = [&](const Tensor& input, const Tensor& weight) {
        return at::convolution(input, weight, b, {1}, {1}, {1}, f.transposed, {0}, f.groups);
      };
      const Tensor y = convolved(x, w), g = random_tensor(y.sizes().vec(), dtype);
      const auto gradients = [&](const Tensor& input, const Tensor& weight) {
        return at::convolution_backward(g, input, weight, IntArrayRef{outputs}, {1}, {1}, {1}, f.transposed, {0},
                                        f.groups, {true, true, true});
      };
      const auto [gx, gw, gb] = gradients(x, w);
      EXPECT_TRUE(y.is_contiguous() && gx.is_contiguous() && gw.is_contiguous());
      for (const bool input_last : {false, true}) {
        for (const bool weight_last : {false, true}) {
          const Tensor input = input_last ? at::contiguous(x, last) : x,
                       weight = weight_last ? at::contiguous(w, last) : w;
          const bool expected = (input.suggest_memory_format() == last || weight.suggest_memory_format() == last) &&
                                !(dtype == kDouble && f.input.size() == 5);
          const MemoryFormat format = expected ? last : MemoryFormat::Contiguous;
          const Tensor got = convolved(input, weight);
          EXPECT_TRUE(got.is_contiguous(format));
          const double tolerance = dtype == kDouble ? 1e-12 : 2e-5;
          expect_close(got, y, tolerance, tolerance);
          const auto [got_x, got_w, got_b] = gradients(input, weight);
          EXPECT_TRUE(got_x.is_contiguous(format) && got_w.is_contiguous(format));
          expect_close(got_x, gx, tolerance, tolerance);
          expect_close(got_w, gw, 10 * tolerance, 10 * tolerance);
          expect_close(got_b, gb, 10 * tolerance, 10 * tolerance);
          // A result that lies otherwise is filled all the same.
          Tensor out = at::zeros_like(y);
          at::convolution_out(out, input, weight, b, {1}, {1}, {1}, f.transposed, {0}, f.groups);
          expect_close(out, y, tolerance, tolerance);
        }
      }
    }
  }
}

// By every candidate of the engine: Winograd's algorithm, oneDNN, few places, unfolding.
TEST(Conv, FusedWithReluAndSum) {
  struct Form {
    std::vector<int64_t> input, weight;
    int64_t groups;
  };
  const Form forms[] = {{{2, 32, 20, 21}, {32, 32, 3, 3}, 1}, {{2, 4, 6, 5}, {6, 2, 3, 2}, 2},
                        {{1, 24, 7, 7}, {16, 24, 3, 3}, 1},   {{2, 3, 10}, {4, 3, 3}, 1},
                        {{0, 3, 7, 8}, {4, 3, 3, 2}, 1},      {{1, 2, 4, 5, 4}, {3, 2, 2, 3, 2}, 1}};
  for (const Form& f : forms) {
    for (const ScalarType t : {kFloat, kDouble, kHalf, kBFloat16}) {
      Tensor x = random_tensor(f.input, t);
      const Tensor w = random_tensor(f.weight, t), b = random_tensor({f.weight[0]}, t);
      const double tolerance = t == kDouble ? 1e-12 : t == kFloat ? 1e-5 : t == kHalf ? 2e-2 : 0.1;
      for (const bool last : {false, true}) {
        if (last && f.input.size() != 4) continue;
        if (last) x = at::clone(x, MemoryFormat::ChannelsLast);
        const Tensor plain = at::convolution(x, w, b, {1}, {1}, {1}, false, {0}, f.groups);
        const Tensor z = random_tensor(plain.sizes().vec(), t);
        expect_close(at::cudnn_convolution_relu(x, w, b, {1}, {1}, {1}, f.groups), at::clamp_min(plain, 0), tolerance,
                     tolerance);
        expect_close(at::cudnn_convolution_relu(x, w, {}, {1}, {1}, {1}, f.groups),
                     at::clamp_min(at::mkldnn_convolution(x, w, {}, {1}, {1}, {1}, f.groups), 0), tolerance, tolerance);
        const Tensor sum = at::clamp_min(at::add(plain, z, -1.5), 0);
        expect_close(at::cudnn_convolution_add_relu(x, w, z, -1.5, b, {1}, {1}, {1}, f.groups), sum, tolerance,
                     tolerance);
        // The sum may lie where the result goes.
        Tensor out = at::clone(z);
        at::cudnn_convolution_add_relu_out(out, x, w, out, -1.5, b, {1}, {1}, {1}, f.groups);
        expect_close(out, sum, tolerance, tolerance);
      }
    }
  }
}

TEST(Conv, FusedReluKeepsNan) {
  for (const std::vector<int64_t>& size : {std::vector<int64_t>{1, 32, 40, 40}, {1, 3, 20, 20}, {1, 24, 7, 7}}) {
    const Tensor x = at::full(size, std::numeric_limits<double>::quiet_NaN(), kFloat),
                 w = at::full({16, size[1], 3, 3}, 1, kFloat);
    EXPECT_TRUE(at::all(at::isnan(at::cudnn_convolution_relu(x, w, {}, {1}, {1}, {1}, 1))).item<bool>());
  }
}

TEST(Conv, NamedForms) {
  const Tensor x1 = random_tensor({2, 3, 10}), w1 = random_tensor({4, 3, 3}), x2 = random_tensor({2, 3, 7, 8}),
               w2 = random_tensor({4, 3, 3, 2});
  const Tensor x3 = random_tensor({1, 2, 4, 5, 4}), w3 = random_tensor({3, 2, 2, 3, 2}), bias = random_tensor({4});
  expect_same(at::conv1d(x1, w1, bias, 2, 1), at::convolution(x1, w1, bias, {2}, {1}, {1}, false, {0}, 1), "conv1d");
  expect_same(at::conv2d(x2, w2, bias, {2, 1}, 1), at::convolution(x2, w2, bias, {2, 1}, {1, 1}, {1, 1}, false, {0}, 1),
              "conv2d");
  expect_same(at::conv3d(x3, w3), at::convolution(x3, w3, std::nullopt, {1}, {0}, {1}, false, {0}, 1), "conv3d");
  expect_same(at::_convolution(x2, w2, bias, {1}, {1}, {2}, false, {0}, 1, false, false, true, true),
              at::conv2d(x2, w2, bias, 1, 1, 2), "_convolution");
  const Tensor one = at::select(x2, 0, 1);
  expect_same(at::conv2d(one, w2), at::select(at::conv2d(x2, w2), 0, 1), "conv2d without a batch");
  EXPECT_EQ(at::conv2d(x2, w2, {}, 1, "same").sizes(), IntArrayRef({2, 4, 7, 8}));
  EXPECT_EQ(at::conv1d(x1, w1, {}, 1, "valid", 2).sizes(), IntArrayRef({2, 4, 6}));
  const Tensor t = random_tensor({2, 4, 5, 6});
  expect_same(at::conv_transpose2d(t, w2, {}, 2, 1, 1),
              at::convolution(t, w2, std::nullopt, {2}, {1}, {1}, true, {1}, 1), "conv_transpose2d");
  const Tensor with_bias = at::conv_transpose2d(t, w2, random_tensor({3}));
  EXPECT_EQ(with_bias.sizes(), IntArrayRef({2, 3, 7, 7}));
  const Tensor time = random_tensor({6, 2, 3}), tw = random_tensor({3, 3, 4});
  expect_same(at::conv_tbc(time, tw, bias, 1),
              at::permute(at::conv1d(at::permute(time, {1, 2, 0}), at::permute(tw, {2, 1, 0}), bias, 1, 1), {2, 0, 1}),
              "conv_tbc");
}

TEST(Conv, UnfoldingAndFolding) {
  const Tensor x = random_tensor({2, 3, 5, 6}, kDouble, Arrangement::kTransposed),
               w = random_tensor({4, 3, 2, 3}, kDouble);
  const Tensor columns = at::im2col(x, {2, 3}, {2, 1}, {1, 1}, {1, 2});
  const Tensor want = at::conv2d(x, w, {}, {1, 2}, {1, 1}, {2, 1});
  // A convolution is the product of the weights and the windows.
  const auto c = values(columns), ws = values(w);
  std::vector<Number> product;
  const int64_t k = 18, l = columns.size(2);
  for (int64_t n = 0; n < 2; ++n)
    for (int64_t o = 0; o < 4; ++o)
      for (int64_t j = 0; j < l; ++j) {
        Number sum = 0;
        for (int64_t i = 0; i < k; ++i) sum += ws[o * k + i] * c[(n * k + i) * l + j];
        product.push_back(sum);
      }
  expect_values(at::reshape(want, {2, 4, l}), {2, 4, l}, product, "im2col");
  // Folding is its transposed map.
  const Tensor y = random_tensor({2, k, l}, kDouble), folded = at::col2im(y, {5, 6}, {2, 3}, {2, 1}, {1, 1}, {1, 2});
  Number left = 0, right = 0;
  const auto ys = values(y), xs = values(x), f = values(folded);
  for (size_t i = 0; i < ys.size(); ++i) left += ys[i] * c[i];
  for (size_t i = 0; i < xs.size(); ++i) right += xs[i] * f[i];
  EXPECT_NEAR(std::abs(left - right), 0, 1e-10);
  EXPECT_EQ(at::im2col(at::select(x, 0, 0), {2, 3}, {1, 1}, {0, 0}, {1, 1}).dim(), 2);
  KINDLING_EXPECT_ERROR(
      at::im2col(x, {9, 9}, {1, 1}, {0, 0}, {3, 1}),
      "kernel_size=(9, 9), dilation=(1, 1), padding=(0, 0), calculated shape of the array of sliding blocks "
      "as (-1, -2), but its components must be at least one.");
  KINDLING_EXPECT_ERROR(at::col2im(y, {4, 4}, {2, 3}, {2, 1}, {1, 1}, {1, 2}),
                        "expected size of input's dimension 2 to match the calculated number of sliding blocks");
}

TEST(Conv, BadArguments) {
  {
    const Tensor x = random_tensor({1, 2, 5, 5}), w = random_tensor({3, 2, 3, 3}), z = random_tensor({1, 3, 3, 3});
    at::testing::expect_error<c10::Error>(
        [&] {
          at::cudnn_convolution_add_relu(x, w, at::reshape(z, {3, 1, 3, 3}), {}, {}, {1}, {0}, {1}, 1);
        },
        "cudnn_convolution_add_relu: expected z of size [1, 3, 3, 3]");
    at::testing::expect_error<c10::Error>(
        [&] { at::cudnn_convolution_add_relu(x, w, at::to(z, kDouble), {}, {}, {1}, {0}, {1}, 1); },
        "cudnn_convolution_add_relu: expected z of type Float");
    at::testing::expect_error<c10::NotImplementedError>(
        [&] { at::cudnn_convolution_relu(at::to(x, kLong), at::to(w, kLong), {}, {1}, {0}, {1}, 1); },
        "\"cudnn_convolution_relu\" not implemented for 'Long'");
  }
  auto r = [](std::vector<int64_t> sizes, ScalarType t = kFloat) { return random_tensor(std::move(sizes), t); };
  const Tensor x = r({1, 2, 5, 5}), w = r({3, 2, 2, 2});
  KINDLING_EXPECT_ERROR(at::conv2d(x, r({3, 3, 2, 2})),
                        "Given groups=1, weight of size [3, 3, 2, 2], expected input[1, 2, 5, 5] to have 3 channels, "
                        "but got 2 channels instead");
  KINDLING_EXPECT_ERROR(at::conv2d(r({2, 5}), w),
                        "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: [2, 5]");
  KINDLING_EXPECT_ERROR(at::conv2d(x, w, r({4})),
                        "expected bias to be 1-dimensional with 3 elements, but got bias of size [4] instead");
  KINDLING_EXPECT_ERROR(at::conv2d(x, r({3, 2, 7, 7})),
                        "Calculated padded input size per channel: (5 x 5). Kernel size: (7 x 7). Kernel size can't be "
                        "greater than actual input size");
  KINDLING_EXPECT_ERROR(at::conv2d(x, w, {}, 0), "non-positive stride is not supported");
  KINDLING_EXPECT_ERROR(at::conv2d(x, w, {}, 1, -1), "negative padding is not supported");
  KINDLING_EXPECT_ERROR(at::conv2d(x, w, {}, 1, IntArrayRef{0}, 0), "dilation should be greater than zero");
  KINDLING_EXPECT_ERROR(at::conv2d(x, w, {}, 1, IntArrayRef{0}, 1, 0), "non-positive groups is not supported");
  KINDLING_EXPECT_ERROR(at::conv2d(r({1, 4, 5, 5}), w, {}, 1, IntArrayRef{0}, 1, 2),
                        "expected weight to be divisible by 2 at dimension 0");
  KINDLING_EXPECT_ERROR(at::conv2d(x, r({3, 2, 2, 2}, kDouble)), "should be the same");
  KINDLING_EXPECT_ERROR(at::conv2d(x, w, r({3}, kDouble)),
                        "Input type (Float) and bias type (Double) should be the same");
  KINDLING_EXPECT_ERROR(at::conv2d(x, w, {}, {1, 1, 1}),
                        "expected stride to be a single integer value or a list of 2 values to match the convolution "
                        "dimensions, but got stride=[1, 1, 1]");
  KINDLING_EXPECT_ERROR(at::conv2d(x, w, {}, 1, "foo"), "Invalid padding string: 'foo'");
  KINDLING_EXPECT_ERROR(at::conv2d(x, w, {}, 2, "same"), "padding='same' is not supported for strided convolutions");
  KINDLING_EXPECT_ERROR(at::conv2d(x, r({3, 2, 0, 2})), "kernel size should be greater than zero");
  KINDLING_EXPECT_ERROR(at::conv_transpose2d(x, r({3, 2, 2, 2})),
                        "Given transposed=1, weight of size [3, 2, 2, 2], expected input[1, 2, 5, 5] to have 3 "
                        "channels, but got 2 channels instead");
  KINDLING_EXPECT_ERROR(at::conv_transpose2d(x, r({2, 2, 2, 2}), {}, 1, 0, 1),
                        "output padding must be smaller than either stride or dilation");
  KINDLING_EXPECT_ERROR(at::conv_transpose2d(x, r({2, 2, 2, 2}), {}, 1, 0, -1),
                        "negative output_padding is not supported");
  KINDLING_EXPECT_ERROR(at::conv2d(x, w, {}, 1, int64_t{1} << 62), "overflow");
  KINDLING_EXPECT_ERROR(at::conv2d(x, w, {}, 1, IntArrayRef{0}, int64_t{1} << 62), "");
  KINDLING_EXPECT_ERROR(at::conv2d(x, r({0, 2, 2, 2})), "expected weight to be at least 1 at dimension 0");
}

}  // namespace

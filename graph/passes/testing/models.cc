#include "graph/passes/testing/models.h"

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "aten/ops/activation/ops.h"
#include "aten/ops/attention/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/conv/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/norm/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/pool/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/softmax/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"

namespace torch::graph::testing {
namespace {

using at::Tensor;

// A convolution and its batch norm.
struct ConvBn {
  Tensor w, scale, shift, mean, var;
  int64_t stride, padding, groups;
  ConvBn(const MakeWeight& make, int64_t in, int64_t out, int64_t k, int64_t s, int64_t g = 1)
      : w(make({out, in / g, k, k}, std::sqrt(2.0 / static_cast<double>(in / g * k * k)), 0)),
        scale(make({out}, 0.1, 1)),
        shift(make({out}, 0.1, 0)),
        mean(make({out}, 0.1, 0)),
        var(make({out}, 0, 1)),
        stride(s),
        padding(k / 2),
        groups(g) {}
  Tensor operator()(const Tensor& x) const {
    const Tensor y = at::conv2d(x, w, {}, {stride, stride}, {padding, padding}, {1, 1}, groups);
    return at::batch_norm(y, scale, shift, mean, var, false, 0.1, 1e-5, false);
  }
};

Tensor linear_weight(const MakeWeight& make, int64_t out, int64_t in) {
  return make({out, in}, 1 / std::sqrt(static_cast<double>(in)), 0);
}

}  // namespace

Tensor normal_weight(at::IntArrayRef sizes, double scale, double offset) {
  return at::add(at::mul(at::randn(sizes), scale), offset);
}

Tensor exact_weight(at::IntArrayRef sizes, double, double) {
  Tensor numbers = at::round(at::clamp(at::mul(at::randn(sizes), 40), -126, 126));
  Tensor first = at::select(at::reshape(numbers, {sizes[0], -1}), 1, 0);
  at::fill_(first, 127);
  return at::div(numbers, 64);
}

Model convolutions(const MakeWeight& make) {
  const auto weight = [&](std::vector<int64_t> sizes) { return make(sizes, 0.1, 0); };
  const Tensor strided = weight({32, 16, 3, 3}), each = weight({32, 1, 3, 3}), point = weight({48, 32, 1, 1}),
               dense = weight({64, 48, 3, 3}), head = weight({10, 64}), bias = weight({10});
  return [=](const Tensor& input) {
    const auto relu_of = [](const Tensor& x, const Tensor& w, int64_t stride, int64_t groups) {
      return at::relu(at::conv2d(x, w, {}, {stride, stride}, {w.size(2) / 2, w.size(2) / 2}, {1, 1}, groups));
    };
    Tensor x = relu_of(input, strided, 2, 1);
    x = relu_of(x, each, 1, 32);
    x = relu_of(x, point, 1, 1);
    x = relu_of(x, dense, 1, 1);
    return at::linear(at::mean(x, std::vector<int64_t>{2, 3}), head, bias);
  };
}

Model resnet18(const MakeWeight& make) {
  struct Block {
    ConvBn first, second;
    std::optional<ConvBn> shortcut;
  };
  const ConvBn stem(make, 3, 64, 7, 2);
  std::vector<Block> blocks;
  int64_t in = 64;
  for (const int64_t out : {64, 128, 256, 512}) {
    for (int i = 0; i < 2; ++i) {
      const int64_t stride = i == 0 && out > 64 ? 2 : 1;
      Block block{ConvBn(make, in, out, 3, stride), ConvBn(make, out, out, 3, 1), std::nullopt};
      if (stride == 2) {
        block.shortcut.emplace(make, in, out, 1, 2);
        block.shortcut->padding = 0;
      }
      blocks.push_back(std::move(block));
      in = out;
    }
  }
  const Tensor w = linear_weight(make, 1000, 512), b = make({1000}, 0.01, 0);
  return [=](const Tensor& input) {
    Tensor x = at::max_pool2d(at::relu(stem(input)), {3, 3}, {2, 2}, {1, 1});
    for (const Block& block : blocks) {
      const Tensor y = block.second(at::relu(block.first(x)));
      x = at::relu(at::add(y, block.shortcut.has_value() ? (*block.shortcut)(x) : x));
    }
    return at::linear(at::flatten(at::adaptive_avg_pool2d(x, {1, 1}), 1), w, b);
  };
}

Model mobilenet_v2(const MakeWeight& make) {
  struct Block {
    std::vector<ConvBn> layers;
    bool residual;
  };
  struct Stage {
    int64_t expand, out, count, stride;
  };
  const ConvBn stem(make, 3, 32, 3, 2);
  std::vector<Block> blocks;
  int64_t in = 32;
  for (const Stage& stage : {Stage{1, 16, 1, 1},
                             {6, 24, 2, 2},
                             {6, 32, 3, 2},
                             {6, 64, 4, 2},
                             {6, 96, 3, 1},
                             {6, 160, 3, 2},
                             {6, 320, 1, 1}}) {
    for (int64_t i = 0; i < stage.count; ++i) {
      const int64_t stride = i == 0 ? stage.stride : 1, wide = in * stage.expand;
      Block block{{}, stride == 1 && in == stage.out};
      if (stage.expand != 1) block.layers.emplace_back(make, in, wide, 1, 1);
      block.layers.emplace_back(make, wide, wide, 3, stride, wide);
      block.layers.emplace_back(make, wide, stage.out, 1, 1);
      blocks.push_back(std::move(block));
      in = stage.out;
    }
  }
  const ConvBn last(make, 320, 1280, 1, 1);
  const Tensor w = linear_weight(make, 1000, 1280), b = make({1000}, 0.01, 0);
  return [=](const Tensor& input) {
    Tensor x = at::hardtanh(stem(input), 0, 6);
    for (const Block& block : blocks) {
      Tensor y = x;
      for (size_t i = 0; i < block.layers.size(); ++i) {
        y = block.layers[i](y);
        if (i + 1 < block.layers.size()) y = at::hardtanh(y, 0, 6);
      }
      x = block.residual ? at::add(x, y) : y;
    }
    x = at::hardtanh(last(x), 0, 6);
    return at::linear(at::flatten(at::adaptive_avg_pool2d(x, {1, 1}), 1), w, b);
  };
}

Model gpt(const MakeWeight& make, bool spelled_out) {
  constexpr int64_t kLayers = 4, kWidth = 256, kHeads = 4;
  struct Layer {
    explicit Layer(const MakeWeight& make)
        : norm1(make({kWidth}, 0.1, 1)),
          shift1(make({kWidth}, 0.1, 0)),
          norm2(make({kWidth}, 0.1, 1)),
          shift2(make({kWidth}, 0.1, 0)),
          qkv(linear_weight(make, 3 * kWidth, kWidth)),
          qkv_bias(make({3 * kWidth}, 0.02, 0)),
          out(linear_weight(make, kWidth, kWidth)),
          out_bias(make({kWidth}, 0.02, 0)),
          up(linear_weight(make, 4 * kWidth, kWidth)),
          up_bias(make({4 * kWidth}, 0.02, 0)),
          down(linear_weight(make, kWidth, 4 * kWidth)),
          down_bias(make({kWidth}, 0.02, 0)) {}
    Tensor norm1, shift1, norm2, shift2, qkv, qkv_bias, out, out_bias, up, up_bias, down, down_bias;
  };
  std::vector<Layer> layers;
  for (int64_t i = 0; i < kLayers; ++i) layers.emplace_back(make);
  const Tensor scale = make({kWidth}, 0.1, 1), shift = make({kWidth}, 0.1, 0), head = linear_weight(make, 512, kWidth);
  return [=](const Tensor& input) {
    const int64_t batch = input.size(0), tokens = input.size(1);
    Tensor x = input;
    for (const Layer& l : layers) {
      const Tensor y = at::layer_norm(x, {kWidth}, l.norm1, l.shift1);
      std::vector<Tensor> parts = at::split(at::linear(y, l.qkv, l.qkv_bias), kWidth, 2);
      for (Tensor& part : parts) part = at::transpose(at::view(part, {batch, tokens, kHeads, kWidth / kHeads}), 1, 2);
      Tensor attended;
      if (spelled_out) {
        Tensor scores = at::mul(at::matmul(parts[0], at::transpose(parts[1], 2, 3)), 0.125);
        const Tensor mask = at::triu(at::ones({tokens, tokens}, input.options().dtype(at::kBool)), 1);
        scores = at::masked_fill(scores, mask, -1e9);
        attended = at::matmul(at::softmax(scores, 3), parts[2]);
      } else {
        attended = at::scaled_dot_product_attention(parts[0], parts[1], parts[2], {}, 0, true);
      }
      const Tensor merged = at::reshape(at::transpose(attended, 1, 2), {batch, tokens, kWidth});
      x = at::add(x, at::linear(merged, l.out, l.out_bias));
      const Tensor z = at::layer_norm(x, {kWidth}, l.norm2, l.shift2);
      x = at::add(x, at::linear(at::gelu(at::linear(z, l.up, l.up_bias)), l.down, l.down_bias));
    }
    return at::linear(at::layer_norm(x, {kWidth}, scale, shift), head, {});
  };
}

Model mlp(const MakeWeight& make, std::vector<int64_t> widths) {
  std::vector<std::pair<Tensor, Tensor>> layers;
  for (size_t i = 0; i + 1 < widths.size(); ++i) {
    layers.emplace_back(linear_weight(make, widths[i + 1], widths[i]), make({widths[i + 1]}, 0.1, 0));
  }
  return [=](const Tensor& input) {
    Tensor x = input;
    for (size_t i = 0; i < layers.size(); ++i) {
      x = at::linear(i == 0 ? x : at::relu(x), layers[i].first, layers[i].second);
    }
    return x;
  };
}

}  // namespace torch::graph::testing

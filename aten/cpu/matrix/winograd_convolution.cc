// float32 convolutions of 3 x 3 windows at stride 1 by Winograd's algorithm: a fourth of the multiplications, for which
// inputs, weights and outputs are transformed.
#include "aten/cpu/matrix/convolution_internal.h"
#include "aten/cpu/matrix/internal.h"
#include "aten/cpu/matrix/winograd.h"
#include "c10/parallel/parallel.h"

namespace at::matrix::internal {
namespace {

WinogradShape forward_shape(const Convolution& c) {
  WinogradShape s;
  s.batch = c.batch, s.channels = c.in_channels, s.rows = c.out_channels;
  s.height = c.input[1], s.width = c.input[2];
  s.out_height = c.output[1], s.out_width = c.output[2];
  s.top = c.padding[1], s.left = c.padding[2];
  return s;
}

// Of the gradient of the input, as a convolution of the output's gradient.
WinogradShape backward_shape(const Convolution& c) {
  WinogradShape s;
  s.batch = c.batch, s.channels = c.out_channels, s.rows = c.in_channels;
  s.height = c.output[1], s.width = c.output[2];
  s.out_height = c.input[1], s.out_width = c.input[2];
  s.top = 2 - c.padding[1], s.left = 2 - c.padding[2];
  return s;
}

int64_t round_up(int64_t a, int64_t b) {
  return at::divup(a, b) * b;
}

// Multiply-adds that take as long as transforming a tile of a channel, as copying it to where channels come first, and
// as the weights of a pair of channels; measured.
constexpr double kTileCost = 900, kCopyCost = 320, kWeightCost = 300;

// Whether it is expected to be faster than the direct sums. `tiles`: counting what fills the last vector.
bool is_worth(const WinogradShape& s, int64_t tiles, bool channels_last) {
  const double pairs = static_cast<double>(s.channels) * static_cast<double>(s.rows), t = static_cast<double>(tiles);
  const double direct = 9 * pairs * static_cast<double>(s.batch * s.out_height) * static_cast<double>(s.out_width);
  const double tile = channels_last ? kTileCost + kCopyCost : kTileCost;
  return (kWinogradProducts * t + kWeightCost) * pairs + tile * t * static_cast<double>(s.channels + s.rows) < direct;
}

const char* refusal(const Convolution& c, ConvolutionPart part) {
  if (c.plain_sums) return "only plain sums are asked for";
  if (c.type != Type::kFloat32 || c.dims != 2 || c.groups != 1) return "only float32 of one group in two dimensions";
  for (int d = 1; d < 3; ++d) {
    if (c.kernel[d] != 3 || c.stride[d] != 1 || c.dilation[d] != 1) return "only windows of 3 x 3 side by side";
    // What the windows of the input's gradient leave out, or reach beyond, is padding too.
    if (c.padding[d] > 2) return "padding wider than the window reaches";
    if (c.output[d] != c.input[d] + 2 * c.padding[d] - 2) return "the windows do not fill the padded input";
  }
  if (c.in_channels < 8 || c.out_channels < 8) return "few channels";
  const WinogradShape s = part == ConvolutionPart::kGradInput ? backward_shape(c) : forward_shape(c);
  const int64_t tiles = part == ConvolutionPart::kGradWeight ? s.tiles() : round_up(s.tiles(), winograd_panel() / 2);
  return is_worth(s, tiles, c.channels_last) ? nullptr : "more transformations than it saves products";
}

// Tiles that are transformed at a time: as many as the last cache holds.
constexpr int64_t kBlockFloats = int64_t{2} << 20;

bool run(WinogradForward w) {
  const WinogradShape& s = w.shape;
  const int64_t panel = winograd_panel(), all = s.tiles();
  const int64_t at_a_time = round_up(kBlockFloats / (kWinogradProducts * s.channels) + 64, panel);
  const int64_t block = all < at_a_time ? all : at_a_time;
  const Scratch transformed(static_cast<size_t>(winograd_transformed_floats(s, block)) * sizeof(float));
  w.transformed = transformed.as<float>();
  for (int64_t first = 0; first < all; first += block) {
    w.first_tile = first;
    w.tiles = all - first < block ? all - first : block;
    at::parallel_for(0, winograd_input_units(w), 16,
                     [&](int64_t begin, int64_t end) { winograd_transform_input(w, begin, end); });
    at::parallel_for(0, winograd_product_units(w), 1, [&](int64_t begin, int64_t end) {
      const Scratch scratch(static_cast<size_t>(winograd_product_scratch_floats(s)) * sizeof(float));
      winograd_multiply(w, scratch.as<float>(), begin, end);
    });
  }
  return true;
}

bool forward(const Convolution& c, const void* input, const void* weight, const void* bias, void* output) {
  WinogradForward w;
  w.shape = forward_shape(c);
  w.input = static_cast<const float*>(input);
  w.weight = static_cast<const float*>(weight);
  w.weight_row = 9 * c.in_channels;
  w.weight_channel = 9;
  w.bias = static_cast<const float*>(bias);
  w.add = static_cast<const float*>(c.add);
  w.alpha = static_cast<float>(c.alpha);
  w.relu = c.relu;
  w.output = static_cast<float*>(output);
  return run(w);
}

bool backward_input(const Convolution& c, const void* grad_output, const void* weight, void* grad_input) {
  WinogradForward w;
  w.shape = backward_shape(c);
  w.input = static_cast<const float*>(grad_output);
  w.weight = static_cast<const float*>(weight);
  w.weight_row = 9;
  w.weight_channel = 9 * c.in_channels;
  w.turned = true;
  w.output = static_cast<float*>(grad_input);
  return run(w);
}

bool backward_weight(const Convolution& c, const void* grad_output, const void* input, void* grad_weight) {
  WinogradGradient w;
  w.shape = forward_shape(c);
  const WinogradShape& s = w.shape;
  w.input = static_cast<const float*>(input);
  w.grad_output = static_cast<const float*>(grad_output);
  w.grad_weight = static_cast<float*>(grad_weight);
  const int64_t rows = s.batch * s.tiles_y();
  const int64_t at_a_time = at::divup(2 * kBlockFloats / (kWinogradProducts * (s.channels + s.rows)) + 64, s.tiles_x());
  const int64_t block = rows < at_a_time ? rows : at_a_time;
  const Scratch transformed_input(static_cast<size_t>(winograd_gradient_input_floats(s, block)) * sizeof(float));
  const Scratch transformed_grad(static_cast<size_t>(winograd_gradient_output_floats(s, block)) * sizeof(float));
  w.transformed_input = transformed_input.as<float>();
  w.transformed_grad = transformed_grad.as<float>();
  for (int64_t first = 0; first < rows; first += block) {
    w.first_row = first;
    w.tile_rows = rows - first < block ? rows - first : block;
    w.add = first > 0;
    at::parallel_for(0, winograd_gradient_transform_units(w), 1, [&](int64_t begin, int64_t end) {
      const Scratch stage(static_cast<size_t>(winograd_gradient_stage_floats(s)) * sizeof(float));
      winograd_gradient_transform(w, stage.as<float>(), begin, end);
    });
    at::parallel_for(0, winograd_gradient_units(w), 1, [&](int64_t begin, int64_t end) {
      const Scratch products(static_cast<size_t>(winograd_gradient_scratch_floats()) * sizeof(float));
      winograd_gradient_multiply(w, products.as<float>(), begin, end);
    });
  }
  return true;
}

}  // namespace

constinit const ConvolutionCandidate kWinogradConvolution{"winograd", false,          true,           refusal,
                                                          forward,    backward_input, backward_weight};

}  // namespace at::matrix::internal

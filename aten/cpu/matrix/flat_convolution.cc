// float32 convolutions of few output places or few input channels, with the weights and the result in the caller's
// layouts. There oneDNN spends as much time on copies into its own layouts as on the convolution.
#include <cstring>
#include <vector>

#include "aten/cpu/matrix/convolution_internal.h"
#include "aten/cpu/matrix/flat_convolution_tile.h"
#include "aten/cpu/matrix/internal.h"
#include "c10/parallel/parallel.h"

namespace at::matrix::internal {
namespace {

// One dimension of the padded copy. Input places whose distance is a multiple of the stride stand side by side in a
// part of their own: so neighbouring output places read neighbouring values at every stride.
struct Axis {
  int64_t input, padding, stride, extent;  // extent: of each part
  std::vector<int64_t> parts;              // the remainders by the stride that windows reach
  std::vector<int64_t> part, shift;        // of each window place

  Axis(const Convolution& c, int d)
      : input(c.input[d]), padding(c.padding[d]), stride(c.stride[d]), extent(c.output[d]) {
    int64_t farthest = 0;
    for (int64_t k = 0; k < c.kernel[d]; ++k) {
      const int64_t remainder = k * c.dilation[d] % stride;
      size_t p = 0;
      while (p < parts.size() && parts[p] != remainder) ++p;
      if (p == parts.size()) parts.push_back(remainder);
      part.push_back(static_cast<int64_t>(p));
      shift.push_back(k * c.dilation[d] / stride);
      farthest = shift.back() > farthest ? shift.back() : farthest;
    }
    extent += farthest;
  }
  int64_t count() const { return static_cast<int64_t>(parts.size()); }
  // The input place at index i of a part; outside [0, input) there is padding.
  int64_t place(int64_t p, int64_t i) const { return i * stride + parts[static_cast<size_t>(p)] - padding; }
};

void copy_row(const Axis& x, int64_t part, const float* from, float* to) {
  int64_t i = 0;
  for (; i < x.extent && x.place(part, i) < 0; ++i) to[i] = 0;
  if (x.stride == 1) {
    const int64_t at = x.place(part, i), left = x.input - at, room = x.extent - i;
    const int64_t count = left < 0 ? 0 : left < room ? left : room;
    if (count > 0) std::memcpy(to + i, from + at, static_cast<size_t>(count) * sizeof(float));
    i += count;
  } else {
    for (; i < x.extent && x.place(part, i) < x.input; ++i) to[i] = from[x.place(part, i)];
  }
  for (; i < x.extent; ++i) to[i] = 0;
}

// The copy of one channel.
void copy_channel(const Axis& y, const Axis& x, const float* from, float* to) {
  for (int64_t p = 0; p < y.count(); ++p)
    for (int64_t q = 0; q < x.count(); ++q)
      for (int64_t i = 0; i < y.extent; ++i, to += x.extent) {
        const int64_t row = y.place(p, i);
        if (row >= 0 && row < y.input)
          copy_row(x, q, from + row * x.input, to);
        else
          std::memset(to, 0, static_cast<size_t>(x.extent) * sizeof(float));
      }
}

int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

const char* refusal(const Convolution& c, ConvolutionPart part) {
  if (part != ConvolutionPart::kForward) return "only forward";
  if (c.type != Type::kFloat32 || c.dims > 2 || c.groups != 1)
    return "only float32 of one group in up to two dimensions";
  const int64_t places = c.output[1] * c.output[2], window = c.kernel[1] * c.kernel[2];
  const bool few_places = c.batch <= 2 && c.batch * places <= 200 && c.in_channels * window >= 64;
  const bool few_channels = c.in_channels <= 4 && c.in_channels * window >= 24 && places >= 1024;
  if (!few_places && !few_channels) return "neither few places nor few input channels";
  if (c.out_channels < 8) return "few output channels";
  if (is_product_in_place(c, part)) return "a product of what lies in memory";
  double area = 1, padded = 1;
  for (int d = 1; d < 3; ++d) {
    const int64_t reach = (c.kernel[d] - 1) * c.dilation[d];
    area *= static_cast<double>(c.output[d]);
    padded *= static_cast<double>(c.output[d] + reach / c.stride[d]);
  }
  // Tiles compute the padding between two rows as well.
  const double pitch = static_cast<double>(c.output[2] + (c.kernel[2] - 1) * c.dilation[2] / c.stride[2]);
  if (0.7 * pitch > static_cast<double>(c.output[2])) return "more padding than output";
  if (padded > 4 * area) return "a window of many rows";
  return nullptr;
}

bool forward(const Convolution& c, const void* input, const void* weight, const void* bias, void* output) {
  const Axis y(c, 1), x(c, 2);
  const int64_t part = y.extent * x.extent, places = c.output[1] * c.output[2];
  std::vector<int64_t> window;
  for (int64_t i = 0; i < c.kernel[1]; ++i)
    for (int64_t j = 0; j < c.kernel[2]; ++j) {
      const auto a = static_cast<size_t>(i), b = static_cast<size_t>(j);
      window.push_back((y.part[a] * x.count() + x.part[b]) * part + y.shift[a] * x.extent + x.shift[b]);
    }
  FlatConvolution flat;
  flat.channels = c.in_channels;
  flat.channel_step = y.count() * x.count() * part;
  flat.places = window.data();
  flat.window = static_cast<int64_t>(window.size());
  flat.weight = static_cast<const float*>(weight);
  flat.weight_row = c.in_channels * flat.window;
  flat.weight_channel = flat.window;
  flat.weight_place = 1;
  flat.bias = static_cast<const float*>(bias);
  flat.alpha = static_cast<float>(c.alpha);
  flat.relu = c.relu;
  flat.rows = c.out_channels;
  flat.pitch = x.extent;
  flat.height = c.output[1];
  flat.width = c.output[2];
  const int64_t copied = c.in_channels * flat.channel_step;
  const Scratch scratch(static_cast<size_t>(copied + kFlatSlack) * sizeof(float));
  float* const copy = scratch.as<float>();
  std::memset(copy + copied, 0, static_cast<size_t>(kFlatSlack) * sizeof(float));
  flat.input = copy;
  constexpr int64_t kWorthAThread = int64_t{1} << 18;
  const int64_t blocks = at::divup(c.out_channels, kFlatRows);
  const int64_t grain = at::divup(kWorthAThread, kFlatRows * flat.weight_row * places);
  for (int64_t n = 0; n < c.batch; ++n) {
    const float* const image = static_cast<const float*>(input) + n * c.in_channels * y.input * x.input;
    flat.output = static_cast<float*>(output) + n * c.out_channels * places;
    if (c.add != nullptr) flat.add = static_cast<const float*>(c.add) + n * c.out_channels * places;
    at::parallel_for(0, c.in_channels, at::divup(kWorthAThread / 4, flat.channel_step),
                     [&](int64_t begin, int64_t end) {
                       for (int64_t i = begin; i < end; ++i)
                         copy_channel(y, x, image + i * y.input * x.input, copy + i * flat.channel_step);
                     });
    at::parallel_for(0, blocks, grain, [&](int64_t begin, int64_t end) {
      flat_convolution_rows(flat, begin * kFlatRows, least(end * kFlatRows, c.out_channels));
    });
  }
  return true;
}

bool no_gradient(const Convolution&, const void*, const void*, void*) {
  return false;
}

}  // namespace

constinit const ConvolutionCandidate kFlatConvolution{"flat", false, true, refusal, forward, no_gradient, no_gradient};

}  // namespace at::matrix::internal

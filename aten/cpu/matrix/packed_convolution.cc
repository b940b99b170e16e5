// Convolutions as sums of matrix products, one for each place of the window: rows are output places, read where the
// input has them.
#include "aten/cpu/matrix/packed_convolution.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/matrix/packed_convolution.cc"
#include "hwy/foreach_target.h"
// clang-format off
#include "aten/cpu/isa_table.h"
#include "hwy/highway.h"
// clang-format on

#ifndef ATEN_CPU_MATRIX_PACKED_CONVOLUTION_ONCE_
#define ATEN_CPU_MATRIX_PACKED_CONVOLUTION_ONCE_
namespace at::matrix::internal {

// A window's places are taken one by one, or, where channels are few, row by row: `runs` runs of `length` numbers that
// lie side by side in the input.
struct ConvolutionRuns {
  int64_t rows, runs, length;  // of the window: rows, runs in a row
};

struct PackedCall {
  const Convolution* c;
  ConvolutionRuns window;
  const float* weights;
  const float* bias;  // filled up to whole strips
  const float* input;
  const float* zeros;  // as many as a run has
  const float* add;
  float low, high;
  float* output;
};

}  // namespace at::matrix::internal
#endif

HWY_BEFORE_NAMESPACE();
namespace at::matrix::internal {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// Channels are cut into strips of so many vectors, the last of fewer; tiles are as many places of a strip as there are
// registers for.
#if HWY_TARGET <= HWY_AVX3
constexpr int kStripVectors = 4, kTallest = 8;
#else
constexpr int kStripVectors = 2, kTallest = 6;
#endif

HWY_INLINE int64_t Lanes() {
  return static_cast<int64_t>(hn::Lanes(D()));
}

int64_t VectorChannels() {
  return Lanes();
}
int64_t StripChannels() {
  return kStripVectors * Lanes();
}

HWY_INLINE V Finish(V value, const float* add, V low, V high) {
  const D d;
  if (add != nullptr) value = hn::Add(value, hn::LoadU(d, add));
  value = hn::IfThenElse(hn::Lt(value, low), low, value);
  return hn::IfThenElse(hn::Gt(value, high), high, value);
}

// `rows` places of `wide` sums each, of which `valid` are channels that exist, `step` apart in the output.
HWY_NOINLINE void FinishPlaces(const PackedCall& p, const float* sums, int64_t rows, int64_t wide, int64_t valid,
                               int64_t step, const float* add, float* output) {
  const D d;
  const int64_t lanes = Lanes();
  const V low = hn::Set(d, p.low), high = hn::Set(d, p.high);
  for (int64_t r = 0; r < rows; ++r, sums += wide, output += step) {
    const float* more = add == nullptr ? nullptr : add + r * step;
    int64_t i = 0;
    for (; i + lanes <= valid; i += lanes) {
      hn::StoreU(Finish(hn::LoadU(d, sums + i), more == nullptr ? nullptr : more + i, low, high), d, output + i);
    }
    for (; i < valid; ++i) {
      float value = more == nullptr ? sums[i] : sums[i] + more[i];
      value = value < p.low ? p.low : value;
      output[i] = value > p.high ? p.high : value;
    }
  }
}

// kTall output places from number `first` of the image on, kWide vectors of channels from `channel` on.
template <int kTall, int kWide>
HWY_NOINLINE void PlacesTile(const PackedCall& p, const float* image, int64_t first, int64_t channel, const float* add,
                             float* output) {
  const D d;
  const Convolution& c = *p.c;
  const int64_t lanes = Lanes(), width = c.input[2], channels = c.in_channels;
  int64_t y[kTall], x[kTall];
  int64_t row_of_place = first / c.output[2], column_of_place = first % c.output[2];
  for (int r = 0; r < kTall; ++r) {
    y[r] = row_of_place * c.stride[1] - c.padding[1];
    x[r] = column_of_place * c.stride[2] - c.padding[2];
    if (++column_of_place == c.output[2]) column_of_place = 0, ++row_of_place;
  }
  V sum[kTall][kWide];
#pragma GCC unroll 4
  for (int v = 0; v < kWide; ++v) {
    const V bias = hn::LoadU(d, p.bias + channel + v * lanes);
#pragma GCC unroll 8
    for (int r = 0; r < kTall; ++r) sum[r][v] = bias;
  }
  const float* HWY_RESTRICT b = p.weights + channel * p.window.rows * p.window.runs * p.window.length;
  for (int64_t i = 0; i < p.window.rows; ++i) {
    for (int64_t j = 0; j < p.window.runs; ++j) {
      const float* from[kTall];
#pragma GCC unroll 8
      for (int r = 0; r < kTall; ++r) {
        const int64_t row = y[r] + i * c.dilation[1], column = x[r] + j * c.dilation[2];
        const bool inside = row >= 0 && row < c.input[1] && column >= 0 && column < width;
        from[r] = inside ? image + (row * width + column) * channels : p.zeros;
      }
      for (int64_t k = 0; k < p.window.length; ++k, b += kWide * lanes) {
        V row[kWide];
#pragma GCC unroll 4
        for (int v = 0; v < kWide; ++v) row[v] = hn::LoadU(d, b + v * lanes);
#pragma GCC unroll 8
        for (int r = 0; r < kTall; ++r) {
          const V value = hn::Set(d, from[r][k]);
#pragma GCC unroll 4
          for (int v = 0; v < kWide; ++v) sum[r][v] = hn::MulAdd(value, row[v], sum[r][v]);
        }
      }
    }
  }
  HWY_ALIGN float sums[kTall * kWide * HWY_MAX_BYTES / sizeof(float)];
#pragma GCC unroll 8
  for (int r = 0; r < kTall; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kWide; ++v) hn::Store(sum[r][v], d, sums + (r * kWide + v) * lanes);
  const int64_t at = first * c.out_channels + channel;
  FinishPlaces(p, sums, kTall, kWide * lanes, HWY_MIN(kWide * lanes, c.out_channels - channel), c.out_channels,
               add == nullptr ? nullptr : add + at, output + at);
}

template <int kTall, int kWide>
void StripPlaces(const PackedCall& p, int64_t image, int64_t begin, int64_t end, int64_t channel) {
  const Convolution& c = *p.c;
  const int64_t places = c.output[1] * c.output[2];
  const float* input = p.input + image * c.input[1] * c.input[2] * c.in_channels;
  const float* add = p.add == nullptr ? nullptr : p.add + image * places * c.out_channels;
  float* output = p.output + image * places * c.out_channels;
  int64_t i = begin;
  for (; i + kTall <= end; i += kTall) PlacesTile<kTall, kWide>(p, input, i, channel, add, output);
  for (; i + 3 <= end; i += 3) PlacesTile<3, kWide>(p, input, i, channel, add, output);
  for (; i < end; ++i) PlacesTile<1, kWide>(p, input, i, channel, add, output);
}

// Places [begin, end) of an image, one strip of channels.
void DensePlaces(const PackedCall& p, int64_t image, int64_t begin, int64_t end, int64_t channel) {
  const int64_t vectors = (p.c->out_channels - channel + Lanes() - 1) / Lanes();
#if HWY_TARGET <= HWY_AVX3
  if (vectors >= 4) return StripPlaces<6, 4>(p, image, begin, end, channel);
  if (vectors == 3) return StripPlaces<kTallest, 3>(p, image, begin, end, channel);
#endif
  if (vectors >= 2) return StripPlaces<kTallest, 2>(p, image, begin, end, channel);
  StripPlaces<kTallest, 1>(p, image, begin, end, channel);
}

// One place alone: several strips at a time, whose sums hide the latency of a multiply-add. Whole strips only.
#if HWY_TARGET <= HWY_AVX3
constexpr int kStripsAtOnce = 2;
#else
constexpr int kStripsAtOnce = 4;
#endif
HWY_NOINLINE void PlaceOfStrips(const PackedCall& p, int64_t channel) {
  const D d;
  const Convolution& c = *p.c;
  const int64_t lanes = Lanes(), strip = kStripVectors * lanes, width = c.input[2];
  const int64_t numbers = p.window.rows * p.window.runs * p.window.length;
  V sum[kStripsAtOnce][kStripVectors];
#pragma GCC unroll 4
  for (int s = 0; s < kStripsAtOnce; ++s)
#pragma GCC unroll 4
    for (int v = 0; v < kStripVectors; ++v) sum[s][v] = hn::LoadU(d, p.bias + channel + s * strip + v * lanes);
  const float* HWY_RESTRICT b = p.weights + channel * numbers;
  for (int64_t i = 0; i < p.window.rows; ++i) {
    for (int64_t j = 0; j < p.window.runs; ++j) {
      const int64_t row = i * c.dilation[1] - c.padding[1], column = j * c.dilation[2] - c.padding[2];
      const bool inside = row >= 0 && row < c.input[1] && column >= 0 && column < width;
      const float* from = inside ? p.input + (row * width + column) * c.in_channels : p.zeros;
      for (int64_t k = 0; k < p.window.length; ++k, b += strip) {
        const V value = hn::Set(d, from[k]);
#pragma GCC unroll 4
        for (int s = 0; s < kStripsAtOnce; ++s)
#pragma GCC unroll 4
          for (int v = 0; v < kStripVectors; ++v)
            sum[s][v] = hn::MulAdd(value, hn::LoadU(d, b + s * numbers * strip + v * lanes), sum[s][v]);
      }
    }
  }
  HWY_ALIGN float sums[kStripsAtOnce * kStripVectors * HWY_MAX_BYTES / sizeof(float)];
#pragma GCC unroll 4
  for (int s = 0; s < kStripsAtOnce; ++s)
#pragma GCC unroll 4
    for (int v = 0; v < kStripVectors; ++v) hn::Store(sum[s][v], d, sums + (s * kStripVectors + v) * lanes);
  FinishPlaces(p, sums, 1, kStripsAtOnce * strip, HWY_MIN(kStripsAtOnce * strip, c.out_channels - channel), 0,
               p.add == nullptr ? nullptr : p.add + channel, p.output + channel);
}

// Strips [begin, end) of the only place there is.
void SinglePlace(const PackedCall& p, int64_t begin, int64_t end) {
  const int64_t strip = StripChannels(), whole = p.c->out_channels / strip;
  int64_t i = begin;
  for (; i + kStripsAtOnce <= HWY_MIN(end, whole); i += kStripsAtOnce) PlaceOfStrips(p, i * strip);
  for (; i < end; ++i) DensePlaces(p, 0, 0, 1, i * strip);
}

// Rows [begin, end) of the output of an image, each channel from its own: vectors are channels.
void DepthwiseRows(const PackedCall& p, int64_t image, int64_t begin, int64_t end) {
  const D d;
  const Convolution& c = *p.c;
  const int64_t lanes = Lanes(), channels = c.in_channels, width = c.input[2], columns = c.output[2];
  const float* input = p.input + image * c.input[1] * width * channels;
  const V low = hn::Set(d, p.low), high = hn::Set(d, p.high);
  constexpr int kAtOnce = 4;
  for (int64_t oy = begin; oy < end; ++oy) {
    const int64_t y = oy * c.stride[1] - c.padding[1];
    const int64_t line = (image * c.output[1] + oy) * columns * channels;
    for (int64_t channel = 0; channel < channels; channel += lanes) {
      const int64_t valid = channels - channel < lanes ? channels - channel : lanes;
      // The last vector reaches beyond the channels, into the next places, where there are some.
      const float* const image_end = input + c.input[1] * width * channels;
      const auto load = [&](const float* from) {
        if (valid == lanes || from + lanes <= image_end) return hn::LoadU(d, from);
        HWY_ALIGN float buffer[HWY_MAX_BYTES / sizeof(float)] = {};
        for (int64_t l = 0; l < valid; ++l) buffer[l] = from[l];
        return hn::Load(d, buffer);
      };
      const auto store = [&](V value, int64_t at) {
        const float* add = p.add == nullptr ? nullptr : p.add + at;
        if (valid == lanes) return hn::StoreU(Finish(value, add, low, high), d, p.output + at);
        HWY_ALIGN float buffer[HWY_MAX_BYTES / sizeof(float)], more[HWY_MAX_BYTES / sizeof(float)] = {};
        for (int64_t l = 0; add != nullptr && l < valid; ++l) more[l] = add[l];
        hn::Store(Finish(value, add == nullptr ? nullptr : more, low, high), d, buffer);
        for (int64_t l = 0; l < valid; ++l) p.output[at + l] = buffer[l];
      };
      const V bias = hn::LoadU(d, p.bias + channel);
      const float* weights = p.weights + channel * c.kernel[1] * c.kernel[2];
      int64_t ox = 0;
      const auto inside = [&](int64_t place, int64_t count) {
        const int64_t first = place * c.stride[2] - c.padding[2];
        const int64_t last = (place + count - 1) * c.stride[2] - c.padding[2] + (c.kernel[2] - 1) * c.dilation[2];
        return first >= 0 && last < width && valid == lanes;
      };
      while (ox < columns) {
        if (ox + kAtOnce <= columns && inside(ox, kAtOnce)) {
          V sum[kAtOnce];
#pragma GCC unroll 4
          for (int r = 0; r < kAtOnce; ++r) sum[r] = bias;
          for (int64_t i = 0; i < c.kernel[1]; ++i) {
            const int64_t row = y + i * c.dilation[1];
            if (row < 0 || row >= c.input[1]) continue;
            const float* from = input + (row * width + ox * c.stride[2] - c.padding[2]) * channels + channel;
            const float* w = weights + i * c.kernel[2] * lanes;
            for (int64_t j = 0; j < c.kernel[2]; ++j, from += c.dilation[2] * channels, w += lanes) {
              const V weight = hn::Load(d, w);
#pragma GCC unroll 4
              for (int r = 0; r < kAtOnce; ++r) {
                sum[r] = hn::MulAdd(hn::LoadU(d, from + r * c.stride[2] * channels), weight, sum[r]);
              }
            }
          }
#pragma GCC unroll 4
          for (int r = 0; r < kAtOnce; ++r) store(sum[r], line + (ox + r) * channels + channel);
          ox += kAtOnce;
          continue;
        }
        V sum = bias;
        for (int64_t i = 0; i < c.kernel[1]; ++i) {
          const int64_t row = y + i * c.dilation[1];
          if (row < 0 || row >= c.input[1]) continue;
          for (int64_t j = 0; j < c.kernel[2]; ++j) {
            const int64_t column = ox * c.stride[2] - c.padding[2] + j * c.dilation[2];
            if (column < 0 || column >= width) continue;
            sum = hn::MulAdd(load(input + (row * width + column) * channels + channel),
                             hn::Load(d, weights + (i * c.kernel[2] + j) * lanes), sum);
          }
        }
        store(sum, line + ox * channels + channel);
        ++ox;
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace at::matrix::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <cstring>

#include "c10/parallel/parallel.h"

namespace at::matrix {
namespace internal {
namespace {

bool is_depthwise(const Convolution& c) {
  return c.groups > 1;
}

// Output channels that the instruction set works on together; the last strip has fewer vectors of them.
int64_t vector_channels() {
  return AT_ISA_FUNCTION(VectorChannels)();
}
int64_t strip(const Convolution& c) {
  return is_depthwise(c) ? vector_channels() : AT_ISA_FUNCTION(StripChannels)();
}
int64_t filled(const Convolution& c) {
  return at::divup(c.out_channels, vector_channels()) * vector_channels();
}
int64_t window_numbers(const Convolution& c) {
  return c.kernel[1] * c.kernel[2] * (is_depthwise(c) ? 1 : c.in_channels);
}

// Fewer channels are read a row of the window at a time, from a copy with its padding.
constexpr int64_t kFewChannels = 16;
bool reads_rows(const Convolution& c) {
  return !is_depthwise(c) && c.in_channels < kFewChannels && c.kernel[2] > 1 && c.dilation[2] == 1;
}

size_t packed_floats(const Convolution& c) {
  // The bias, and zeros for places outside.
  return static_cast<size_t>(filled(c) * (window_numbers(c) + 1) + c.in_channels);
}

// The input with its padding.
void pad(const Convolution& c, const float* from, float* to) {
  const int64_t row = c.input[2] * c.in_channels, side = c.padding[2] * c.in_channels;
  const int64_t width = row + 2 * side, height = c.input[1] + 2 * c.padding[1];
  at::parallel_for(0, c.batch * height, at::divup(32768, width), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / height, y = i % height - c.padding[1];
      float* line = to + i * width;
      if (y < 0 || y >= c.input[1]) {
        std::fill(line, line + width, 0.0f);
        continue;
      }
      std::fill(line, line + side, 0.0f);
      std::memcpy(line + side, from + (image * c.input[1] + y) * row, static_cast<size_t>(row) * sizeof(float));
      std::fill(line + side + row, line + width, 0.0f);
    }
  });
}

}  // namespace
}  // namespace internal

const char* PackedConvolution::refusal(const Convolution& c) {
  if (c.type != Type::kFloat32) return "only float32";
  if (c.dims > 2) return "only one or two dimensions";
  if (!c.channels_last) return "only channels that lie side by side";
  if (c.groups != 1 && (c.groups != c.in_channels || c.groups != c.out_channels)) return "groups of several channels";
  return nullptr;
}

PackedConvolution::PackedConvolution(const Convolution& c, const void* weight, const void* bias)
    : packed_(internal::packed_floats(c) * sizeof(float)) {
  const int64_t wide = internal::strip(c), channels = internal::filled(c), numbers = internal::window_numbers(c);
  const int64_t places = c.kernel[1] * c.kernel[2], inner = numbers / places;
  const float* from = static_cast<const float*>(weight);
  float* to = packed_.as<float>();
  // Strip after strip: for each place of the window and input channel, the strip's output channels.
  for (int64_t first = 0; first < channels; first += wide) {
    const int64_t last = std::min(channels, first + wide);
    for (int64_t place = 0; place < places; ++place) {
      for (int64_t i = 0; i < inner; ++i) {
        for (int64_t j = first; j < last; ++j) {
          *to++ = j < c.out_channels ? from[(j * inner + i) * places + place] : 0;
        }
      }
    }
  }
  const float* biases = static_cast<const float*>(bias);
  for (int64_t j = 0; j < channels; ++j) *to++ = biases != nullptr && j < c.out_channels ? biases[j] : 0;
  std::fill(to, to + c.in_channels, 0.0f);
}

void PackedConvolution::run(const Convolution& given, const float* input, const float* add, float low, float high,
                            float* output) const {
  using namespace internal;
  Convolution c = given;
  PackedCall p;
  p.c = &c;
  p.window = {c.kernel[1], c.kernel[2], c.in_channels};
  p.weights = packed_.as<float>();
  p.bias = p.weights + filled(c) * window_numbers(c);
  p.zeros = p.bias + filled(c);
  p.input = input;
  p.add = add;
  p.low = low, p.high = high;
  p.output = output;
  constexpr double kWorthAThread = 1 << 18;
  const double work = static_cast<double>(window_numbers(c));
  if (is_depthwise(c)) {
    const double row = work * static_cast<double>(c.output[2] * c.out_channels) * 4;
    const int64_t grain = std::max<int64_t>(1, static_cast<int64_t>(kWorthAThread / (row + 1)));
    const auto rows = AT_ISA_FUNCTION(DepthwiseRows);
    at::parallel_for(0, c.batch * c.output[1], grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end;) {
        const int64_t image = i / c.output[1], first = i % c.output[1], last = std::min(c.output[1], first + end - i);
        rows(p, image, first, last);
        i += last - first;
      }
    });
    return;
  }
  cpu::ReusedScratch padded;
  if (reads_rows(c)) {
    p.window = {c.kernel[1], 1, c.kernel[2] * c.in_channels};
    const int64_t height = c.input[1] + 2 * c.padding[1], width = c.input[2] + 2 * c.padding[2];
    float* copy = padded.at_least<float>(static_cast<size_t>(c.batch * height * width * c.in_channels));
    pad(c, input, copy);
    p.input = copy;
    c.input[1] = height, c.input[2] = width;
    c.padding[1] = c.padding[2] = 0;
  }
  const int64_t places = c.output[1] * c.output[2], strips = at::divup(c.out_channels, strip(c));
  if (c.batch * places == 1) {
    const auto single = AT_ISA_FUNCTION(SinglePlace);
    const int64_t grain =
        std::max<int64_t>(4, static_cast<int64_t>(kWorthAThread / (work * static_cast<double>(strip(c)) + 1)));
    if (grain >= strips) return single(p, 0, strips);
    at::parallel_for(0, strips, grain, [&](int64_t begin, int64_t end) { single(p, begin, end); });
    return;
  }
  // Pieces of places whose input stays in the second cache, for all strips.
  constexpr int64_t kPieceBytes = int64_t{256} << 10;
  const int64_t place_bytes = c.stride[1] * c.stride[2] * c.in_channels * static_cast<int64_t>(sizeof(float));
  int64_t piece = std::max<int64_t>(kPieceBytes / place_bytes / 24, 1) * 24;
  if (piece > places) piece = places;
  const int64_t pieces = at::divup(places, piece);
  const double tile = work * static_cast<double>(piece * strip(c));
  const int64_t grain = std::max<int64_t>(1, static_cast<int64_t>(kWorthAThread / (tile + 1)));
  const auto dense = AT_ISA_FUNCTION(DensePlaces);
  at::parallel_for(0, c.batch * pieces * strips, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / (pieces * strips), at = i / strips % pieces, which = i % strips;
      dense(p, image, at * piece, std::min(places, (at + 1) * piece), which * strip(c));
    }
  });
}

}  // namespace at::matrix
#endif  // HWY_ONCE

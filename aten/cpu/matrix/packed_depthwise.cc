#include "aten/cpu/matrix/packed_depthwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/matrix/packed_depthwise.cc"
#include "hwy/foreach_target.h"
// clang-format off
#include "aten/cpu/isa_table.h"
#include "hwy/highway.h"
#include "aten/cpu/matrix/packed_tile-inl.h"
// clang-format on

#ifndef ATEN_CPU_MATRIX_PACKED_DEPTHWISE_ONCE_
#define ATEN_CPU_MATRIX_PACKED_DEPTHWISE_ONCE_
namespace at::matrix::internal {

struct DepthwiseCall {
  const Convolution* c;
  const float* weights;  // vector after vector of channels, for each place of the window
  const float* bias;
  const float* image;
  const float* add;  // of the image, like its output, or null
  float low, high;
  float* output;
};

}  // namespace at::matrix::internal
#endif

HWY_BEFORE_NAMESPACE();
namespace at::matrix::internal {
namespace HWY_NAMESPACE {

// The first n numbers of a vector, where there are no more.
HWY_INLINE V LoadFew(const float* from, int64_t n) {
  HWY_ALIGN float buffer[HWY_MAX_BYTES / sizeof(float)] = {};
  for (int64_t i = 0; i < n; ++i) buffer[i] = from[i];
  return hn::Load(D(), buffer);
}
HWY_INLINE void StoreFew(V value, float* to, int64_t n) {
  HWY_ALIGN float buffer[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(value, D(), buffer);
  for (int64_t i = 0; i < n; ++i) to[i] = buffer[i];
}

// A vector of channels of places side by side, whose windows begin at `from` in the image. Rows [first, last) and
// columns [left, right) of the windows lie inside it.
struct Window {
  int64_t first, last, left, right;
};
// kColumns: of windows that are not cut, whose places lie as far apart as they do; or 0.
template <int kPlaces, int kColumns, bool kWhole>
HWY_INLINE void DepthwiseVector(const DepthwiseCall& p, const Window& in, const float* from, int64_t channel,
                                int64_t at) {
  const D d;
  const Convolution& c = *p.c;
  const int64_t lanes = Lanes(), channels = c.in_channels, across = c.dilation[2] * channels, few = channels - channel;
  const int64_t down = c.dilation[1] * c.input[2] * channels, apart = c.stride[2] * channels;
  const float* const weights = p.weights + channel * c.kernel[1] * c.kernel[2];
  const auto load = [&](const float* x) { return kWhole ? hn::LoadU(d, x) : LoadFew(x, few); };
  V sums[kPlaces];
  const V bias = hn::LoadU(d, p.bias + channel);
#pragma GCC unroll 4
  for (int r = 0; r < kPlaces; ++r) sums[r] = bias;
  for (int64_t i = in.first; i < in.last; ++i) {
    const float* row = from + i * down + in.left * across + channel;
    const float* w = weights + (i * c.kernel[2] + in.left) * lanes;
    if constexpr (kColumns > 0) {
      // Places side by side share what they read.
      V x[kPlaces + kColumns - 1];
#pragma GCC unroll 8
      for (int j = 0; j < kPlaces + kColumns - 1; ++j) x[j] = load(row + j * across);
#pragma GCC unroll 4
      for (int j = 0; j < kColumns; ++j) {
        const V weight = hn::LoadU(d, w + j * lanes);
#pragma GCC unroll 4
        for (int r = 0; r < kPlaces; ++r) sums[r] = hn::MulAdd(x[r + j], weight, sums[r]);
      }
      continue;
    }
    for (int64_t j = in.left; j < in.right; ++j, row += across, w += lanes) {
      const V weight = hn::LoadU(d, w);
#pragma GCC unroll 4
      for (int r = 0; r < kPlaces; ++r) sums[r] = hn::MulAdd(load(row + r * apart), weight, sums[r]);
    }
  }
  const V low = hn::Set(d, p.low), high = hn::Set(d, p.high);
#pragma GCC unroll 4
  for (int r = 0; r < kPlaces; ++r) {
    const int64_t to = at + r * channels + channel;
    const V sum = p.add == nullptr ? sums[r] : hn::Add(sums[r], load(p.add + to));
    const V result = Finish(sum, nullptr, low, high);
    kWhole ? hn::StoreU(result, d, p.output + to) : StoreFew(result, p.output + to, few);
  }
}

template <int kPlaces, int kColumns>
HWY_NOINLINE void DepthwisePlaces(const DepthwiseCall& p, const Window& in, const float* from, int64_t at) {
  const int64_t channels = p.c->in_channels, lanes = Lanes();
  int64_t channel = 0;
  for (; channel + lanes <= channels; channel += lanes)
    DepthwiseVector<kPlaces, kColumns, true>(p, in, from, channel, at);
  if (channel < channels) DepthwiseVector<kPlaces, kColumns, false>(p, in, from, channel, at);
}

// Rows [begin, end) of the output of an image.
void DepthwiseRows(const DepthwiseCall& p, int64_t begin, int64_t end) {
  const Convolution& c = *p.c;
  const int64_t channels = c.in_channels, columns = c.output[2];
  // The first and the last place of the window along `d` that lies inside, where it begins at `at`.
  const auto first_inside = [&](int64_t at, int d) { return at >= 0 ? 0 : (-at + c.dilation[d] - 1) / c.dilation[d]; };
  const auto last_inside = [&](int64_t at, int d) {
    const int64_t left = c.input[d] - at;
    return left <= 0 ? 0 : HWY_MIN(c.kernel[d], (left + c.dilation[d] - 1) / c.dilation[d]);
  };
  for (int64_t oy = begin; oy < end; ++oy) {
    const int64_t y = oy * c.stride[1] - c.padding[1];
    const int64_t first = first_inside(y, 1), last = last_inside(y, 1);
    constexpr int kAtOnce = 4;
    for (int64_t ox = 0; ox < columns;) {
      const int64_t x = ox * c.stride[2] - c.padding[2];
      const int64_t at = (oy * columns + ox) * channels;
      const float* const from = p.image + (y * c.input[2] + x) * channels;
      const int64_t last_x = x + (kAtOnce - 1) * c.stride[2];
      if (ox + kAtOnce <= columns && first_inside(x, 2) == 0 && last_inside(last_x, 2) == c.kernel[2]) {
        const Window window{first, last, 0, c.kernel[2]};
        c.kernel[2] == 3 && c.stride[2] == c.dilation[2] ? DepthwisePlaces<kAtOnce, 3>(p, window, from, at)
                                                         : DepthwisePlaces<kAtOnce, 0>(p, window, from, at);
        ox += kAtOnce;
      } else {
        DepthwisePlaces<1, 0>(p, {first, last, first_inside(x, 2), last_inside(x, 2)}, from, at);
        ++ox;
      }
    }
  }
}

int64_t DepthwiseLanes() {
  return Lanes();
}

}  // namespace HWY_NAMESPACE
}  // namespace at::matrix::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

#include "aten/cpu/matrix/packed_convolution.h"
#include "c10/parallel/parallel.h"

namespace at::matrix {
namespace internal {
namespace {

int64_t filled(const Convolution& c) {
  return rounded_up(c.out_channels, AT_ISA_FUNCTION(DepthwiseLanes)());
}

}  // namespace
}  // namespace internal

const char* PackedDepthwise::refusal(const Convolution& c) {
  Convolution whole = c;
  whole.groups = 1;
  if (const char* why = PackedConvolution::refusal(whole)) return why;
  if (c.groups != c.in_channels || c.groups != c.out_channels) return "only groups of one channel";
  return nullptr;
}

PackedDepthwise::PackedDepthwise(const Convolution& c, const float* weight, const float* bias)
    : packed_(internal::filled(c) * (c.kernel[1] * c.kernel[2] + 1)) {
  using namespace internal;
  const int64_t lanes = AT_ISA_FUNCTION(DepthwiseLanes)();
  float* to = pack_strips(weight, c.out_channels, 1, c.kernel[1] * c.kernel[2], lanes, lanes, packed_.data());
  pack_bias(bias, c.out_channels, lanes, to);
}

void PackedDepthwise::run(const Convolution& c, const float* input, const float* add, float low, float high,
                          float* output) const {
  using namespace internal;
  const float* const weights = packed_.data();
  const int64_t places = c.kernel[1] * c.kernel[2];
  const int64_t image = c.input[1] * c.input[2] * c.in_channels, result = c.output[1] * c.output[2] * c.out_channels;
  constexpr int64_t kWorthAThread = 1 << 16;  // multiply-adds
  const int64_t grain = kWorthAThread / (places * c.output[2] * c.out_channels + 1) + 1;
  const auto rows = AT_ISA_FUNCTION(DepthwiseRows);
  at::parallel_for(0, c.batch * c.output[1], grain, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t n = begin / c.output[1], first = begin % c.output[1],
                    last = std::min(c.output[1], first + end - begin);
      const DepthwiseCall call{
          &c,  weights, weights + filled(c) * places, input + n * image, add == nullptr ? nullptr : add + n * result,
          low, high,    output + n * result};
      rows(call, first, last);
      begin += last - first;
    }
  });
}

}  // namespace at::matrix
#endif  // HWY_ONCE

// Convolutions as sums of matrix products, one for each place of the window: rows are output places, read where the
// input has them.
#include "aten/cpu/matrix/packed_convolution.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/matrix/packed_convolution.cc"
#include "hwy/foreach_target.h"
// clang-format off
#include "aten/cpu/isa_table.h"
#include "hwy/highway.h"
#include "aten/cpu/matrix/packed_tile-inl.h"
// clang-format on

#ifndef ATEN_CPU_MATRIX_PACKED_CONVOLUTION_ONCE_
#define ATEN_CPU_MATRIX_PACKED_CONVOLUTION_ONCE_
namespace at::matrix::internal {

// An image under a window, whose places are taken one by one, or, where channels are few, row by row: `runs` runs of
// `length` numbers that lie side by side.
struct WindowCall {
  const Convolution* c;
  int64_t rows, runs, length;  // of the window: rows, runs in a row
  const float* image;
  const float* zeros;  // as many as a run has
};

}  // namespace at::matrix::internal
#endif

HWY_BEFORE_NAMESPACE();
namespace at::matrix::internal {
namespace HWY_NAMESPACE {

struct Windows {
  const WindowCall& w;
  template <int kRows, class Run, class Skip>
  HWY_INLINE void Visit(int64_t first, const Run& run, const Skip& skip) const {
    const Convolution& c = *w.c;
    const int64_t width = c.input[2], channels = c.in_channels;
    // The window's first place of each row, and whether no row's window reaches beyond the image.
    int64_t y[kRows], x[kRows], row_of_place = first / c.output[2], column_of_place = first % c.output[2];
    const float* corner[kRows];
    bool whole = true;
    const int64_t last_y = c.input[1] - 1 - (w.rows - 1) * c.dilation[1],
                  last_x = width - 1 - (w.runs - 1) * c.dilation[2];
    for (int r = 0; r < kRows; ++r) {
      y[r] = row_of_place * c.stride[1] - c.padding[1];
      x[r] = column_of_place * c.stride[2] - c.padding[2];
      corner[r] = w.image + (y[r] * width + x[r]) * channels;
      whole = whole && y[r] >= 0 && y[r] <= last_y && x[r] >= 0 && x[r] <= last_x;
      if (++column_of_place == c.output[2]) column_of_place = 0, ++row_of_place;
    }
    for (int64_t i = 0; i < w.rows; ++i) {
      for (int64_t j = 0; j < w.runs; ++j) {
        const float* from[kRows];
        const int64_t down = i * c.dilation[1], right = j * c.dilation[2], offset = (down * width + right) * channels;
#pragma GCC unroll 12
        for (int r = 0; r < kRows; ++r) from[r] = corner[r] + offset;
        if (!whole) {
          bool any = false;
          for (int r = 0; r < kRows; ++r) {
            const int64_t row = y[r] + down, column = x[r] + right;
            const bool inside = row >= 0 && row < c.input[1] && column >= 0 && column < width;
            if (!inside) from[r] = w.zeros;
            any = any || inside;
          }
          if (!any) {
            skip(w.length);
            continue;
          }
        }
        run(from, w.length);
      }
    }
  }
};

void MultiplyWindows(const PackedLayer& l, const WindowCall& w, int64_t begin, int64_t end, int64_t first_strip,
                     int64_t last_strip) {
  Multiply<float>(Windows{w}, l, begin, end, first_strip, last_strip);
}

int64_t WindowStrip() {
  return Strip();
}
int64_t WindowFilledTo() {
  return FilledTo();
}

}  // namespace HWY_NAMESPACE
}  // namespace at::matrix::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <cstring>

#include "aten/cpu/matrix/packed_pieces.h"
#include "c10/parallel/parallel.h"

namespace at::matrix {
namespace internal {
namespace {

int64_t filled(const Convolution& c) {
  return rounded_up(c.out_channels, AT_ISA_FUNCTION(WindowFilledTo)());
}
int64_t window_numbers(const Convolution& c) {
  return c.kernel[1] * c.kernel[2] * c.in_channels;
}

// Fewer channels are read a row of the window at a time, from a copy with its padding.
constexpr int64_t kFewChannels = 16;
bool reads_rows(const Convolution& c) {
  return c.in_channels < kFewChannels && c.kernel[2] > 1 && c.dilation[2] == 1;
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
  if (c.groups != 1) return "only one group";
  return nullptr;
}

PackedConvolution::PackedConvolution(const Convolution& c, const float* weight, const float* bias)
    : packed_(internal::filled(c) * (internal::window_numbers(c) + 1) + c.in_channels) {
  using namespace internal;
  const int64_t vector = AT_ISA_FUNCTION(WindowFilledTo)();
  float* to = pack_strips(weight, c.out_channels, c.in_channels, c.kernel[1] * c.kernel[2],
                          AT_ISA_FUNCTION(WindowStrip)(), vector, packed_.data());
  to = pack_bias(bias, c.out_channels, vector, to);
  std::fill(to, to + c.in_channels, 0.0f);
}

int64_t PackedConvolution::scratch_floats(const Convolution& c) {
  if (!internal::reads_rows(c)) return 0;
  return c.batch * (c.input[1] + 2 * c.padding[1]) * (c.input[2] + 2 * c.padding[2]) * c.in_channels;
}

void PackedConvolution::run(const Convolution& given, const float* input, const float* add, float low, float high,
                            float* output, float* scratch) const {
  using namespace internal;
  Convolution c = given;
  const float* const weights = packed_.data();
  const float* const bias = weights + filled(c) * window_numbers(c);
  WindowCall w{&c, c.kernel[1], c.kernel[2], c.in_channels, input, bias + filled(c)};
  if (reads_rows(c)) {
    w.runs = 1, w.length = c.kernel[2] * c.in_channels;
    pad(c, input, scratch);
    w.image = scratch;
    for (int d = 1; d < 3; ++d) c.input[d] += 2 * c.padding[d], c.padding[d] = 0;
  }
  const int64_t places = c.output[1] * c.output[2], strip = AT_ISA_FUNCTION(WindowStrip)();
  const int64_t strips = at::divup(c.out_channels, strip), numbers = window_numbers(c);
  const auto multiply = AT_ISA_FUNCTION(MultiplyWindows);
  // Pieces of places whose input stays in the second cache, for all strips; whole tiles.
  constexpr int64_t kPieceFloats = 1 << 16, kTile = 24;
  const int64_t place_floats = c.stride[1] * c.stride[2] * c.in_channels;
  const int64_t piece = std::min(places, std::max<int64_t>(kPieceFloats / place_floats / kTile, 1) * kTile);
  const int64_t pieces = at::divup(places, std::max<int64_t>(piece, 1));
  const int64_t image = c.input[1] * c.input[2] * c.in_channels, result = places * c.out_channels;
  visit_pieces(c.batch * pieces, 1, strips, numbers * piece * strip,
               [&](int64_t at, int64_t, int64_t first, int64_t last) {
                 const int64_t n = at / pieces, begin = at % pieces * piece;
                 WindowCall of_image = w;
                 of_image.image += n * image;
                 const PackedLayer l{weights, nullptr,        bias,
                                     numbers, c.out_channels, add == nullptr ? nullptr : add + n * result,
                                     low,     high,           output + n * result};
                 multiply(l, of_image, begin, std::min(places, begin + piece), first, last);
               });
}

}  // namespace at::matrix
#endif  // HWY_ONCE

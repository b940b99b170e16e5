#pragma once

#include <cstdint>

// A convolution as a product whose right factor is never built: in a copy of an image with its padding, row behind row, the
// input values of one window place for neighbouring output places are neighbours. The left factor, the weights, is read where
// it lies, each value once for every tile of outputs; it is not packed.

namespace at::matrix::internal {

struct FlatConvolution {
  const float* input = nullptr;        // the padded copy of one image
  int64_t channels = 0;                // summed over
  int64_t channel_step = 0;            // in the padded copy
  const int64_t* places = nullptr;     // of the window places in a channel of the padded copy
  int64_t window = 0;                  // their number
  const float* weight = nullptr;       // of the first output channel, first channel and first window place
  int64_t weight_row = 0;              // from one output channel to the next,
  int64_t weight_channel = 0;          // from one channel to the next
  int64_t weight_place = 0;            // and from one window place to the next
  const float* bias = nullptr;         // or null
  float* output = nullptr;             // of one image
  const float* add = nullptr;          // alpha times this is added to the output, or null
  float alpha = 1;
  bool relu = false;                   // what is below 0 becomes 0
  int64_t rows = 0;                    // output channels
  int64_t pitch = 0;                   // of a row of the padded copy
  int64_t height = 0, width = 0;       // of the output
};

/// Floats behind the last input value that tiles may read (and do not use).
inline constexpr int64_t kFlatSlack = 64;

/// How many output channels one call of flat_convolution_rows should get.
inline constexpr int64_t kFlatRows = 12;

/// Computes the output channels [first, last).
void flat_convolution_rows(const FlatConvolution& c, int64_t first, int64_t last);

}  // namespace at::matrix::internal

// Options of PixelShuffle, PixelUnshuffle and ChannelShuffle.
#pragma once

#include <cstdint>

#include "c10/util/arg.h"

namespace torch::nn {

struct PixelShuffleOptions {
  PixelShuffleOptions(int64_t upscale_factor) : upscale_factor_(upscale_factor) {}
  TORCH_ARG(int64_t, upscale_factor);
};

struct PixelUnshuffleOptions {
  PixelUnshuffleOptions(int64_t downscale_factor) : downscale_factor_(downscale_factor) {}
  TORCH_ARG(int64_t, downscale_factor);
};

struct ChannelShuffleOptions {
  ChannelShuffleOptions(int64_t groups) : groups_(groups) {}
  TORCH_ARG(int64_t, groups);
};

namespace functional {
using PixelShuffleFuncOptions = PixelShuffleOptions;
using PixelUnshuffleFuncOptions = PixelUnshuffleOptions;
using ChannelShuffleFuncOptions = ChannelShuffleOptions;
}  // namespace functional
}  // namespace torch::nn

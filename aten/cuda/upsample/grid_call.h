#pragma once

#include "aten/cuda/spatial/spatial_call.h"
#include "aten/ops/upsample/grid_formulas.h"

namespace at::cuda {

using native::Sampling;

/// out[n][c][place] = what the grid, dense [batch][places][dims], reads from `in`. `group` channels a thread.
struct GridSampleCall {
  const char* name;
  ScalarType dtype;
  Sampling sampling;
  SpatialSizes sizes;  // of `out`, with groups for channels
  Volume in, out;
  const char* grid;
  int group;
};
void launch_grid_sample(const GridSampleCall& call);

/// What `count` places of a grid read, as tables: tap k of place i stands at k * count + i. An index is that of a plane
/// of images [images][plane], which follow each other by `places`; images * plane where nothing is read.
struct GridTaps {
  Sampling sampling;
  ScalarType dtype;
  uint32_t count, places;
  const char *grid, *direction;  // where the grid moves: then weights are derivatives along it; or null
  uint32_t* index;
  void *weight, *slope[3];  // in float, or double for double; null if nobody wants them
};
void launch_grid_taps(const char* name, const GridTaps& taps);

/// Dense images [images][channels][plane] and what the places are given or give, [images][channels][places].
struct GridImages {
  const char* name;
  ScalarType dtype;
  int64_t channels, plane;
  const char *image, *values;
  char* to;
};
/// to[image][c][place] = the sum over the taps.
void launch_grid_sum(const GridTaps& taps, const GridImages& images);
/// The gradient of the grid, to[place][dims]: the sum over channels and taps of slope * image * value.
void launch_grid_gradient(const GridTaps& taps, const GridImages& images);
/// The gradient of the images, to[image][c][plane]. `sorted` are the taps' indices in order, `order` where each stood,
/// `start`, one longer than all planes, is filled with where each element's begin.
void launch_grid_image_gradient(const GridTaps& taps, const GridImages& images, const uint32_t* sorted,
                                const int32_t* order, uint32_t* start);

/// The numbers 0, 1, 2, ...
void launch_grid_numbers(const char* name, int32_t* numbers, uint32_t n);

}  // namespace at::cuda

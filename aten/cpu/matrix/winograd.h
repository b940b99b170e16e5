#pragma once

#include <cstdint>

#include "aten/cpu/matrix/convolution.h"

// The kernels of Winograd's algorithm for float32 convolutions of 3 x 3 windows at stride 1 (winograd-inl.h). Outputs
// are cut into tiles of 4 x 4, which are numbered row by row and image by image.

namespace at::matrix::internal {

inline constexpr int64_t kWinogradTile = 4;       // outputs along an edge of a tile
inline constexpr int64_t kWinogradProducts = 36;  // matrix products: one for each of 6 x 6 transformed places

/// What all kernels know of a convolution, or of the gradient of its input, which is the convolution of the output's
/// gradient with the weights turned by half a turn.
struct WinogradShape {
  int64_t batch = 0, channels = 0, rows = 0;  // rows: output channels
  int64_t height = 0, width = 0;              // of the input
  int64_t out_height = 0, out_width = 0;
  int64_t top = 0, left = 0;  // padding
  int64_t tiles_y() const { return (out_height + kWinogradTile - 1) / kWinogradTile; }
  int64_t tiles_x() const { return (out_width + kWinogradTile - 1) / kWinogradTile; }
  int64_t tiles() const { return batch * tiles_y() * tiles_x(); }
};

/// The convolution of some tiles.
struct WinogradForward {
  WinogradShape shape;
  const float* input = nullptr;                // [batch, channels, height, width]
  const float* weight = nullptr;               // 3 x 3 dense numbers for each row and channel
  int64_t weight_row = 0, weight_channel = 0;  // steps
  bool turned = false;                         // the windows are read backwards
  const float* bias = nullptr;                 // [rows] or null
  float* output = nullptr;                     // [batch, rows, out_height, out_width]
  const float* add = nullptr;                  // alpha times this is added to the output, or null
  float alpha = 1;
  bool relu = false;  // what is below 0 becomes 0
  int64_t first_tile = 0, tiles = 0;
  float* transformed = nullptr;  // winograd_transformed_floats
};

/// Floats of the transformed input of so many tiles.
int64_t winograd_transformed_floats(const WinogradShape& shape, int64_t tiles);
/// Tiles that are worked on together.
int64_t winograd_panel();

/// Writes units [begin, end) of `transformed`.
int64_t winograd_input_units(const WinogradForward& w);
void winograd_transform_input(const WinogradForward& w, int64_t begin, int64_t end);

/// Writes units [begin, end) of the output; `scratch` is of winograd_product_scratch_floats.
int64_t winograd_product_units(const WinogradForward& w);
int64_t winograd_product_scratch_floats(const WinogradShape& shape);
void winograd_multiply(const WinogradForward& w, float* scratch, int64_t begin, int64_t end);

/// The gradient of the weights that some rows of tiles bring: shape is the convolution's.
struct WinogradGradient {
  WinogradShape shape;
  const float* input = nullptr;          // [batch, channels, height, width]
  const float* grad_output = nullptr;    // [batch, rows, out_height, out_width]
  float* grad_weight = nullptr;          // [rows, channels, 3, 3]
  bool add = false;                      // to what it holds
  int64_t first_row = 0, tile_rows = 0;  // of tiles: tiles_x() each
  float* transformed_input = nullptr;    // winograd_gradient_input_floats
  float* transformed_grad = nullptr;     // winograd_gradient_output_floats
};

int64_t winograd_gradient_input_floats(const WinogradShape& shape, int64_t tile_rows);
int64_t winograd_gradient_output_floats(const WinogradShape& shape, int64_t tile_rows);

/// Writes units [begin, end) of the transformed tensors; `scratch` is of winograd_gradient_stage_floats.
int64_t winograd_gradient_transform_units(const WinogradGradient& w);
int64_t winograd_gradient_stage_floats(const WinogradShape& shape);
void winograd_gradient_transform(const WinogradGradient& w, float* scratch, int64_t begin, int64_t end);

/// Writes units [begin, end) of grad_weight; `scratch` is of winograd_gradient_scratch_floats.
int64_t winograd_gradient_units(const WinogradGradient& w);
int64_t winograd_gradient_scratch_floats();
void winograd_gradient_multiply(const WinogradGradient& w, float* scratch, int64_t begin, int64_t end);

}  // namespace at::matrix::internal

#pragma once

#include <cstdint>

namespace at::matrix::internal {

/// Writes to[image][column][row] = from[image][row][column] for elements of `size` bytes, 1 to 16 and a power of two:
/// images with their channels first become such with their channels last, and the other way round.
void transpose_images(const void* from, int64_t images, int64_t rows, int64_t columns, int64_t size, void* to);

}  // namespace at::matrix::internal

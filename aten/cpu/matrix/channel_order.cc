#include "aten/cpu/matrix/channel_order.h"

#include <complex>

#include "c10/parallel/parallel.h"
#include "c10/util/exception.h"
#include "hwy/highway.h"
#include "aten/cpu/matrix/tile-inl.h"

namespace at::matrix::internal {
namespace {

// Rows and columns at a time: a cache line each way.
constexpr int64_t kBlock = 16;

template <class T>
void transpose_block(const T* from, int64_t rows, int64_t columns, int64_t row, int64_t height, int64_t column,
                     int64_t width, T* to) {
  int64_t i = 0;
  for (; i + 4 <= height; i += 4) {
    HWY_NAMESPACE::PackLines<4>(from + (row + i) * columns + column, columns, 1, width, rows,
                                to + column * rows + row + i);
  }
  for (; i < height; ++i)
    for (int64_t j = 0; j < width; ++j) to[(column + j) * rows + row + i] = from[(row + i) * columns + column + j];
}

template <class T>
void transpose(const void* from, int64_t images, int64_t rows, int64_t columns, void* to) {
  const int64_t blocks = at::divup(rows, kBlock), grain = at::divup(int64_t{1} << 15, kBlock * (columns + 1));
  at::parallel_for(0, images * blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i % blocks * kBlock, height = rows - row < kBlock ? rows - row : kBlock;
      const T* const in = static_cast<const T*>(from) + i / blocks * rows * columns;
      T* const out = static_cast<T*>(to) + i / blocks * rows * columns;
      for (int64_t column = 0; column < columns; column += kBlock)
        transpose_block(in, rows, columns, row, height, column, columns - column < kBlock ? columns - column : kBlock,
                        out);
    }
  });
}

}  // namespace

void transpose_images(const void* from, int64_t images, int64_t rows, int64_t columns, int64_t size, void* to) {
  switch (size) {
    case 1:
      return transpose<uint8_t>(from, images, rows, columns, to);
    case 2:
      return transpose<uint16_t>(from, images, rows, columns, to);
    case 4:
      return transpose<uint32_t>(from, images, rows, columns, to);
    case 8:
      return transpose<uint64_t>(from, images, rows, columns, to);
    case 16:
      return transpose<std::complex<double>>(from, images, rows, columns, to);
  }
  TORCH_INTERNAL_ASSERT(false, "transpose_images: elements of ", size, " bytes");
}

}  // namespace at::matrix::internal

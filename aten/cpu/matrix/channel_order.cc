#include "aten/cpu/matrix/channel_order.h"

#include <complex>

#include "c10/parallel/parallel.h"
#include "c10/util/exception.h"
#include "hwy/highway.h"

namespace at::matrix::internal {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Rows and columns at a time: a cache line each way.
constexpr int64_t kBlock = 16;

template <class T>
void transpose_block(const T* from, int64_t rows, int64_t columns, int64_t row, int64_t height, int64_t column,
                     int64_t width, T* to) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(T) == 4) {
    const hn::FixedTag<T, 4> d;
    for (; i + 4 <= height; i += 4) {
      const T* const in = from + (row + i) * columns + column;
      T* out = to + column * rows + row + i;
      int64_t j = 0;
      for (; j + 4 <= width; j += 4, out += 4 * rows) {
        const auto a = hn::LoadU(d, in + j), b = hn::LoadU(d, in + columns + j);
        const auto c = hn::LoadU(d, in + 2 * columns + j), e = hn::LoadU(d, in + 3 * columns + j);
        const auto even_low = hn::InterleaveLower(d, a, c), odd_low = hn::InterleaveLower(d, b, e);
        const auto even_high = hn::InterleaveUpper(d, a, c), odd_high = hn::InterleaveUpper(d, b, e);
        hn::StoreU(hn::InterleaveLower(d, even_low, odd_low), d, out);
        hn::StoreU(hn::InterleaveUpper(d, even_low, odd_low), d, out + rows);
        hn::StoreU(hn::InterleaveLower(d, even_high, odd_high), d, out + 2 * rows);
        hn::StoreU(hn::InterleaveUpper(d, even_high, odd_high), d, out + 3 * rows);
      }
      for (; j < width; ++j, out += rows)
        for (int64_t k = 0; k < 4; ++k) out[k] = in[k * columns + j];
    }
  }
#endif
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

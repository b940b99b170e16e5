#include "aten/cpu/copy.h"

#include <cstring>

#include "aten/cpu/cast.h"
#include "aten/cpu/elementwise.h"
#include "c10/parallel/parallel.h"

namespace at::cpu {
namespace {

void copy_bytes(char* dst, const char* src, int64_t bytes) {
  if (dst == src) return;
  const bool streams = bytes >= stream_threshold_bytes();
  constexpr int64_t kGrain = 1 << 18;
  if (bytes <= kGrain) {
    std::memcpy(dst, src, static_cast<size_t>(bytes));
    return;
  }
  at::parallel_for(0, bytes, kGrain, [&](int64_t begin, int64_t end) {
    if (streams) {
      stream_copy(dst + begin, src + begin, end - begin);
      stream_fence();
    } else {
      std::memcpy(dst + begin, src + begin, static_cast<size_t>(end - begin));
    }
  });
}

void copy_loop(char** data, const int64_t* strides, int64_t n, const void* context) {
  const int64_t size = *static_cast<const int64_t*>(context);
  if (strides[1] == 0 && strides[0] == size) {
    fill_run(data[0], data[1], n, size);
  } else {
    copy_run(data[0], strides[0], data[1], strides[1], n, size);
  }
}

// A tile of rows x columns where the source runs along the rows and the destination along the columns.
template <class T>
void transpose_tile(char* dst, int64_t dst_row, const char* src, int64_t src_column, int64_t rows, int64_t columns) {
  constexpr int64_t kBlock = 8;
  int64_t r = 0;
  for (; r + kBlock <= rows; r += kBlock) {
    int64_t c = 0;
    for (; c + kBlock <= columns; c += kBlock) {
      T block[kBlock][kBlock];
      for (int64_t j = 0; j < kBlock; ++j) {
        std::memcpy(block[j], src + (c + j) * src_column + r * static_cast<int64_t>(sizeof(T)), sizeof(block[j]));
      }
      for (int64_t i = 0; i < kBlock; ++i) {
        T line[kBlock];
        for (int64_t j = 0; j < kBlock; ++j) line[j] = block[j][i];
        std::memcpy(dst + (r + i) * dst_row + c * static_cast<int64_t>(sizeof(T)), line, sizeof(line));
      }
    }
    for (; c < columns; ++c) {
      for (int64_t i = 0; i < kBlock; ++i) {
        std::memcpy(dst + (r + i) * dst_row + c * static_cast<int64_t>(sizeof(T)),
                    src + c * src_column + (r + i) * static_cast<int64_t>(sizeof(T)), sizeof(T));
      }
    }
  }
  for (; r < rows; ++r) {
    copy_run(dst + r * dst_row, sizeof(T), src + r * static_cast<int64_t>(sizeof(T)), src_column, columns, sizeof(T));
  }
}

struct Item16 {
  uint64_t low, high;
};

void transpose_tile(int64_t item, char* dst, int64_t dst_row, const char* src, int64_t src_column, int64_t rows,
                    int64_t columns) {
  switch (item) {
    case 1: return transpose_tile<uint8_t>(dst, dst_row, src, src_column, rows, columns);
    case 2: return transpose_tile<uint16_t>(dst, dst_row, src, src_column, rows, columns);
    case 4: return transpose_tile<uint32_t>(dst, dst_row, src, src_column, rows, columns);
    case 8: return transpose_tile<uint64_t>(dst, dst_row, src, src_column, rows, columns);
    default: return transpose_tile<Item16>(dst, dst_row, src, src_column, rows, columns);
  }
}

// The dimension along which the source is contiguous while the destination is along dimension 0, or -1.
int transposed_dimension(const LoopNest& nest, int64_t item) {
  if (nest.dim() < 2 || nest.byte_stride(0, 0) != item || nest.byte_stride(1, 0) == item) return -1;
  if (nest.byte_stride(1, 0) == 0 || nest.size(0) < 4) return -1;
  for (int d = 1; d < nest.dim(); ++d) {
    if (nest.byte_stride(1, d) == item && nest.size(d) >= 4) return d;
  }
  return -1;
}

void copy_transposed(const LoopNest& nest, int row_dim, int64_t item) {
  constexpr int64_t kTile = 64;
  const int64_t columns = nest.size(0), rows = nest.size(row_dim);
  const int64_t column_tiles = (columns + kTile - 1) / kTile, row_tiles = (rows + kTile - 1) / kTile;
  int64_t outer = 1;
  for (int d = 1; d < nest.dim(); ++d) outer *= d == row_dim ? 1 : nest.size(d);
  const int64_t tiles = outer * column_tiles * row_tiles;
  const int64_t grain = 1 + kPointwiseGrain / (kTile * kTile);
  at::parallel_for(0, tiles, grain, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      int64_t rest = t / (column_tiles * row_tiles);
      const int64_t tile = t % (column_tiles * row_tiles);
      // Down the destination's rows first: the source's lines are then read whole.
      const int64_t c = tile % column_tiles * kTile, r = tile / column_tiles * kTile;
      char* dst = nest.data(0) + c * item + r * nest.byte_stride(0, row_dim);
      const char* src = nest.data(1) + c * nest.byte_stride(1, 0) + r * item;
      for (int d = 1; d < nest.dim(); ++d) {
        if (d == row_dim) continue;
        const int64_t i = rest % nest.size(d);
        rest /= nest.size(d);
        dst += i * nest.byte_stride(0, d);
        src += i * nest.byte_stride(1, d);
      }
      transpose_tile(item, dst, nest.byte_stride(0, row_dim), src, nest.byte_stride(1, 0),
                     rows - r < kTile ? rows - r : kTile, columns - c < kTile ? columns - c : kTile);
    }
  });
}

void move_elements(char* const* data, int64_t n, const void* context) {
  std::memcpy(data[0], data[1], static_cast<size_t>(n * *static_cast<const int64_t*>(context)));
}

}  // namespace

void copy(const Operand& dst, c10::ScalarType dst_dtype, const Operand& src, c10::ScalarType src_dtype) {
  if (dst_dtype != src_dtype) {
    const int64_t size = dst.item_size;
    const ElementArg args[] = {{dst, dst_dtype, dst_dtype}, {src, src_dtype, dst_dtype}};
    elementwise(move_elements, &size, args, 1, 2);
    return;
  }
  const Operand operands[] = {dst, src};
  const LoopNest nest(operands, 2);
  if (nest.numel() == 0) return;
  const int64_t item = dst.item_size;
  if (nest.dim() == 1 && nest.byte_stride(0, 0) == item && nest.byte_stride(1, 0) == item) {
    copy_bytes(nest.data(0), nest.data(1), nest.numel() * item);
    return;
  }
  const int row_dim = transposed_dimension(nest, item);
  if (row_dim > 0) {
    copy_transposed(nest, row_dim, item);
    return;
  }
  nest.run(copy_loop, &item);
}

namespace {
struct FillContext {
  const void* item;
  int64_t size;
  bool zero;
};
void fill_loop(char** data, const int64_t* strides, int64_t n, const void* context) {
  const FillContext& c = *static_cast<const FillContext*>(context);
  if (strides[0] == c.size) {
    if (c.zero) {
      std::memset(data[0], 0, static_cast<size_t>(n * c.size));
    } else {
      fill_run(data[0], c.item, n, c.size);
    }
  } else {
    copy_run(data[0], strides[0], c.item, 0, n, c.size);
  }
}
}  // namespace

void fill(const Operand& dst, const void* item) {
  const LoopNest nest(&dst, 1);
  bool zero = true;
  for (int64_t i = 0; i < dst.item_size; ++i) zero = zero && static_cast<const char*>(item)[i] == 0;
  const FillContext context{item, dst.item_size, zero};
  nest.run(fill_loop, &context);
}

}  // namespace at::cpu

#include "aten/cpu/copy.h"

#include <cstring>

#include "aten/cpu/cast.h"
#include "aten/cpu/elementwise.h"
#include "aten/cpu/streamed_rows.h"
#include "aten/cpu/support/alignment.h"
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
      constexpr int64_t kPiece = 1024;
      for (int64_t i = begin; i < end; i += kPiece) {
        StreamedPiece piece;
        piece.reads(src + i + kPiece);
        piece.write(dst + i, src + i, end - i < kPiece ? end - i : kPiece);
      }
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

// Four elements of 4 bytes or two of 8 in a register.
using Quad = uint32_t __attribute__((vector_size(16)));
using Pair = uint64_t __attribute__((vector_size(16)));
template <class V>
V load_vector(const char* p) {
  V v;
  std::memcpy(&v, p, sizeof(v));
  return v;
}
template <class V>
void store_vector(char* p, V v) {
  std::memcpy(p, &v, sizeof(v));
}

// A block of kRows x kColumns where the source runs along the rows and the destination along the columns.
template <class T>
struct Block {
  static constexpr int64_t kRows = 8, kColumns = 8;
  static void transpose(char* dst, int64_t dst_row, const char* src, int64_t src_column) {
    T block[kColumns][kRows];
    for (int64_t j = 0; j < kColumns; ++j) std::memcpy(block[j], src + j * src_column, sizeof(block[j]));
    for (int64_t i = 0; i < kRows; ++i) {
      T line[kColumns];
      for (int64_t j = 0; j < kColumns; ++j) line[j] = block[j][i];
      std::memcpy(dst + i * dst_row, line, sizeof(line));
    }
  }
};
template <>
struct Block<uint32_t> {
  static constexpr int64_t kRows = 4, kColumns = 4;
  static void transpose(char* dst, int64_t dst_row, const char* src, int64_t src_column) {
    const Quad a = load_vector<Quad>(src), b = load_vector<Quad>(src + src_column);
    const Quad c = load_vector<Quad>(src + 2 * src_column), d = load_vector<Quad>(src + 3 * src_column);
    const Quad ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5), ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const Quad cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5), cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    store_vector(dst, __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5));
    store_vector(dst + dst_row, __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7));
    store_vector(dst + 2 * dst_row, __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5));
    store_vector(dst + 3 * dst_row, __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7));
  }
};
template <>
struct Block<uint64_t> {
  static constexpr int64_t kRows = 2, kColumns = 2;
  static void transpose(char* dst, int64_t dst_row, const char* src, int64_t src_column) {
    const Pair a = load_vector<Pair>(src), b = load_vector<Pair>(src + src_column);
    store_vector(dst, __builtin_shufflevector(a, b, 0, 2));
    store_vector(dst + dst_row, __builtin_shufflevector(a, b, 1, 3));
  }
};

// kColumns columns, or kRows rows, that are dense: the elements of a few runs in turn, or the other way round.
template <class T, int kCount>
void interleave(char* dst, const char* src, int64_t src_run, int64_t length) {
  for (int64_t i = 0; i < length; ++i) {
    T line[kCount];
    for (int k = 0; k < kCount; ++k)
      std::memcpy(&line[k], src + k * src_run + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
    std::memcpy(dst + i * static_cast<int64_t>(sizeof(line)), line, sizeof(line));
  }
}
template <class T, int kCount>
void deinterleave(char* dst, int64_t dst_run, const char* src, int64_t length) {
  for (int64_t i = 0; i < length; ++i) {
    T line[kCount];
    std::memcpy(line, src + i * static_cast<int64_t>(sizeof(line)), sizeof(line));
    for (int k = 0; k < kCount; ++k)
      std::memcpy(dst + k * dst_run + i * static_cast<int64_t>(sizeof(T)), &line[k], sizeof(T));
  }
}

// A tile of rows x columns where the source runs along the rows and the destination along the columns.
template <class T>
void transpose_tile(char* dst, int64_t dst_row, const char* src, int64_t src_column, int64_t rows, int64_t columns) {
  constexpr int64_t kItem = static_cast<int64_t>(sizeof(T));
  if (columns <= 4 && dst_row == columns * kItem) {
    if (columns == 2) return interleave<T, 2>(dst, src, src_column, rows);
    if (columns == 3) return interleave<T, 3>(dst, src, src_column, rows);
    if (columns == 4) return interleave<T, 4>(dst, src, src_column, rows);
  }
  if (rows <= 4 && src_column == rows * kItem) {
    if (rows == 2) return deinterleave<T, 2>(dst, dst_row, src, columns);
    if (rows == 3) return deinterleave<T, 3>(dst, dst_row, src, columns);
    if (rows == 4) return deinterleave<T, 4>(dst, dst_row, src, columns);
  }
  // Strips of the source's lines.
  constexpr int64_t kRows = Block<T>::kRows, kColumns = Block<T>::kColumns, kLine = kItem < 64 ? 64 / kItem : 1;
  constexpr int64_t kStrip = kLine > kRows ? kLine : kRows;
  const int64_t whole_rows = rows / kRows * kRows, whole_columns = columns / kColumns * kColumns;
  for (int64_t strip = 0; strip < whole_rows; strip += kStrip) {
    const int64_t end = whole_rows - strip < kStrip ? whole_rows : strip + kStrip;
    for (int64_t c = 0; c < whole_columns; c += kColumns) {
      for (int64_t r = strip; r < end; r += kRows) {
        Block<T>::transpose(dst + r * dst_row + c * kItem, dst_row, src + c * src_column + r * kItem, src_column);
      }
    }
  }
  for (int64_t r = 0; r < whole_rows && whole_columns < columns; ++r) {
    copy_run(dst + r * dst_row + whole_columns * kItem, kItem, src + whole_columns * src_column + r * kItem, src_column,
             columns - whole_columns, kItem);
  }
  for (int64_t r = whole_rows; r < rows; ++r)
    copy_run(dst + r * dst_row, kItem, src + r * kItem, src_column, columns, kItem);
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
  if (nest.byte_stride(1, 0) == 0) return -1;
  for (int d = 1; d < nest.dim(); ++d) {
    if (nest.byte_stride(1, d) == item && nest.size(d) >= 2 && nest.size(0) * nest.size(d) >= 16) return d;
  }
  return -1;
}

void copy_transposed(const LoopNest& nest, int row_dim, int64_t item) {
  constexpr int64_t kTile = 64;
  const int64_t columns = nest.size(0), rows = nest.size(row_dim);
  // Tiles of a short side are longer.
  const int64_t tile_columns = rows <= 4 ? 16 * kTile : kTile, tile_rows = columns <= 4 ? 16 * kTile : kTile;
  const int64_t column_tiles = (columns + tile_columns - 1) / tile_columns,
                row_tiles = (rows + tile_rows - 1) / tile_rows;
  int64_t outer = 1;
  for (int d = 1; d < nest.dim(); ++d) outer *= d == row_dim ? 1 : nest.size(d);
  const int64_t tiles = outer * column_tiles * row_tiles;
  const int64_t least = (columns < tile_columns ? columns : tile_columns) * (rows < tile_rows ? rows : tile_rows);
  const int64_t grain = 1 + kPointwiseGrain / least;
  at::parallel_for(0, tiles, grain, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      int64_t rest = t / (column_tiles * row_tiles);
      const int64_t tile = t % (column_tiles * row_tiles);
      // Down the destination's rows first: the source's lines are then read whole.
      const int64_t c = tile % column_tiles * tile_columns, r = tile / column_tiles * tile_rows;
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
                     rows - r < tile_rows ? rows - r : tile_rows,
                     columns - c < tile_columns ? columns - c : tile_columns);
    }
  });
}

void convert_elements(char* const* data, int64_t n, const void* context) {
  convert(*static_cast<const Conversion*>(context), data[0], data[1], n);
}

void move_elements(char* const* data, int64_t n, const void* context) {
  std::memcpy(data[0], data[1], static_cast<size_t>(n * *static_cast<const int64_t*>(context)));
}

}  // namespace

void copy(const Operand& dst, c10::ScalarType dst_dtype, const Operand& src, c10::ScalarType src_dtype) {
  const Operand operands[] = {dst, src};
  const LoopNest nest(operands, 2);
  if (nest.numel() == 0) return;
  const int64_t item = dst.item_size;
  const bool contiguous = nest.dim() == 1 && nest.byte_stride(0, 0) == item && nest.byte_stride(1, 0) == src.item_size;
  if (dst_dtype != src_dtype) {
    if (contiguous && is_aligned(dst.data, item) && is_aligned(src.data, src.item_size)) {
      const Conversion conversion = find_conversion(dst_dtype, src_dtype);
      char* const data[] = {dst.data, src.data};
      const int64_t sizes[] = {item, src.item_size};
      elementwise_contiguous(convert_elements, &conversion, data, sizes, 1, 2, nest.numel());
      return;
    }
    const ElementArg args[] = {{dst, dst_dtype, dst_dtype}, {src, src_dtype, dst_dtype}};
    elementwise(move_elements, &item, args, 1, 2);
    return;
  }
  if (contiguous) {
    copy_bytes(dst.data, src.data, nest.numel() * item);
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
constexpr int64_t kLong = 1 << 20, kBlock = 4096;
struct FillContext {
  const void* item;
  int64_t size;
  bool zero;
};
void fill_loop(char** data, const int64_t* strides, int64_t n, const void* context) {
  const FillContext& c = *static_cast<const FillContext*>(context);
  if (strides[0] == c.size) {
    if (c.zero && n * c.size < kLong) {  // it is slower than plain stores where the caches end
      std::memset(data[0], 0, static_cast<size_t>(n * c.size));
    } else {
      fill_run(data[0], c.item, n, c.size);
    }
  } else {
    copy_run(data[0], strides[0], c.item, 0, n, c.size);
  }
}

// Contiguous elements, past the caches.
void fill_streamed(char* dst, int64_t bytes, const void* item, int64_t size) {
  alignas(64) char pattern[kBlock];
  fill_run(pattern, item, kBlock / size, size);
  at::parallel_for(0, (bytes + kBlock - 1) / kBlock, kLong / kBlock, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * kBlock; i < end * kBlock && i < bytes; i += kBlock) {
      stream_copy(dst + i, pattern, bytes - i < kBlock ? bytes - i : kBlock);
    }
    stream_fence();
  });
}
}  // namespace

void fill(const Operand& dst, const void* item) {
  const LoopNest nest(&dst, 1);
  const int64_t size = dst.item_size, bytes = nest.numel() * size;
  // What is filled is mostly written to once more: it may take all of the cache.
  if (bytes > 2 * stream_threshold_bytes() && nest.dim() == 1 && nest.byte_stride(0, 0) == size && kBlock % size == 0) {
    fill_streamed(nest.data(0), bytes, item, size);
    return;
  }
  bool zero = true;
  for (int64_t i = 0; i < size; ++i) zero = zero && static_cast<const char*>(item)[i] == 0;
  const FillContext context{item, size, zero};
  nest.run(fill_loop, &context);
}

}  // namespace at::cpu

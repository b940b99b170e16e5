// What the kernels of attention of 16-bit numbers are made of: tiles in shared memory that matrix instructions read
// without waiting for banks, and products of them. Each of a block's warps has 16 * kBlocks of its rows; rows of the
// other operand come kColumns at a time. A lane's elements of a product are those of rows lane / 4 and that + 8 in each
// 16 x 8 of it (c10/cuda/ptx.h).
#pragma once

#include "aten/cuda/attention/flash.cuh"
#include "c10/cuda/ptx.h"

namespace at::cuda::flash {

namespace ptx = c10::cuda::ptx;

inline constexpr float kLog2OfE = 1.4426950408889634f, kLogOf2 = 0.6931471805599453f;

/// kRowWarps groups of rows, each the work of kParts warps, which have a part of the result's columns each.
template <class T, int kWidth_, int kBlocks_, int kColumns_, int kRowWarps_ = 4, int kParts_ = 1>
struct Plan {
  using Number = T;
  static constexpr int kWidth = kWidth_, kBlocks = kBlocks_, kColumns = kColumns_, kParts = kParts_;
  static constexpr int kRowsOfWarp = 16 * kBlocks, kRows = kRowWarps_ * kRowsOfWarp;
  static constexpr int kThreads = 32 * kRowWarps_ * kParts;
  static constexpr int kRowBytes = kWidth * 2, kChunks = kWidth / 8;  // of 16 bytes
  static constexpr int kRowsBytes = kRows * kRowBytes, kColumnsBytes = kColumns * kRowBytes;
  static constexpr int kChunksOfPart = kChunks / kParts;
  using Scores = float[kBlocks][kColumns / 8][4];
  using Result = float[kBlocks][kChunksOfPart][4];
  static_assert(kColumns % 16 == 0 && kChunksOfPart % 2 == 0);

  /// Where a chunk of a row of a tile is. The same chunk of eight rows one after the other is in eight different groups
  /// of banks. offset(row, a ^ b) is offset(row, a) ^ 16 * b.
  static __device__ __forceinline__ int offset(int row, int chunk) {
    const int mixed = kChunks % 8 == 0 ? chunk ^ (row & 7) : chunk ^ (row >> 1 & 3);
    return row * kRowBytes + mixed * 16;
  }
  static __device__ __forceinline__ char* at(char* tile, int row, int chunk) { return tile + offset(row, chunk); }
};

__device__ __forceinline__ int lane_of() {
  return static_cast<int>(threadIdx.x) % 32;
}
__device__ __forceinline__ int warp_of() {
  return static_cast<int>(threadIdx.x) / 32;
}
/// The first of the warp's rows in the block's, and of its chunks of a row of the result.
template <class P>
__device__ __forceinline__ int first_row() {
  return warp_of() / P::kParts * P::kRowsOfWarp;
}
template <class P>
__device__ __forceinline__ int first_chunk() {
  return warp_of() % P::kParts * P::kChunksOfPart;
}

template <class T>
__device__ __forceinline__ uint32_t pack(float low, float high) {
  if constexpr (std::is_same_v<T, Half>) return ptx::cvt_rn_f16x2(low, high);
  return ptx::cvt_rn_bf16x2(low, high);
}
template <class T>
__device__ __forceinline__ void multiply_add(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  const uint32_t b[2] = {b0, b1};
  if constexpr (std::is_same_v<T, Half>) {
    ptx::mma_m16n8k16_f16(d, a, b);
  } else {
    ptx::mma_m16n8k16_bf16(d, a, b);
  }
}

/// Begins to bring rows first, first + 1, ... into a tile of kRows, and zeros beyond what there is. The block's threads
/// share the work; it is done behind cp_async_wait_group and a barrier.
template <class P, int kRows>
__device__ __forceinline__ void start_tile(char* tile, const Head& from, int first) {
  if (from.wide) {
    constexpr int kAtOnce = P::kThreads / P::kChunks;
    static_assert(P::kThreads % P::kChunks == 0 && kRows % kAtOnce == 0);
    const int chunk = static_cast<int>(threadIdx.x) % P::kChunks, row = static_cast<int>(threadIdx.x) / P::kChunks;
    const int count = chunk * 8 < from.width ? from.count - first : 0;
    const char* source = from.at(first + row, chunk * 8);
#pragma unroll
    for (int i = 0; i < kRows; i += kAtOnce) {
      const bool inside = row + i < count;
      ptx::cp_async_16(P::at(tile, row + i, chunk), inside ? source : from.data, inside ? 16 : 0);
      source += kAtOnce * from.row;
    }
    return;
  }
#pragma unroll 1
  for (int n = static_cast<int>(threadIdx.x); n < kRows * P::kWidth; n += P::kThreads) {
    const int row = n / P::kWidth, column = n % P::kWidth;
    const bool inside = first + row < from.count && column < from.width;
    *reinterpret_cast<uint16_t*>(P::at(tile, row, column / 8) + column % 8 * 2) =
        inside ? *reinterpret_cast<const uint16_t*>(from.at(first + row, column)) : uint16_t{0};
  }
}

/// to = the warp's rows of one tile times all rows of another.
template <class P>
__device__ __forceinline__ void multiply_rows(char* rows, char* columns, typename P::Scores& to) {
  const int lane = lane_of();
  const int row = ptx::anew(P::offset(first_row<P>() + lane % 16, lane / 16));
  const int column = ptx::anew(P::offset(lane % 8 + lane / 16 * 8, lane / 8 % 2));
#pragma unroll
  for (int m = 0; m < P::kBlocks; ++m) {
#pragma unroll
    for (int n = 0; n < P::kColumns / 8; ++n) {
#pragma unroll
      for (int r = 0; r < 4; ++r) to[m][n][r] = 0;
    }
  }
#pragma unroll
  for (int k = 0; k < P::kWidth / 16; ++k) {
    uint32_t a[P::kBlocks][4];
#pragma unroll
    for (int m = 0; m < P::kBlocks; ++m) ptx::ldmatrix(a[m], rows + (row ^ 32 * k) + 16 * P::kRowBytes * m);
#pragma unroll
    for (int n = 0; n < P::kColumns / 16; ++n) {
      uint32_t b[4];
      ptx::ldmatrix(b, columns + (column ^ 32 * k) + 16 * P::kRowBytes * n);
#pragma unroll
      for (int m = 0; m < P::kBlocks; ++m) {
        multiply_add<typename P::Number>(to[m][2 * n], a[m], b[0], b[1]);
        multiply_add<typename P::Number>(to[m][2 * n + 1], a[m], b[2], b[3]);
      }
    }
  }
}

/// to += weights, rounded to the dtype, times the warp's part of a tile's columns.
template <class P>
__device__ __forceinline__ void add_weighted(const typename P::Scores& weights, char* tile, typename P::Result& to) {
  using T = typename P::Number;
  const int lane = lane_of(), row = ptx::anew(P::offset(lane % 16, first_chunk<P>() + lane / 16));
#pragma unroll
  for (int k = 0; k < P::kColumns / 16; ++k) {
    uint32_t a[P::kBlocks][4];
#pragma unroll
    for (int m = 0; m < P::kBlocks; ++m) {
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        const float(&from)[4] = weights[m][2 * k + r / 2];
        a[m][r] = pack<T>(from[r % 2 * 2], from[r % 2 * 2 + 1]);
      }
    }
#pragma unroll
    for (int n = 0; n < P::kChunksOfPart / 2; ++n) {
      uint32_t b[4];
      ptx::ldmatrix_trans(b, tile + (row ^ 32 * n) + 16 * P::kRowBytes * k);
#pragma unroll
      for (int m = 0; m < P::kBlocks; ++m) {
        multiply_add<T>(to[m][2 * n], a[m], b[0], b[1]);
        multiply_add<T>(to[m][2 * n + 1], a[m], b[2], b[3]);
      }
    }
  }
}

/// Calls f(element, m, h, column) for a product's elements of the lane: of block m, in its row lane / 4 + 8 * h. Paced:
/// some at a time, so that what they load does not take many registers.
template <class P, bool kPaced, class F>
__device__ __forceinline__ void for_scores(typename P::Scores& scores, const F& f) {
  const int place = lane_of() % 4 * 2;
#pragma unroll
  for (int m = 0; m < P::kBlocks; ++m) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
#pragma unroll
      for (int n = 0; n < P::kColumns / 8; ++n) {
        f(scores[m][n][2 * h], m, h, 8 * n + place);
        f(scores[m][n][2 * h + 1], m, h, 8 * n + place + 1);
        if (kPaced && n % 2 == 1) __syncwarp();
      }
    }
  }
}

/// The number of that row in the block's.
template <class P>
__device__ __forceinline__ int row_of(int m, int h) {
  return first_row<P>() + 16 * m + lane_of() / 4 + 8 * h;
}

/// Products become scores times log2(e), so that powers of two are weights: -infinity where a query does not see a key.
/// Rows are queries and columns keys, or, turned, the other way; `first` is the block's first row. Plain: there is no
/// mask.
template <class P, bool kPlain, bool kTurned = false>
__device__ __forceinline__ void score(typename P::Scores& scores, const Scoring<float>& scoring, int first, int begin) {
  const FlashCall& call = scoring.call;
  if constexpr (!kPlain) {
    for_scores<P, true>(scores, [&](float& x, int m, int h, int column) {
      const int row = first + row_of<P>(m, h), other = begin + column;
      x = scoring.score(x, kTurned ? other : row, kTurned ? row : other) * kLog2OfE;
    });
  } else {
    const float scale = scoring.scale * kLog2OfE;
    for_scores<P, false>(scores, [&](float& x, int, int, int) { x *= scale; });
    const int begin_row = first + first_row<P>();
    const int first_query = kTurned ? begin : begin_row;
    const int end_key = kTurned ? begin_row + P::kRowsOfWarp : begin + P::kColumns;
    if (end_key <= call.keys && !(call.causal && end_key > first_query + 1)) return;
    for_scores<P, true>(scores, [&](float& x, int m, int h, int column) {
      const int row = first + row_of<P>(m, h), other = begin + column;
      const int i = kTurned ? other : row, j = kTurned ? row : other;
      if (j >= call.keys || (call.causal && j > i)) x = -kInfinite<float>;
    });
  }
}

/// Calls f(m, n, r) for the elements [m][n][r] of a product whose weights the dropout does not keep; rows as in score.
template <class P, bool kTurned = false, class F>
__device__ __forceinline__ void for_dropped(const Scoring<float>& scoring, int first, int begin, const F& f) {
  if (scoring.call.dropout.bound == 0) return;
  const int other = begin + lane_of() % 4 * 2;
  if constexpr (!kTurned) {
#pragma unroll
    for (int m = 0; m < P::kBlocks; ++m) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const uint64_t seed = scoring.row_seed(first + row_of<P>(m, h));
#pragma unroll
        for (int column = 0; column < P::kColumns; column += column % 2 == 0 ? 1 : 7) {
          if (!scoring.keeps(matrix::attention_row_seed_from(seed, column), other))
            f(m, column / 8, 2 * h + column % 2);
        }
      }
    }
  } else {
#pragma unroll
    for (int column = 0; column < P::kColumns; column += column % 2 == 0 ? 1 : 7) {
      const uint64_t seed = scoring.row_seed(other + column);
#pragma unroll
      for (int m = 0; m < P::kBlocks; ++m) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          if (!scoring.keeps(seed, first + row_of<P>(m, h))) f(m, column / 8, 2 * h + column % 2);
        }
      }
    }
  }
}

/// Which head of which batch the block works for, and its first row.
struct Place {
  int batch, head, first;

  __device__ __forceinline__ Place(int block, int blocks, int heads, int rows)
      : batch(block / blocks / heads), head(block / blocks % heads), first(block % blocks * rows) {}
};

/// Of the four lanes of a row.
__device__ __forceinline__ float largest_of_lanes(float value) {
  value = larger(value, __shfl_xor_sync(0xffffffffu, value, 1));
  return larger(value, __shfl_xor_sync(0xffffffffu, value, 2));
}
__device__ __forceinline__ float sum_of_lanes(float value) {
  value += __shfl_xor_sync(0xffffffffu, value, 1);
  return value + __shfl_xor_sync(0xffffffffu, value, 2);
}

/// Rows first, first + 1, ... of `to` become the block's rows of a result times factor(m, h). They go by way of a tile
/// that nobody needs any more.
template <class P, class F>
__device__ __forceinline__ void store_result(char* tile, const typename P::Result& result, const Head& to, int first,
                                             const F& factor) {
  const int lane = lane_of(), chunk_of_part = first_chunk<P>();
#pragma unroll
  for (int m = 0; m < P::kBlocks; ++m) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float times = factor(m, h);
#pragma unroll
      for (int n = 0; n < P::kChunksOfPart; ++n) {
        *reinterpret_cast<uint32_t*>(P::at(tile, row_of<P>(m, h), chunk_of_part + n) + lane % 4 * 4) =
            pack<typename P::Number>(result[m][n][2 * h] * times, result[m][n][2 * h + 1] * times);
      }
    }
  }
  __syncwarp();
  constexpr int kPart = P::kChunksOfPart;
#pragma unroll 2
  for (int n = lane; n < P::kRowsOfWarp * kPart; n += 32) {
    const int row = first_row<P>() + n / kPart, chunk = chunk_of_part + n % kPart;
    if (first + row >= to.count || chunk * 8 >= to.width) continue;
    const char* const from = P::at(tile, row, chunk);
    if (to.wide) {
      c10::cuda::store_aligned(to.at(first + row, chunk * 8), c10::cuda::load_aligned<uint4>(from));
      continue;
    }
    for (int column = chunk * 8; column < chunk * 8 + 8 && column < to.width; ++column)
      *reinterpret_cast<uint16_t*>(to.at(first + row, column)) =
          *reinterpret_cast<const uint16_t*>(from + column % 8 * 2);
  }
}

}  // namespace at::cuda::flash

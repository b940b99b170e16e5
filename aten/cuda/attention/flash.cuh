// What the kernels of attention are made of. A block of 16 x 16 threads holds kRows x kRows scores for each of them:
// thread (y, x) those of rows y * kRows + r and columns x + 16 * c, so the 16 threads of a row are neighbours in a
// warp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "aten/cpu/matrix/attention_dropout.h"
#include "aten/cuda/attention/flash_call.h"
#include "aten/cuda/convert.cuh"
#include "aten/cuda/reduce/load_elements.cuh"
#include "c10/cuda/exception.h"
#include "c10/cuda/launch.h"
#include "c10/cuda/stream.h"

namespace at::cuda::flash {

inline constexpr int kSide = 16;
inline constexpr int kThreads = kSide * kSide;
inline constexpr int kElementsAtOnce = 8;  // of a row in memory

/// Tiles of kTile rows of up to kWidth columns, in shared memory as numbers of type C. The distance of two rows lets
/// eight neighbours read 16 bytes each from different banks.
template <class C, int kWidth_, int kTile_>
struct Tiles {
  using Compute = C;
  static constexpr int kWidth = kWidth_, kTile = kTile_;
  static constexpr int kVector = 16 / sizeof(C);
  static constexpr int kPitch = kWidth + kVector, kWeightPitch = kTile + kVector;
  static constexpr int kRows = kTile / kSide, kColumns = kWidth / kSide;
  static constexpr int kElements = kTile * kPitch, kWeights = kTile * kWeightPitch;
  struct alignas(16) Vector {
    C v[kVector];
  };
  // How many of `left` rows a tile holds.
  static KD_DEVICE int count(int left) { return left < kTile ? left : kTile; }
  using Scores = C[kRows][kRows];
  using Rows = C[kRows][kColumns];
};

KD_DEVICE float exp_of(float x) {
  return ::expf(x);
}
KD_DEVICE double exp_of(double x) {
  return ::exp(x);
}
KD_DEVICE float log_of(float x) {
  return ::logf(x);
}
KD_DEVICE double log_of(double x) {
  return ::log(x);
}
KD_DEVICE float larger(float a, float b) {
  return ::fmaxf(a, b);
}
KD_DEVICE double larger(double a, double b) {
  return ::fmax(a, b);
}
template <class C>
inline constexpr C kInfinite = std::numeric_limits<C>::infinity();

KD_DEVICE int item_size(ScalarType dtype) {
  return dtype == ScalarType::Double ? 8 : dtype == ScalarType::Float ? 4 : 2;
}

/// An element of a dtype that is computed in C.
template <class C>
__device__ __forceinline__ C load_number(const char* from, ScalarType dtype) {
  if constexpr (std::is_same_v<C, double>) {
    return load<double>(from);
  } else {
    if (dtype == ScalarType::Float) return load<float>(from);
    return dtype == ScalarType::Half ? convert<float>(load<Half>(from)) : convert<float>(load<BFloat16>(from));
  }
}
template <class C>
__device__ __forceinline__ void store_number(char* to, ScalarType dtype, C value) {
  if constexpr (std::is_same_v<C, double>) {
    *reinterpret_cast<double*>(to) = value;
  } else if (dtype == ScalarType::Float) {
    *reinterpret_cast<float*>(to) = value;
  } else if (dtype == ScalarType::Half) {
    *reinterpret_cast<Half*>(to) = Half(value);
  } else {
    *reinterpret_cast<BFloat16*>(to) = BFloat16(value);
  }
}
/// Eight neighbours at a multiple of 16 bytes.
template <class C>
__device__ __forceinline__ void load_numbers(const char* from, ScalarType dtype, C (&to)[kElementsAtOnce]) {
  if constexpr (std::is_same_v<C, double>) {
    load_vector<double, double>(from, to);
  } else if (dtype == ScalarType::Float) {
    load_vector<float, float>(from, to);
  } else if (dtype == ScalarType::Half) {
    load_vector<float, Half>(from, to);
  } else {
    load_vector<float, BFloat16>(from, to);
  }
}

__device__ __forceinline__ int thread_x() {
  return static_cast<int>(threadIdx.x) % kSide;
}
__device__ __forceinline__ int thread_y() {
  return static_cast<int>(threadIdx.x) / kSide;
}

template <class C>
__device__ __forceinline__ C largest_of_row(C value) {
#pragma unroll
  for (int lanes = kSide / 2; lanes > 0; lanes /= 2) value = larger(value, __shfl_xor_sync(0xffffffffu, value, lanes));
  return value;
}
template <class C>
__device__ __forceinline__ C sum_of_row(C value) {
#pragma unroll
  for (int lanes = kSide / 2; lanes > 0; lanes /= 2) value += __shfl_xor_sync(0xffffffffu, value, lanes);
  return value;
}

/// Rows of one head, as kernels read and write them.
struct Head {
  char* data;
  int64_t row;
  ScalarType dtype;
  int count, width;
  bool wide;

  KD_DEVICE Head(const HeadRows& of, ScalarType type, int batch, int head, int rows, int columns)
      : data(of.data + (batch * of.batch + head * of.head) * item_size(type)),
        row(of.row * item_size(type)),
        dtype(type),
        count(rows),
        width(columns),
        wide(of.wide) {}
  KD_DEVICE char* at(int i, int column) const { return data + i * row + column * item_size(dtype); }
};

/// Rows first, first + 1, ... into a tile, zeros beyond them. The block's threads share the work.
template <class T>
__device__ __forceinline__ void load_tile(typename T::Compute* tile, const Head& from, int first) {
  using C = typename T::Compute;
  if (from.wide) {
    constexpr int kParts = T::kWidth / kElementsAtOnce;
#pragma unroll 2
    for (int n = static_cast<int>(threadIdx.x); n < T::kTile * kParts; n += kThreads) {
      const int i = n / kParts, column = n % kParts * kElementsAtOnce;
      C x[kElementsAtOnce] = {};
      if (first + i < from.count && column < from.width) load_numbers(from.at(first + i, column), from.dtype, x);
#pragma unroll
      for (int k = 0; k < kElementsAtOnce; k += T::kVector) {
        typename T::Vector vector;
#pragma unroll
        for (int j = 0; j < T::kVector; ++j) vector.v[j] = x[k + j];
        c10::cuda::store_aligned(&tile[i * T::kPitch + column + k], vector);
      }
    }
    return;
  }
#pragma unroll 2
  for (int n = static_cast<int>(threadIdx.x); n < T::kTile * T::kWidth; n += kThreads) {
    const int i = n / T::kWidth, column = n % T::kWidth;
    const bool inside = first + i < from.count && column < from.width;
    tile[i * T::kPitch + column] = inside ? load_number<C>(from.at(first + i, column), from.dtype) : C(0);
  }
}

/// The products of the thread's rows of `a` and of `b`, tiles of rows `width` wide, as far as they belong to the `rows`
/// first of `a` and the `columns` first of `b`, or numbers without a meaning.
template <class T>
__device__ __forceinline__ void multiply(const typename T::Compute* a, const typename T::Compute* b, int width,
                                         int rows, int columns, typename T::Scores& to) {
  using Vector = typename T::Vector;
#pragma unroll
  for (int r = 0; r < T::kRows; ++r) {
#pragma unroll
    for (int c = 0; c < T::kRows; ++c) to[r][c] = 0;
  }
  if (thread_y() * T::kRows >= rows) return;
  a += thread_y() * T::kRows * T::kPitch;
  b += thread_x() * T::kPitch;
#pragma unroll 2
  for (int k = 0; k < width; k += T::kVector) {
    Vector x[T::kRows];
#pragma unroll
    for (int r = 0; r < T::kRows; ++r) x[r] = c10::cuda::load_aligned<Vector>(a + r * T::kPitch + k);
#pragma unroll
    for (int c = 0; c < T::kRows; ++c) {
      if (c * kSide >= columns) continue;
      const Vector y = c10::cuda::load_aligned<Vector>(b + c * kSide * T::kPitch + k);
#pragma unroll
      for (int r = 0; r < T::kRows; ++r) {
#pragma unroll
        for (int i = 0; i < T::kVector; ++i) to[r][c] += x[r].v[i] * y.v[i];
      }
    }
  }
}

/// to += weights * tile, of the `count` first rows of the tile (and zeros), for the `rows` first rows of weights.
template <class T>
__device__ __forceinline__ void accumulate(const typename T::Compute* weights, const typename T::Compute* tile,
                                           int count, int rows, typename T::Rows& to) {
  using C = typename T::Compute;
  using Vector = typename T::Vector;
  if (thread_y() * T::kRows >= rows) return;
  weights += thread_y() * T::kRows * T::kWeightPitch;
  tile += thread_x();
  for (int j = 0; j < count; j += T::kVector) {
    Vector w[T::kRows];
#pragma unroll
    for (int r = 0; r < T::kRows; ++r) w[r] = c10::cuda::load_aligned<Vector>(weights + r * T::kWeightPitch + j);
#pragma unroll
    for (int i = 0; i < T::kVector; ++i) {
#pragma unroll
      for (int c = 0; c < T::kColumns; ++c) {
        const C x = tile[(j + i) * T::kPitch + c * kSide];
#pragma unroll
        for (int r = 0; r < T::kRows; ++r) to[r][c] += w[r].v[i] * x;
      }
    }
  }
}

/// Scores and weights of one head of the query.
template <class C>
struct Scoring {
  const FlashCall& call;
  int64_t number;    // batch * heads + head
  const char* mask;  // of the head
  C scale;
  uint64_t seed;

  __device__ Scoring(const FlashCall& of, int batch, int head)
      : call(of),
        number(int64_t{batch} * of.heads + head),
        mask(of.mask.data),
        scale(static_cast<C>(of.scale)),
        seed(of.dropout.device_seed == nullptr ? of.dropout.seed : static_cast<uint64_t>(*of.dropout.device_seed)) {
    if (mask != nullptr)
      mask += (batch * of.mask.batch + head * of.mask.head) * (of.mask.allows ? 1 : item_size(of.dtype));
  }

  /// The score of a product: -infinity where query i does not see key j.
  __device__ __forceinline__ C score(C product, int i, int j) const {
    if (i >= call.queries || j >= call.keys || (call.causal && j > i)) return -kInfinite<C>;
    const C scaled = product * scale;
    if (mask == nullptr) return scaled;
    const int64_t place = i * call.mask.row + j * call.mask.column;
    if (call.mask.allows) return load<bool>(mask + place) ? scaled : -kInfinite<C>;
    return scaled + load_number<C>(mask + place * item_size(call.dtype), call.dtype);
  }

  /// Whether the dropout keeps the weight of key j; `row` is row_seed of the query.
  __device__ __forceinline__ bool keeps(uint64_t row, int j) const {
    return call.dropout.bound == 0 || matrix::attention_draw(row, j) >= call.dropout.bound;
  }
  /// What it multiplies the weight with.
  __device__ __forceinline__ C factor(uint64_t row, int j) const {
    if (call.dropout.bound == 0) return C(1);
    return keeps(row, j) ? static_cast<C>(call.dropout.factor) : C(0);
  }
  __device__ __forceinline__ uint64_t row_seed(int i) const {
    return call.dropout.bound == 0 ? 0 : matrix::attention_row_seed(seed, number, i);
  }
};

/// Calls f(Tiles) of the least class that heads of this width fit into; Sizes::kTile<C, width of the class> are rows.
template <class C, class Sizes, class F>
void with_tiles(int width, const F& f) {
  if (width <= 32) return f(Tiles<C, 32, Sizes::template kTile<C, 32>>{});
  if (width <= 64) return f(Tiles<C, 64, Sizes::template kTile<C, 64>>{});
  if (width <= 128) return f(Tiles<C, 128, Sizes::template kTile<C, 128>>{});
  return f(Tiles<C, 256, Sizes::template kTile<C, 256>>{});
}

/// A launch with `blocks` blocks of `threads` for each of `heads` heads, and as much shared memory.
template <class Call>
void launch_blocks(const char* name, void (*kernel)(Call, int), const Call& call, int64_t blocks, int64_t heads,
                   size_t shared_bytes, uint32_t threads = kThreads) {
  if (blocks * heads == 0) return;
  TORCH_CHECK(blocks * heads < (int64_t{1} << 31), name, ": too many queries or keys");
  constexpr size_t kWithoutAsking = size_t{48} << 10;
  if (shared_bytes > kWithoutAsking) {
    C10_CUDA_CHECK(cudaFuncSetAttribute(c10::cuda::function(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(shared_bytes)));
  }
  c10::cuda::launch_or_throw(name, kernel,
                             {.grid = dim3(static_cast<uint32_t>(blocks * heads)),
                              .block = threads,
                              .shared_bytes = shared_bytes,
                              .stream = c10::cuda::getCurrentCUDAStream()},
                             call, static_cast<int>(blocks));
}

}  // namespace at::cuda::flash

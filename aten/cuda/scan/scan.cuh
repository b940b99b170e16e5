// How the kernels of a scan are made of an operation.
#pragma once

#include "aten/cuda/launch_shape.h"
#include "aten/cuda/reduce/block.cuh"
#include "aten/cuda/reduce/load_elements.cuh"
#include "aten/cuda/scan/scan_call.h"
#include "c10/cuda/exception.h"
#include "c10/cuda/launch.h"
#include "c10/cuda/stream.h"

namespace at::cuda {

// `Op` is what one operation does:
//     using Compute = ...;  // what elements are loaded as and results are stored from
//     struct State;         // default-constructed the neutral one; a multiple of 4 bytes, trivially copyable
//     static constexpr bool kOneByOne;
//     static KD_DEVICE State of(Compute x, int64_t index);
//     static KD_DEVICE State join(const State& before, const State& behind);  // associative
//     static KD_DEVICE Compute value(const State&);
//     static KD_DEVICE int64_t index(const State&);  // where the call has indices

inline constexpr int kScanThreads = 256, kScanItems = 4, kScanTile = kScanThreads * kScanItems;

KD_DEVICE int64_t row_begin(const ScanCall& call, int64_t row) {
  return row / call.inner * call.size * call.inner + row % call.inner;
}

template <class Compute>
KD_DEVICE void load_one(const char* from, ScalarType dtype, Compute& to) {
  visit_stored<Compute>(dtype, [&](auto tag) { to = convert<Compute>(load<typename decltype(tag)::type>(from)); });
}
template <class Compute>
KD_DEVICE void store_one(char* to, ScalarType dtype, Compute value) {
  visit_stored<Compute>(dtype, [&](auto tag) {
    using Stored = typename decltype(tag)::type;
    *reinterpret_cast<Stored*>(to) = convert<Stored>(value);
  });
}

template <class Op>
__device__ __forceinline__ void put_result(const ScanCall& call, int64_t at, int64_t item,
                                           const typename Op::State& state) {
  store_one(call.out + at * item, call.dtype, Op::value(state));
  if constexpr (Op::kIndices) call.indices[at] = Op::index(state);
}

// kCount neighbours of type T, at a multiple of 16 bytes or of their own.
template <class T, int kCount>
KD_DEVICE void store_neighbours(T* to, const T (&values)[kCount]) {
  constexpr int kTogether = sizeof(T) * kCount <= 16 ? kCount : static_cast<int>(16 / sizeof(T));
  struct alignas(sizeof(T) * kTogether) Vector {
    T v[kTogether];
  };
#pragma unroll
  for (int i = 0; i < kCount; i += kTogether) {
    Vector vector;
#pragma unroll
    for (int k = 0; k < kTogether; ++k) vector.v[k] = values[i + k];
    c10::cuda::store_aligned(to + i, vector);
  }
}
template <class Op, int kCount>
__device__ __forceinline__ void put_results(const ScanCall& call, int64_t at, int64_t item,
                                            const typename Op::State& before,
                                            const typename Op::State (&states)[kCount]) {
  visit_stored<typename Op::Compute>(call.dtype, [&](auto tag) {
    using Stored = typename decltype(tag)::type;
    Stored values[kCount];
#pragma unroll
    for (int i = 0; i < kCount; ++i) values[i] = convert<Stored>(Op::value(Op::join(before, states[i])));
    store_neighbours(reinterpret_cast<Stored*>(call.out + at * item), values);
  });
  if constexpr (Op::kIndices) {
    int64_t indices[kCount];
#pragma unroll
    for (int i = 0; i < kCount; ++i) indices[i] = Op::index(Op::join(before, states[i]));
    store_neighbours(call.indices + at, indices);
  }
}

// A row for each thread, neighbours in neighbouring threads.
template <class Op>
__global__ void __launch_bounds__(kScanThreads) scan_columns(const __grid_constant__ ScanCall call, int64_t item) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t row = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; row < call.rows; row += step) {
    int64_t at = row_begin(call, row);
    typename Op::State state;
    for (int64_t k = 0; k < call.size; ++k, at += call.inner) {
      typename Op::Compute x{};
      load_one(call.in + at * item, call.dtype, x);
      state = k == 0 ? Op::of(x, k) : Op::join(state, Op::of(x, k));
      put_result<Op>(call, at, item, state);
    }
  }
}

// What stands before a lane's own state within its warp; `state` becomes what ends with it.
template <class Op>
__device__ __forceinline__ typename Op::State scan_warp(typename Op::State& state, int lane) {
  using State = typename Op::State;
#pragma unroll
  for (int delta = 1; delta < 32; delta *= 2) {
    const State other = shuffle_up(state, static_cast<unsigned>(delta));
    if (lane >= delta) state = Op::join(other, state);
  }
  const State before = shuffle_up(state, 1);
  return lane == 0 ? State() : before;
}

// A block takes the piece blockIdx.y of a row, a tile after the other: it writes results, or the piece's state alone.
template <class Op, bool kResults>
__global__ void __launch_bounds__(kScanThreads, 2) scan_rows(const __grid_constant__ ScanCall call, int64_t item) {
  using State = typename Op::State;
  using Compute = typename Op::Compute;
  State* warps = c10::cuda::dynamic_shared<State>();
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  const int64_t piece = blockIdx.y, begin = piece * call.piece_length;
  const int64_t end = ::min(call.size, begin + call.piece_length);
  for (int64_t row = blockIdx.x; row < call.rows; row += gridDim.x) {
    const int64_t first = row_begin(call, row);
    State* stored = reinterpret_cast<State*>(call.states) + row * call.pieces + piece;
    State carry;
    if (kResults && call.states != nullptr) carry = *stored;
    for (int64_t tile = begin; tile < end; tile += kScanTile) {
      const int64_t mine = tile + thread * kScanItems, left = end - mine;
      Compute x[kScanItems] = {};
      if (call.vectors && left >= kScanItems) {
        load_vector_as(call.in + (first + mine) * item, call.dtype, x);
      } else {
#pragma unroll
        for (int i = 0; i < kScanItems; ++i) {
          if (i < left) load_one(call.in + (first + (mine + i) * call.inner) * item, call.dtype, x[i]);
        }
      }
      State states[kScanItems];
#pragma unroll
      for (int i = 0; i < kScanItems; ++i) {
        if (i < left)
          states[i] = i == 0 ? Op::of(x[i], mine + i) : Op::join(states[i > 0 ? i - 1 : 0], Op::of(x[i], mine + i));
        else if (i > 0)
          states[i] = states[i > 0 ? i - 1 : 0];
      }
      State ends = states[kScanItems - 1];
      const State in_warp = scan_warp<Op>(ends, lane);
      if (lane == 31) warps[warp] = ends;
      __syncthreads();
      State before = carry;
      for (int w = 0; w < kScanThreads / 32; ++w) {
        if (w == warp) before = carry;
        carry = Op::join(carry, warps[w]);
      }
      __syncthreads();
      if constexpr (kResults) {
        before = Op::join(before, in_warp);
        if (call.vectors && left >= kScanItems) {
          put_results<Op>(call, first + mine, item, before, states);
          continue;
        }
#pragma unroll
        for (int i = 0; i < kScanItems; ++i) {
          if (i < left) put_result<Op>(call, first + (mine + i) * call.inner, item, Op::join(before, states[i]));
        }
      }
    }
    if (!kResults && thread == 0) *stored = carry;
  }
}

// The pieces' states become what stands before them; a warp for each row.
template <class Op>
__global__ void __launch_bounds__(kScanThreads) scan_pieces(const __grid_constant__ ScanCall call) {
  using State = typename Op::State;
  const int lane = static_cast<int>(threadIdx.x);
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  State* states = reinterpret_cast<State*>(call.states) + row * call.pieces;
  State carry;
  for (int64_t piece = 0; piece < call.pieces; piece += 32) {
    const bool some = row < call.rows && piece + lane < call.pieces;
    State state;
    if (some) state = states[piece + lane];
    const State before = scan_warp<Op>(state, lane);
    if (some) states[piece + lane] = Op::join(carry, before);
    carry = Op::join(carry, shuffle_from(state, 31));
  }
}

template <class Op>
void launch_scan_columns(const ScanCall& call) {
  const int64_t blocks = std::min<int64_t>((call.rows - 1) / kScanThreads + 1, kMostBlocks);
  c10::cuda::launch_or_throw(
      call.name, scan_columns<Op>,
      {.grid = static_cast<uint32_t>(blocks), .block = kScanThreads, .stream = c10::cuda::getCurrentCUDAStream()}, call,
      static_cast<int64_t>(c10::elementSize(call.dtype)));
}

template <class Op>
void launch_scan_rows(const ScanCall& call) {
  const auto item = static_cast<int64_t>(c10::elementSize(call.dtype));
  const auto rows = static_cast<uint32_t>(std::min<int64_t>(call.rows, int64_t{1} << 30));
  c10::cuda::Launch shape{.grid = dim3(rows, static_cast<uint32_t>(call.pieces)), .block = kScanThreads};
  shape.shared_bytes = sizeof(typename Op::State) * (kScanThreads / 32);
  shape.stream = c10::cuda::getCurrentCUDAStream();
  if (call.pieces > 1) {
    c10::cuda::launch_or_throw(call.name, scan_rows<Op, false>, shape, call, item);
    c10::cuda::launch_or_throw(call.name, scan_pieces<Op>,
                               {.grid = (rows - 1) / 8 + 1, .block = dim3(32, 8), .stream = shape.stream}, call);
  }
  c10::cuda::launch_or_throw(call.name, scan_rows<Op, true>, shape, call, item);
}

template <class Op>
ScanLaunchers scan_launchers() {
  return {sizeof(typename Op::State), Op::kOneByOne, &launch_scan_columns<Op>, &launch_scan_rows<Op>};
}

}  // namespace at::cuda

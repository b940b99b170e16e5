// How the kernels of a reduction are made of an operation.
#pragma once

#include "aten/cuda/launch_shape.h"
#include "aten/cuda/reduce/block.cuh"
#include "aten/cuda/reduce/load_elements.cuh"
#include "aten/cuda/reduce/reduce_call.h"
#include "c10/cuda/exception.h"
#include "c10/cuda/launch.h"
#include "c10/cuda/stream.h"

namespace at::cuda {

// `Op` is what one operation does:
//     using Compute = ...;  // what elements are loaded as
//     static constexpr bool kOrdered;  // whether positions matter
//     struct State;         // default-constructed it has seen nothing; a multiple of 4 bytes, trivially copyable
//     static KD_DEVICE void step(State&, const Compute* x, int n, int64_t position, int64_t step, const Params&);
//     static KD_DEVICE void join(State& into, const State& from);  // commutative
//     static KD_DEVICE void finish(const State&, const Results&, const Params&);
// step takes the n elements x, which stand at position, position + step, ... of what is reduced.

using ReduceParams = cpu::ReduceParams;

/// Where the results of one output go.
struct ReduceResults {
  char* out[2];  // null: not wanted
  ScalarType dtype[2];

  template <int k, class T>
  KD_DEVICE void put(T value) const {
    if (out[k] != nullptr) store_as(out[k], dtype[k], value);
  }
};

KD_DEVICE uint32_t quotient(uint32_t n, const FastDivisor& by) {
  return (static_cast<uint32_t>(static_cast<uint64_t>(n) * by.multiplier >> 32) + n) >> by.shift;
}

template <int kOperand, int kOperands>
KD_DEVICE int64_t offset_of(const Dims<kOperands>& dims, uint32_t index) {
  if (dims.count == 0) return 0;
  int64_t offset = 0;
  for (int d = 0; d + 1 < dims.count; ++d) {
    const uint32_t above = quotient(index, dims.sizes[d]);
    offset += dims.strides[kOperand][d] * (index - above * dims.sizes[d].divisor);
    index = above;
  }
  return offset + dims.strides[kOperand][dims.count - 1] * index;
}

template <class Op>
__device__ __forceinline__ void finish_output(const ReduceCall& call, uint32_t output,
                                              const typename Op::State& state) {
  ReduceResults results;
  results.out[0] = call.out[0] != nullptr ? call.out[0] + offset_of<1>(call.kept, output) : nullptr;
  results.out[1] = call.out[1] != nullptr ? call.out[1] + offset_of<2>(call.kept, output) : nullptr;
  results.dtype[0] = call.out_dtype[0];
  results.dtype[1] = call.out_dtype[1];
  Op::finish(state, results, call.params);
}

// What an operation on pairs takes in place of step: the second inputs' elements y, and the number of the output.
//     static KD_DEVICE void step(State&, const Compute* x, const Compute* y, int n, int64_t position, int64_t step,
//     int64_t output,
//                                const ReducePair&);
template <class Op>
inline constexpr bool kTakesPairs = requires {
  Op::kPairs;
};

// n elements, which `load(in, x)` brings from one of the inputs at an address of the first.
template <class Op, int kCount, class Load>
__device__ __forceinline__ void take(const ReduceCall& call, typename Op::State* states, int outputs, int64_t position,
                                     int64_t step, int64_t output, const Load& load) {
  using Compute = typename Op::Compute;
  [[maybe_unused]] Compute x[kCount] = {}, y[kCount] = {};
  const auto each_output = [](const auto& f) {
#pragma unroll
    for (int k = 0; k < kCount; ++k) f(k);
  };
  load(int64_t{0}, x);
  if constexpr (kTakesPairs<Op>) {
    load(static_cast<int64_t>(call.pair.second - call.in), y);
    if (outputs == 1)
      Op::step(states[0], x, y, kCount, position, step, output, call.pair);
    else
      each_output([&](int k) { Op::step(states[k], x + k, y + k, 1, position, step, output + k, call.pair); });
  } else {
    if (outputs == 1)
      Op::step(states[0], x, kCount, position, step, call.params);
    else
      each_output([&](int k) { Op::step(states[k], x + k, 1, position, step, call.params); });
  }
}

// kReduceVector elements in pieces of up to 16 bytes, which lie call.threads pieces apart, so that what threads read at
// once lies together: from piece u on, as far as there are any before `end`.
template <class Op>
__device__ __forceinline__ void take_pieces(const ReduceCall& call, const char* in, uint32_t u, uint32_t end,
                                            int64_t output, typename Op::State& state) {
  using Compute = typename Op::Compute;
  constexpr int kCount = static_cast<int>(kReduceVector);
  const bool is_row = call.reduced.count == 1;
  const int64_t bytes = call.reduced.strides[0][0] * call.piece;
  const auto load = [&](int64_t at, Compute (&x)[kCount]) {
    visit_stored<Compute>(call.in_dtype, [&](auto tag) {
      using Stored = typename decltype(tag)::type;
      constexpr int kPiece = kReducePiece<sizeof(Stored)>;
#pragma unroll
      for (int j = 0; j < kCount; j += kPiece) {
        const uint32_t piece = u + static_cast<uint32_t>(j / kPiece) * call.threads;
        if (piece >= end) continue;
        Compute some[kPiece];
        load_vector<Compute, Stored>(in + at + (is_row ? bytes * piece : offset_of<0>(call.reduced, piece)), some);
#pragma unroll
        for (int i = 0; i < kPiece; ++i) x[j + i] = some[i];
      }
    });
  };
  [[maybe_unused]] Compute x[kCount] = {}, y[kCount] = {};
  load(0, x);
  if constexpr (kTakesPairs<Op>) load(static_cast<int64_t>(call.pair.second - call.in), y);
  const uint32_t all = kReduceVector >> call.piece_shift, left = (end - 1 - u) / call.threads + 1;
  if constexpr (!Op::kOrdered && !kTakesPairs<Op>) {
    if (left >= all) return Op::step(state, x, kCount, 0, 1, call.params);
  }
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const uint32_t piece = static_cast<uint32_t>(i) >> call.piece_shift;
    if (piece >= left) continue;
    const uint32_t within = static_cast<uint32_t>(i) & (call.piece - 1);
    const int64_t position = call.position + (u + int64_t{piece} * call.threads) * call.piece + within;
    if constexpr (kTakesPairs<Op>)
      Op::step(state, x + i, y + i, 1, position, 1, output, call.pair);
    else
      Op::step(state, x + i, 1, position, 1, call.params);
  }
}

// The elements [begin, end) in units of call.piece (kVectors) or 1, of which this is thread `first` of call.threads.
template <class Op, ReduceAccess kAccess, int kOutputs>
__device__ __forceinline__ void take_elements(const ReduceCall& call, const char* in, uint32_t begin, uint32_t end,
                                              uint32_t first, int64_t output, typename Op::State (&states)[kOutputs]) {
  const uint32_t step = call.threads;
  if constexpr (kAccess == ReduceAccess::kVectors) {
    const uint32_t turn = step * (kReduceVector >> call.piece_shift);
    for (uint32_t u = begin + first; u < end; u += turn) take_pieces<Op>(call, in, u, end, output, states[0]);
  } else if constexpr (kAccess == ReduceAccess::kOutputVectors) {
    for (uint32_t i = begin + first; i < end; i += step) {
      const char* from = in + offset_of<0>(call.reduced, i);
      take<Op, kOutputs>(call, states, kOutputs, call.position + i, step, output,
                         [&](int64_t at, auto& x) { load_vector_as(from + at, call.in_dtype, x); });
    }
  } else {
    constexpr int kTogether = 4;
    const auto take_some = [&](uint32_t i, auto count) {
      constexpr int kCount = decltype(count)::value;
      int64_t places[kCount];
#pragma unroll
      for (int k = 0; k < kCount; ++k) places[k] = offset_of<0>(call.reduced, i + static_cast<uint32_t>(k) * step);
      take<Op, kCount>(call, states, 1, call.position + i, step, output, [&](int64_t at, auto& x) {
        const char* from[kCount];
#pragma unroll
        for (int k = 0; k < kCount; ++k) from[k] = in + places[k] + at;
        load_each_as(from, call.in_dtype, x);
      });
    };
    uint32_t i = begin + first;
    for (; i < end && end - i > (kTogether - 1) * step; i += kTogether * step) {
      take_some(i, std::integral_constant<int, kTogether>{});
    }
    for (; i < end; i += step) take_some(i, std::integral_constant<int, 1>{});
  }
}

// A block's outputs, of which each is seen by call.threads of its threads; blockIdx.y is the piece of the reduction.
template <class Op, ReduceAccess kAccess>
__global__ void __launch_bounds__(kReduceThreads,
                                  sizeof(typename Op::State) > 16 || sizeof(typename Op::Compute) > 8 ? 2 : 4)
    reduce_pieces(const __grid_constant__ ReduceCall call) {
  using State = typename Op::State;
  constexpr int kOutputs = kAccess == ReduceAccess::kOutputVectors ? kReduceOutputs : 1;
  const uint32_t unit = kAccess == ReduceAccess::kVectors ? call.piece : 1;
  const bool lanes_reduce =
      kAccess == ReduceAccess::kVectors || (kAccess == ReduceAccess::kElements && call.lanes_reduce);
  State* scratch = c10::cuda::dynamic_shared<State>();
  const uint32_t along = lanes_reduce ? threadIdx.x : threadIdx.y;
  const uint32_t place = lanes_reduce ? threadIdx.y : threadIdx.x, places = lanes_reduce ? blockDim.y : blockDim.x;
  const uint32_t output = (blockIdx.x * places + place) * kOutputs;

  State states[kOutputs];
  if (output < call.outputs) {
    const uint32_t units = call.elements / unit, piece = blockIdx.y;
    const auto begin = static_cast<uint32_t>(uint64_t{units} * piece / call.pieces);
    const auto end = static_cast<uint32_t>(uint64_t{units} * (piece + 1) / call.pieces);
    const char* in = call.in + offset_of<0>(call.kept, output);
    const int64_t number = call.first_output + output;
    take_elements<Op, kAccess>(call, in, begin, end, along, number, states);
    if constexpr (kAccess == ReduceAccess::kVectors) {
      if (piece + 1 == call.pieces) {
        for (uint32_t i = units * unit + along; i < call.elements; i += call.threads) {
          take<Op, 1>(call, states, 1, call.position + i, 1, number, [&](int64_t at, auto& x) {
            const char* from[1] = {in + call.reduced.strides[0][0] * i + at};
            load_each_as(from, call.in_dtype, x);
          });
        }
      }
    }
  }

  const auto join = [](State& into, const State& from) { Op::join(into, from); };
  if (lanes_reduce) {
    if (call.threads > 32)
      join_block(states[0], static_cast<int>(along), static_cast<int>(call.threads), scratch, join);
    else
      join_lanes(states[0], static_cast<int>(call.threads), join);
  } else {
    for (uint32_t half = call.threads / 2; half > 0; half /= 2) {
      if (along >= half && along < 2 * half) {
#pragma unroll
        for (int k = 0; k < kOutputs; ++k) scratch[(k * half + along - half) * places + place] = states[k];
      }
      __syncthreads();
      if (along < half) {
#pragma unroll
        for (int k = 0; k < kOutputs; ++k) Op::join(states[k], scratch[(k * half + along) * places + place]);
      }
      __syncthreads();
    }
  }
  if (along != 0 || output >= call.outputs) return;
    // One copy of what follows: it has a case for every dtype.
#pragma unroll 1
  for (int k = 0; k < kOutputs; ++k) {
    State state = states[0];
#pragma unroll
    for (int other = 1; other < kOutputs; ++other) {
      if (other == k) state = states[other];
    }
    if (call.states == nullptr) {
      finish_output<Op>(call, output + static_cast<uint32_t>(k), state);
    } else {
      const uint64_t slot =
          uint64_t{output + static_cast<uint32_t>(k)} * call.total_pieces + call.first_piece + blockIdx.y;
      reinterpret_cast<State*>(call.states)[slot] = state;
    }
  }
}

// A warp joins the pieces of an output.
template <class Op>
__global__ void __launch_bounds__(kReduceThreads) reduce_join(const __grid_constant__ ReduceCall call) {
  using State = typename Op::State;
  const uint32_t output = blockIdx.x * blockDim.y + threadIdx.y;
  State state;
  if (output < call.outputs) {
    const State* from = reinterpret_cast<const State*>(call.states) + uint64_t{output} * call.total_pieces;
    for (uint32_t i = threadIdx.x; i < call.total_pieces; i += 32) Op::join(state, from[i]);
  }
  join_lanes(state, 32, [](State& into, const State& part) { Op::join(into, part); });
  if (threadIdx.x == 0 && output < call.outputs) finish_output<Op>(call, output, state);
}

template <class Op>
void launch_reduce_pieces(const ReduceCall& call) {
  const uint32_t columns = call.access == ReduceAccess::kOutputVectors ? call.outputs / kReduceOutputs : call.outputs;
  const uint32_t per_thread = call.access == ReduceAccess::kOutputVectors ? kReduceOutputs : 1;
  // No more outputs in a block than there are.
  uint32_t places = kReduceThreads / call.threads;
  while (places > 1 && places / 2 >= columns && places / 2 * call.threads >= 32) places /= 2;
  const dim3 block = call.lanes_reduce ? dim3(call.threads, places) : dim3(places, call.threads);
  c10::cuda::Launch shape{.grid = dim3((columns - 1) / places + 1, call.pieces), .block = block};
  shape.shared_bytes =
      sizeof(typename Op::State) * (call.lanes_reduce ? kReduceThreads / 32 : kReduceThreads / 2 * per_thread);
  shape.stream = c10::cuda::getCurrentCUDAStream();
  switch (call.access) {
    case ReduceAccess::kElements:
      return c10::cuda::launch_or_throw(call.name, reduce_pieces<Op, ReduceAccess::kElements>, shape, call);
    case ReduceAccess::kVectors:
      return c10::cuda::launch_or_throw(call.name, reduce_pieces<Op, ReduceAccess::kVectors>, shape, call);
    case ReduceAccess::kOutputVectors:
      return c10::cuda::launch_or_throw(call.name, reduce_pieces<Op, ReduceAccess::kOutputVectors>, shape, call);
  }
}

template <class Op>
void launch_reduce_join(const ReduceCall& call) {
  c10::cuda::launch_or_throw(
      call.name, reduce_join<Op>,
      {.grid = (call.outputs - 1) / 8 + 1, .block = dim3(32, 8), .stream = c10::cuda::getCurrentCUDAStream()}, call);
}

/// The kernels of an operation.
template <class Op>
constexpr ReduceLaunchers reduce_launchers() {
  static_assert(std::is_trivially_copyable_v<typename Op::State> && sizeof(typename Op::State) % 4 == 0);
  return {sizeof(typename Op::State), Op::kOrdered, &launch_reduce_pieces<Op>, &launch_reduce_join<Op>};
}

}  // namespace at::cuda

// Gradients of attention of 16-bit numbers by matrix instructions. Each dtype is compiled on its own. The weights are
// computed once more, from the logarithms of the sums of exponentials; one kernel adds up over the keys, one over the
// queries, each in a fixed order. Products have the weights' gradients without the dropout's factor and the scale,
// which the results get: 16 bits hold them whatever these are.
#pragma once

#include "aten/cuda/attention/matrix_tiles.cuh"

namespace at::cuda {
namespace flash {
namespace {

// The sums of grad_out * out of the warp's rows, from a tile of grad_out and memory.
template <class P>
__device__ __forceinline__ void sum_changes(char* gradients, const Head& out, int first, float* to) {
  using T = typename P::Number;
  struct alignas(16) Chunk {
    T v[8];
  };
  constexpr int kAtOnce = 32 / P::kChunks;  // rows
  static_assert(kAtOnce > 0 && P::kRowsOfWarp % kAtOnce == 0);
  const int chunk = lane_of() % P::kChunks;
#pragma unroll 1
  for (int i = lane_of() / P::kChunks; i < P::kRowsOfWarp; i += kAtOnce) {
    const int row = first_row<P>() + i;
    Chunk of_out = {};
    if (first + row < out.count) {
      const char* const from = out.at(first + row, chunk * 8);
      if (out.wide && chunk * 8 < out.width) of_out = c10::cuda::load_aligned<Chunk>(from);
#pragma unroll
      for (int k = 0; k < 8; ++k) {
        if (!out.wide && chunk * 8 + k < out.width) of_out.v[k] = load<T>(from + 2 * k);
      }
    }
    const Chunk of_gradient = c10::cuda::load_aligned<Chunk>(P::at(gradients, row, chunk));
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 8; ++k) sum += convert<float>(of_gradient.v[k]) * convert<float>(of_out.v[k]);
#pragma unroll
    for (int lanes = P::kChunks / 2; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lanes);
    if (chunk == 0) to[row] = sum;
  }
  __syncwarp();
}

// A block for a tile of queries.
template <class P, bool kPlain>
__global__ void __launch_bounds__(P::kThreads, 1)
    query_gradient(const __grid_constant__ FlashGradientCall all, int blocks) {
  const FlashCall& call = all.forward;
  char* const queries = c10::cuda::dynamic_shared<char>();
  char* const gradients = queries + P::kRowsBytes;
  char* const stages = gradients + P::kRowsBytes;  // two, of a tile of keys and one of values
  float* const row_changes = reinterpret_cast<float*>(stages + 4 * P::kColumnsBytes);
  const Place place(static_cast<int>(blockIdx.x), blocks, call.heads, P::kRows);
  const int first = place.first, key_head = place.head / (call.heads / call.key_heads);
  const Head key(call.key, call.dtype, place.batch, key_head, call.keys, call.width);
  const Head value(call.value, call.dtype, place.batch, key_head, call.keys, call.value_width);
  const Scoring<float> scoring(call, place.batch, place.head);
  const int begin_row = first + first_row<P>(), end_row = begin_row + P::kRowsOfWarp;

  const auto start = [&](int begin, int stage) {
    start_tile<P, P::kColumns>(stages + 2 * stage * P::kColumnsBytes, key, begin);
    start_tile<P, P::kColumns>(stages + (2 * stage + 1) * P::kColumnsBytes, value, begin);
    ptx::cp_async_commit_group();
  };

  start_tile<P, P::kRows>(queries, Head(call.query, call.dtype, place.batch, place.head, call.queries, call.width),
                          first);
  start_tile<P, P::kRows>(
      gradients, Head(all.grad_out, call.dtype, place.batch, place.head, call.queries, call.value_width), first);
  start(0, 0);
  ptx::cp_async_wait_group<0>();
  __syncthreads();

  sum_changes<P>(gradients, Head(call.out, call.dtype, place.batch, place.head, call.queries, call.value_width), first,
                 row_changes);
  const float kept = call.dropout.factor == 0 ? 0.0f : static_cast<float>(1 / call.dropout.factor);
  float sums[P::kBlocks][2], changes[P::kBlocks][2];
#pragma unroll
  for (int m = 0; m < P::kBlocks; ++m) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int row = row_of<P>(m, h);
      changes[m][h] = row_changes[row] * kept;
      sums[m][h] = kInfinite<float>;
      if (first + row >= call.queries) continue;
      const int64_t at = scoring.number * call.queries + first + row;
      sums[m][h] = static_cast<const float*>(call.sums)[at] * kLog2OfE;
      if (lane_of() % 4 == 0) static_cast<float*>(all.changes)[at] = changes[m][h];
    }
  }

  typename P::Result result = {};
  const int end = call.causal && first + P::kRows < call.keys ? first + P::kRows : call.keys;
  for (int begin = 0, stage = 0; begin < end; begin += P::kColumns, stage ^= 1) {
    ptx::cp_async_wait_group<0>();
    __syncthreads();
    if (begin + P::kColumns < end) start(begin + P::kColumns, stage ^ 1);
    if (begin_row >= call.queries || (call.causal && begin >= end_row)) continue;
    char* const keys = stages + 2 * stage * P::kColumnsBytes;
    typename P::Scores scores, of_weights;
    multiply_rows<P>(queries, keys, scores);
    multiply_rows<P>(gradients, keys + P::kColumnsBytes, of_weights);
    score<P, kPlain>(scores, scoring, first, begin);
    if constexpr (!kPlain) for_dropped<P>(scoring, first, begin, [&](int m, int n, int r) { of_weights[m][n][r] = 0; });
#pragma unroll
    for (int m = 0; m < P::kBlocks; ++m) {
#pragma unroll
      for (int n = 0; n < P::kColumns / 8; ++n) {
#pragma unroll
        for (int r = 0; r < 4; ++r) {
          scores[m][n][r] =
              ptx::ex2_approx(scores[m][n][r] - sums[m][r / 2]) * (of_weights[m][n][r] - changes[m][r / 2]);
        }
      }
    }
    add_weighted<P>(scores, keys, result);
  }
  __syncthreads();

  const Place again(ptx::anew(static_cast<int>(blockIdx.x)), blocks, call.heads, P::kRows);
  if (again.first + first_row<P>() >= call.queries) return;
  const float factor = static_cast<float>(call.scale * call.dropout.factor);
  store_result<P>(queries, result, Head(all.grad_query, call.dtype, again.batch, again.head, call.queries, call.width),
                  again.first, [&](int, int) { return factor; });
}

// A block for a tile of keys: rows are keys, columns queries, those of all heads that share the keys.
template <class P, bool kPlain>
__global__ void __launch_bounds__(P::kThreads, 1)
    key_gradients(const __grid_constant__ FlashGradientCall all, int blocks) {
  const FlashCall& call = all.forward;
  char* const keys = c10::cuda::dynamic_shared<char>();
  char* const values = keys + P::kRowsBytes;
  char* const stages = values + P::kRowsBytes;  // two, of a tile of queries and one of gradients
  float* const column_sums = reinterpret_cast<float*>(stages + 4 * P::kColumnsBytes);  // two of sums and changes
  const Place place(static_cast<int>(blockIdx.x), blocks, call.key_heads, P::kRows);
  const int first = place.first, group = call.heads / call.key_heads;
  const int begin_row = first + first_row<P>();
  const int first_query = call.causal ? first / P::kColumns * P::kColumns : 0;

  const auto start = [&](int head, int begin, int stage) {
    start_tile<P, P::kColumns>(stages + 2 * stage * P::kColumnsBytes,
                               Head(call.query, call.dtype, place.batch, head, call.queries, call.width), begin);
    start_tile<P, P::kColumns>(stages + (2 * stage + 1) * P::kColumnsBytes,
                               Head(all.grad_out, call.dtype, place.batch, head, call.queries, call.value_width),
                               begin);
    // What is not there has queries and gradients of zeros, so that any sum does.
    if (const int column = static_cast<int>(threadIdx.x); column < P::kColumns) {
      const bool inside = begin + column < call.queries;
      const int64_t at = (int64_t{place.batch} * call.heads + head) * call.queries + (inside ? begin + column : 0);
      float* const to = column_sums + 2 * stage * P::kColumns + column;
      ptx::cp_async_4(to, static_cast<const float*>(call.sums) + at, inside ? 4 : 0);
      ptx::cp_async_4(to + P::kColumns, static_cast<const float*>(all.changes) + at, inside ? 4 : 0);
    }
    ptx::cp_async_commit_group();
  };

  start_tile<P, P::kRows>(keys, Head(call.key, call.dtype, place.batch, place.head, call.keys, call.width), first);
  start_tile<P, P::kRows>(values, Head(call.value, call.dtype, place.batch, place.head, call.keys, call.value_width),
                          first);
  ptx::cp_async_commit_group();
  int head = place.head * group, begin = first_query, stage = 0;
  const int end_head = first_query < call.queries ? head + group : head;
  if (head < end_head) start(head, begin, 0);
  typename P::Result of_keys = {}, of_values = {};
  while (head < end_head) {
    ptx::cp_async_wait_group<0>();
    __syncthreads();
    int next_head = head, next_begin = begin + P::kColumns;
    if (next_begin >= call.queries) ++next_head, next_begin = first_query;
    if (next_head < end_head) start(next_head, next_begin, stage ^ 1);
    if (begin_row < call.keys && !(call.causal && begin + P::kColumns <= begin_row)) {
      char* const queries = stages + 2 * stage * P::kColumnsBytes;
      char* const gradients = queries + P::kColumnsBytes;
      const Scoring<float> scoring(call, place.batch, head);
      typename P::Scores weights, of_weights;
      multiply_rows<P>(keys, queries, weights);
      multiply_rows<P>(values, gradients, of_weights);
      score<P, kPlain, true>(weights, scoring, first, begin);
      const float* const sums = column_sums + 2 * stage * P::kColumns;
      const float* const changes = sums + P::kColumns;
      for_scores<P, false>(weights,
                           [&](float& x, int, int, int column) { x = ptx::ex2_approx(x - sums[column] * kLog2OfE); });
      // A weight that is dropped is left with a sign: it counts for the scores' gradients, not for the values'.
      if constexpr (!kPlain) {
        for_dropped<P, true>(scoring, first, begin, [&](int m, int n, int r) {
          weights[m][n][r] = -weights[m][n][r];
          of_weights[m][n][r] = 0;
        });
      }
#pragma unroll
      for (int n = 0; n < P::kColumns / 8; ++n) {
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          const float change = changes[8 * n + lane_of() % 4 * 2 + c];
#pragma unroll
          for (int m = 0; m < P::kBlocks; ++m) {
#pragma unroll
            for (int h = 0; h < 2; ++h) {
              float &weight = weights[m][n][2 * h + c], &gradient = of_weights[m][n][2 * h + c];
              gradient = ::fabsf(weight) * (gradient - change);
              if (!kPlain && weight < 0.0f) weight = 0.0f;
            }
          }
        }
      }
      add_weighted<P>(weights, gradients, of_values);
      add_weighted<P>(of_weights, queries, of_keys);
    }
    head = next_head, begin = next_begin, stage ^= 1;
  }
  ptx::cp_async_wait_group<0>();
  __syncthreads();

  const Place again(ptx::anew(static_cast<int>(blockIdx.x)), blocks, call.key_heads, P::kRows);
  if (again.first + first_row<P>() >= call.keys) return;
  const float factor = static_cast<float>(call.dropout.factor), scale = static_cast<float>(call.scale) * factor;
  store_result<P>(keys, of_keys, Head(all.grad_key, call.dtype, again.batch, again.head, call.keys, call.width),
                  again.first, [&](int, int) { return scale; });
  store_result<P>(values, of_values,
                  Head(all.grad_value, call.dtype, again.batch, again.head, call.keys, call.value_width), again.first,
                  [&](int, int) { return factor; });
}

template <class Rows, class Columns, bool kPlain>
void launch(const FlashGradientCall& call) {
  const FlashCall& of = call.forward;
  const auto blocks = [](int64_t count, int rows) { return (count + rows - 1) / rows; };
  launch_blocks("flash_attention_query_gradient_of_matrices", query_gradient<Rows, kPlain>, call,
                blocks(of.queries, Rows::kRows), int64_t{of.batches} * of.heads,
                2 * Rows::kRowsBytes + 4 * Rows::kColumnsBytes + Rows::kRows * sizeof(float), Rows::kThreads);
  launch_blocks("flash_attention_key_gradients_of_matrices", key_gradients<Columns, kPlain>, call,
                blocks(of.keys, Columns::kRows), int64_t{of.batches} * of.key_heads,
                2 * Columns::kRowsBytes + 4 * Columns::kColumnsBytes + 4 * Columns::kColumns * sizeof(float),
                Columns::kThreads);
}

template <class T, bool kPlain>
void launch(const FlashGradientCall& call) {
  const int width = std::max(call.forward.width, call.forward.value_width);
  if (width <= 32) return launch<Plan<T, 32, 2, 32>, Plan<T, 32, 2, 32>, kPlain>(call);
  if (width <= 64) return launch<Plan<T, 64, 2, 32>, Plan<T, 64, 1, 64>, kPlain>(call);
  if (width <= 128) return launch<Plan<T, 128, 1, 64>, Plan<T, 128, 1, 32>, kPlain>(call);
  return launch<Plan<T, 256, 1, 32, 8>, Plan<T, 256, 1, 32, 4, 2>, kPlain>(call);
}

}  // namespace
}  // namespace flash

template <class T>
void launch_flash_matrix_backward(const FlashGradientCall& call) {
  const bool plain = call.forward.mask.data == nullptr && call.forward.dropout.bound == 0;
  plain ? flash::launch<T, true>(call) : flash::launch<T, false>(call);
}

}  // namespace at::cuda

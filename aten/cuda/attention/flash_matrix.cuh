// Attention of 16-bit numbers by matrix instructions: a block for a tile of queries. Each dtype is compiled on its own.
#pragma once

#include "aten/cuda/attention/matrix_tiles.cuh"

namespace at::cuda {
namespace flash {
namespace {

// Powers of two in place of those of e, so that they are one instruction: scores are multiplied by log2(e).
template <class P>
struct Softmax {
  float largest[P::kBlocks][2], sums[P::kBlocks][2];  // sums: of the lane's weights

  __device__ Softmax() {
#pragma unroll
    for (int m = 0; m < P::kBlocks; ++m) {
#pragma unroll
      for (int h = 0; h < 2; ++h) largest[m][h] = -kInfinite<float>, sums[m][h] = 0;
    }
  }

  /// Scores become weights, as far as those seen so far tell, and `out` is what it would be by these.
  __device__ __forceinline__ void weigh(typename P::Scores& scores, typename P::Result& out) {
    float change[P::kBlocks][2];
    bool changes = false;
#pragma unroll
    for (int m = 0; m < P::kBlocks; ++m) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        float most = largest[m][h];
#pragma unroll
        for (int n = 0; n < P::kColumns / 8; ++n)
          most = larger(most, larger(scores[m][n][2 * h], scores[m][n][2 * h + 1]));
        most = largest_of_lanes(most);
        const float base = most == -kInfinite<float> ? 0.0f : most;
        change[m][h] = ptx::ex2_approx(largest[m][h] - base);
        changes |= most != largest[m][h];
        largest[m][h] = most;
        float sum = 0;
#pragma unroll
        for (int n = 0; n < P::kColumns / 8; ++n) {
#pragma unroll
          for (int r = 2 * h; r < 2 * h + 2; ++r) {
            scores[m][n][r] = ptx::ex2_approx(scores[m][n][r] - base);
            sum += scores[m][n][r];
          }
        }
        sums[m][h] = sums[m][h] * change[m][h] + sum;
      }
    }
    // Mostly it does not.
    if (__any_sync(0xffffffffu, changes) == 0) return;
#pragma unroll
    for (int m = 0; m < P::kBlocks; ++m) {
#pragma unroll
      for (int n = 0; n < P::kChunksOfPart; ++n) {
#pragma unroll
        for (int r = 0; r < 4; ++r) out[m][n][r] *= change[m][r / 2];
      }
    }
  }
};

// Plain: there is no mask, and no dropout.
template <class P, bool kPlain>
__global__ void __launch_bounds__(P::kThreads, 1) attend(const __grid_constant__ FlashCall call, int blocks) {
  char* const queries = c10::cuda::dynamic_shared<char>();
  char* const stages = queries + P::kRowsBytes;  // two, of a tile of keys and one of values
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

  Softmax<P> softmax;
  typename P::Result out = {};
  start_tile<P, P::kRows>(queries, Head(call.query, call.dtype, place.batch, place.head, call.queries, call.width),
                          first);
  start(0, 0);
  const int end = call.causal && first + P::kRows < call.keys ? first + P::kRows : call.keys;
  for (int begin = 0, stage = 0; begin < end; begin += P::kColumns, stage ^= 1) {
    ptx::cp_async_wait_group<0>();
    __syncthreads();
    if (begin + P::kColumns < end) start(begin + P::kColumns, stage ^ 1);
    if (begin_row >= call.queries || (call.causal && begin >= end_row)) continue;
    char* const keys = stages + 2 * stage * P::kColumnsBytes;
    typename P::Scores scores;
    multiply_rows<P>(queries, keys, scores);
    score<P, kPlain>(scores, scoring, first, begin);
    softmax.weigh(scores, out);
    if constexpr (!kPlain) for_dropped<P>(scoring, first, begin, [&](int m, int n, int r) { scores[m][n][r] = 0; });
    add_weighted<P>(scores, keys + P::kColumnsBytes, out);
  }
  ptx::cp_async_wait_group<0>();
  __syncthreads();

  const Place again(ptx::anew(static_cast<int>(blockIdx.x)), blocks, call.heads, P::kRows);
  if (again.first + first_row<P>() >= call.queries) return;
  float* const sums =
      static_cast<float*>(call.sums) + (int64_t{again.batch} * call.heads + again.head) * call.queries + again.first;
  const auto kept = static_cast<float>(call.dropout.factor);
  store_result<P>(queries, out, Head(call.out, call.dtype, again.batch, again.head, call.queries, call.value_width),
                  again.first, [&](int m, int h) {
                    const int row = row_of<P>(m, h);
                    const float sum = sum_of_lanes(softmax.sums[m][h]);
                    if (lane_of() % 4 == 0 && again.first + row < call.queries) {
                      sums[row] = sum == 0.0f ? kInfinite<float> : softmax.largest[m][h] * kLogOf2 + log_of(sum);
                    }
                    return sum == 0.0f ? 0.0f : kept / sum;
                  });
}

template <class P, bool kPlain>
void launch(const FlashCall& call) {
  launch_blocks("flash_attention_of_matrices", attend<P, kPlain>, call,
                (int64_t{call.queries} + P::kRows - 1) / P::kRows, int64_t{call.batches} * call.heads,
                P::kRowsBytes + 4 * P::kColumnsBytes, P::kThreads);
}

}  // namespace
}  // namespace flash

template <class T>
void launch_flash_matrix(const FlashCall& call) {
  using namespace flash;
  const int width = std::max(call.width, call.value_width);
  if (call.mask.data == nullptr && call.dropout.bound == 0) {
    if (width <= 32) return launch<Plan<T, 32, 2, 64>, true>(call);
    if (width <= 64) return launch<Plan<T, 64, 2, 64>, true>(call);
    if (width <= 128) return launch<Plan<T, 128, 2, 48>, true>(call);
    return launch<Plan<T, 256, 1, 32>, true>(call);
  }
  if (width <= 32) return launch<Plan<T, 32, 2, 32>, false>(call);
  if (width <= 64) return launch<Plan<T, 64, 2, 32>, false>(call);
  if (width <= 128) return launch<Plan<T, 128, 1, 64>, false>(call);
  return launch<Plan<T, 256, 1, 32>, false>(call);
}

}  // namespace at::cuda

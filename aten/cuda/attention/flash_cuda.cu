// Attention with an online softmax (Milakov & Gimelshein 2018, Dao et al. 2022): a block for a tile of queries.
#include "aten/cuda/attention/flash.cuh"
#include "aten/cuda/launch_shape.h"

namespace at::cuda {
namespace flash {
namespace {

struct Sizes {
  template <class C, int kWidth>
  static constexpr int kTile = sizeof(C) * kWidth <= 512    ? 64
                               : sizeof(C) * kWidth <= 1024 ? 32
                                                            : 16;
};

template <class T>
__global__ void __launch_bounds__(kThreads, 1) attend(const __grid_constant__ FlashCall call, int blocks) {
  using C = typename T::Compute;
  C* const queries = c10::cuda::dynamic_shared<C>();
  C* const others = queries + T::kElements;  // a tile of keys, then the one of their values
  C* const weights = others + T::kElements;
  const int number = static_cast<int>(blockIdx.x) / blocks, first = static_cast<int>(blockIdx.x) % blocks * T::kTile;
  const int batch = number / call.heads, head = number % call.heads;
  const int key_head = head / (call.heads / call.key_heads);
  const Head query(call.query, call.dtype, batch, head, call.queries, call.width);
  const Head key(call.key, call.dtype, batch, key_head, call.keys, call.width);
  const Head value(call.value, call.dtype, batch, key_head, call.keys, call.value_width);
  const Scoring<C> scoring(call, batch, head);
  const int x = thread_x(), y = thread_y();

  C largest[T::kRows], sums[T::kRows];
  typename T::Rows out = {};
#pragma unroll
  for (int r = 0; r < T::kRows; ++r) largest[r] = -kInfinite<C>, sums[r] = 0;
  load_tile<T>(queries, query, first);
  const int rows = T::count(call.queries - first);
  const int end = call.causal && first + T::kTile < call.keys ? first + T::kTile : call.keys;
  for (int begin = 0; begin < end; begin += T::kTile) {
    __syncthreads();
    load_tile<T>(others, key, begin);
    __syncthreads();
    typename T::Scores scores;
    multiply<T>(queries, others, call.width, rows, T::count(end - begin), scores);
#pragma unroll
    for (int r = 0; r < T::kRows; ++r) {
      const int row = y * T::kRows + r;
      C most = largest[r];
#pragma unroll
      for (int c = 0; c < T::kRows; ++c) {
        scores[r][c] = scoring.score(scores[r][c], first + row, begin + x + kSide * c);
        most = larger(most, scores[r][c]);
      }
      most = largest_of_row(most);
      const C base = most == -kInfinite<C> ? C(0) : most, change = exp_of(largest[r] - base);
      largest[r] = most;
      sums[r] *= change;
#pragma unroll
      for (int c = 0; c < T::kColumns; ++c) out[r][c] *= change;
      const uint64_t seed = scoring.row_seed(first + row);
#pragma unroll
      for (int c = 0; c < T::kRows; ++c) {
        const int column = x + kSide * c;
        const C weight = exp_of(scores[r][c] - base);
        sums[r] += weight;
        weights[row * T::kWeightPitch + column] = weight * scoring.factor(seed, begin + column);
      }
    }
    __syncthreads();
    load_tile<T>(others, value, begin);
    __syncthreads();
    accumulate<T>(weights, others, T::count(end - begin), rows, out);
  }

  const Head to(call.out, call.dtype, batch, head, call.queries, call.value_width);
#pragma unroll
  for (int r = 0; r < T::kRows; ++r) {
    const int i = first + y * T::kRows + r;
    const C sum = sum_of_row(sums[r]);
    if (i >= call.queries) continue;
    const C factor = sum == C(0) ? C(0) : C(1) / sum;
#pragma unroll
    for (int c = 0; c < T::kColumns; ++c) {
      const int column = x + kSide * c;
      if (column < call.value_width) store_number(to.at(i, column), call.dtype, out[r][c] * factor);
    }
    if (x == 0)
      static_cast<C*>(call.sums)[scoring.number * call.queries + i] =
          sum == C(0) ? kInfinite<C> : largest[r] + log_of(sum);
  }
}

template <class C>
void launch(const FlashCall& call) {
  with_tiles<C, Sizes>(std::max(call.width, call.value_width), [&](auto tiles) {
    using T = decltype(tiles);
    launch_blocks("flash_attention", attend<T>, call, (int64_t{call.queries} + T::kTile - 1) / T::kTile,
                  int64_t{call.batches} * call.heads, (2 * T::kElements + T::kWeights) * sizeof(C));
  });
}

template <class C>
__global__ void write_factors(const __grid_constant__ FlashCall call, void* to) {
  const int64_t numel = int64_t{call.batches} * call.heads * call.queries * call.keys;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  const int64_t a_head = int64_t{call.queries} * call.keys;
  for (int64_t n = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; n < numel; n += step) {
    const int64_t number = n / a_head, place = n % a_head;
    const Scoring<C> scoring(call, static_cast<int>(number / call.heads), static_cast<int>(number % call.heads));
    store_number(
        static_cast<char*>(to) + n * item_size(call.dtype), call.dtype,
        scoring.factor(scoring.row_seed(static_cast<int>(place / call.keys)), static_cast<int>(place % call.keys)));
  }
}

}  // namespace
}  // namespace flash

void launch_flash(const FlashCall& call) {
  switch (call.dtype) {
    case ScalarType::Double:
      return flash::launch<double>(call);
    case ScalarType::Half:
      return launch_flash_matrix<Half>(call);
    case ScalarType::BFloat16:
      return launch_flash_matrix<BFloat16>(call);
    default:
      return flash::launch<float>(call);
  }
}

void launch_flash_dropout(const FlashCall& call, void* to) {
  const int64_t numel = int64_t{call.batches} * call.heads * call.queries * call.keys;
  if (numel == 0) return;
  const auto most = static_cast<uint32_t>(std::min<int64_t>(numel, (int64_t{1} << 31) - 1));
  const auto kernel = call.dtype == ScalarType::Double ? flash::write_factors<double> : flash::write_factors<float>;
  c10::cuda::launch_or_throw("flash_attention_dropout", kernel, shape_for(most, 1, c10::cuda::getCurrentCUDAStream()),
                             call, to);
}

}  // namespace at::cuda

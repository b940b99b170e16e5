// Gradients of attention: the weights are computed once more, from the logarithms of the sums of exponentials. One
// kernel adds up over the keys, one over the queries, each in a fixed order.
#include "aten/cuda/attention/flash.cuh"

namespace at::cuda {
namespace flash {
namespace {

struct Sizes {
  template <class C, int kWidth>
  static constexpr int kTile = sizeof(C) * kWidth <= 1024 ? 32 : 16;
};

template <class T>
__device__ __forceinline__ void store_rows(const Head& to, int first, const typename T::Rows& rows) {
#pragma unroll
  for (int r = 0; r < T::kRows; ++r) {
    const int i = first + thread_y() * T::kRows + r;
    if (i >= to.count) continue;
#pragma unroll
    for (int c = 0; c < T::kColumns; ++c) {
      const int column = thread_x() + kSide * c;
      if (column < to.width) store_number(to.at(i, column), to.dtype, rows[r][c]);
    }
  }
}

// A block for a tile of queries.
template <class T>
__global__ void __launch_bounds__(kThreads, 1)
    query_gradient(const __grid_constant__ FlashGradientCall all, int blocks) {
  using C = typename T::Compute;
  const FlashCall& call = all.forward;
  C* const queries = c10::cuda::dynamic_shared<C>();
  C* const gradients = queries + T::kElements;
  C* const keys = gradients + T::kElements;
  C* const values = keys + T::kElements;
  C* const weights = values + T::kElements;
  const int number = static_cast<int>(blockIdx.x) / blocks, first = static_cast<int>(blockIdx.x) % blocks * T::kTile;
  const int batch = number / call.heads, head = number % call.heads;
  const int key_head = head / (call.heads / call.key_heads);
  const Head key(call.key, call.dtype, batch, key_head, call.keys, call.width);
  const Head value(call.value, call.dtype, batch, key_head, call.keys, call.value_width);
  const Scoring<C> scoring(call, batch, head);
  const int x = thread_x(), y = thread_y();

  load_tile<T>(queries, Head(call.query, call.dtype, batch, head, call.queries, call.width), first);
  load_tile<T>(gradients, Head(all.grad_out, call.dtype, batch, head, call.queries, call.value_width), first);
  __syncthreads();
  C sums[T::kRows], changes[T::kRows];
  const Head out(call.out, call.dtype, batch, head, call.queries, call.value_width);
#pragma unroll
  for (int r = 0; r < T::kRows; ++r) {
    const int row = y * T::kRows + r, i = first + row;
    C change = 0;
    if (i < call.queries) {
      for (int column = x; column < call.value_width; column += kSide)
        change += gradients[row * T::kPitch + column] * load_number<C>(out.at(i, column), call.dtype);
    }
    changes[r] = sum_of_row(change);
    sums[r] = kInfinite<C>;
    if (i >= call.queries) continue;
    const int64_t place = scoring.number * call.queries + i;
    sums[r] = static_cast<const C*>(call.sums)[place];
    if (x == 0) static_cast<C*>(all.changes)[place] = changes[r];
  }

  typename T::Rows result = {};
  const int rows = T::count(call.queries - first);
  const int end = call.causal && first + T::kTile < call.keys ? first + T::kTile : call.keys;
  for (int begin = 0; begin < end; begin += T::kTile) {
    __syncthreads();
    const int columns = T::count(end - begin);
    load_tile<T>(keys, key, begin);
    load_tile<T>(values, value, begin);
    __syncthreads();
    typename T::Scores scores, of_weights;
    multiply<T>(queries, keys, call.width, rows, columns, scores);
    multiply<T>(gradients, values, call.value_width, rows, columns, of_weights);
#pragma unroll
    for (int r = 0; r < T::kRows; ++r) {
      const int row = y * T::kRows + r, i = first + row;
      const uint64_t seed = scoring.row_seed(i);
#pragma unroll
      for (int c = 0; c < T::kRows; ++c) {
        const int column = x + kSide * c, j = begin + column;
        const C weight = exp_of(scoring.score(scores[r][c], i, j) - sums[r]);
        weights[row * T::kWeightPitch + column] =
            weight * (of_weights[r][c] * scoring.factor(seed, j) - changes[r]) * scoring.scale;
      }
    }
    __syncwarp();
    accumulate<T>(weights, keys, columns, rows, result);
  }
  store_rows<T>(Head(all.grad_query, call.dtype, batch, head, call.queries, call.width), first, result);
}

// A block for a tile of keys: rows are keys, columns queries.
template <class T>
__global__ void __launch_bounds__(kThreads, 1)
    key_gradients(const __grid_constant__ FlashGradientCall all, int blocks) {
  using C = typename T::Compute;
  const FlashCall& call = all.forward;
  C* const keys = c10::cuda::dynamic_shared<C>();
  C* const values = keys + T::kElements;
  C* const queries = values + T::kElements;
  C* const gradients = queries + T::kElements;
  C* const weights = gradients + T::kElements;
  C* const score_gradients = weights + T::kWeights;
  const int number = static_cast<int>(blockIdx.x) / blocks, first = static_cast<int>(blockIdx.x) % blocks * T::kTile;
  const int batch = number / call.key_heads, key_head = number % call.key_heads, group = call.heads / call.key_heads;
  const int x = thread_x(), y = thread_y();

  load_tile<T>(keys, Head(call.key, call.dtype, batch, key_head, call.keys, call.width), first);
  load_tile<T>(values, Head(call.value, call.dtype, batch, key_head, call.keys, call.value_width), first);
  const int rows = T::count(call.keys - first);
  typename T::Rows of_keys = {}, of_values = {};
  for (int head = key_head * group; head < (key_head + 1) * group; ++head) {
    const Head query(call.query, call.dtype, batch, head, call.queries, call.width);
    const Head gradient(all.grad_out, call.dtype, batch, head, call.queries, call.value_width);
    const Scoring<C> scoring(call, batch, head);
    const C* const sums = static_cast<const C*>(call.sums) + scoring.number * call.queries;
    const C* const changes = static_cast<const C*>(all.changes) + scoring.number * call.queries;
    for (int begin = call.causal ? first : 0; begin < call.queries; begin += T::kTile) {
      __syncthreads();
      const int columns = T::count(call.queries - begin);
      load_tile<T>(queries, query, begin);
      load_tile<T>(gradients, gradient, begin);
      __syncthreads();
      typename T::Scores scores, of_weights;
      multiply<T>(keys, queries, call.width, rows, columns, scores);
      multiply<T>(values, gradients, call.value_width, rows, columns, of_weights);
#pragma unroll
      for (int c = 0; c < T::kRows; ++c) {
        const int column = x + kSide * c, i = begin + column;
        const uint64_t seed = scoring.row_seed(i);
        const C sum = i < call.queries ? sums[i] : kInfinite<C>, change = i < call.queries ? changes[i] : C(0);
#pragma unroll
        for (int r = 0; r < T::kRows; ++r) {
          const int row = y * T::kRows + r, j = first + row;
          const C weight = exp_of(scoring.score(scores[r][c], i, j) - sum), factor = scoring.factor(seed, j);
          weights[row * T::kWeightPitch + column] = weight * factor;
          score_gradients[row * T::kWeightPitch + column] =
              weight * (of_weights[r][c] * factor - change) * scoring.scale;
        }
      }
      __syncwarp();
      accumulate<T>(weights, gradients, columns, rows, of_values);
      accumulate<T>(score_gradients, queries, columns, rows, of_keys);
    }
  }
  store_rows<T>(Head(all.grad_key, call.dtype, batch, key_head, call.keys, call.width), first, of_keys);
  store_rows<T>(Head(all.grad_value, call.dtype, batch, key_head, call.keys, call.value_width), first, of_values);
}

template <class C>
void launch(const FlashGradientCall& call) {
  const FlashCall& of = call.forward;
  with_tiles<C, Sizes>(std::max(of.width, of.value_width), [&](auto tiles) {
    using T = decltype(tiles);
    const auto blocks = [](int64_t rows) { return (rows + T::kTile - 1) / T::kTile; };
    launch_blocks("flash_attention_query_gradient", query_gradient<T>, call, blocks(of.queries),
                  int64_t{of.batches} * of.heads, (4 * T::kElements + T::kWeights) * sizeof(C));
    launch_blocks("flash_attention_key_gradients", key_gradients<T>, call, blocks(of.keys),
                  int64_t{of.batches} * of.key_heads, (4 * T::kElements + 2 * T::kWeights) * sizeof(C));
  });
}

}  // namespace
}  // namespace flash

void launch_flash_backward(const FlashGradientCall& call) {
  switch (call.forward.dtype) {
    case ScalarType::Double:
      return flash::launch<double>(call);
    case ScalarType::Half:
      return launch_flash_matrix_backward<Half>(call);
    case ScalarType::BFloat16:
      return launch_flash_matrix_backward<BFloat16>(call);
    default:
      return flash::launch<float>(call);
  }
}

}  // namespace at::cuda

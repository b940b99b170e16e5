// The gradients of layer normalisation.
#include "aten/cuda/rows/rows.cuh"

namespace at::cuda {
namespace {

// What a row's gradient is put together from.
template <class T>
struct RowGradient {
  T mean, scale, mean_g = 0, mean_gx = 0;

  __device__ __forceinline__ T normal(T x) const { return (x - mean) * scale; }
  __device__ __forceinline__ T of(T g, T x) const { return scale * (g - mean_g - normal(x) * mean_gx); }
};

// `e` are the gradient and x; gradients are weighted by input 2, where there is one.
template <class T, class R, class E>
__device__ __forceinline__ RowGradient<T> row_gradient(const R& row, const E& e) {
  RowGradient<T> r{row.template number<0>(), row.template number<1>()};
  const bool weighted = row.call.in[2] != nullptr;
  T sum_g = 0, sum_gx = 0;
  row.each(e, [&](const auto& v, int n, int u) {
    T weight[1][kRowVector];
    if (weighted) row.template load<2>(weight, u);
#pragma unroll
    for (int i = 0; i < kRowVector; ++i) {
      if (i >= n) continue;
      const T g = weighted ? v[0][i] * weight[0][i] : v[0][i];
      sum_g += g;
      sum_gx += g * r.normal(v[1][i]);
    }
  });
  const T share = T(1) / static_cast<T>(row.call.size);
  r.mean_g = row.sum(sum_g) * share, r.mean_gx = row.sum(sum_gx) * share;
  return r;
}

template <class T, class R, class E>
__device__ __forceinline__ void write_gradient(const R& row, const E& e, const RowGradient<T>& r) {
  if (row.call.in[2] != nullptr)
    row.template map<2>(e, [&](int64_t, const T* v) { return r.of(v[0] * v[2], v[1]); });
  else
    row.template map<>(e, [&](int64_t, const T* v) { return r.of(v[0], v[1]); });
}

struct LayerNormBackward {
  static constexpr bool kAnyInner = false;

  template <class R>
  static __device__ __forceinline__ void run(const R& row) {
    using T = typename R::Number;
    const auto e = row.template elements<0, 1>();
    write_gradient(row, e, row_gradient<T>(row, e));
  }
};

constexpr int kWarps = kLayerNormWarps;

// A warp takes a row after the other, and adds what it is to the sums of columns to numbers of its own in shared
// memory: [warp][sum][place]. The block leaves their sums.
template <class T>
__global__ void __launch_bounds__(kWarps * 32) gradients(const __grid_constant__ LayerNormGradients call) {
  const RowsCall& rows = call.rows;
  const auto width = static_cast<int>(rows.size), places = 2 * width;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  T* shared = c10::cuda::dynamic_shared<T>();
  T* own = shared + warp * places;
  for (int k = lane; k < places; k += 32) own[k] = 0;
  __syncwarp();
  constexpr int kPiece = kPieceOf<T>;
  struct alignas(16) Vector {
    T v[kPiece];
  };
  const auto add = [&](T* to, const T (&x)[kRowVector], int j) {
    Vector sums = c10::cuda::load_aligned<Vector>(to);
#pragma unroll
    for (int i = 0; i < kPiece; ++i) sums.v[i] += x[j + i];
    c10::cuda::store_aligned(to, sums);
  };
  const int64_t step = int64_t{gridDim.x} * kWarps;
  for (int64_t r = int64_t{blockIdx.x} * kWarps + warp; r < rows.rows; r += step) {
    const Row<T, 32, true> row(rows, r, lane, nullptr);
    const auto e = row.template elements<0, 1>();
    const RowGradient<T> gradient = row_gradient<T>(row, e);
    write_gradient(row, e, gradient);
    row.each(e, [&](const auto& v, int n, int u) {
      T gx[kRowVector];
#pragma unroll
      for (int i = 0; i < kRowVector; ++i) gx[i] = v[0][i] * gradient.normal(v[1][i]);
#pragma unroll
      for (int j = 0; j < kRowVector; j += kPiece) {
        if (j >= n) continue;
        T* to = own + row.place(u, j);
        add(to, v[0], j);
        add(to + width, gx, j);
      }
    });
  }
  __syncthreads();
  T* parts = static_cast<T*>(call.parts) + int64_t{blockIdx.x} * places;
  for (int k = static_cast<int>(threadIdx.x); k < places; k += kWarps * 32) {
    T sum = shared[k];
#pragma unroll
    for (int w = 1; w < kWarps; ++w) sum += shared[w * places + k];
    parts[k] = sum;
  }
}

// The sums of the blocks' parts, 32 columns in a block: threads of a warp take columns, and warps parts.
constexpr int kJoinWarps = 8;
template <class T>
__global__ void __launch_bounds__(kJoinWarps * 32) join_parts(const __grid_constant__ LayerNormGradients call) {
  const auto width = static_cast<int>(call.rows.size), places = 2 * width;
  const int k = static_cast<int>(blockIdx.x * 32 + threadIdx.x), warp = static_cast<int>(threadIdx.y);
  double* shared = c10::cuda::dynamic_shared<double>();
  double sum = 0;
  if (k < places) {
    const T* parts = static_cast<const T*>(call.parts) + k;
    for (int block = warp; block < call.blocks; block += kJoinWarps)
      sum += static_cast<double>(parts[int64_t{block} * places]);
  }
  shared[warp * 32 + static_cast<int>(threadIdx.x)] = sum;
  __syncthreads();
  if (warp != 0 || k >= places) return;
  for (int w = 1; w < kJoinWarps; ++w) sum += shared[w * 32 + static_cast<int>(threadIdx.x)];
  const bool of_bias = k < width;
  char* to = of_bias ? call.grad_bias : call.grad_weight;
  const ScalarType dtype = of_bias ? call.bias_dtype : call.weight_dtype;
  const int place = of_bias ? k : k - width;
  if (to == nullptr) return;
  const int64_t item = dtype == ScalarType::Double ? 8 : dtype == ScalarType::Float ? 4 : 2;
  store_as(to + place * item, dtype, sum);
}

template <class T>
void launch(const LayerNormGradients& call) {
  const auto stream = c10::cuda::getCurrentCUDAStream();
  const auto places = static_cast<size_t>(2 * call.rows.size);
  c10::cuda::launch_or_throw(call.rows.name, gradients<T>,
                             {.grid = static_cast<uint32_t>(call.blocks),
                              .block = kWarps * 32,
                              .shared_bytes = kWarps * places * sizeof(T),
                              .stream = stream},
                             call);
  c10::cuda::launch_or_throw(call.rows.name, join_parts<T>,
                             {.grid = static_cast<uint32_t>((places - 1) / 32 + 1),
                              .block = dim3(32, kJoinWarps),
                              .shared_bytes = kJoinWarps * 32 * sizeof(double),
                              .stream = stream},
                             call);
}

}  // namespace

constinit const RowsLaunchers kLayerNormBackwardRows = rows_launchers<LayerNormBackward>();

void layer_norm_gradients(const LayerNormGradients& call) {
  call.rows.in_dtype[0] == ScalarType::Double ? launch<double>(call) : launch<float>(call);
}

}  // namespace at::cuda

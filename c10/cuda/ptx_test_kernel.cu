#include "c10/cuda/ptx_test_kernel.h"

#include "c10/cuda/launch.h"
#include "c10/cuda/ptx.h"

namespace c10::cuda {
namespace {

constexpr unsigned kLanes = 32;

template <int kCount, bool kTransposed>
__global__ void load_kernel(const uint16_t* matrices, uint32_t* words) {
  auto* const tile = dynamic_shared<uint16_t>();
  const unsigned lane = ptx::laneid();
  for (unsigned i = lane; i < 64 * kCount; i += kLanes) tile[i] = matrices[i];
  __syncthreads();
  // The addresses of lanes that have no row do not count.
  const uint16_t* const row = tile + 8 * (lane < 8 * kCount ? lane : 0);
  uint32_t of_lane[kCount];
  if constexpr (kTransposed) {
    ptx::ldmatrix_trans(of_lane, row);
  } else {
    ptx::ldmatrix(of_lane, row);
  }
  for (int m = 0; m < kCount; ++m) words[lane * kCount + static_cast<unsigned>(m)] = of_lane[m];
}

template <Multiplied kType>
__global__ void multiply_kernel(const uint32_t* a, const uint32_t* b, float* d) {
  const unsigned lane = ptx::laneid();
  const uint32_t of_a[] = {a[4 * lane], a[4 * lane + 1], a[4 * lane + 2], a[4 * lane + 3]};
  const uint32_t of_b[] = {b[2 * lane], b[2 * lane + 1]};
  float of_d[] = {d[4 * lane], d[4 * lane + 1], d[4 * lane + 2], d[4 * lane + 3]};
  if constexpr (kType == Multiplied::kHalf) ptx::mma_m16n8k16_f16(of_d, of_a, of_b);
  if constexpr (kType == Multiplied::kBFloat16) ptx::mma_m16n8k16_bf16(of_d, of_a, of_b);
  if constexpr (kType == Multiplied::kTf32) ptx::mma_m16n8k8_tf32(of_d, of_a, of_b);
  for (unsigned r = 0; r < 4; ++r) d[4 * lane + r] = of_d[r];
}

struct alignas(16) Block {
  float v[4];
};

__global__ void copy_kernel(const float* from, unsigned bytes, float* to, float* words_to) {
  Block* const blocks = dynamic_shared<Block>();
  float* const words = reinterpret_cast<float*>(blocks + 64);
  const unsigned thread = threadIdx.x, other = 63 - thread;
  ptx::cp_async_16(&blocks[thread], from + 4 * thread, thread < 32 ? 16 : bytes);
  ptx::cp_async_commit_group();
  ptx::cp_async_4(&words[thread], from + 4 * thread + 1, thread % 3 == 0 ? 0 : 4);
  ptx::cp_async_commit_group();
  ptx::cp_async_wait_group<1>();
  __syncthreads();
  store_aligned(to + 4 * thread, load_aligned<Block>(&blocks[other]));
  ptx::cp_async_wait_group<0>();
  __syncthreads();
  words_to[thread] = words[other];
}

__global__ void convert_kernel(const float* x, int n, uint32_t* halves, uint32_t* bfloats, uint32_t* tf32,
                               float* powers) {
  const int i = static_cast<int>(threadIdx.x);
  if (i >= n) return;
  halves[i] = ptx::cvt_rn_f16x2(x[i], x[i + 1]);
  bfloats[i] = ptx::cvt_rn_bf16x2(x[i], x[i + 1]);
  tf32[i] = ptx::cvt_rna_tf32(x[i]);
  powers[i] = ptx::ex2_approx(x[i]);
}

__global__ void add_bytes_kernel(const uint32_t* a, const uint32_t* b, uint32_t* sums) {
  sums[threadIdx.x] = ptx::dp4a_u32_s32(a[threadIdx.x], b[threadIdx.x], sums[threadIdx.x]);
}

}  // namespace

void load_matrices(int count, bool transposed, const uint16_t* matrices, uint32_t* words) {
  const auto kernel = count == 1   ? (transposed ? load_kernel<1, true> : load_kernel<1, false>)
                      : count == 2 ? (transposed ? load_kernel<2, true> : load_kernel<2, false>)
                                   : (transposed ? load_kernel<4, true> : load_kernel<4, false>);
  launch_or_throw("load_matrices", kernel, {.grid = 1, .block = kLanes, .shared_bytes = 512}, matrices, words);
}

void multiply_matrices(Multiplied type, const uint32_t* a, const uint32_t* b, float* d) {
  const auto kernel = type == Multiplied::kHalf       ? multiply_kernel<Multiplied::kHalf>
                      : type == Multiplied::kBFloat16 ? multiply_kernel<Multiplied::kBFloat16>
                                                      : multiply_kernel<Multiplied::kTf32>;
  launch_or_throw("multiply_matrices", kernel, {.grid = 1, .block = kLanes}, a, b, d);
}

void copy_to_shared(const float* from, unsigned bytes, float* to, float* words_to) {
  launch_or_throw("copy_to_shared", copy_kernel, {.grid = 1, .block = 64, .shared_bytes = 64 * 20}, from, bytes, to,
                  words_to);
}

void convert_numbers(const float* x, int n, uint32_t* halves, uint32_t* bfloats, uint32_t* tf32, float* powers) {
  launch_or_throw("convert_numbers", convert_kernel, {.grid = 1, .block = 128}, x, n, halves, bfloats, tf32, powers);
}

void add_products_of_bytes(int n, const uint32_t* a, const uint32_t* b, uint32_t* sums) {
  launch_or_throw("add_products_of_bytes", add_bytes_kernel, {.grid = 1, .block = static_cast<unsigned>(n)}, a, b,
                  sums);
}

}  // namespace c10::cuda

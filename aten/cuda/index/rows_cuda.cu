// Reductions of segments and rows.
#include <cstdint>

#include "aten/cuda/device_check.cuh"
#include "aten/cuda/elementwise.cuh"
#include "aten/cuda/index/rows_call.h"

namespace at::cuda {
namespace {

template <class C>
KD_DEVICE C join(SegmentReduction reduction, C a, C b) {
  switch (reduction) {
    case SegmentReduction::kMax:
      return a != a || a > b ? a : b;
    case SegmentReduction::kMin:
      return a != a || a < b ? a : b;
    case SegmentReduction::kProd:
      return a * b;
    default:
      return a + b;
  }
}

template <class C>
__global__ void segment_reduce(const __grid_constant__ SegmentCall call) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x, n = call.rows * call.segments * call.inner;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) {
    const int64_t segment = i / call.inner, k = i - segment * call.inner, row = segment / call.segments;
    const int64_t* const bounds = call.bounds + row * (call.segments + 1) + segment - row * call.segments;
    const char* const from = call.from + (row * call.size * call.inner + k) * call.item;
    C value = static_cast<C>(call.start);
    for (int64_t j = bounds[0]; j < bounds[1]; ++j)
      value = join(call.reduction, load_as<C>(from + j * call.inner * call.item, call.dtype), value);
    const int64_t length = bounds[1] - bounds[0];
    if (call.reduction == SegmentReduction::kMean) {
      if (length > 0)
        value /= static_cast<C>(length);
      else if (!call.has_initial)
        value = static_cast<C>(NAN);
    }
    store_as(call.to + i * call.item, call.dtype, value);
  }
}

// A block for a row.
__global__ void renorm(const __grid_constant__ RenormCall call) {
  __shared__ double partial[kThreadsPerBlock];
  const bool largest = ::isinf(call.norm_type);
  for (int64_t i = blockIdx.x; i < call.n; i += gridDim.x) {
    const int64_t index = call.indices[i];
    AT_CUDA_KERNEL_CHECK(index >= 0 && index < call.rows, "index out of bounds");
    const char* const row = call.from + index * call.width * call.item;
    double norm = 0;
    for (int64_t k = threadIdx.x; k < call.width; k += blockDim.x) {
      const double a = ::fabs(load_as<double>(row + k * call.item, call.dtype));
      norm = largest ? (a <= norm ? norm : a) : norm + ::pow(a, call.norm_type);
    }
    partial[threadIdx.x] = norm;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
      if (threadIdx.x < half) {
        const double a = partial[threadIdx.x], b = partial[threadIdx.x + half];
        partial[threadIdx.x] = largest ? (b <= a ? a : b) : a + b;
      }
      __syncthreads();
    }
    norm = largest ? partial[0] : ::pow(partial[0], 1 / call.norm_type);
    const double scale = norm <= call.max_norm ? 1 : call.max_norm / (norm + 1e-7);
    for (int64_t k = threadIdx.x; k < call.width; k += blockDim.x) {
      store_as(call.to + (i * call.width + k) * call.item, call.dtype,
               scale * load_as<double>(row + k * call.item, call.dtype));
    }
    __syncthreads();
  }
}

}  // namespace

void launch_segment_reduce(const SegmentCall& call) {
  const int64_t n = call.rows * call.segments * call.inner;
  const c10::cuda::Launch shape =
      shape_for(static_cast<uint32_t>(std::min<int64_t>(n, INT32_MAX)), 1, c10::cuda::getCurrentCUDAStream());
  c10::cuda::launch_or_throw(
      "segment_reduce", call.dtype == ScalarType::Double ? segment_reduce<double> : segment_reduce<float>, shape, call);
}

void launch_renorm(const RenormCall& call) {
  const c10::cuda::Launch shape{.grid = static_cast<unsigned>(std::min<int64_t>(call.n, kMostBlocks)),
                                .block = kThreadsPerBlock,
                                .stream = c10::cuda::getCurrentCUDAStream()};
  c10::cuda::launch_or_throw("embedding_renorm_", renorm, shape, call);
}

}  // namespace at::cuda

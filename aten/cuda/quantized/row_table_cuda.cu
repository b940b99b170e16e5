#include <algorithm>
#include <cstdint>

#include "aten/cuda/device_check.cuh"
#include "aten/cuda/launch_shape.h"
#include "aten/cuda/quantized/row_table_call.h"
#include "c10/cuda/launch.h"
#include "c10/cuda/stream.h"
#include "c10/util/half.h"

namespace at::cuda {
namespace {

// Number `i` of the two behind a row's integers, at any address.
__device__ inline float parameter(const uint8_t* from, int bits, int i) {
  if (bits == 8) {
    from += 4 * i;
    const uint32_t word = from[0] | uint32_t{from[1]} << 8 | uint32_t{from[2]} << 16 | uint32_t{from[3]} << 24;
    return __uint_as_float(word);
  }
  from += 2 * i;
  return static_cast<float>(c10::Half(static_cast<uint16_t>(from[0] | from[1] << 8), c10::Half::from_bits()));
}

// The row of index i; -1: none.
__device__ inline int64_t row_of(const RowTableCall& call, int64_t i) {
  int64_t row = call.indices == nullptr ? i : call.indices[i];
  if (call.mapping != nullptr && (call.mapped != 1 || call.mapping[0] != 0)) {
    AT_CUDA_KERNEL_CHECK(row >= 0 && row < call.mapped, "index out of bounds");
    row = call.mapping[row];
    if (row == -1) return row;
  }
  AT_CUDA_KERNEL_CHECK(row >= 0 && row < call.rows, "index out of bounds");
  return row;
}

// A block for a bag.
__global__ void sum_rows(const __grid_constant__ RowTableCall call) {
  const auto each = static_cast<uint32_t>(8 / call.bits), ones = (1u << call.bits) - 1;
  const int64_t bytes = (call.columns + each - 1) / each;
  for (int64_t bag = blockIdx.x; bag < call.bags; bag += gridDim.x) {
    int64_t begin = bag * call.bag, end = begin + call.bag;
    if (call.offsets != nullptr) {
      begin = call.offsets[bag];
      end = call.last_offset || bag + 1 < call.bags ? call.offsets[bag + 1] : call.count;
      AT_CUDA_KERNEL_CHECK(begin <= end && end <= call.count && (bag > 0 ? begin >= 0 : begin == 0),
                           "offsets must begin with 0, not decrease and lie within the indices");
    }
    for (int64_t column = threadIdx.x; column < call.columns; column += blockDim.x) {
      float sum = 0;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = row_of(call, i);
        if (row < 0) continue;
        const uint8_t* const from = call.table + row * call.row_bytes;
        const float weight = call.weights == nullptr ? 1.0f : call.weights[i];
        const uint32_t q = from[column / each] >> (column % each * static_cast<uint32_t>(call.bits)) & ones;
        const float scale = __fmul_rn(weight, parameter(from + bytes, call.bits, 0));
        const float least = __fmul_rn(weight, parameter(from + bytes, call.bits, 1));
        sum = __fadd_rn(sum, __fadd_rn(__fmul_rn(scale, static_cast<float>(q)), least));
      }
      call.out[bag * call.columns + column] = sum;
    }
  }
}

}  // namespace

void launch_sums_of_rows(const RowTableCall& call) {
  const c10::cuda::Launch shape{.grid = static_cast<uint32_t>(std::min<int64_t>(call.bags, kMostBlocks)),
                                .block = static_cast<uint32_t>(std::clamp<int64_t>(call.columns, 32, kThreadsPerBlock)),
                                .stream = c10::cuda::getCurrentCUDAStream()};
  c10::cuda::launch_or_throw("sums of quantized rows", sum_rows, shape, call);
}

}  // namespace at::cuda

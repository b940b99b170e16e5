// Copies by squares in shared memory, so that both sides are read and written along their neighbours.
#include <algorithm>

#include "aten/cuda/copy/transpose_call.h"
#include "c10/cuda/launch.h"
#include "c10/cuda/stream.h"

namespace at::cuda {
namespace {

constexpr int kSide = 32, kRows = 8;
constexpr int64_t kMostBlocks = 1 << 16;

template <class Word>
__global__ void __launch_bounds__(kSide* kRows) transpose(const __grid_constant__ TransposeCall call) {
  // One more column spreads a column over the banks.
  __shared__ Word tile[kSide][kSide + 1];
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  for (int64_t number = blockIdx.x; number < call.tiles; number += gridDim.x) {
    int64_t rest = number / call.tiles_along;
    const int64_t along = (number - rest * call.tiles_along) * kSide;
    const int64_t above = rest / call.tiles_across, across = (rest - above * call.tiles_across) * kSide;
    const char* in = call.in;
    char* out = call.out;
    rest = above;
    for (int d = 0; d < call.dims; ++d) {
      const int64_t next = rest / call.sizes[d], index = rest - next * call.sizes[d];
      in += index * call.in_strides[d];
      out += index * call.out_strides[d];
      rest = next;
    }
#pragma unroll
    for (int row = y; row < kSide; row += kRows) {
      if (across + row < call.across && along + x < call.along) {
        tile[row][x] = reinterpret_cast<const Word*>(in + (across + row) * call.in_across)[along + x];
      }
    }
    __syncthreads();
#pragma unroll
    for (int row = y; row < kSide; row += kRows) {
      if (along + row < call.along && across + x < call.across) {
        reinterpret_cast<Word*>(out + (along + row) * call.out_along)[across + x] = tile[x][row];
      }
    }
    __syncthreads();
  }
}

template <class Word>
void launch(const TransposeCall& call) {
  c10::cuda::launch_or_throw("transpose", transpose<Word>,
                             {.grid = static_cast<unsigned>(std::min(call.tiles, kMostBlocks)),
                              .block = dim3(kSide, kRows),
                              .stream = c10::cuda::getCurrentCUDAStream()},
                             call);
}

}  // namespace

void launch_transpose(const TransposeCall& call, int64_t itemsize) {
  TransposeCall tiled = call;
  tiled.tiles_across = (call.across - 1) / kSide + 1;
  tiled.tiles_along = (call.along - 1) / kSide + 1;
  tiled.tiles = tiled.tiles_across * tiled.tiles_along;
  for (int d = 0; d < call.dims; ++d) tiled.tiles *= call.sizes[d];
  switch (itemsize) {
    case 1:
      return launch<uint8_t>(tiled);
    case 2:
      return launch<uint16_t>(tiled);
    case 4:
      return launch<uint32_t>(tiled);
    case 8:
      return launch<uint64_t>(tiled);
    default:
      return launch<uint4>(tiled);
  }
}

}  // namespace at::cuda

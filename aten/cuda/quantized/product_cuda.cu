// Products and convolutions of bytes with signed bytes. The sum of (x - zero point) * (w - zero point) is that of x * w
// and three corrections, all of which wrap as the CPU's sums do.
#include "aten/cuda/elementwise.cuh"
#include "aten/cuda/quantized/product_call.h"
#include "c10/cuda/ptx.h"

namespace at::cuda {
namespace {

using quantized::ProductResult;

constexpr int kTile = 64, kDepth = 8;  // rows and outputs of a block, and words of both at a time
// A thread computes kEach x kEach results that are kAcross apart.
constexpr int kEach = 4, kAcross = kTile / kEach, kThreads = kAcross * kAcross;
// Rows of shared memory, in which no bank waits.
constexpr int kRow = kTile + 8;
constexpr int kLoaders = kThreads / kTile, kLoads = kDepth / kLoaders;
// Groups of fewer outputs are computed result by result.
constexpr uint32_t kFewOutputs = 8;

constexpr uint32_t kOnes = 0x01010101;

// Where the window of a row lies in the input, before padding and spreading.
struct Window {
  uint32_t image;
  int32_t at[3];
};
KD_DEVICE Window window_of(const ByteProductCall& call, uint32_t row) {
  Window window;
#pragma unroll
  for (int d = 2; d >= 0; --d) {
    const uint32_t above = divide(row, call.out_sizes[d]);
    const auto place = static_cast<int32_t>(row - above * call.out_sizes[d].divisor);
    window.at[d] = place * call.stride[d] - call.padding[d];
    row = above;
  }
  window.image = row;
  return window;
}

// The first byte of what place `place` of the kernel lies on, or null where that is padding.
KD_DEVICE const uint8_t* bytes_at(const ByteProductCall& call, const Window& window, uint32_t place) {
  int64_t offset = window.image;
  uint32_t of[3];
#pragma unroll
  for (int d = 2; d >= 0; --d) {
    const uint32_t above = divide(place, call.kernel[d]);
    of[d] = place - above * call.kernel[d].divisor;
    place = above;
  }
#pragma unroll
  for (int d = 0; d < 3; ++d) {
    const int32_t at = window.at[d] + static_cast<int32_t>(of[d]) * call.dilation[d];
    if (at < 0) return nullptr;
    const uint32_t of_input = divide(static_cast<uint32_t>(at), call.spread[d]);
    if (static_cast<int32_t>(of_input) >= call.in[d]) return nullptr;
    if (of_input * call.spread[d].divisor != static_cast<uint32_t>(at)) return nullptr;
    offset = offset * call.in[d] + of_input;
  }
  return call.input + offset * call.channels;
}

// Word `word` of the bytes of a group at a place of the kernel, zeros behind the last of them.
KD_DEVICE uint32_t input_word(const ByteProductCall& call, const Window& window, uint32_t group, uint32_t word) {
  const uint32_t place = divide(word, call.words_of_place);
  const uint32_t first = (word - place * call.words_of_place.divisor) * 4;
  const uint8_t* bytes = bytes_at(call, window, place);
  if (bytes != nullptr) {
    bytes += group * call.inputs + first;
    if (call.by_words) return c10::cuda::load_aligned<uint32_t>(bytes);
  }
  uint32_t result = 0;
#pragma unroll
  for (uint32_t i = 0; i < 4; ++i) {
    const uint32_t byte = bytes == nullptr          ? static_cast<uint32_t>(call.zero_point)
                          : first + i < call.inputs ? bytes[i]
                                                    : 0;
    if (first + i < call.inputs) result |= byte << (8 * i);
  }
  return result;
}

KD_DEVICE uint32_t weight_word(const ByteProductCall& call, uint32_t output, uint32_t word, uint32_t words) {
  return c10::cuda::load_aligned<uint32_t>(call.weight + (int64_t{output} * words + word) * 4);
}

// What the results of an output are computed with.
struct Finish {
  uint32_t of_input, of_weight, both;  // sum = dot - of_input - of_weight * (sum of the input) + both
  float before, unit, scale, factor, after;

  __device__ void prepare(const ByteProductCall& call, uint32_t output) {
    const auto zero = static_cast<uint32_t>(call.zero_point);
    of_input = zero * static_cast<uint32_t>(call.sums[output]);
    of_weight = call.zero_points == nullptr ? 0 : static_cast<uint32_t>(call.zero_points[output]);
    both = call.kernel_places * call.inputs * zero * of_weight;
    const ProductResult& result = call.result;
    const float own = call.scales[output];
    after = call.bias[output];
    if (result.to == ProductResult::To::kIntegersBySums) {
      const quantized::SumFactors f = quantized::sum_factors(result, own, after);
      before = f.before;
      unit = f.unit;
      factor = f.factor;
    } else {
      factor = result.to == ProductResult::To::kNumbers ? __fmul_rn(result.input_scale, own) : own;
    }
  }

  __device__ void write(const ByteProductCall& call, uint32_t row, uint32_t output, uint32_t dot,
                        uint32_t sum_of_input) const {
    const ProductResult& result = call.result;
    const auto sum = static_cast<float>(static_cast<int32_t>(dot - of_input - of_weight * sum_of_input + both));
    const uint32_t at = row * call.all_outputs.divisor + output;
    if (result.to == ProductResult::To::kNumbers) {
      static_cast<float*>(call.out)[at] = __fmaf_rn(sum, factor, after);
      return;
    }
    float number;
    auto zero = static_cast<float>(result.zero_point);
    if (result.to == ProductResult::To::kIntegersBySums) {
      number = __fmul_rn(__fmaf_rn(before, unit, sum), factor);
      number = fminf(fmaxf(number, static_cast<float>(result.least) - zero), static_cast<float>(result.most) - zero);
    } else {
      number = __fadd_rn(__fmul_rn(__fmul_rn(sum, result.input_scale), factor), after);
      number = __fadd_rn(__fmul_rn(number, 1 / result.output_scale), zero);
      number = fminf(fmaxf(number, static_cast<float>(result.least)), static_cast<float>(result.most));
      zero = 0;
    }
    // Halves to even; whole numbers add up exactly.
    static_cast<uint8_t*>(call.out)[at] = static_cast<uint8_t>(static_cast<int32_t>(rintf(number) + zero));
  }
};

template <bool kShifted>
__global__ void __launch_bounds__(kThreads) multiply_tiles(const __grid_constant__ ByteProductCall call) {
  __shared__ uint32_t left[kDepth][kRow];
  __shared__ uint32_t right[kDepth][kRow];
  const uint32_t thread = threadIdx.x, row = thread / kAcross, column = thread % kAcross;
  // What the thread loads: some words of a row, and of an output.
  const uint32_t line = thread / kLoaders, first_word = thread % kLoaders;
  const uint32_t words = call.kernel_places * call.words_of_place.divisor;
  const uint32_t down = (call.rows - 1) / kTile + 1, across = (call.outputs - 1) / kTile + 1;
  const uint32_t in_group = down * across;
  for (uint32_t tile = blockIdx.x; tile < call.groups * in_group; tile += gridDim.x) {
    const uint32_t group = tile / in_group, place = tile - group * in_group;
    const uint32_t first_row = place / across * kTile, first_output = place % across * kTile;
    const bool has_row = first_row + line < call.rows, has_output = first_output + line < call.outputs;
    const Window window = window_of(call, has_row ? first_row + line : 0);
    const uint32_t loaded_output = group * call.outputs + first_output + line;
    uint32_t sums[kEach][kEach] = {}, sums_of_input[kEach] = {};
    for (uint32_t depth = 0; depth < words; depth += kDepth) {
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        const uint32_t at = first_word + static_cast<uint32_t>(i) * kLoaders, word = depth + at;
        left[at][line] = has_row && word < words ? input_word(call, window, group, word) : 0;
        right[at][line] = has_output && word < words ? weight_word(call, loaded_output, word, words) : 0;
      }
      __syncthreads();
#pragma unroll
      for (int d = 0; d < kDepth; ++d) {
        uint32_t x[kEach], w[kEach];
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
          x[i] = left[d][row + static_cast<uint32_t>(i) * kAcross];
          w[i] = right[d][column + static_cast<uint32_t>(i) * kAcross];
        }
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
          if constexpr (kShifted) sums_of_input[i] = c10::cuda::ptx::dp4a_u32_s32(x[i], kOnes, sums_of_input[i]);
#pragma unroll
          for (int j = 0; j < kEach; ++j) sums[i][j] = c10::cuda::ptx::dp4a_u32_s32(x[i], w[j], sums[i][j]);
        }
      }
      __syncthreads();
    }
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const uint32_t output = first_output + column + static_cast<uint32_t>(j) * kAcross;
      if (output >= call.outputs) continue;
      Finish finish;
      finish.prepare(call, group * call.outputs + output);
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        const uint32_t at = first_row + row + static_cast<uint32_t>(i) * kAcross;
        if (at < call.rows) finish.write(call, at, group * call.outputs + output, sums[i][j], sums_of_input[i]);
      }
    }
  }
}

__global__ void multiply_each(const __grid_constant__ ByteProductCall call, uint32_t n) {
  const uint32_t step = gridDim.x * blockDim.x, words_of_place = call.words_of_place.divisor;
  const uint32_t words = call.kernel_places * words_of_place;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
    const uint32_t row = divide(i, call.all_outputs), output = i - row * call.all_outputs.divisor;
    const uint32_t group = divide(output, call.group_outputs);
    const Window window = window_of(call, row);
    uint32_t sum = 0, sum_of_input = 0;
    for (uint32_t word = 0; word < words; ++word) {
      const uint32_t x = input_word(call, window, group, word);
      sum = c10::cuda::ptx::dp4a_u32_s32(x, weight_word(call, output, word, words), sum);
      sum_of_input = c10::cuda::ptx::dp4a_u32_s32(x, kOnes, sum_of_input);
    }
    Finish finish;
    finish.prepare(call, output);
    finish.write(call, row, output, sum, sum_of_input);
  }
}

}  // namespace

void launch_byte_product(const ByteProductCall& call) {
  const cudaStream_t stream = c10::cuda::getCurrentCUDAStream();
  if (call.outputs < kFewOutputs) {
    const uint32_t n = call.rows * call.groups * call.outputs;
    return c10::cuda::launch_or_throw(call.name, multiply_each, shape_for(n, 1, stream), call, n);
  }
  const uint32_t tiles = ((call.rows - 1) / kTile + 1) * ((call.outputs - 1) / kTile + 1) * call.groups;
  c10::cuda::launch_or_throw(call.name, call.zero_points != nullptr ? multiply_tiles<true> : multiply_tiles<false>,
                             {.grid = tiles, .block = kThreads, .stream = stream}, call);
}

}  // namespace at::cuda

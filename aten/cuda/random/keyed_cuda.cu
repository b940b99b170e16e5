// Keys, numbers that keys decide, and points of Sobol sequences.
#include <algorithm>

#include "aten/cuda/launch_shape.h"
#include "aten/cuda/random/sample.h"
#include "aten/ops/random/keyed.h"
#include "c10/cuda/stream.h"

namespace at::cuda::random {
namespace {

namespace shared = native::random;

c10::cuda::Launch shape_of(int64_t n) {
  return shape_for(static_cast<uint32_t>(std::min<int64_t>(n, INT32_MAX)), 1, c10::cuda::getCurrentCUDAStream());
}

__global__ void fold_kernel(const __grid_constant__ FoldCall call) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < call.n; i += step) {
    const int64_t k = i % call.keys;
    const uint64_t number = call.data != nullptr ? call.data[call.same_data ? 0 : i]
                                                 : call.step * static_cast<uint64_t>(i / call.keys) + call.number;
    const shared::Key next = shared::folded({call.from[2 * k], call.from[2 * k + 1]}, number);
    call.to[2 * i] = next.seed;
    call.to[2 * i + 1] = next.offset;
  }
}

// A thread makes the numbers of four words.
template <class Make>
__global__ void fill_keyed_kernel(const __grid_constant__ KeyedCall call, const __grid_constant__ Make make) {
  constexpr int kEach = Make::kEach;
  const int64_t draws = (call.each - 1) / kEach + 1, step = int64_t{gridDim.x} * blockDim.x;
  auto* const to = static_cast<typename Make::Result*>(call.to);
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < call.keys * draws; i += step) {
    const int64_t k = i / draws, draw = i - k * draws;
    const shared::KeyedWords words =
        shared::keyed_words({call.from[2 * k], call.from[2 * k + 1]}, static_cast<uint64_t>(draw));
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      if (draw * kEach + j < call.each) to[k * call.each + draw * kEach + j] = make(words, j);
    }
  }
}

auto filling(const char* name, const KeyedCall& call) {
  return [name, &call](const auto& make) {
    using Make = std::decay_t<decltype(make)>;
    c10::cuda::launch_or_throw(name, fill_keyed_kernel<Make>,
                               shape_of(call.keys * ((call.each - 1) / Make::kEach + 1)), call, make);
  };
}

// Point number g is the sum of the directions whose bits g's Gray code has.
__device__ uint64_t gray(int64_t number) {
  const auto g = static_cast<uint64_t>(number);
  return g ^ g >> 1;
}

__global__ void sobol_kernel(const __grid_constant__ SobolCall call) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  const int64_t points = call.n > 0 ? call.n : 1;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < points * call.dimension; i += step) {
    const int64_t number = i / call.dimension, d = i - number * call.dimension;
    const int64_t steps = call.n > 0 ? (number + 1) * call.steps : 0;
    int64_t point = call.quasi[d];
    uint64_t changed = gray(call.generated) ^ gray(call.generated + steps);
    for (int64_t bit = 0; changed != 0; ++bit, changed >>= 1) {
      if (changed & 1) point ^= call.directions[d * call.bits + bit];
    }
    if (call.points != nullptr && call.n > 0) {
      const double value = static_cast<double>(point) * 0x1p-30;
      if (call.in_double) {
        static_cast<double*>(call.points)[i] = value;
      } else {
        static_cast<float*>(call.points)[i] = static_cast<float>(value);
      }
    }
    if (number + 1 == points) call.last[d] = point;
  }
}

__global__ void scramble_kernel(int64_t dimension, int64_t bits, const int64_t* from, const int64_t* matrices,
                                int64_t* to) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < dimension * bits; i += step) {
    const int64_t* const matrix = matrices + i / bits * bits * bits;
    const auto direction = static_cast<uint64_t>(from[i]);
    uint64_t scrambled = 0;
    for (int64_t r = 0; r < bits; ++r) {
      uint64_t row = 0;
      for (int64_t k = 0; k < bits; ++k) row = row << 1 | (matrix[r * bits + k] != 0 ? 1 : 0);
      scrambled = scrambled << 1 | static_cast<uint64_t>(__popcll(row & direction) & 1);
    }
    to[i] = static_cast<int64_t>(scrambled);
  }
}

}  // namespace

void fold_keys(const FoldCall& call) {
  c10::cuda::launch_or_throw("_philox_key_fold_in", fold_kernel, shape_of(call.n), call);
}

void fill_keyed_uniform(const KeyedCall& call, double low, double high) {
  shared::with_keyed_uniform(call.dtype, low, high, filling("_philox_uniform_", call));
}
void fill_keyed_normal(const KeyedCall& call, double mean, double std) {
  shared::with_keyed_normal(call.dtype, mean, std, filling("_philox_normal_", call));
}
void fill_keyed_integers(const KeyedCall& call, uint64_t first, uint64_t range) {
  shared::with_keyed_integers(call.dtype, first, range, filling("_philox_randint_", call));
}

void draw_sobol(const SobolCall& call) {
  const int64_t points = std::max<int64_t>(call.n, 1);
  c10::cuda::launch_or_throw("_sobol_engine_draw", sobol_kernel, shape_of(points * call.dimension), call);
}
void scramble_sobol(int64_t dimension, int64_t bits, const int64_t* from, const int64_t* matrices, int64_t* to) {
  c10::cuda::launch_or_throw("_sobol_engine_scramble_", scramble_kernel, shape_of(dimension * bits), dimension, bits,
                             from, matrices, to);
}

}  // namespace at::cuda::random

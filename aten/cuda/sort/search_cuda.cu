// Searches in sorted rows, counts.
#include <cstdint>

#include "aten/cuda/device_check.cuh"
#include "aten/cuda/elementwise.cuh"
#include "aten/cuda/sort/order.cuh"
#include "aten/cuda/sort/sort_call.h"

namespace at::cuda {
namespace {

c10::cuda::Launch shape_of(int64_t n) {
  return shape_for(static_cast<uint32_t>(std::min<int64_t>(n, INT32_MAX)), 1, c10::cuda::getCurrentCUDAStream());
}

__global__ void search(const __grid_constant__ SearchCall call) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < call.n; i += step) {
    const int64_t start = call.width == 0 ? 0 : i / call.width * call.length;
    const uint64_t value = load_image(call.values + i * call.item, call.dtype);
    const auto image = [&](int64_t k) {
      if (call.sorter != nullptr) {
        k = call.sorter[start + k];
        AT_CUDA_KERNEL_CHECK(k >= 0 && k < call.length, "torch.searchsorted(): sorter index out of range");
      }
      return load_image(call.rows + (start + k) * call.item, call.dtype);
    };
    // NaN lies behind all numbers, and its place behind all NaNs.
    const bool behind = call.right || (!call.contains && is_nan_image(value, call.dtype));
    int64_t low = 0, high = call.length;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      const uint64_t own = image(middle);
      if (behind ? own <= value : own < value)
        low = middle + 1;
      else
        high = middle;
    }
    if (call.contains) {
      const bool found = low < call.length && image(low) == value && !is_nan_image(value, call.dtype);
      reinterpret_cast<bool*>(call.to)[i] = found != call.invert;
    } else {
      reinterpret_cast<int64_t*>(call.to)[i] = low;
    }
  }
}

__device__ void lower_to(uint64_t* address, uint64_t value) {
  atomicMin(reinterpret_cast<unsigned long long*>(address), static_cast<unsigned long long>(value));
}
__device__ void raise_to(uint64_t* address, uint64_t value) {
  atomicMax(reinterpret_cast<unsigned long long*>(address), static_cast<unsigned long long>(value));
}

__global__ void start_extremes(uint64_t* extremes) {
  extremes[0] = ~uint64_t{0};
  extremes[1] = 0;
}

__global__ void find_extremes(const char* data, ScalarType dtype, int64_t item, int64_t n, uint64_t* extremes) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  unsigned long long least = ~0ull, greatest = 0;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) {
    const unsigned long long image = load_image(data + i * item, dtype);
    least = image < least ? image : least;
    greatest = image > greatest ? image : greatest;
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    const unsigned long long other_least = __shfl_xor_sync(0xffffffff, least, lanes);
    const unsigned long long other_greatest = __shfl_xor_sync(0xffffffff, greatest, lanes);
    least = other_least < least ? other_least : least;
    greatest = other_greatest > greatest ? other_greatest : greatest;
  }
  if (threadIdx.x % 32 == 0) {
    lower_to(&extremes[0], least);
    raise_to(&extremes[1], greatest);
  }
}

__device__ void add_one(int64_t* counts, int64_t place) {
  atomicAdd(reinterpret_cast<unsigned long long*>(counts + place), 1ull);
}

__global__ void count(const int64_t* x, int64_t n, int64_t length, int64_t* counts) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) {
    AT_CUDA_KERNEL_CHECK(x[i] >= 0 && x[i] < length, "bincount: number out of range");
    add_one(counts, x[i]);
  }
}

KD_DEVICE double rounded_to(double value, ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Half:
      return static_cast<double>(static_cast<float>(Half(static_cast<float>(value))));
    case ScalarType::BFloat16:
      return static_cast<double>(static_cast<float>(BFloat16(static_cast<float>(value))));
    case ScalarType::Float:
      return static_cast<double>(static_cast<float>(value));
    default:
      return value;
  }
}

// Every step is rounded to the dtype: that decides into which bin an element near an edge falls.
__global__ void histogram(const __grid_constant__ HistogramCall call) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < call.n; i += step) {
    const double v = load_as<double>(call.data + i * call.item, call.dtype);
    if (!(v >= call.low && v <= call.high)) continue;
    const double scaled = rounded_to(rounded_to(v - call.first, call.dtype) * call.number, call.dtype);
    const double place = call.measurable && ::isfinite(scaled)
                             ? rounded_to(scaled / call.width, call.dtype)
                             : (v / 2 - call.low / 2) / (call.high / 2 - call.low / 2) * static_cast<double>(call.bins);
    const bool inside = place >= 0 && place < static_cast<double>(call.bins);
    add_one(call.counts, inside ? static_cast<int64_t>(place) : place < 0 ? 0 : call.bins - 1);
  }
}

template <class T>
__global__ void repeat(const int64_t* sums, int64_t count, int64_t n, T* to) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) {
    int64_t low = 0, high = count;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (sums[middle] <= i)
        low = middle + 1;
      else
        high = middle;
    }
    to[i] = static_cast<T>(low);
  }
}

}  // namespace

void launch_search(const SearchCall& call) {
  c10::cuda::launch_or_throw(call.name, search, shape_of(call.n), call);
}

void launch_extremes(const char* data, ScalarType dtype, int64_t item, int64_t n, uint64_t* extremes) {
  const c10::cuda::Launch one{.grid = 1, .block = 1, .stream = c10::cuda::getCurrentCUDAStream()};
  c10::cuda::launch_or_throw("extremes", start_extremes, one, extremes);
  c10::cuda::launch_or_throw("extremes", find_extremes, shape_of(n), data, dtype, item, n, extremes);
}

void launch_count(const int64_t* x, int64_t n, int64_t length, int64_t* counts) {
  c10::cuda::launch_or_throw("bincount", count, shape_of(n), x, n, length, counts);
}

void launch_histogram(const HistogramCall& call) {
  c10::cuda::launch_or_throw("histc", histogram, shape_of(call.n), call);
}

void launch_repeat(const int64_t* sums, int64_t count, int64_t n, bool is_long, void* to) {
  if (is_long)
    c10::cuda::launch_or_throw("repeat_interleave", repeat<int64_t>, shape_of(n), sums, count, n,
                               static_cast<int64_t*>(to));
  else
    c10::cuda::launch_or_throw("repeat_interleave", repeat<int32_t>, shape_of(n), sums, count, n,
                               static_cast<int32_t*>(to));
}

}  // namespace at::cuda

// Sums over tables of what a grid reads from images: values, and gradients in a fixed order.
#include "aten/cuda/upsample/grid.cuh"

namespace at::cuda {
namespace {

struct TableCall {
  GridTaps taps;
  GridImages images;
  int64_t total;         // elements that are made
  const int32_t* order;  // of gradients of images
  const uint32_t* start;
  FastDivisor count;  // of places

  // Where a tap reads in the plane of channel 0 of its image; negative if nowhere.
  KD_DEVICE int64_t element(int64_t tap, int64_t image) const {
    const uint32_t index = taps.index[tap];
    if (index == taps.count / taps.places * static_cast<uint32_t>(images.plane)) return -1;
    return image * images.channels * images.plane + (index - image * images.plane);
  }
};

template <class C>
__global__ void sum_taps(const __grid_constant__ TableCall call) {
  const GridTaps& t = call.taps;
  const GridImages& g = call.images;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < call.total; i += step) {
    const int64_t row = i / t.places, place = i - row * t.places, image = row / g.channels,
                  c = row - image * g.channels;
    C sum = 0;
    for (int k = 0; k < t.sampling.taps(); ++k) {
      const int64_t tap = int64_t{k} * t.count + image * t.places + place, at = call.element(tap, image);
      if (at >= 0) sum += static_cast<const C*>(t.weight)[tap] * load_number<C>(g.image, at + c * g.plane, g.dtype);
    }
    store_number(g.to, i, g.dtype, sum);
  }
}

template <class C>
__global__ void grid_gradient(const __grid_constant__ TableCall call) {
  const GridTaps& t = call.taps;
  const GridImages& g = call.images;
  const uint32_t step = gridDim.x * blockDim.x;
  for (uint32_t b = blockIdx.x * blockDim.x + threadIdx.x; b < t.count; b += step) {
    const int64_t image = b / t.places, place = b - image * t.places;
    C total[3] = {};
    for (int k = 0; k < t.sampling.taps(); ++k) {
      const int64_t tap = int64_t{k} * t.count + b;
      int64_t at = call.element(tap, image), value = image * g.channels * t.places + place;
      if (at < 0) continue;
      C sum = 0;
      for (int64_t c = 0; c < g.channels; ++c, at += g.plane, value += t.places)
        sum += load_number<C>(g.image, at, g.dtype) * load_number<C>(g.values, value, g.dtype);
#pragma unroll
      for (int d = 0; d < 3; ++d) {
        if (d < t.sampling.dims) total[d] += static_cast<const C*>(t.slope[d])[tap] * sum;
      }
    }
#pragma unroll
    for (int d = 0; d < 3; ++d) {
      if (d < t.sampling.dims) store_number(g.to, int64_t{b} * t.sampling.dims + d, g.dtype, total[d]);
    }
  }
}

__global__ void find_starts(const uint32_t* sorted, uint32_t taps, uint32_t elements, uint32_t* start) {
  const uint32_t step = gridDim.x * blockDim.x;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i <= elements; i += step) {
    uint32_t low = 0, high = taps;
    while (low < high) {
      const uint32_t middle = low + (high - low) / 2;
      if (sorted[middle] < i)
        low = middle + 1;
      else
        high = middle;
    }
    start[i] = low;
  }
}

template <class C>
__global__ void image_gradient(const __grid_constant__ TableCall call) {
  const GridTaps& t = call.taps;
  const GridImages& g = call.images;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < call.total; i += step) {
    const int64_t row = i / g.plane, element = i - row * g.plane, image = row / g.channels;
    const uint32_t key = static_cast<uint32_t>(image * g.plane + element);
    C sum = 0;
    for (uint32_t s = call.start[key]; s < call.start[key + 1]; ++s) {
      const auto tap = static_cast<uint32_t>(call.order[s]), b = tap - divide(tap, call.count) * t.count;
      const int64_t place = b - image * t.places;
      sum += static_cast<const C*>(t.weight)[tap] * load_number<C>(g.values, row * t.places + place, g.dtype);
    }
    store_number(g.to, i, g.dtype, sum);
  }
}

__global__ void write_numbers(int32_t* numbers, uint32_t n) {
  const uint32_t step = gridDim.x * blockDim.x;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) numbers[i] = static_cast<int32_t>(i);
}

c10::cuda::Launch shape_of(int64_t n) {
  return shape_for(static_cast<uint32_t>(std::min<int64_t>(n, INT32_MAX)), 1, c10::cuda::getCurrentCUDAStream());
}

}  // namespace

void launch_grid_sum(const GridTaps& taps, const GridImages& images) {
  const TableCall call{taps, images, taps.count * images.channels, nullptr, nullptr, {}};
  c10::cuda::launch_or_throw(images.name, images.dtype == ScalarType::Double ? sum_taps<double> : sum_taps<float>,
                             shape_of(call.total), call);
}

void launch_grid_gradient(const GridTaps& taps, const GridImages& images) {
  const TableCall call{taps, images, taps.count, nullptr, nullptr, {}};
  c10::cuda::launch_or_throw(images.name,
                             images.dtype == ScalarType::Double ? grid_gradient<double> : grid_gradient<float>,
                             shape_of(call.total), call);
}

void launch_grid_image_gradient(const GridTaps& taps, const GridImages& images, const uint32_t* sorted,
                                const int32_t* order, uint32_t* start) {
  const int64_t elements = taps.count / taps.places * images.plane;
  c10::cuda::launch_or_throw(images.name, find_starts, shape_of(elements + 1), sorted,
                             taps.count * static_cast<uint32_t>(taps.sampling.taps()), static_cast<uint32_t>(elements),
                             start);
  const TableCall call{taps, images, elements * images.channels, order, start, FastDivisor(taps.count)};
  c10::cuda::launch_or_throw(images.name,
                             images.dtype == ScalarType::Double ? image_gradient<double> : image_gradient<float>,
                             shape_of(call.total), call);
}

void launch_grid_numbers(const char* name, int32_t* numbers, uint32_t n) {
  c10::cuda::launch_or_throw(name, write_numbers, shape_of(n), numbers, n);
}

}  // namespace at::cuda

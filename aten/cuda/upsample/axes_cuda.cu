// The tables of interpolation: where each element reads in a dimension, and with what weights.
#include "aten/cuda/elementwise.cuh"
#include "aten/cuda/upsample/resample_call.h"

namespace at::cuda {
namespace {

struct Axes {
  Axis axes[3];
};

template <class C>
KD_DEVICE void fill_taps(const Axis& a, int64_t i) {
  C* const weight = static_cast<C*>(a.weight) + i * a.taps;
  a.count[i] = static_cast<int32_t>(a.taps);
  if (a.filter == Filter::kNearest || a.filter == Filter::kNearestExact) {
    a.begin[i] = static_cast<int32_t>(native::nearest_index(a.filter, a.rule, a.steps, a.in, i));
    weight[0] = 1;
  } else if (!native::antialiased(a.filter)) {
    const auto place = native::interpolation_place(a.filter, a.align_corners, a.steps.step, a.in, i);
    a.begin[i] = static_cast<int32_t>(place.first);
    for (int k = 0; k < a.taps; ++k) weight[k] = static_cast<C>(native::interpolation_weight(a.filter, place, k));
  } else {
    const auto filter = native::antialias_filter(a.filter, a.steps.step);
    const auto place = native::antialias_place(filter, a.in, i);
    a.begin[i] = static_cast<int32_t>(place.begin);
    a.count[i] = static_cast<int32_t>(place.end - place.begin);
    double total = 0;
    for (int64_t j = place.begin; j < place.end; ++j) total += native::antialias_weight(filter, place, j);
    const double scale = total != 0 ? total : 1;
    for (int64_t j = place.begin; j < place.end; ++j)
      weight[j - place.begin] = static_cast<C>(native::antialias_weight(filter, place, j) / scale);
  }
}

// Threads in y have a dimension each.
template <class C>
__global__ void fill_tables(const __grid_constant__ Axes all) {
  const Axis& a = all.axes[blockIdx.y];
  if (a.identity) return;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < a.out; i += step) fill_taps<C>(a, i);
}

// Elements of the result read further on in the input, or as far, the further on they are.
template <class Reaches>
KD_DEVICE int64_t first_that(int64_t n, const Reaches& reaches) {
  int64_t low = 0, high = n;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (reaches(middle))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

__global__ void fill_transposed(const __grid_constant__ Axes all) {
  const Axis& a = all.axes[blockIdx.y];
  if (a.identity) return;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  const auto clamped = [&](int64_t j) { return j < 0 ? 0 : j < a.in ? j : a.in - 1; };
  for (int64_t j = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; j < a.in; j += step) {
    a.first[j] = static_cast<int32_t>(
        first_that(a.out, [&](int64_t i) { return clamped(int64_t{a.begin[i]} + a.count[i] - 1) >= j; }));
    a.last[j] = static_cast<int32_t>(first_that(a.out, [&](int64_t i) { return clamped(a.begin[i]) > j; }));
  }
}

// One block an axis.
__global__ void quantize_weights(const __grid_constant__ Axis a) {
  __shared__ double most[kThreadsPerBlock];
  double mine = 0;
  for (int64_t i = threadIdx.x; i < a.out; i += blockDim.x) {
    double* const weight = static_cast<double*>(a.weight) + i * a.taps;
    // Taps at a border that read the same element become one.
    const int64_t begin = a.begin[i], count = a.count[i], last = a.in - 1;
    const int64_t low = begin < 0      ? 0
                        : begin > last ? last
                                       : begin,
                  end = begin + count - 1,
                  high = end < 0      ? 0
                         : end > last ? last
                                      : end;
    int64_t k = 0;
    for (int64_t j = low; j <= high; ++j) {
      double sum = 0;
      for (; k < count && (j == high || begin + k <= j); ++k) sum += weight[k];
      weight[j - low] = sum;
      mine = sum > mine ? sum : -sum > mine ? -sum : mine;
    }
    a.begin[i] = static_cast<int32_t>(low);
    a.count[i] = static_cast<int32_t>(high - low + 1);
  }
  most[threadIdx.x] = mine;
  __syncthreads();
  for (unsigned half = kThreadsPerBlock / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      const double other = most[threadIdx.x + half];
      if (other > most[threadIdx.x]) most[threadIdx.x] = other;
    }
    __syncthreads();
  }
  const int bits = native::weight_bits(most[0]);
  if (threadIdx.x == 0) *a.bits = bits;
  const double unit = 1 << bits;
  for (int64_t i = threadIdx.x; i < a.out; i += blockDim.x) {
    const double* const weight = static_cast<const double*>(a.weight) + i * a.taps;
    for (int64_t k = 0; k < a.count[i]; ++k) a.units[i * a.taps + k] = static_cast<int16_t>(llround(weight[k] * unit));
  }
}

c10::cuda::Launch shape_of(int64_t longest) {
  c10::cuda::Launch shape = shape_for(static_cast<uint32_t>(longest), 1, c10::cuda::getCurrentCUDAStream());
  shape.grid.y = 3;
  return shape;
}

}  // namespace

void launch_axes(const char* name, const Axis axes[3], ScalarType weights) {
  Axes all;
  int64_t in = 1, out = 1;
  bool transposed = false;
  for (int d = 0; d < 3; ++d) {
    all.axes[d] = axes[d];
    in = std::max(in, axes[d].in);
    out = std::max(out, axes[d].out);
    transposed = transposed || axes[d].first != nullptr;
  }
  c10::cuda::launch_or_throw(name, weights == ScalarType::Double ? fill_tables<double> : fill_tables<float>,
                             shape_of(out), all);
  if (transposed) c10::cuda::launch_or_throw(name, fill_transposed, shape_of(in), all);
}

void launch_byte_weights(const char* name, const Axis& axis) {
  c10::cuda::launch_or_throw(
      name, quantize_weights,
      c10::cuda::Launch{.grid = 1, .block = kThreadsPerBlock, .stream = c10::cuda::getCurrentCUDAStream()}, axis);
}

}  // namespace at::cuda

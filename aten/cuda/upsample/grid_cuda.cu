// What a grid reads from images: at once, and by way of tables of taps.
#include "aten/cuda/upsample/grid.cuh"

namespace at::cuda {
namespace {

template <class C, int kDims, int kSide>
struct GridSample {
  using Taps = PlaceTaps<C, kDims, kSide>;
  GridSampleCall call;

  __device__ void operator()(const Place& p) const {
    const int64_t place = (p.z * call.sizes.sizes[3] + p.y) * call.sizes.sizes[4] + p.x;
    const Taps taps(call.sampling, call.grid, p.n * call.sampling.places + place, call.dtype);
    const int64_t first = p.c * call.group, end = first + call.group,
                  last = end < call.sampling.channels ? end : call.sampling.channels;
    char* to = element_at(call.out, {p.n, first, p.z, p.y, p.x});
    const char* plane = call.in.data + plane_offset(call.in, {p.n, first, 0, 0, 0});
    for (int64_t c = first; c < last; ++c) {
      C sum = 0;
#pragma unroll
      for (int z = 0; z < Taps::kDeep; ++z) {
#pragma unroll
        for (int y = 0; y < kSide; ++y) {
#pragma unroll
          for (int x = 0; x < kSide; ++x) {
            const int64_t i = taps.axis[0].index[x], j = taps.axis[1].index[y], l = taps.axis[2].index[z];
            if ((i | j | l) < 0) continue;
            const C weight = taps.axis[0].weight[x] * taps.axis[1].weight[y] * taps.axis[2].weight[z];
            sum += weight *
                   load_number<C>(plane + l * call.in.strides[2] + j * call.in.strides[3] + i * call.in.strides[4], 0,
                                  call.dtype);
          }
        }
      }
      store_number(to, 0, call.dtype, sum);
      to += call.out.strides[1];
      plane += call.in.strides[1];
    }
  }
};

template <class C, int kDims, int kSide, bool kMoves>
__global__ void fill_grid_taps(const __grid_constant__ GridTaps t) {
  using Taps = PlaceTaps<C, kDims, kSide>;
  const Sampling& s = t.sampling;
  const auto plane = static_cast<uint32_t>(s.plane());
  const uint32_t step = gridDim.x * blockDim.x, none = t.count / t.places * plane;
  for (uint32_t b = blockIdx.x * blockDim.x + threadIdx.x; b < t.count; b += step) {
    const Taps taps(s, t.grid, b, t.dtype);
    [[maybe_unused]] C moved[3] = {};
    if constexpr (kMoves) {
      for (int d = 0; d < kDims; ++d) moved[d] = load_number<C>(t.direction, int64_t{b} * kDims + d, t.dtype);
    }
    const uint32_t image = b / t.places * plane;
    uint32_t at = b;
    const auto put = [&](int x, int y, int z) {
      const auto &ax = taps.axis[0], &ay = taps.axis[1], &az = taps.axis[2];
      const int64_t i = ax.index[x], j = ay.index[y], l = az.index[z];
      t.index[at] = (i | j | l) < 0 ? none : image + static_cast<uint32_t>((l * s.size[1] + j) * s.size[0] + i);
      C weight, slope[3];
      if constexpr (kMoves) {
        const int places[3] = {x, y, z};
        const native::sampling::TapWeight<C> tap(taps.axis, places, moved);
        weight = tap.weight;
        for (int d = 0; d < 3; ++d) slope[d] = tap.slope[d];
      } else {
        weight = ax.weight[x] * ay.weight[y] * az.weight[z];
        slope[0] = ax.slope[x] * ay.weight[y] * az.weight[z];
        slope[1] = ax.weight[x] * ay.slope[y] * az.weight[z];
        slope[2] = ax.weight[x] * ay.weight[y] * az.slope[z];
      }
      if (t.weight != nullptr) static_cast<C*>(t.weight)[at] = weight;
      for (int d = 0; d < kDims; ++d) {
        if (t.slope[d] != nullptr) static_cast<C*>(t.slope[d])[at] = slope[d];
      }
      at += t.count;
    };
    if constexpr (kMoves) {
      for (int z = 0; z < Taps::kDeep; ++z)
        for (int y = 0; y < kSide; ++y)
          for (int x = 0; x < kSide; ++x) put(x, y, z);
    } else {
#pragma unroll
      for (int z = 0; z < Taps::kDeep; ++z) {
#pragma unroll
        for (int y = 0; y < kSide; ++y) {
#pragma unroll
          for (int x = 0; x < kSide; ++x) put(x, y, z);
        }
      }
    }
  }
}

}  // namespace

void launch_grid_sample(const GridSampleCall& call) {
  with_sides(call.sampling, [&](auto dims, auto side) {
    if (call.dtype == ScalarType::Double)
      launch_places(call.name, call.sizes, GridSample<double, decltype(dims)::value, decltype(side)::value>{call});
    else
      launch_places(call.name, call.sizes, GridSample<float, decltype(dims)::value, decltype(side)::value>{call});
  });
}

void launch_grid_taps(const char* name, const GridTaps& taps) {
  const c10::cuda::Launch shape = shape_for(taps.count, 1, c10::cuda::getCurrentCUDAStream());
  with_sides(taps.sampling, [&](auto dims, auto side) {
    constexpr int kDims = decltype(dims)::value, kSide = decltype(side)::value;
    const bool wide = taps.dtype == ScalarType::Double;
    if (taps.direction != nullptr) {
      c10::cuda::launch_or_throw(
          name, wide ? fill_grid_taps<double, kDims, kSide, true> : fill_grid_taps<float, kDims, kSide, true>, shape,
          taps);
    } else {
      c10::cuda::launch_or_throw(
          name, wide ? fill_grid_taps<double, kDims, kSide, false> : fill_grid_taps<float, kDims, kSide, false>, shape,
          taps);
    }
  });
}

}  // namespace at::cuda

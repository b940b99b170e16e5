#include "aten/cuda/device_check.cuh"
#include "aten/cuda/pool/windows.cuh"

namespace at::cuda {
namespace {

constexpr unsigned kAllLanes = 0xffffffff;
constexpr int kWarp = 32;

// The gradient of one element of the input: of the windows over it, in their order.
template <class Stored>
struct MaxPoolBackward {
  using E = Elements<Stored>;
  using C = typename E::Compute;
  PoolCall call;

  __device__ void operator()(const Place& p) const {
    const PoolWindows& w = call.windows;
    const int64_t here = (p.z * w.in[1] + p.y) * w.in[2] + p.x;
    const PoolRange rz = windows_over(w, 0, p.z), ry = windows_over(w, 1, p.y), rx = windows_over(w, 2, p.x);
    const char *const grads = call.in.data + plane_offset(call.in, p), *const places = call.index.data +
                                                                                       plane_offset(call.index, p);
    C sum = 0;
    for (int z = rz.begin; z < rz.end; ++z) {
      for (int y = ry.begin; y < ry.end; ++y) {
        const char* grad = grads + z * call.in.strides[2] + y * call.in.strides[3];
        const char* place = places + z * call.index.strides[2] + y * call.index.strides[3];
        for (int x = rx.begin; x < rx.end; ++x) {
          if (load<int64_t>(place + x * call.index.strides[4]) == here)
            sum += E::load(grad + x * call.in.strides[4], call.dtype);
        }
      }
    }
    E::store(element_at(call.out, p), call.dtype, sum);
  }
};

template <class Stored>
struct AveragePoolBackward {
  using E = Elements<Stored>;
  using C = typename E::Compute;
  PoolCall call;

  __device__ void operator()(const Place& p) const {
    const PoolWindows& w = call.windows;
    const PoolRange rz = windows_over(w, 0, p.z), ry = windows_over(w, 1, p.y), rx = windows_over(w, 2, p.x);
    const char* const grads = call.in.data + plane_offset(call.in, p);
    C sum = 0;
    for (int z = rz.begin; z < rz.end; ++z) {
      const PoolWindow wz = window_of(w, 0, z);
      for (int y = ry.begin; y < ry.end; ++y) {
        const PoolWindow wy = window_of(w, 1, y);
        const char* grad = grads + z * call.in.strides[2] + y * call.in.strides[3];
        for (int x = rx.begin; x < rx.end; ++x) {
          const int64_t count = count_of(call, wz, wy, window_of(w, 2, x));
          sum += E::load(grad + x * call.in.strides[4], call.dtype) / static_cast<C>(count);
        }
      }
    }
    E::store(element_at(call.out, p), call.dtype, sum);
  }
};

// Adds what MaxPoolBackward does not see: indices outside of their own windows, as a caller may give them and
// fractional pooling does. A block has a plane; where it has such indices, its first warp goes through the plane in
// order.
template <class Stored>
__global__ void add_strays(const __grid_constant__ PoolCall call, int64_t planes) {
  using E = Elements<Stored>;
  using C = typename E::Compute;
  const PoolWindows& w = call.windows;
  const auto outputs = static_cast<uint32_t>(w.outputs());
  const auto height = static_cast<uint32_t>(w.out[1]), width = static_cast<uint32_t>(w.out[2]);
  for (int64_t plane = blockIdx.x; plane < planes; plane += gridDim.x) {
    const Place p{plane / call.sizes.sizes[1], plane % call.sizes.sizes[1], 0, 0, 0};
    const auto place_of_output = [&](uint32_t i) {
      return Place{p.n, p.c, i / width / height, i / width % height, i % width};
    };
    // Where output i goes; -1 if it is no stray.
    const auto stray_of = [&](uint32_t i) -> int64_t {
      const Place from = place_of_output(i);
      const int64_t to = load<int64_t>(element_at(call.index, from));
      AT_CUDA_KERNEL_CHECK(to >= 0 && to < w.inputs(), "pooling's gradient: an index is out of range");
      const int64_t row = to / w.in[2], x = to - row * w.in[2], z = row / w.in[1], y = row - z * w.in[1];
      const bool covered =
          windows_over(w, 0, z).has(from.z) && windows_over(w, 1, y).has(from.y) && windows_over(w, 2, x).has(from.x);
      return covered ? -1 : to;
    };
    bool any = false;
    for (uint32_t i = threadIdx.x; i < outputs; i += blockDim.x) any = stray_of(i) >= 0 || any;
    if (!__syncthreads_or(any) || threadIdx.x >= kWarp) continue;
    const int lane = static_cast<int>(threadIdx.x);
    for (uint32_t first = 0; first < outputs; first += kWarp) {
      const uint32_t i = first + static_cast<uint32_t>(lane);
      const int64_t to = i < outputs ? stray_of(i) : -1;
      const C grad = to >= 0 ? E::load(element_at(call.in, place_of_output(i)), call.dtype) : C(0);
      const unsigned same = __match_any_sync(kAllLanes, to);
      C sum = 0;
      for (int k = 0; k < kWarp; ++k) {
        const C other = __shfl_sync(kAllLanes, grad, k);
        if (same >> k & 1) sum += other;
      }
      if (to >= 0 && (same & ((1u << lane) - 1)) == 0) {  // the first lane of those that go there
        const int64_t row = to / w.in[2];
        char* const at =
            element_at(call.out, {p.n, p.c, static_cast<uint32_t>(row / w.in[1]), static_cast<uint32_t>(row % w.in[1]),
                                  static_cast<uint32_t>(to - row * w.in[2])});
        E::store(at, call.dtype, E::load(at, call.dtype) + sum);
      }
      __syncwarp();
    }
  }
}

// A block a plane.
c10::cuda::Launch shape_of_planes(int64_t planes) {
  return {.grid = static_cast<uint32_t>(std::min<int64_t>(planes, kMostBlocks)),
          .block = kThreadsPerBlock,
          .stream = c10::cuda::getCurrentCUDAStream()};
}

template <class Stored>
void max_pool_backward(const PoolCall& call) {
  launch_places(call.name, call.sizes, MaxPoolBackward<Stored>{call});
  const int64_t planes = call.sizes.sizes[0] * call.sizes.sizes[1];
  c10::cuda::launch_or_throw(call.name, add_strays<Stored>, shape_of_planes(planes), call, planes);
}

// How far an element's place in its plane is from the plane's first.
KD_DEVICE int64_t number_of(const SpatialSizes& s, const Place& p) {
  return (p.z * s.sizes[3] + p.y) * s.sizes[4] + p.x;
}
__device__ int32_t* last_at(const UnpoolCall& call, const Place& p, int64_t place) {
  return call.last + (p.n * call.to.sizes[1] + p.c) * (call.to.plane()) + place;
}

struct FindLast {
  UnpoolCall call;
  __device__ void operator()(const Place& p) const {
    const int64_t to = load<int64_t>(element_at(call.index, p));
    AT_CUDA_KERNEL_CHECK(to >= 0 && to < call.to.plane(), "max_unpool: an index is out of range");
    atomicMax(last_at(call, p, to), static_cast<int32_t>(number_of(call.from, p)) + 1);
  }
};

struct PutLast {
  UnpoolCall call;
  template <class T>
  __device__ void put(const Place& p, const char* from) const {
    *reinterpret_cast<T*>(element_at(call.out, p)) = from != nullptr ? load<T>(from) : T(0);
  }
  __device__ void operator()(const Place& p) const {
    const int32_t last = *last_at(call, p, number_of(call.to, p)) - 1;
    const char* from = nullptr;
    if (last >= 0) {
      const auto i = static_cast<uint32_t>(last), height = static_cast<uint32_t>(call.from.sizes[3]),
                 width = static_cast<uint32_t>(call.from.sizes[4]);
      from = element_at(call.in, {p.n, p.c, i / width / height, i / width % height, i % width});
    }
    switch (call.item) {
      case 1:
        return put<uint8_t>(p, from);
      case 2:
        return put<uint16_t>(p, from);
      case 4:
        return put<uint32_t>(p, from);
      default:
        return put<uint64_t>(p, from);
    }
  }
};

}  // namespace

void launch_max_pool_backward(const PoolCall& call) {
  switch (call.dtype) {
    case ScalarType::Float:
      return max_pool_backward<float>(call);
    case ScalarType::Double:
      return max_pool_backward<double>(call);
    case ScalarType::Half:
      return max_pool_backward<Half>(call);
    case ScalarType::BFloat16:
      return max_pool_backward<BFloat16>(call);
    default:
      return max_pool_backward<AnyInteger>(call);
  }
}

void launch_average_pool_backward(const PoolCall& call) {
  switch (call.dtype) {
    case ScalarType::Float:
      return launch_places(call.name, call.sizes, AveragePoolBackward<float>{call});
    case ScalarType::Double:
      return launch_places(call.name, call.sizes, AveragePoolBackward<double>{call});
    case ScalarType::Half:
      return launch_places(call.name, call.sizes, AveragePoolBackward<Half>{call});
    default:
      return launch_places(call.name, call.sizes, AveragePoolBackward<BFloat16>{call});
  }
}

void launch_unpool(const UnpoolCall& call) {
  launch_places(call.name, call.from, FindLast{call});
  launch_places(call.name, call.to, PutLast{call});
}

}  // namespace at::cuda

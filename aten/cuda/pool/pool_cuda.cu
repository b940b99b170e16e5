#include <cmath>
#include <limits>

#include "aten/cuda/pool/windows.cuh"

namespace at::cuda {
namespace {

template <class C>
KD_DEVICE bool is_nan(C value) {
  return value != value;
}

// The least number of a dtype.
template <class C>
KD_DEVICE C lowest_of(ScalarType dtype) {
  if constexpr (std::is_floating_point_v<C>) {
    return -std::numeric_limits<C>::infinity();
  } else {
    switch (dtype) {
      case ScalarType::Byte:
        return 0;
      case ScalarType::Char:
        return std::numeric_limits<int8_t>::lowest();
      case ScalarType::Short:
        return std::numeric_limits<int16_t>::lowest();
      case ScalarType::Int:
        return std::numeric_limits<int32_t>::lowest();
      default:
        return std::numeric_limits<int64_t>::lowest();
    }
  }
}

template <class Stored>
struct MaxPool {
  using E = Elements<Stored>;
  using C = typename E::Compute;
  PoolCall call;

  __device__ PoolWindow window(const Place& p, int d, int64_t place) const {
    const PoolWindows& w = call.windows;
    if constexpr (!std::is_same_v<Stored, AnyInteger>) {
      if (w.kind == PoolWindows::Kind::kFractional && d >= 3 - call.dims) {
        // Two dimensions take the samples from the last one on, three from the first.
        const int k = call.dims == 2 ? 2 - d : d;
        const char* at = call.samples.data + plane_offset(call.samples, p) + k * call.samples.strides[2];
        return fractional_window_of<C>(w, d, place, E::load(at, call.dtype));
      }
    }
    return window_of(w, d, place);
  }

  __device__ void operator()(const Place& p) const {
    const PoolWindows& w = call.windows;
    const PoolWindow wz = window(p, 0, p.z), wy = window(p, 1, p.y), wx = window(p, 2, p.x);
    const auto first_of = [](const PoolWindow& window, int64_t in) {
      return window.begin < in - 1 ? int64_t{window.begin} : in - 1;
    };
    // A window that lies in the padding alone has no maximum: the nearest place stands for it.
    int64_t best = (first_of(wz, w.in[0]) * w.in[1] + first_of(wy, w.in[1])) * w.in[2] + first_of(wx, w.in[2]);
    C most = lowest_of<C>(call.dtype);
    const char* const plane = call.in.data + plane_offset(call.in, p);
    for (int z = wz.begin; z < wz.end; z += wz.step) {
      for (int y = wy.begin; y < wy.end; y += wy.step) {
        const char* at = plane + z * call.in.strides[2] + y * call.in.strides[3] + wx.begin * call.in.strides[4];
        const int64_t row = (z * w.in[1] + y) * w.in[2];
        for (int x = wx.begin; x < wx.end; x += wx.step, at += wx.step * call.in.strides[4]) {
          const C value = E::load(at, call.dtype);
          if (value > most || is_nan(value)) most = value, best = row + x;
        }
      }
    }
    E::store(element_at(call.out, p), call.dtype, most);
    if (call.index.data != nullptr) *reinterpret_cast<int64_t*>(element_at(call.index, p)) = best;
  }
};

template <class Stored>
struct AveragePool {
  using E = Elements<Stored>;
  using C = typename E::Compute;
  PoolCall call;

  __device__ void operator()(const Place& p) const {
    const PoolWindows& w = call.windows;
    const PoolWindow wz = window_of(w, 0, p.z), wy = window_of(w, 1, p.y), wx = window_of(w, 2, p.x);
    const char* const plane = call.in.data + plane_offset(call.in, p);
    C sum = 0;
    for (int z = wz.begin; z < wz.end; ++z) {
      for (int y = wy.begin; y < wy.end; ++y) {
        const char* at = plane + z * call.in.strides[2] + y * call.in.strides[3] + wx.begin * call.in.strides[4];
        for (int x = wx.begin; x < wx.end; ++x, at += call.in.strides[4]) sum += E::load(at, call.dtype);
      }
    }
    E::store(element_at(call.out, p), call.dtype, sum / static_cast<C>(count_of(call, wz, wy, wx)));
  }
};

}  // namespace

void launch_max_pool(const PoolCall& call) {
  switch (call.dtype) {
    case ScalarType::Float:
      return launch_places(call.name, call.sizes, MaxPool<float>{call});
    case ScalarType::Double:
      return launch_places(call.name, call.sizes, MaxPool<double>{call});
    case ScalarType::Half:
      return launch_places(call.name, call.sizes, MaxPool<Half>{call});
    case ScalarType::BFloat16:
      return launch_places(call.name, call.sizes, MaxPool<BFloat16>{call});
    default:
      return launch_places(call.name, call.sizes, MaxPool<AnyInteger>{call});
  }
}

void launch_average_pool(const PoolCall& call) {
  switch (call.dtype) {
    case ScalarType::Float:
      return launch_places(call.name, call.sizes, AveragePool<float>{call});
    case ScalarType::Double:
      return launch_places(call.name, call.sizes, AveragePool<double>{call});
    case ScalarType::Half:
      return launch_places(call.name, call.sizes, AveragePool<Half>{call});
    case ScalarType::BFloat16:
      return launch_places(call.name, call.sizes, AveragePool<BFloat16>{call});
    default:
      return launch_places(call.name, call.sizes, AveragePool<int64_t>{call});
  }
}

}  // namespace at::cuda

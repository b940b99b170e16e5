#include "aten/cuda/spatial/spatial.cuh"
#include "aten/cuda/upsample/resample_call.h"

namespace at::cuda {
namespace {

// The taps [0, count) of one element in one dimension.
template <class C, bool kTransposed>
struct AxisTaps {
  const Axis& axis;
  int64_t place;
  int begin, count;

  KD_DEVICE AxisTaps(const Axis& a, int64_t i) : axis(a), place(i), begin(static_cast<int>(i)), count(1) {
    if (a.identity) return;
    begin = kTransposed ? a.first[i] : a.begin[i];
    count = kTransposed ? a.last[i] - begin : a.count[i];
  }
  // The element that tap k reads.
  KD_DEVICE int64_t element(int k) const {
    const int at = begin + k;
    if (kTransposed || axis.identity) return at;
    return at < 0 ? 0 : at < axis.in ? at : axis.in - 1;
  }
  KD_DEVICE C weight(int k) const {
    if (axis.identity) return C(1);
    const C* const weights = static_cast<const C*>(axis.weight);
    if constexpr (!kTransposed) {
      return weights[place * axis.taps + k];
    } else {
      // Those of the taps that read `place`: at a border also the ones beyond it.
      const int64_t i = begin + k, at = place - axis.begin[i], last = axis.count[i] - 1;
      const int64_t low = place == 0 ? 0 : at, high = place == axis.in - 1 ? last : at;
      C sum = 0;
      for (int64_t tap = low < 0 ? 0 : low; tap <= high && tap <= last; ++tap) sum += weights[i * axis.taps + tap];
      return sum;
    }
  }
};

template <class From, class To, bool kTransposed>
struct Resample {
  using C = typename Elements<From>::Compute;
  using Taps = AxisTaps<C, kTransposed>;
  ResampleCall call;

  __device__ void operator()(const Place& p) const {
    const Taps tz(call.axes[0], p.z), ty(call.axes[1], p.y), tx(call.axes[2], p.x);
    const char* const plane = call.in.data + plane_offset(call.in, p);
    C volume = 0;
    for (int z = 0; z < tz.count; ++z) {
      const char* const layer = plane + tz.element(z) * call.in.strides[2];
      C area = 0;
      for (int y = 0; y < ty.count; ++y) {
        const char* const row = layer + ty.element(y) * call.in.strides[3];
        C line = 0;
        for (int x = 0; x < tx.count; ++x)
          line += tx.weight(x) * Elements<From>::load(row + tx.element(x) * call.in.strides[4], call.from);
        area += ty.weight(y) * line;
      }
      volume += tz.weight(z) * area;
    }
    Elements<To>::store(element_at(call.out, p), call.to, volume);
  }
};

struct ResampleBytes {
  ResampleCall call;
  int d;

  __device__ void operator()(const Place& p) const {
    const Axis& axis = call.axes[d];
    const int64_t place = d == 0 ? p.z : d == 1 ? p.y : p.x, stride = call.in.strides[2 + d];
    const char* from = call.in.data + plane_offset(call.in, p) + axis.begin[place] * stride;
    for (int k = 0; k < 3; ++k) {
      if (k != d) from += (k == 0 ? p.z : k == 1 ? p.y : p.x) * call.in.strides[2 + k];
    }
    const int bits = *axis.bits;
    int sum = 1 << (bits - 1);
    for (int k = 0; k < axis.count[place]; ++k, from += stride)
      sum += axis.units[place * axis.taps + k] * static_cast<int>(load<uint8_t>(from));
    sum >>= bits;
    *reinterpret_cast<uint8_t*>(element_at(call.out, p)) = static_cast<uint8_t>(sum < 0 ? 0 : sum > 255 ? 255 : sum);
  }
};

template <class From, class To>
void run(const ResampleCall& call) {
  if (call.transposed)
    launch_places(call.name, call.sizes, Resample<From, To, true>{call});
  else
    launch_places(call.name, call.sizes, Resample<From, To, false>{call});
}

template <class Stored>
void run_small(const ResampleCall& call) {
  if (call.from == call.to) return run<Stored, Stored>(call);
  if (call.from == ScalarType::Float) return run<float, Stored>(call);
  run<Stored, float>(call);
}

}  // namespace

void launch_resample(const ResampleCall& call) {
  switch (call.from == ScalarType::Float ? call.to : call.from) {
    case ScalarType::Float:
      return run<float, float>(call);
    case ScalarType::Double:
      return run<double, double>(call);
    case ScalarType::Half:
      return run_small<Half>(call);
    case ScalarType::BFloat16:
      return run_small<BFloat16>(call);
    default:
      return run<uint8_t, uint8_t>(call);
  }
}

void launch_resample_bytes(const ResampleCall& call, int d) {
  launch_places(call.name, call.sizes, ResampleBytes{call, d});
}

}  // namespace at::cuda

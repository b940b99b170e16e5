#include "aten/cuda/loops/functions.cuh"
#include "aten/cuda/mixed_kernels.h"

namespace at::cuda {
namespace {

template <class T>
KD_DEVICE T product(T a, T b) {
  if constexpr (std::is_same_v<T, double>)
    return __dmul_rn(a, b);
  else
    return __fmul_rn(a, b);
}
// The integer that x is moved to, of scale and zero point; p: least, most, whether zero points are whole numbers.
template <class T>
KD_DEVICE T place_of(T x, T scale, T zero, const T* p) {
  const T steps = product(x, static_cast<T>(1.0f / static_cast<float>(scale)));
  return p[2] != T(0) ? static_cast<T>(::rint(steps)) + zero : static_cast<T>(::rint(steps + zero));
}
// Of x, scale, zero point and whether it is to be done at all.
struct FakeQuantize {
  static constexpr int kInputs = 4;
  template <class T>
  static KD_DEVICE T run(const T* in, const T* p) {
    if (in[3] == T(0)) return in[0];
    const T own = place_of(in[0], in[1], in[2], p), above = own > p[0] ? own : p[0];
    return product((above < p[1] ? above : p[1]) - in[2], in[1]);
  }
};
struct FakeQuantizeMask {
  static constexpr int kInputs = 4;
  template <class T>
  static KD_DEVICE bool run(const T* in, const T* p) {
    const T own = place_of(in[0], in[1], in[2], p);
    return in[3] == T(0) || (own >= p[0] && own <= p[1]);
  }
};

// What a scale's gradient gets from x: of x, its gradient, scale and whole zero point.
struct FakeQuantizeOfScale {
  static constexpr int kInputs = 4;
  template <class T>
  static KD_DEVICE T run(const T* in, const T* p) {
    const T steps = product(in[0], static_cast<T>(1.0f / static_cast<float>(in[2])));
    const T own = static_cast<T>(::rint(steps)) + in[3];
    const T above = own > p[0] ? own : p[0], distance = (above < p[1] ? above : p[1]) - in[3];
    if (!(own >= p[0] && own <= p[1])) return product(in[1], distance);
    const T error = product(product(distance, in[2]) - in[0], static_cast<T>(1.0f / static_cast<float>(in[2])));
    return product(in[1], error);
  }
};

}  // namespace

constinit const ElementKernels kFakeQuantizeOfScaleKernels = floating_kernels<FakeQuantizeOfScale>();
constinit const ElementKernels kFakeQuantizeKernels = floating_kernels<FakeQuantize>();
constinit const ElementKernels kFakeQuantizeMaskKernels = floating_kernels<FakeQuantizeMask>();

}  // namespace at::cuda

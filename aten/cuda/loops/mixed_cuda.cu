#include "aten/cuda/loops/functions.cuh"
#include "aten/cuda/mixed_kernels.h"

namespace at::cuda {
namespace {

template <class T>
KD_DEVICE T mantissa_of(T x, int* exponent) {
  *exponent = 0;
  return x - x == T(0) ? ::frexp(x, exponent) : x;
}
struct FrexpMantissa {
  static constexpr int kInputs = 1;
  template <class T>
  static KD_DEVICE T run(const T* in, const T*) {
    int exponent;
    return mantissa_of(*in, &exponent);
  }
};
struct FrexpExponent {
  static constexpr int kInputs = 1;
  template <class T>
  static KD_DEVICE int32_t run(const T* in, const T*) {
    int exponent;
    mantissa_of(*in, &exponent);
    return exponent;
  }
};

AT_CUDA_FN(MakeComplex, 2, c10::complex<T>(a, b))
AT_CUDA_FN(Polar, 2, c10::complex<T>(a* static_cast<T>(::cos(b)), a* static_cast<T>(::sin(b))))

AT_CUDA_FN(NextAfter, 2, static_cast<T>(::nextafter(a, b)))
// On 16-bit floating-point numbers: their bits are in their order.
template <class T>
KD_DEVICE float next_of_16_bits(float a, float b) {
  if (is_nan(a) || is_nan(b)) return a + b;
  if (a == b) return b;
  T next(a);
  if (a == 0) {
    next.x = b > 0 ? 0x0001 : 0x8001;
  } else {
    next.x = static_cast<uint16_t>((a < b) == (a > 0) ? next.x + 1 : next.x - 1);
  }
  return static_cast<float>(next);
}
template <class Stored>
struct NextAfter16 {
  static constexpr int kInputs = 2;
  template <class T>
  static KD_DEVICE T run(const T* in, const T*) {
    return next_of_16_bits<Stored>(in[0], in[1]);
  }
};

template <class Fn>
constexpr ElementKernels of_float() {
  return {&launch_elementwise<Fn, float>};
}

}  // namespace

constinit const ElementKernels kFrexpMantissaKernels = floating_kernels<FrexpMantissa>();
constinit const ElementKernels kFrexpExponentKernels = floating_kernels<FrexpExponent>();
constinit const ElementKernels kComplexKernels = floating_kernels<MakeComplex>();
constinit const ElementKernels kPolarKernels = floating_kernels<Polar>();
constinit const ElementKernels kNextAfterHalfKernels = of_float<NextAfter16<Half>>();
constinit const ElementKernels kNextAfterBFloat16Kernels = of_float<NextAfter16<BFloat16>>();

}  // namespace at::cuda

AT_CUDA_ELEMENT_OP(nextafter, at::cuda::floating_kernels<at::cuda::NextAfter>())

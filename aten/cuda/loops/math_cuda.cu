// Elementary functions.
#include "aten/cuda/foreach/list_kernels.h"
#include "aten/cuda/loops/math.cuh"

namespace at::cuda {
namespace {

struct ComplexAbs {
  static constexpr int kInputs = 1;
  template <class T>
  static KD_DEVICE auto run(const T* in, const T*) {
    return static_cast<decltype(in->real())>(abs_of(convert<Complex>(*in)));
  }
};
struct ComplexAngle {
  static constexpr int kInputs = 1;
  template <class T>
  static KD_DEVICE auto run(const T* in, const T*) {
    return static_cast<decltype(in->real())>(angle_of(convert<Complex>(*in)));
  }
};
AT_CUDA_FN(ComplexIsReal, 1, a.imag() == 0)

template <class Fn>
constexpr ElementKernels both() {
  return with_complex<Fn>(floating_kernels<Fn>());
}
template <class Fn>
constexpr ElementKernels of_complex() {
  return with_complex<Fn>({});
}

}  // namespace
}  // namespace at::cuda

AT_CUDA_ELEMENT_OP(exp, at::cuda::both<at::cuda::Exp>())
AT_CUDA_ELEMENT_OP(exp2, at::cuda::both<at::cuda::Exp2>())
AT_CUDA_ELEMENT_OP(expm1, at::cuda::both<at::cuda::Expm1>())
AT_CUDA_ELEMENT_OP(log, at::cuda::both<at::cuda::Log>())
AT_CUDA_ELEMENT_OP(log2, at::cuda::both<at::cuda::Log2>())
AT_CUDA_ELEMENT_OP(log10, at::cuda::both<at::cuda::Log10>())
AT_CUDA_ELEMENT_OP(log1p, at::cuda::both<at::cuda::Log1p>())
AT_CUDA_ELEMENT_OP(sqrt, at::cuda::with_lists(at::cuda::both<at::cuda::Sqrt>(), at::cuda::sqrt_lists))
AT_CUDA_ELEMENT_OP(rsqrt, at::cuda::both<at::cuda::Rsqrt>())
AT_CUDA_ELEMENT_OP(sin, at::cuda::both<at::cuda::Sin>())
AT_CUDA_ELEMENT_OP(cos, at::cuda::both<at::cuda::Cos>())
AT_CUDA_ELEMENT_OP(tan, at::cuda::both<at::cuda::Tan>())
AT_CUDA_ELEMENT_OP(sinh, at::cuda::both<at::cuda::Sinh>())
AT_CUDA_ELEMENT_OP(cosh, at::cuda::both<at::cuda::Cosh>())
AT_CUDA_ELEMENT_OP(tanh, at::cuda::both<at::cuda::Tanh>())
AT_CUDA_ELEMENT_OP(sigmoid, at::cuda::both<at::cuda::Sigmoid>())
AT_CUDA_ELEMENT_OP(asin, at::cuda::both<at::cuda::Asin>())
AT_CUDA_ELEMENT_OP(acos, at::cuda::both<at::cuda::Acos>())
AT_CUDA_ELEMENT_OP(atan, at::cuda::both<at::cuda::Atan>())
AT_CUDA_ELEMENT_OP(asinh, at::cuda::both<at::cuda::Asinh>())
AT_CUDA_ELEMENT_OP(acosh, at::cuda::both<at::cuda::Acosh>())
AT_CUDA_ELEMENT_OP(atanh, at::cuda::both<at::cuda::Atanh>())
AT_CUDA_ELEMENT_OP(erf, at::cuda::floating_kernels<at::cuda::Erf>())
AT_CUDA_ELEMENT_OP(erfc, at::cuda::floating_kernels<at::cuda::Erfc>())
AT_CUDA_ELEMENT_OP(sinc, at::cuda::both<at::cuda::Sinc>())
AT_CUDA_ELEMENT_OP(logit, at::cuda::floating_kernels<at::cuda::Logit>())
AT_CUDA_ELEMENT_OP(logit_eps, at::cuda::floating_kernels<at::cuda::LogitClamped>())
AT_CUDA_ELEMENT_OP(atan2, at::cuda::floating_kernels<at::cuda::Atan2>())
AT_CUDA_ELEMENT_OP(hypot, at::cuda::floating_kernels<at::cuda::Hypot>())
AT_CUDA_ELEMENT_OP(xlogy, at::cuda::both<at::cuda::Xlogy>())
AT_CUDA_ELEMENT_OP(fmod, at::cuda::floating_kernels<at::cuda::Fmod>())
AT_CUDA_ELEMENT_OP(remainder, at::cuda::floating_kernels<at::cuda::Remainder>())
AT_CUDA_ELEMENT_OP(floor_divide, at::cuda::floating_kernels<at::cuda::FloorDivide>())
AT_CUDA_ELEMENT_OP(logaddexp, at::cuda::both<at::cuda::LogAddExp>())
AT_CUDA_ELEMENT_OP(logaddexp2, at::cuda::floating_kernels<at::cuda::LogAddExp2>())
AT_CUDA_ELEMENT_OP(pow, at::cuda::with_integers<at::cuda::Pow>(at::cuda::both<at::cuda::Pow>()))
AT_CUDA_ELEMENT_OP(complex_abs, at::cuda::of_complex<at::cuda::ComplexAbs>())
AT_CUDA_ELEMENT_OP(complex_angle, at::cuda::of_complex<at::cuda::ComplexAngle>())
AT_CUDA_ELEMENT_OP(complex_is_real, at::cuda::of_complex<at::cuda::ComplexIsReal>())
AT_CUDA_ELEMENT_OP(sigmoid_backward, at::cuda::both<at::cuda::SigmoidBackward>())
AT_CUDA_ELEMENT_OP(tanh_backward, at::cuda::both<at::cuda::TanhBackward>())

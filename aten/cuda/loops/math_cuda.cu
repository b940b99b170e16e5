// Exponentials, logarithms, powers and quotients, and what complex numbers are made of.
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
constexpr ElementKernels of_complex() {
  return with_complex<Fn>({});
}

}  // namespace
}  // namespace at::cuda

AT_CUDA_ELEMENT_OP(exp, at::cuda::floating_and_complex_kernels<at::cuda::Exp>())
AT_CUDA_ELEMENT_OP(exp2, at::cuda::floating_and_complex_kernels<at::cuda::Exp2>())
AT_CUDA_ELEMENT_OP(expm1, at::cuda::floating_and_complex_kernels<at::cuda::Expm1>())
AT_CUDA_ELEMENT_OP(log, at::cuda::floating_and_complex_kernels<at::cuda::Log>())
AT_CUDA_ELEMENT_OP(log2, at::cuda::floating_and_complex_kernels<at::cuda::Log2>())
AT_CUDA_ELEMENT_OP(log10, at::cuda::floating_and_complex_kernels<at::cuda::Log10>())
AT_CUDA_ELEMENT_OP(log1p, at::cuda::floating_and_complex_kernels<at::cuda::Log1p>())
AT_CUDA_ELEMENT_OP(sqrt,
                   at::cuda::with_lists(at::cuda::floating_and_complex_kernels<at::cuda::Sqrt>(), at::cuda::sqrt_lists))
AT_CUDA_ELEMENT_OP(rsqrt, at::cuda::floating_and_complex_kernels<at::cuda::Rsqrt>())
AT_CUDA_ELEMENT_OP(sigmoid, at::cuda::floating_and_complex_kernels<at::cuda::Sigmoid>())
AT_CUDA_ELEMENT_OP(erf, at::cuda::floating_kernels<at::cuda::Erf>())
AT_CUDA_ELEMENT_OP(erfc, at::cuda::floating_kernels<at::cuda::Erfc>())
AT_CUDA_ELEMENT_OP(logit, at::cuda::floating_kernels<at::cuda::Logit>())
AT_CUDA_ELEMENT_OP(logit_eps, at::cuda::floating_kernels<at::cuda::LogitClamped>())
AT_CUDA_ELEMENT_OP(xlogy, at::cuda::floating_and_complex_kernels<at::cuda::Xlogy>())
AT_CUDA_ELEMENT_OP(fmod, at::cuda::floating_kernels<at::cuda::Fmod>())
AT_CUDA_ELEMENT_OP(remainder, at::cuda::floating_kernels<at::cuda::Remainder>())
AT_CUDA_ELEMENT_OP(floor_divide, at::cuda::floating_kernels<at::cuda::FloorDivide>())
AT_CUDA_ELEMENT_OP(logaddexp, at::cuda::floating_and_complex_kernels<at::cuda::LogAddExp>())
AT_CUDA_ELEMENT_OP(logaddexp2, at::cuda::floating_kernels<at::cuda::LogAddExp2>())
AT_CUDA_ELEMENT_OP(pow, at::cuda::with_integers<at::cuda::Pow>(at::cuda::floating_and_complex_kernels<at::cuda::Pow>()))
AT_CUDA_ELEMENT_OP(complex_abs, at::cuda::of_complex<at::cuda::ComplexAbs>())
AT_CUDA_ELEMENT_OP(complex_angle, at::cuda::of_complex<at::cuda::ComplexAngle>())
AT_CUDA_ELEMENT_OP(complex_is_real, at::cuda::of_complex<at::cuda::ComplexIsReal>())
AT_CUDA_ELEMENT_OP(sigmoid_backward, at::cuda::floating_and_complex_kernels<at::cuda::SigmoidBackward>())

// Functions of one element that are a few instructions.
#include "aten/cuda/loops/unary.cuh"

namespace at::cuda {
namespace {

// z / |z|
struct Sgn {
  static constexpr int kInputs = 1;
  template <class T>
  static KD_DEVICE T run(const T* in, const T* p) {
    if constexpr (kIsComplex<T>) {
      using Part = decltype(in->real());
      const double x = in->real(), y = in->imag(), length = ::hypot(x, y);
      return length == 0 ? T(0, 0) : T(static_cast<Part>(x / length), static_cast<Part>(y / length));
    } else {
      return Sign::run(in, p);
    }
  }
};
AT_CUDA_FN(Conj, 1, T(a.real(), -a.imag()))

template <class Fn>
constexpr ElementKernels complex_kernels() {
  return with_complex<Fn>({});
}

}  // namespace
}  // namespace at::cuda

AT_CUDA_ELEMENT_OP(neg, at::cuda::with_complex<at::cuda::Neg>(
                            at::cuda::with_integers<at::cuda::Neg>(at::cuda::floating_kernels<at::cuda::Neg>())))
AT_CUDA_ELEMENT_OP(abs, at::cuda::with_integers<at::cuda::Abs>(at::cuda::floating_kernels<at::cuda::Abs>()))
AT_CUDA_ELEMENT_OP(sign, at::cuda::with_integers<at::cuda::Sign>(at::cuda::floating_kernels<at::cuda::Sign>()))
AT_CUDA_ELEMENT_OP(sgn, at::cuda::with_complex<at::cuda::Sgn>(
                            at::cuda::with_integers<at::cuda::Sgn>(at::cuda::floating_kernels<at::cuda::Sgn>())))
AT_CUDA_ELEMENT_OP(ceil, at::cuda::floating_kernels<at::cuda::Ceil>())
AT_CUDA_ELEMENT_OP(floor, at::cuda::floating_kernels<at::cuda::Floor>())
AT_CUDA_ELEMENT_OP(round, at::cuda::floating_kernels<at::cuda::Round>())
AT_CUDA_ELEMENT_OP(trunc, at::cuda::floating_kernels<at::cuda::Trunc>())
AT_CUDA_ELEMENT_OP(frac, at::cuda::floating_kernels<at::cuda::Frac>())
AT_CUDA_ELEMENT_OP(reciprocal,
                   at::cuda::with_complex<at::cuda::Reciprocal>(at::cuda::floating_kernels<at::cuda::Reciprocal>()))
AT_CUDA_ELEMENT_OP(square, at::cuda::with_complex<at::cuda::Square>(at::cuda::with_integers<at::cuda::Square>(
                               at::cuda::floating_kernels<at::cuda::Square>())))
AT_CUDA_ELEMENT_OP(cube, at::cuda::floating_kernels<at::cuda::Cube>())
AT_CUDA_ELEMENT_OP(inverse_square, at::cuda::floating_kernels<at::cuda::InverseSquare>())
AT_CUDA_ELEMENT_OP(bitwise_not, at::cuda::with_integers<at::cuda::BitNot>({}))
AT_CUDA_ELEMENT_OP(conj, at::cuda::complex_kernels<at::cuda::Conj>())
AT_CUDA_ELEMENT_OP(copysign, at::cuda::floating_kernels<at::cuda::Copysign>())
AT_CUDA_ELEMENT_OP(nan_to_num, at::cuda::floating_kernels<at::cuda::NanToNum>())
AT_CUDA_ELEMENT_OP(round_decimals, at::cuda::floating_kernels<at::cuda::RoundDecimals>())
AT_CUDA_ELEMENT_OP(real_angle, at::cuda::floating_kernels<at::cuda::RealAngle>())
AT_CUDA_ELEMENT_OP(heaviside,
                   at::cuda::with_integers<at::cuda::Heaviside>(at::cuda::floating_kernels<at::cuda::Heaviside>()))
AT_CUDA_ELEMENT_OP(trunc_divide, at::cuda::floating_kernels<at::cuda::TruncDivide>())

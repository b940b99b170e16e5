// Functions of one element that are a few instructions.
#include "aten/cuda/loops/functions.cuh"

namespace at::cuda {
namespace {

AT_CUDA_FN(Neg, 1, static_cast<T>(-wrapping(a)))
template <class T>
KD_DEVICE T magnitude(T a) {
  if constexpr (std::is_unsigned_v<T>)
    return a;
  else if constexpr (std::is_integral_v<T>)
    return a < 0 ? static_cast<T>(-wrapping(a)) : a;
  else
    return ::fabs(a);
}
AT_CUDA_FN(Abs, 1, magnitude(a))
AT_CUDA_FN(Sign, 1, static_cast<T>((a > T(0)) - (a < T(0))))
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
AT_CUDA_FN(Ceil, 1, static_cast<T>(::ceil(a)))
AT_CUDA_FN(Floor, 1, static_cast<T>(::floor(a)))
AT_CUDA_FN(Round, 1, static_cast<T>(::nearbyint(a)))
AT_CUDA_FN(Trunc, 1, static_cast<T>(::trunc(a)))
AT_CUDA_FN(Frac, 1, static_cast<T>(a - ::trunc(a)))
AT_CUDA_FN(Reciprocal, 1, T(1) / a)
AT_CUDA_FN(Square, 1, static_cast<T>(wrapping(a) * wrapping(a)))
AT_CUDA_FN(Cube, 1, a* a* a)
AT_CUDA_FN(InverseSquare, 1, T(1) / (a * a))
AT_CUDA_FN(BitNot, 1, static_cast<T>(~a))
AT_CUDA_FN(Conj, 1, T(a.real(), -a.imag()))
AT_CUDA_FN(Copysign, 2, static_cast<T>(::copysign(a, b)))
AT_CUDA_FN(NanToNum, 1, is_nan(a) ? p[0] : a == T(INFINITY) ? p[1] : a == T(-INFINITY) ? p[2] : a)
// p: 10^|decimals|, and whether decimals are negative.
AT_CUDA_FN(RoundDecimals, 1, static_cast<T>(p[1] != T(0) ? ::nearbyint(a / p[0]) * p[0] : ::nearbyint(a * p[0]) / p[0]))
AT_CUDA_FN(RealAngle, 1, is_nan(a) ? a : a < T(0) ? T(3.14159265358979323846) : T(0))
AT_CUDA_FN(Heaviside, 2, a == T(0) ? b : static_cast<T>(a > T(0)))
AT_CUDA_FN(TruncDivide, 2, static_cast<T>(::trunc(a / b)))

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

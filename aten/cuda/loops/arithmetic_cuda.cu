// Sums, products, quotients, bounds.
#include "aten/cuda/loops/functions.cuh"

namespace at::cuda {
namespace {

AT_CUDA_FN(Add, 2, static_cast<T>(wrapping(a) + wrapping(b)))
AT_CUDA_FN(AddScaled, 2, static_cast<T>(wrapping(a) + wrapping(b) * wrapping(p[0])))
AT_CUDA_FN(Sub, 2, static_cast<T>(wrapping(a) - wrapping(b)))
AT_CUDA_FN(Mul, 2, static_cast<T>(wrapping(a) * wrapping(b)))
AT_CUDA_FN(Div, 2, a / b)
AT_CUDA_FN(Addcmul, 3, static_cast<T>(wrapping(a) + wrapping(p[0]) * wrapping(b) * wrapping(c)))
AT_CUDA_FN(Addcdiv, 3, a + p[0] * b / c)

// From the nearer end, so that weights 0 and 1 give the ends themselves.
template <class T>
KD_DEVICE T interpolate(T a, T b, T weight) {
  bool from_first;
  if constexpr (kIsComplex<T>) {
    using Part = decltype(weight.real());
    from_first = weight.real() * weight.real() + weight.imag() * weight.imag() < Part(0.25);
  } else {
    from_first = weight < T(0.5) && weight > T(-0.5);
  }
  return from_first ? a + weight * (b - a) : b - (b - a) * (T(1) - weight);
}
AT_CUDA_FN(Lerp, 3, interpolate(a, b, c))
AT_CUDA_FN(LerpScalar, 2, interpolate(a, b, p[0]))

// A NaN among the arguments is the result, the first of them.
AT_CUDA_FN(Maximum, 2, is_nan(a) ? a : is_nan(b) ? b : a > b ? a : b)
AT_CUDA_FN(Minimum, 2, is_nan(a) ? a : is_nan(b) ? b : a < b ? a : b)
// The number beside a NaN.
AT_CUDA_FN(Fmax, 2, is_nan(a) ? b : is_nan(b) ? a : a > b ? a : b)
AT_CUDA_FN(Fmin, 2, is_nan(a) ? b : is_nan(b) ? a : a < b ? a : b)

template <class T>
KD_DEVICE T raise(T a, T low) {
  return is_nan(a) || a > low ? a : low;
}
template <class T>
KD_DEVICE T lower(T a, T high) {
  return is_nan(a) || a < high ? a : high;
}
AT_CUDA_FN(Clamp, 1, lower(raise(a, p[0]), p[1]))
AT_CUDA_FN(ClampMin, 1, raise(a, p[0]))
AT_CUDA_FN(ClampMax, 1, lower(a, p[0]))
AT_CUDA_FN(ClampTensor, 3, is_nan(a) ? a : is_nan(b) ? b : is_nan(c) ? c : lower(raise(a, b), c))

template <class Fn>
constexpr ElementKernels number_kernels() {
  return with_complex<Fn>(real_kernels<Fn>());
}
template <class Fn>
constexpr ElementKernels field_kernels() {
  return with_complex<Fn>(floating_kernels<Fn>());
}

}  // namespace
}  // namespace at::cuda

AT_CUDA_ELEMENT_OP(add, at::cuda::number_kernels<at::cuda::Add>())
AT_CUDA_ELEMENT_OP(add_scaled, at::cuda::number_kernels<at::cuda::AddScaled>())
AT_CUDA_ELEMENT_OP(sub, at::cuda::number_kernels<at::cuda::Sub>())
AT_CUDA_ELEMENT_OP(mul, at::cuda::number_kernels<at::cuda::Mul>())
AT_CUDA_ELEMENT_OP(addcmul, at::cuda::number_kernels<at::cuda::Addcmul>())
AT_CUDA_ELEMENT_OP(div, at::cuda::field_kernels<at::cuda::Div>())
AT_CUDA_ELEMENT_OP(addcdiv, at::cuda::field_kernels<at::cuda::Addcdiv>())
AT_CUDA_ELEMENT_OP(lerp, at::cuda::field_kernels<at::cuda::Lerp>())
AT_CUDA_ELEMENT_OP(lerp_scalar, at::cuda::field_kernels<at::cuda::LerpScalar>())
AT_CUDA_ELEMENT_OP(maximum, at::cuda::real_kernels<at::cuda::Maximum>())
AT_CUDA_ELEMENT_OP(minimum, at::cuda::real_kernels<at::cuda::Minimum>())
AT_CUDA_ELEMENT_OP(fmax, at::cuda::real_kernels<at::cuda::Fmax>())
AT_CUDA_ELEMENT_OP(fmin, at::cuda::real_kernels<at::cuda::Fmin>())
AT_CUDA_ELEMENT_OP(clamp, at::cuda::real_kernels<at::cuda::Clamp>())
AT_CUDA_ELEMENT_OP(clamp_min, at::cuda::real_kernels<at::cuda::ClampMin>())
AT_CUDA_ELEMENT_OP(clamp_max, at::cuda::real_kernels<at::cuda::ClampMax>())
AT_CUDA_ELEMENT_OP(clamp_tensor, at::cuda::real_kernels<at::cuda::ClampTensor>())

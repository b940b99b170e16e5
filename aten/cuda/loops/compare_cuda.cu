// Predicates: the results are bools.
#include "aten/cuda/loops/compare.cuh"

namespace at::cuda {
namespace {

template <class Fn>
constexpr ElementKernels signed_kernels() {
  return with_integers<Fn>(floating_kernels<Fn>());
}
template <class Fn>
constexpr ElementKernels number_kernels() {
  return with_complex<Fn>(signed_kernels<Fn>());
}

}  // namespace
}  // namespace at::cuda

AT_CUDA_ELEMENT_OP(eq, at::cuda::with_unsigned<at::cuda::Eq>(at::cuda::number_kernels<at::cuda::Eq>()))
AT_CUDA_ELEMENT_OP(ne, at::cuda::with_unsigned<at::cuda::Ne>(at::cuda::number_kernels<at::cuda::Ne>()))
AT_CUDA_ELEMENT_OP(lt, at::cuda::signed_kernels<at::cuda::Lt>())
AT_CUDA_ELEMENT_OP(le, at::cuda::signed_kernels<at::cuda::Le>())
AT_CUDA_ELEMENT_OP(gt, at::cuda::signed_kernels<at::cuda::Gt>())
AT_CUDA_ELEMENT_OP(ge, at::cuda::signed_kernels<at::cuda::Ge>())
AT_CUDA_ELEMENT_OP(logical_and, at::cuda::number_kernels<at::cuda::LogicalAnd>())
AT_CUDA_ELEMENT_OP(logical_or, at::cuda::number_kernels<at::cuda::LogicalOr>())
AT_CUDA_ELEMENT_OP(logical_xor, at::cuda::number_kernels<at::cuda::LogicalXor>())
AT_CUDA_ELEMENT_OP(logical_not, at::cuda::number_kernels<at::cuda::LogicalNot>())
AT_CUDA_ELEMENT_OP(isnan, at::cuda::floating_and_complex_kernels<at::cuda::IsNan>())
AT_CUDA_ELEMENT_OP(isinf, at::cuda::floating_and_complex_kernels<at::cuda::IsInf>())
AT_CUDA_ELEMENT_OP(isfinite, at::cuda::floating_and_complex_kernels<at::cuda::IsFinite>())
AT_CUDA_ELEMENT_OP(isposinf, at::cuda::floating_kernels<at::cuda::IsPosInf>())
AT_CUDA_ELEMENT_OP(isneginf, at::cuda::floating_kernels<at::cuda::IsNegInf>())
AT_CUDA_ELEMENT_OP(signbit, at::cuda::signed_kernels<at::cuda::SignBit>())

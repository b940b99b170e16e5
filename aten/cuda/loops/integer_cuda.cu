// Integers: quotients, bits, divisors.
#include "aten/cuda/loops/integer.cuh"

namespace at::cuda {
namespace {

template <class Fn>
constexpr ElementKernels kernels() {
  return with_integers<Fn>({});
}

}  // namespace
}  // namespace at::cuda

AT_CUDA_ELEMENT_OP(int_trunc_divide, at::cuda::kernels<at::cuda::IntTruncDivide>())
AT_CUDA_ELEMENT_OP(int_floor_divide, at::cuda::kernels<at::cuda::IntFloorDivide>())
AT_CUDA_ELEMENT_OP(int_fmod, at::cuda::kernels<at::cuda::IntFmod>())
AT_CUDA_ELEMENT_OP(int_remainder, at::cuda::kernels<at::cuda::IntRemainder>())
AT_CUDA_ELEMENT_OP(bitwise_and, at::cuda::integer_kernels<at::cuda::BitwiseAnd>())
AT_CUDA_ELEMENT_OP(bitwise_or, at::cuda::integer_kernels<at::cuda::BitwiseOr>())
AT_CUDA_ELEMENT_OP(bitwise_xor, at::cuda::integer_kernels<at::cuda::BitwiseXor>())
AT_CUDA_ELEMENT_OP(shift_left, at::cuda::kernels<at::cuda::ShiftLeft>())
AT_CUDA_ELEMENT_OP(shift_right, at::cuda::kernels<at::cuda::ShiftRight>())
AT_CUDA_ELEMENT_OP(gcd, at::cuda::kernels<at::cuda::Gcd>())
AT_CUDA_ELEMENT_OP(lcm, at::cuda::kernels<at::cuda::Lcm>())

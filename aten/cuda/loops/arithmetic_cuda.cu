// Sums, products, quotients, bounds.
#include "aten/cuda/foreach/list_kernels.h"
#include "aten/cuda/loops/arithmetic.cuh"
#include "aten/cuda/loops/bounds.cuh"
#include "aten/cuda/loops/pieces.cuh"

namespace at::cuda {
namespace {

template <class Fn>
constexpr ElementKernels number_kernels() {
  return with_complex<Fn>(real_kernels<Fn>());
}
template <class Fn>
constexpr ElementKernels term_kernels() {
  return with_pieces<Fn>(number_kernels<Fn>());
}

}  // namespace
}  // namespace at::cuda

AT_CUDA_ELEMENT_OP(add, at::cuda::with_lists(at::cuda::term_kernels<at::cuda::Add>(), at::cuda::add_lists))
AT_CUDA_ELEMENT_OP(add_scaled,
                   at::cuda::with_lists(at::cuda::term_kernels<at::cuda::AddScaled>(), at::cuda::add_scaled_lists))
AT_CUDA_ELEMENT_OP(sub, at::cuda::with_lists(at::cuda::term_kernels<at::cuda::Sub>(), at::cuda::sub_lists))
AT_CUDA_ELEMENT_OP(mul, at::cuda::with_lists(at::cuda::term_kernels<at::cuda::Mul>(), at::cuda::mul_lists))
AT_CUDA_ELEMENT_OP(addcmul,
                   at::cuda::with_lists(at::cuda::number_kernels<at::cuda::Addcmul>(), at::cuda::addcmul_lists))
AT_CUDA_ELEMENT_OP(div,
                   at::cuda::with_lists(at::cuda::floating_and_complex_kernels<at::cuda::Div>(), at::cuda::div_lists))
AT_CUDA_ELEMENT_OP(addcdiv,
                   at::cuda::with_lists(at::cuda::floating_and_complex_kernels<at::cuda::Addcdiv>(),
                                        at::cuda::addcdiv_lists))
AT_CUDA_ELEMENT_OP(lerp,
                   at::cuda::with_lists(at::cuda::floating_and_complex_kernels<at::cuda::Lerp>(), at::cuda::lerp_lists))
AT_CUDA_ELEMENT_OP(lerp_scalar,
                   at::cuda::with_lists(at::cuda::floating_and_complex_kernels<at::cuda::LerpScalar>(),
                                        at::cuda::lerp_scalar_lists))
AT_CUDA_ELEMENT_OP(maximum, at::cuda::real_kernels<at::cuda::Maximum>())
AT_CUDA_ELEMENT_OP(minimum, at::cuda::real_kernels<at::cuda::Minimum>())
AT_CUDA_ELEMENT_OP(fmax, at::cuda::real_kernels<at::cuda::Fmax>())
AT_CUDA_ELEMENT_OP(fmin, at::cuda::real_kernels<at::cuda::Fmin>())
AT_CUDA_ELEMENT_OP(clamp, at::cuda::real_kernels<at::cuda::Clamp>())
AT_CUDA_ELEMENT_OP(clamp_min, at::cuda::real_kernels<at::cuda::ClampMin>())
AT_CUDA_ELEMENT_OP(clamp_max, at::cuda::real_kernels<at::cuda::ClampMax>())
AT_CUDA_ELEMENT_OP(clamp_tensor, at::cuda::real_kernels<at::cuda::ClampTensor>())

// Trigonometric and hyperbolic functions and their inverses.
#include "aten/cuda/loops/math.cuh"

AT_CUDA_ELEMENT_OP(sin, at::cuda::floating_and_complex_kernels<at::cuda::Sin>())
AT_CUDA_ELEMENT_OP(cos, at::cuda::floating_and_complex_kernels<at::cuda::Cos>())
AT_CUDA_ELEMENT_OP(tan, at::cuda::floating_and_complex_kernels<at::cuda::Tan>())
AT_CUDA_ELEMENT_OP(sinh, at::cuda::floating_and_complex_kernels<at::cuda::Sinh>())
AT_CUDA_ELEMENT_OP(cosh, at::cuda::floating_and_complex_kernels<at::cuda::Cosh>())
AT_CUDA_ELEMENT_OP(tanh, at::cuda::floating_and_complex_kernels<at::cuda::Tanh>())
AT_CUDA_ELEMENT_OP(asin, at::cuda::floating_and_complex_kernels<at::cuda::Asin>())
AT_CUDA_ELEMENT_OP(acos, at::cuda::floating_and_complex_kernels<at::cuda::Acos>())
AT_CUDA_ELEMENT_OP(atan, at::cuda::floating_and_complex_kernels<at::cuda::Atan>())
AT_CUDA_ELEMENT_OP(asinh, at::cuda::floating_and_complex_kernels<at::cuda::Asinh>())
AT_CUDA_ELEMENT_OP(acosh, at::cuda::floating_and_complex_kernels<at::cuda::Acosh>())
AT_CUDA_ELEMENT_OP(atanh, at::cuda::floating_and_complex_kernels<at::cuda::Atanh>())
AT_CUDA_ELEMENT_OP(sinc, at::cuda::floating_and_complex_kernels<at::cuda::Sinc>())
AT_CUDA_ELEMENT_OP(atan2, at::cuda::floating_kernels<at::cuda::Atan2>())
AT_CUDA_ELEMENT_OP(hypot, at::cuda::floating_kernels<at::cuda::Hypot>())
AT_CUDA_ELEMENT_OP(tanh_backward, at::cuda::floating_and_complex_kernels<at::cuda::TanhBackward>())

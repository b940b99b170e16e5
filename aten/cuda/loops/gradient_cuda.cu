// Gradients of activations, and losses of single elements with theirs.
#include "aten/cuda/loops/gradient.cuh"

AT_CUDA_ELEMENT_OP(gelu_backward, at::cuda::floating_kernels<at::cuda::GeluBackward>())
AT_CUDA_ELEMENT_OP(gelu_tanh_backward, at::cuda::floating_kernels<at::cuda::GeluTanhBackward>())
AT_CUDA_ELEMENT_OP(silu_backward, at::cuda::floating_kernels<at::cuda::SiluBackward>())
AT_CUDA_ELEMENT_OP(threshold_backward, at::cuda::floating_kernels<at::cuda::ThresholdBackward>())
AT_CUDA_ELEMENT_OP(elu_backward, at::cuda::floating_kernels<at::cuda::EluBackward>())
AT_CUDA_ELEMENT_OP(elu_result_backward, at::cuda::floating_kernels<at::cuda::EluResultBackward>())
AT_CUDA_ELEMENT_OP(leaky_relu_backward, at::cuda::floating_kernels<at::cuda::LeakyReluBackward>())
AT_CUDA_ELEMENT_OP(hardswish_backward, at::cuda::floating_kernels<at::cuda::HardswishBackward>())
AT_CUDA_ELEMENT_OP(softplus_backward, at::cuda::floating_kernels<at::cuda::SoftplusBackward>())
AT_CUDA_ELEMENT_OP(absolute_difference, at::cuda::floating_kernels<at::cuda::AbsoluteDifference>())
AT_CUDA_ELEMENT_OP(smooth_l1, at::cuda::floating_kernels<at::cuda::SmoothL1>())
AT_CUDA_ELEMENT_OP(huber, at::cuda::floating_kernels<at::cuda::Huber>())
AT_CUDA_ELEMENT_OP(soft_margin, at::cuda::floating_kernels<at::cuda::SoftMargin>())
AT_CUDA_ELEMENT_OP(divergence, at::cuda::floating_kernels<at::cuda::Divergence>())
AT_CUDA_ELEMENT_OP(divergence_of_logs, at::cuda::floating_kernels<at::cuda::DivergenceOfLogs>())
AT_CUDA_ELEMENT_OP(clamped_difference, at::cuda::floating_kernels<at::cuda::ClampedDifference>())

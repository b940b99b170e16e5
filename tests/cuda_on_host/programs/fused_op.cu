// An operator of a library's own with its derivative, as extensions have it: a kernel over pointers, on the tensor's
// device and the current stream.
#include <ATen/ATen.h>
#include <ATen/OpMathType.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/Exceptions.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/library.h>

namespace fused {
namespace {

constexpr int kThreads = 128;

template <typename scalar_t>
__device__ __forceinline__ scalar_t sigmoid(scalar_t z) {
  return static_cast<scalar_t>(1) / (static_cast<scalar_t>(1) + exp(-z));
}

// y = x * sigmoid(scale * x)
template <typename scalar_t>
__global__ void swish_forward_kernel(const scalar_t* __restrict__ x, scalar_t* __restrict__ y, const float scale,
                                     const int64_t n) {
  using acc_t = at::opmath_type<scalar_t>;
  for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < n;
       i += static_cast<int64_t>(blockDim.x) * gridDim.x) {
    const acc_t value = static_cast<acc_t>(x[i]);
    y[i] = static_cast<scalar_t>(value * sigmoid(static_cast<acc_t>(scale) * value));
  }
}

template <typename scalar_t>
__global__ void swish_backward_kernel(const scalar_t* __restrict__ x, const scalar_t* __restrict__ grad,
                                      scalar_t* __restrict__ out, const float scale, const int64_t n) {
  using acc_t = at::opmath_type<scalar_t>;
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i >= n) return;
  const acc_t value = static_cast<acc_t>(x[i]), a = static_cast<acc_t>(scale);
  const acc_t s = sigmoid(a * value);
  out[i] = static_cast<scalar_t>(static_cast<acc_t>(grad[i]) * (s + a * value * s * (acc_t(1) - s)));
}

void check_input(const at::Tensor& x) {
  TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
  TORCH_CHECK(x.is_contiguous(), "x must be contiguous");
}

at::Tensor swish_forward_cuda(const at::Tensor& x, double scale) {
  check_input(x);
  const at::cuda::OptionalCUDAGuard device_guard(at::device_of(x));
  at::Tensor y = at::empty_like(x);
  const int64_t n = x.numel();
  if (n == 0) return y;
  const dim3 block(kThreads);
  const dim3 grid(
      std::min<int64_t>((n + kThreads - 1) / kThreads, at::cuda::getCurrentDeviceProperties()->multiProcessorCount));
  cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  AT_DISPATCH_FLOATING_TYPES_AND2(
      at::ScalarType::Half, at::ScalarType::BFloat16, x.scalar_type(), "swish_forward", [&] {
        swish_forward_kernel<scalar_t>
            <<<grid, block, 0, stream>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), static_cast<float>(scale), n);
        C10_CUDA_KERNEL_LAUNCH_CHECK();
      });
  return y;
}

at::Tensor swish_backward_cuda(const at::Tensor& grad, const at::Tensor& x, double scale) {
  check_input(x);
  const c10::cuda::CUDAGuard device_guard(x.device());
  const at::Tensor g = grad.contiguous();
  at::Tensor out = at::empty_like(x);
  const int64_t n = x.numel();
  if (n == 0) return out;
  AT_DISPATCH_FLOATING_TYPES_AND2(
      at::kHalf, at::kBFloat16, x.scalar_type(), "swish_backward", ([&] {
        swish_backward_kernel<scalar_t>
            <<<(n + kThreads - 1) / kThreads, kThreads, 0, at::cuda::getCurrentCUDAStream()>>>(
                x.data_ptr<scalar_t>(), g.data_ptr<scalar_t>(), out.data_ptr<scalar_t>(), static_cast<float>(scale), n);
      }));
  AT_CUDA_CHECK(cudaGetLastError());
  return out;
}

TORCH_LIBRARY(fused_program, m) {
  m.def("swish_forward(Tensor x, float scale) -> Tensor");
  m.def("swish_backward(Tensor grad, Tensor x, float scale) -> Tensor");
}
TORCH_LIBRARY_IMPL(fused_program, CUDA, m) {
  m.impl("swish_forward", &swish_forward_cuda);
  m.impl("swish_backward", TORCH_FN(swish_backward_cuda));
}

}  // namespace
}  // namespace fused

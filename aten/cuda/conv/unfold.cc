// im2col and col2im of CUDA tensors.
#include "aten/core/tensor.h"
#include "aten/cuda/conv/unfold_call.h"
#include "aten/cuda/index/dense.h"
#include "aten/ops/conv/kernels.h"
#include "aten/ops/conv/windows.h"
#include "aten/ops/dense/dense.h"

namespace at::native {
namespace {

cuda::UnfoldCall call_of(const char* name, const Windows& w, const Tensor& from, const Tensor& to) {
  cuda::UnfoldCall call{};
  call.name = name;
  call.dtype = to.scalar_type();
  call.item = static_cast<int64_t>(to.itemsize());
  call.to = static_cast<char*>(to.mutable_data_ptr());
  call.from = static_cast<const char*>(from.const_data_ptr());
  call.planes = w.batch * w.channels;
  call.plane = w.size[0] * w.size[1];
  call.unfolded = w.places() * w.columns();
  constexpr int64_t kMost = INT32_MAX;
  TORCH_CHECK(call.plane <= kMost && w.places() <= kMost && w.columns() <= kMost && call.unfolded <= kMost, name,
              ": planes of 2^31 elements and more are not supported on CUDA tensors");
  for (int d = 0; d < 2; ++d) {
    TORCH_CHECK(w.padding[d] <= kMost - w.size[d] && w.dilation[d] <= kMost && w.stride[d] <= kMost, name,
                ": sizes of 2^31 and more are not supported on CUDA tensors");
    call.size[d] = static_cast<uint32_t>(w.size[d]);
    call.kernel[d] = static_cast<uint32_t>(w.kernel[d]);
    call.count[d] = static_cast<uint32_t>(w.count[d]);
    call.dilation[d] = static_cast<uint32_t>(w.dilation[d]);
    call.padding[d] = w.padding[d];
    call.stride[d] = cuda::FastDivisor(static_cast<uint32_t>(w.stride[d]));
  }
  return call;
}

}  // namespace

void im2col_cuda(const Tensor& self, IntArrayRef kernel_size, IntArrayRef dilation, IntArrayRef padding,
                 IntArrayRef stride, Tensor& out) {
  if (out.numel() == 0) return;
  const Windows w = im2col_windows(self, kernel_size, dilation, padding, stride);
  const Tensor x = dense(self);
  cuda::DenseInPlace work(out, /*reads=*/false);
  cuda::UnfoldCall call = call_of("im2col", w, x, work.tensor());
  const uint32_t sizes[] = {call.count[1], call.count[0], call.kernel[1], call.kernel[0]};
  for (int d = 0; d < 4; ++d) call.sizes[d] = cuda::FastDivisor(sizes[d]);
  cuda::launch_im2col(call);
  work.commit();
}

void col2im_cuda(const Tensor& self, IntArrayRef output_size, IntArrayRef kernel_size, IntArrayRef dilation,
                 IntArrayRef padding, IntArrayRef stride, Tensor& out) {
  if (out.numel() == 0) return;
  const Windows w = col2im_windows(self, output_size, kernel_size, dilation, padding, stride);
  const Tensor x = dense(self);
  cuda::DenseInPlace work(out, /*reads=*/false);
  cuda::UnfoldCall call = call_of("col2im", w, x, work.tensor());
  for (int d = 0; d < 2; ++d) call.sizes[d] = cuda::FastDivisor(call.size[1 - d]);
  cuda::launch_col2im(call);
  work.commit();
}

}  // namespace at::native

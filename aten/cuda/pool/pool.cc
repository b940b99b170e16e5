// Pooling of CUDA tensors, unpooling and the gradients. The shape rules have checked everything but what an operator's
// CPU kernel checks itself.
#include <algorithm>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/cuda/pool/pool_call.h"
#include "aten/cuda/spatial/spatial.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/pool/kernels.h"
#include "aten/ops/pool/pool_geometry.h"
#include "aten/ops/reduce/ops.h"

namespace at::native {
namespace {

using Kind = cuda::PoolWindows::Kind;

cuda::PoolWindows windows_of(const PoolGeometry& g, Kind kind) {
  cuda::PoolWindows w{};
  w.kind = kind;
  for (int d = 0; d < 3; ++d) {
    w.in[d] = g.in[d];
    w.out[d] = g.out[d];
    w.kernel[d] = g.kernel[d];
    // Longer steps leave the input at once, too, and can be added to places.
    w.stride[d] = std::min(g.stride[d], g.in[d] + 2 * g.padding[d] + 1);
    w.padding[d] = g.padding[d];
    w.dilation[d] = g.dilation[d];
  }
  return w;
}

// A call that makes `to` of `from`.
cuda::PoolCall call_of(const char* op, const PoolGeometry& g, Kind kind, const Tensor& to, const Tensor& from) {
  cuda::PoolCall call{};
  call.name = op;
  call.dtype = to.scalar_type();
  call.windows = windows_of(g, kind);
  call.sizes = cuda::sizes_of(op, to, from, g.dims);
  call.in = cuda::volume_of(from, g.dims);
  call.out = cuda::volume_of(to, g.dims);
  call.dims = g.dims;
  return call;
}

void max_forward(const char* op, const PoolGeometry& g, Kind kind, const Tensor& self, const Tensor& samples,
                 Tensor& out, const Tensor& indices) {
  if (out.numel() == 0) return;
  cuda::PoolCall call = call_of(op, g, kind, out, self);
  call.index = cuda::volume_of(indices, g.dims);
  if (samples.defined()) {
    call.samples.data = static_cast<char*>(const_cast<void*>(samples.const_data_ptr()));
    for (int d = 0; d < 3; ++d) call.samples.strides[d] = samples.stride(d) * static_cast<int64_t>(samples.itemsize());
  }
  cuda::launch_max_pool(call);
}

void max_backward(const char* op, const PoolGeometry& g, Kind kind, const Tensor& grad_output, const Tensor& indices,
                  Tensor& out) {
  if (out.numel() == 0) return;
  if (grad_output.numel() == 0) {
    at::zero_(out);
    return;
  }
  cuda::PoolCall call = call_of(op, g, kind, out, grad_output);
  call.index = cuda::volume_of(indices, g.dims);
  cuda::launch_max_pool_backward(call);
}

void average_forward(const char* op, const PoolGeometry& g, Kind kind, const Tensor& self, bool count_padding,
                     std::optional<int64_t> divisor, Tensor& out) {
  if (out.numel() == 0) return;
  // One window over each plane is a reduction.
  const bool whole = g.outputs() == 1 && (kind == Kind::kAdaptive ||
                                          (g.kernel[0] == g.in[0] && g.kernel[1] == g.in[1] && g.kernel[2] == g.in[2] &&
                                           g.padding[0] == 0 && g.padding[1] == 0 && g.padding[2] == 0));
  if (whole && !divisor.has_value() && self.is_floating_point()) {
    DimVector dims;
    for (int d = 1; d <= g.dims; ++d) dims.push_back(-d);
    at::copy_(out, at::mean(self, OptionalIntArrayRef(dims), /*keepdim=*/true, std::nullopt));
    return;
  }
  cuda::PoolCall call = call_of(op, g, kind, out, self);
  call.count_padding = count_padding;
  call.divisor = divisor.value_or(0);
  cuda::launch_average_pool(call);
}

void average_backward(const char* op, const PoolGeometry& g, Kind kind, const Tensor& grad_output, bool count_padding,
                      std::optional<int64_t> divisor, Tensor& out) {
  TORCH_CHECK_NOT_IMPLEMENTED(isFloatingType(out.scalar_type()), "\"", op, "\" not implemented for '",
                              toString(out.scalar_type()), "'");
  if (out.numel() == 0) return;
  if (grad_output.numel() == 0) {
    at::zero_(out);
    return;
  }
  cuda::PoolCall call = call_of(op, g, kind, out, grad_output);
  call.count_padding = count_padding;
  call.divisor = divisor.value_or(0);
  cuda::launch_average_pool_backward(call);
}

void unpool(const char* op, int dims, const Tensor& self, const Tensor& indices, Tensor& out) {
  if (out.numel() == 0 || self.numel() == 0) {
    at::zero_(out);
    return;
  }
  Tensor last = empty_contiguous(out.sizes(), ScalarType::Int, out.device());
  at::zero_(last);
  cuda::launch_unpool({op, static_cast<int64_t>(self.itemsize()), cuda::sizes_of(op, self, out, dims),
                       cuda::sizes_of(op, out, self, dims), cuda::volume_of(self, dims), cuda::volume_of(out, dims),
                       cuda::volume_of(indices, dims), static_cast<int32_t*>(last.mutable_data_ptr())});
}

DimVector pooled_sizes(const Tensor& t, int dims) {
  return DimVector(t.sizes().end() - dims, t.sizes().end());
}

}  // namespace

#define AT_CUDA_POOL(dims)                                                                                             \
  void max_pool##dims##d_with_indices_cuda(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride,            \
                                           IntArrayRef padding, IntArrayRef dilation, bool ceil_mode, Tensor& out,     \
                                           Tensor& indices) {                                                          \
    constexpr const char* op = "max_pool" #dims "d";                                                                   \
    max_forward(op, pool_geometry(op, dims, self, kernel_size, stride, padding, dilation, ceil_mode), Kind::kRegular,  \
                self, Tensor(), out, indices);                                                                         \
  }                                                                                                                    \
  void max_pool##dims##d_with_indices_backward_cuda(                                                                   \
      const Tensor& grad_output, const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, \
      IntArrayRef dilation, bool ceil_mode, const Tensor& indices, Tensor& out) {                                      \
    const PoolGeometry g =                                                                                             \
        pool_geometry("max_pool" #dims "d", dims, self, kernel_size, stride, padding, dilation, ceil_mode);            \
    max_backward("max_pool" #dims "d_backward", g, Kind::kRegular, grad_output, indices, out);                         \
  }                                                                                                                    \
  void adaptive_max_pool##dims##d_cuda(const Tensor& self, IntArrayRef output_size, Tensor& out, Tensor& indices) {    \
    constexpr const char* op = "adaptive_max_pool" #dims "d";                                                          \
    max_forward(op, adaptive_geometry(op, dims, self, output_size), Kind::kAdaptive, self, Tensor(), out, indices);    \
  }                                                                                                                    \
  void adaptive_max_pool##dims##d_backward_cuda(const Tensor& grad_output, const Tensor& self, const Tensor& indices,  \
                                                Tensor& out) {                                                         \
    const PoolGeometry g =                                                                                             \
        adaptive_geometry("adaptive_max_pool" #dims "d", dims, self, pooled_sizes(grad_output, dims));                 \
    max_backward("adaptive_max_pool" #dims "d_backward", g, Kind::kAdaptive, grad_output, indices, out);               \
  }                                                                                                                    \
  void fractional_max_pool##dims##d_cuda(const Tensor& self, IntArrayRef kernel_size, IntArrayRef output_size,         \
                                         const Tensor& random_samples, Tensor& out, Tensor& indices) {                 \
    constexpr const char* op = "fractional_max_pool" #dims "d";                                                        \
    max_forward(op, fractional_geometry(op, dims, self, kernel_size, output_size, random_samples), Kind::kFractional,  \
                self, random_samples, out, indices);                                                                   \
  }                                                                                                                    \
  void avg_pool##dims##d_cuda(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,    \
                              bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override,         \
                              Tensor& out) {                                                                           \
    constexpr const char* op = "avg_pool" #dims "d";                                                                   \
    average_forward(op, pool_geometry(op, dims, self, kernel_size, stride, padding, IntArrayRef{1}, ceil_mode),        \
                    Kind::kRegular, self, count_include_pad, divisor_override, out);                                   \
  }                                                                                                                    \
  void avg_pool##dims##d_backward_cuda(const Tensor& grad_output, const Tensor& self, IntArrayRef kernel_size,         \
                                       IntArrayRef stride, IntArrayRef padding, bool ceil_mode,                        \
                                       bool count_include_pad, std::optional<int64_t> divisor_override, Tensor& out) { \
    const PoolGeometry g =                                                                                             \
        pool_geometry("avg_pool" #dims "d", dims, self, kernel_size, stride, padding, IntArrayRef{1}, ceil_mode);      \
    average_backward("avg_pool" #dims "d_backward", g, Kind::kRegular, grad_output, count_include_pad,                 \
                     divisor_override, out);                                                                           \
  }                                                                                                                    \
  void adaptive_avg_pool##dims##d_cuda(const Tensor& self, IntArrayRef output_size, Tensor& out) {                     \
    constexpr const char* op = "adaptive_avg_pool" #dims "d";                                                          \
    average_forward(op, adaptive_geometry(op, dims, self, output_size), Kind::kAdaptive, self, false, std::nullopt,    \
                    out);                                                                                              \
  }                                                                                                                    \
  void adaptive_avg_pool##dims##d_backward_cuda(const Tensor& grad_output, const Tensor& self, Tensor& out) {          \
    const PoolGeometry g =                                                                                             \
        adaptive_geometry("adaptive_avg_pool" #dims "d", dims, self, pooled_sizes(grad_output, dims));                 \
    average_backward("adaptive_avg_pool" #dims "d_backward", g, Kind::kAdaptive, grad_output, false, std::nullopt,     \
                     out);                                                                                             \
  }
AT_CUDA_POOL(2)
AT_CUDA_POOL(3)
#undef AT_CUDA_POOL

void max_unpool2d_cuda(const Tensor& self, const Tensor& indices, IntArrayRef, Tensor& out) {
  unpool("max_unpool2d", 2, self, indices, out);
}
void max_unpool3d_cuda(const Tensor& self, const Tensor& indices, IntArrayRef, IntArrayRef, IntArrayRef, Tensor& out) {
  unpool("max_unpool3d", 3, self, indices, out);
}

}  // namespace at::native

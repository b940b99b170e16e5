// Padding by what a tensor holds; flip, roll.
#include "aten/core/tensor.h"
#include "aten/core/view.h"
#include "aten/cpu/pointwise.h"
#include "aten/cuda/index/dense.h"
#include "aten/cuda/index/move.h"
#include "aten/cuda/padding/padding_call.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/padding/kernels.h"
#include "aten/ops/rearrange/kernels.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

// The shape rules have checked everything.
void run_padding(const char* name, int dims, bool reflects, bool backward, const Tensor& inside, const Tensor& from,
                 IntArrayRef padding, const Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor x = dense(from);
  cuda::DenseInPlace work(out, /*reads=*/false);
  cuda::PaddingCall call{};
  call.name = name;
  call.to = static_cast<char*>(work.tensor().mutable_data_ptr());
  call.from = static_cast<const char*>(x.const_data_ptr());
  call.dtype = out.scalar_type();
  call.item = static_cast<int64_t>(out.itemsize());
  call.reflects = reflects;
  call.planes = call.inner = call.outer = 1;
  for (int d = 0; d < 3; ++d) {
    call.in[d] = call.out[d] = 1;
    const int k = d - (3 - dims);
    if (k < 0) continue;
    call.before[d] = padding[static_cast<size_t>(2 * (dims - 1 - k))];
    call.in[d] = inside.size(inside.dim() - dims + k);
    call.out[d] = call.in[d] + call.before[d] + padding[static_cast<size_t>(2 * (dims - 1 - k) + 1)];
    call.inner *= call.in[d];
    call.outer *= call.out[d];
  }
  call.planes = inside.numel() / call.inner;
  TORCH_CHECK(call.inner < int64_t{1} << 31 && call.outer < int64_t{1} << 31, name,
              ": planes of 2^31 elements and more are not supported on CUDA tensors");
  if (backward)
    cuda::launch_padding_backward(call);
  else
    cuda::launch_padding(call);
  work.commit();
}

}  // namespace

#define AT_CUDA_PADDING(name, dims, reflects)                                                                  \
  void name##_cuda(const Tensor& self, IntArrayRef padding, Tensor& out) {                                     \
    run_padding(#name, dims, reflects, false, self, self, padding, out);                                       \
  }                                                                                                            \
  void name##_backward_cuda(const Tensor& grad_output, const Tensor& self, IntArrayRef padding, Tensor& out) { \
    run_padding(#name "_backward", dims, reflects, true, self, grad_output, padding, out);                     \
  }
AT_CUDA_PADDING(reflection_pad1d, 1, true)
AT_CUDA_PADDING(reflection_pad2d, 2, true)
AT_CUDA_PADDING(reflection_pad3d, 3, true)
AT_CUDA_PADDING(replication_pad1d, 1, false)
AT_CUDA_PADDING(replication_pad2d, 2, false)
AT_CUDA_PADDING(replication_pad3d, 3, false)
#undef AT_CUDA_PADDING

void flip_cuda(const Tensor& self, IntArrayRef dims, Tensor& out) {
  if (self.numel() == 0) return;
  DimVector strides(self.strides().begin(), self.strides().end());
  int64_t first = 0;
  for (int64_t dim : dims) {
    if (self.dim() == 0) continue;
    const auto d = static_cast<size_t>(maybe_wrap_dim(dim, self.dim()));
    first += (self.sizes()[d] - 1) * strides[d];
    strides[d] = -strides[d];
  }
  cpu::Operand from = cuda::operand_like(self, self.sizes(), strides);
  from.data += first * from.item_size;
  cuda::take("flip", pointwise::operand_of(out), from, nullptr);
}

namespace {
// The two parts along dims[k] and all further ones.
void roll_parts(const Tensor& self, IntArrayRef shifts, IntArrayRef dims, size_t k, const Tensor& out) {
  if (k == dims.size()) {
    cuda::take("roll", pointwise::operand_of(out), pointwise::operand_of(self), nullptr);
    return;
  }
  const int64_t d = maybe_wrap_dim(dims[k], self.dim()), size = self.size(d);
  const int64_t start = (shifts[k] % size + size) % size;  // where element 0 goes
  roll_parts(at::narrow(self, d, 0, size - start), shifts, dims, k + 1, at::narrow(out, d, start, size - start));
  if (start > 0)
    roll_parts(at::narrow(self, d, size - start, start), shifts, dims, k + 1, at::narrow(out, d, 0, start));
}
}  // namespace

void roll_cuda(const Tensor& self, IntArrayRef shifts, IntArrayRef dims, Tensor& out) {
  if (self.numel() == 0) return;
  if (dims.empty()) {
    const Tensor flat = at::reshape(self, {-1});
    cuda::DenseInPlace work(out, /*reads=*/false);
    roll_parts(flat, shifts, {0}, 0, at::view(work.tensor(), {-1}));
    work.commit();
    return;
  }
  if (self.dim() == 0) {
    at::copy_(out, self);
    return;
  }
  // A dimension that is named several times moves by the sum.
  DimVector all, by;
  for (size_t k = 0; k < dims.size(); ++k) {
    const int64_t d = maybe_wrap_dim(dims[k], self.dim()), size = self.size(d), shift = shifts[k] % size;
    size_t place = 0;
    while (place < all.size() && all[place] != d) ++place;
    if (place == all.size()) {
      all.push_back(d);
      by.push_back(shift);
    } else {
      by[place] = (by[place] + shift) % size;
    }
  }
  roll_parts(self, by, all, 0, out);
}

}  // namespace at::native

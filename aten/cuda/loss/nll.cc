// nll_loss of CUDA tensors, its two-dimensional form, their gradients.
#include "aten/cuda/loss/nll.h"

#include "aten/core/empty.h"
#include "aten/core/reduction.h"
#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/loss/kernels.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

struct Operands {
  Tensor targets, weight;  // held for the call
  cuda::NllCall call{};
};

Operands operands(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, int64_t ignore_index,
                  bool spatial) {
  Operands o;
  o.targets = dense(target, ScalarType::Long);
  if (weight && weight->defined()) o.weight = dense(*weight, self.scalar_type());
  o.call.dtype = self.scalar_type();
  o.call.targets = static_cast<const int64_t*>(o.targets.const_data_ptr());
  o.call.weight = o.weight.defined() ? static_cast<const char*>(o.weight.const_data_ptr()) : nullptr;
  const bool batched = self.dim() > 1;
  o.call.batch = batched ? self.size(0) : 1;
  o.call.classes = batched ? self.size(1) : self.size(0);
  o.call.inner = spatial ? self.size(2) * self.size(3) : 1;
  o.call.ignored = ignore_index;
  return o;
}

void forward(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction,
             int64_t ignore_index, bool spatial, Tensor& output, Tensor& total_weight) {
  const Tensor x = dense(self);
  Operands o = operands(self, target, weight, ignore_index, spatial);
  o.call.x = static_cast<const char*>(x.const_data_ptr());
  const int64_t count = o.call.batch * o.call.inner;
  if (reduction == Reduction::None) {
    DenseOut out(output);
    if (count > 0) cuda::launch_nll_forward(o.call, out.data<char>(), nullptr, nullptr);
    out.commit();
    at::zero_(total_weight);
    return;
  }
  const Tensor losses = empty_contiguous({count}, ScalarType::Double, self.device());
  const Tensor weights = empty_contiguous({count}, ScalarType::Double, self.device());
  if (count > 0) {
    cuda::launch_nll_forward(o.call, nullptr, static_cast<double*>(losses.mutable_data_ptr()),
                             static_cast<double*>(weights.mutable_data_ptr()));
  }
  const Tensor sum = at::sum(losses), divisor = at::sum(weights);
  at::copy_(output, at::reshape(reduction == Reduction::Mean ? at::div(sum, divisor) : sum, output.sizes()));
  at::copy_(total_weight, divisor);
}

void backward(const Tensor& grad_output, const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight,
              int64_t reduction, int64_t ignore_index, const Tensor& total_weight, bool spatial, Tensor& out) {
  const Operands o = operands(self, target, weight, ignore_index, spatial);
  const Tensor g = dense(grad_output, self.scalar_type()), divisor = dense(total_weight, self.scalar_type());
  DenseOut gx(out);
  at::zero_(gx.tensor());
  if (o.call.batch * o.call.inner > 0) {
    cuda::launch_nll_backward(
        o.call, static_cast<const char*>(g.const_data_ptr()), reduction == Reduction::None && g.dim() > 0,
        reduction == Reduction::Mean ? static_cast<const char*>(divisor.const_data_ptr()) : nullptr, gx.data<char>());
  }
  gx.commit();
}

}  // namespace

void nll_loss_forward_cuda(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight,
                           int64_t reduction, int64_t ignore_index, Tensor& output, Tensor& total_weight) {
  forward(self, target, weight, reduction, ignore_index, false, output, total_weight);
}
void nll_loss2d_forward_cuda(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight,
                             int64_t reduction, int64_t ignore_index, Tensor& output, Tensor& total_weight) {
  forward(self, target, weight, reduction, ignore_index, true, output, total_weight);
}
void nll_loss_backward_cuda(const Tensor& grad_output, const Tensor& self, const Tensor& target,
                            const std::optional<Tensor>& weight, int64_t reduction, int64_t ignore_index,
                            const Tensor& total_weight, Tensor& out) {
  backward(grad_output, self, target, weight, reduction, ignore_index, total_weight, false, out);
}
void nll_loss2d_backward_cuda(const Tensor& grad_output, const Tensor& self, const Tensor& target,
                              const std::optional<Tensor>& weight, int64_t reduction, int64_t ignore_index,
                              const Tensor& total_weight, Tensor& out) {
  backward(grad_output, self, target, weight, reduction, ignore_index, total_weight, true, out);
}

}  // namespace at::native

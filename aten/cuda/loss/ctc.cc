// ctc_loss of CUDA tensors and its gradient. Lengths are the caller's, on the host.
#include "aten/cuda/loss/ctc.h"

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/loss/ctc_shape.h"
#include "aten/ops/loss/kernels.h"

namespace at::native {
namespace {

struct CtcOperands {
  Tensor lengths, targets, log_probs;  // held for the call
  cuda::CtcCall call{};
};

CtcOperands operands(const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths,
                     IntArrayRef target_lengths, int64_t blank) {
  const CtcShape shape = ctc_shape(log_probs, targets, input_lengths, target_lengths, blank);
  const Tensor lengths = empty_contiguous({shape.batch, 3}, kLong);
  auto* to = static_cast<int64_t*>(lengths.mutable_data_ptr());
  int64_t start = 0;
  for (size_t b = 0; b < input_lengths.size(); ++b) {
    *to++ = input_lengths[b];
    *to++ = target_lengths[b];
    *to++ = start;
    start += targets.dim() == 2 ? targets.size(1) : target_lengths[b];
  }
  const Device device = log_probs.device();
  CtcOperands o;
  o.lengths = at::to(lengths, device, kLong);
  o.targets = dense(at::to(targets, device, kLong));
  o.log_probs = dense(log_probs);
  o.call.dtype = log_probs.scalar_type();
  o.call.steps = shape.steps;
  o.call.batch = shape.batch;
  o.call.classes = shape.classes;
  o.call.states = shape.states;
  o.call.blank = blank;
  o.call.lengths = static_cast<const int64_t*>(o.lengths.const_data_ptr());
  o.call.targets = static_cast<const int64_t*>(o.targets.const_data_ptr());
  o.call.log_probs = o.log_probs.const_data_ptr();
  return o;
}

}  // namespace

void _ctc_loss_cuda(const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths,
                    IntArrayRef target_lengths, int64_t blank, bool, Tensor& losses, Tensor& log_alpha) {
  CtcOperands o = operands(log_probs, targets, input_lengths, target_lengths, blank);
  DenseOut loss(losses), alpha(log_alpha);
  o.call.loss = loss.data<void>();
  o.call.alpha = alpha.data<void>();
  cuda::launch_ctc_forward(o.call);
  loss.commit();
  alpha.commit();
}

void _ctc_loss_backward_cuda(const Tensor& grad, const Tensor& log_probs, const Tensor& targets,
                             IntArrayRef input_lengths, IntArrayRef target_lengths, const Tensor& losses,
                             const Tensor& log_alpha, int64_t blank, bool zero_infinity, Tensor& out) {
  CtcOperands o = operands(log_probs, targets, input_lengths, target_lengths, blank);
  const ScalarType type = log_probs.scalar_type();
  const Tensor g = dense(grad, type), loss = dense(losses, type), alpha = dense(log_alpha, type);
  o.call.loss = const_cast<void*>(loss.const_data_ptr());
  o.call.alpha = const_cast<void*>(alpha.const_data_ptr());
  DenseOut result(out);
  const Tensor scratch = empty_contiguous({cuda::ctc_scratch(o.call)}, kByte, log_probs.device());
  cuda::launch_ctc_backward(o.call,
                            {g.const_data_ptr(), result.data<void>(), scratch.mutable_data_ptr(), zero_infinity});
  result.commit();
}

}  // namespace at::native

// cross_entropy_loss of CUDA tensors: the logits are read once, forward and backward.
#include "aten/core/empty.h"
#include "aten/core/reduction.h"
#include "aten/core/tensor.h"
#include "aten/cuda/rows/rows_call.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/loss/kernels.h"

namespace at::native {
namespace {

ScalarType computed_in(ScalarType dtype) {
  return dtype == ScalarType::Double ? dtype : ScalarType::Float;
}

cuda::RowsCall rows_of(const char* name, const Tensor& x, const Tensor& targets, int64_t ignore_index) {
  cuda::RowsCall call{};
  call.name = name;
  call.in[0] = static_cast<const char*>(x.const_data_ptr());
  call.in_dtype[0] = x.scalar_type();
  call.of_columns = cuda::kMaxRowInputs;
  call.out_dtype = x.scalar_type();
  call.rows = x.size(0);
  call.size = x.size(1);
  call.inner = 1;
  call.targets = static_cast<const int64_t*>(targets.const_data_ptr());
  call.ignored = ignore_index;
  return call;
}

// The logits as they are, but where the loss is of double precision.
Tensor logits(const Tensor& self, ScalarType wide) {
  return dense(self, wide == ScalarType::Double ? wide : self.scalar_type());
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> fused_cross_entropy_cuda(const Tensor& self, const Tensor& target,
                                                            int64_t reduction, int64_t ignore_index,
                                                            ScalarType dtype) {
  const ScalarType wide = computed_in(dtype);
  const Tensor x = logits(self, wide), targets = dense(target);
  const Tensor losses = empty_contiguous({x.size(0)}, wide, x.device());
  const Tensor sums = empty_contiguous({x.size(0)}, wide, x.device()), total = empty_contiguous({}, wide, x.device());
  cuda::RowsCall call = rows_of("cross_entropy_loss", x, targets, ignore_index);
  call.numbers[0] = losses.mutable_data_ptr();
  call.numbers[1] = sums.mutable_data_ptr();
  cuda::run_rows(cuda::kCrossEntropyRows, call);
  const bool each = reduction == Reduction::None;
  const Tensor loss = each ? at::to(losses, dtype) : empty_contiguous({}, dtype, x.device());
  char* const to = each ? nullptr : static_cast<char*>(loss.mutable_data_ptr());
  cuda::add_losses({losses.const_data_ptr(), call.targets, call.rows, ignore_index, to, dtype,
                    reduction == Reduction::Mean, total.mutable_data_ptr()},
                   wide == ScalarType::Double);
  return {loss, sums, total};
}

Tensor fused_cross_entropy_backward_cuda(const Tensor& grad_output, const Tensor& self, const Tensor& target,
                                         int64_t reduction, int64_t ignore_index, const Tensor& logsumexp,
                                         const Tensor& total_weight) {
  const ScalarType wide = logsumexp.scalar_type();
  const Tensor x = logits(self, wide), targets = dense(target), sums = dense(logsumexp);
  const Tensor gradient = dense(grad_output, wide), total = dense(total_weight, wide);
  const Tensor out = empty_contiguous(x.sizes(), x.scalar_type(), x.device());
  cuda::RowsCall call = rows_of("cross_entropy_loss_backward", x, targets, ignore_index);
  call.out = static_cast<char*>(out.mutable_data_ptr());
  call.numbers[0] = const_cast<void*>(sums.const_data_ptr());
  call.gradient = gradient.const_data_ptr();
  call.gradient_of_each = reduction == Reduction::None;
  call.divisor = reduction == Reduction::Mean ? total.const_data_ptr() : nullptr;
  cuda::run_rows(cuda::kCrossEntropyBackwardRows, call);
  return at::to(out, self.scalar_type());
}

}  // namespace at::native

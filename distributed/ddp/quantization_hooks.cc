#include "distributed/ddp/quantization_hooks.h"

#include <limits>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "c10/value/type.h"

namespace c10d {
namespace {

using at::Tensor;
using c10::ivalue::Future;

c10::intrusive_ptr<Work> gather(ProcessGroup& group, const Tensor& t, std::vector<Tensor>& into) {
  for (int i = 0; i < group.getSize(); ++i) into.push_back(at::empty_like(t));
  std::vector<std::vector<Tensor>> outputs{into};
  std::vector<Tensor> inputs{t};
  return group.allgather(outputs, inputs);
}

// Rows have a scale and a zero point each.
c10::intrusive_ptr<Future> reduced(ProcessGroup& group, GradBucket& bucket, int64_t columns) {
  const c10::NoGradGuard no_grad;
  const Tensor buffer = bucket.getBuffer();
  TORCH_CHECK(buffer.layout() == c10::kStrided, "a hook that quantizes takes no sparse gradients");
  const int64_t rows = (buffer.numel() + columns - 1) / columns;
  Tensor x = at::zeros({rows * columns}, at::TensorOptions().dtype(at::kFloat).device(buffer.device()));
  at::narrow(x, 0, 0, buffer.numel()).copy_(buffer);
  x = at::view(x, {rows, columns});
  const Tensor least = at::clamp_max(at::amin(x, {1}, true), 0), largest = at::clamp_min(at::amax(x, {1}, true), 0);
  const Tensor scale = at::clamp_min(at::div(at::sub(largest, least), 255), std::numeric_limits<float>::epsilon());
  const Tensor zero = at::clamp(at::round(at::div(at::neg(least), scale)), 0, 255);
  const Tensor bytes = at::to(at::clamp(at::add(at::round(at::div(x, scale)), zero), 0, 255), at::kByte);
  auto scales = std::make_shared<std::vector<Tensor>>(), all = std::make_shared<std::vector<Tensor>>();
  c10::List<c10::intrusive_ptr<Future>> both;
  both.push_back(gather(group, at::cat({scale, zero}, 1), *scales)->getFuture());
  both.push_back(gather(group, bytes, *all)->getFuture());
  return c10::ivalue::collectAll(both)->then(
      [scales, all, buffer](Future& future) {
        future.value();
        const c10::NoGradGuard no_grad_there;
        Tensor sum;
        for (size_t i = 0; i < all->size(); ++i) {
          const Tensor of = at::narrow((*scales)[i], 1, 0, 1), from = at::narrow((*scales)[i], 1, 1, 1);
          const Tensor numbers = at::mul(at::sub(at::to((*all)[i], at::kFloat), from), of);
          sum = sum.defined() ? at::add(sum, numbers) : numbers;
        }
        sum = at::div(sum, static_cast<int64_t>(all->size()));
        buffer.copy_(at::narrow(at::view(sum, {-1}), 0, 0, buffer.numel()));
        return c10::IValue(buffer);
      },
      c10::TensorType::get());
}

}  // namespace

c10::intrusive_ptr<Future> QuantizationPerTensorCommHook::runHook(GradBucket& bucket) {
  return reduced(*state_, bucket, bucket.getBuffer().numel());
}

QuantizationPerChannelCommHook::QuantizationPerChannelCommHook(const c10::intrusive_ptr<ProcessGroup>& state,
                                                               int64_t bucket_size)
    : CppCommHookInterface(state), bucket_size_(bucket_size) {
  TORCH_CHECK_VALUE(bucket_size > 0, "QuantizationPerChannelCommHook: bucket_size must be positive, but is ",
                    bucket_size);
}

c10::intrusive_ptr<Future> QuantizationPerChannelCommHook::runHook(GradBucket& bucket) {
  return reduced(*state_, bucket, bucket_size_);
}

}  // namespace c10d

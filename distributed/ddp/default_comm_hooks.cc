#include "distributed/ddp/default_comm_hooks.h"

#include <utility>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/sparse/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "c10/value/type.h"

namespace c10d {
namespace {

using at::Tensor;
using c10::ivalue::Future;
using FuturePtr = c10::intrusive_ptr<Future>;

Tensor divided(const Tensor& t, int by) {
  if (by == 1) return t;
  if (t.layout() == c10::kStrided) return t.div_(by);
  const Tensor c = at::coalesce(t);
  return at::_sparse_coo_tensor_unsafe(at::_indices(c), at::div(at::_values(c), by), t.sizes());
}

FuturePtr sum(const c10::intrusive_ptr<ProcessGroup>& group, const Tensor& t) {
  if (t.layout() != c10::kStrided) return detail::completed_future(all_reduce_sparse(group, t));
  std::vector<Tensor> tensors{t};
  return group->allreduce(tensors)->getFuture();
}

FuturePtr compressed(const c10::intrusive_ptr<ProcessGroup>& group, GradBucket& bucket, c10::ScalarType dtype) {
  const c10::NoGradGuard no_grad;
  const Tensor buffer = bucket.getBuffer();
  TORCH_CHECK(buffer.layout() == c10::kStrided, "a hook that compresses to ", dtype, " takes no sparse gradients");
  return sum(group, divided(at::to(buffer, dtype, false, /*copy=*/true), group->getSize()))
      ->then(
          [buffer](Future& future) {
            const c10::NoGradGuard no_grad_there;
            buffer.copy_(detail::parseCppCommHookResult(future.value()));
            return c10::IValue(buffer);
          },
          c10::TensorType::get());
}

}  // namespace

FuturePtr detail::completed_future(Tensor tensor) {
  auto future = c10::make_intrusive<Future>(c10::TensorType::get());
  future->markCompleted(std::move(tensor));
  return future;
}

FuturePtr AllReduceCommHook::runHook(GradBucket& bucket) {
  const c10::NoGradGuard no_grad;
  return sum(state_, divided(bucket.getBuffer(), state_->getSize()));
}

FuturePtr _AllReduceBySumCommHook::runHook(GradBucket& bucket) {
  const c10::NoGradGuard no_grad;
  return sum(state_, bucket.getBuffer());
}

FuturePtr FP16CompressCommHook::runHook(GradBucket& bucket) {
  return compressed(state_, bucket, c10::kHalf);
}

FuturePtr BF16CompressCommHook::runHook(GradBucket& bucket) {
  return compressed(state_, bucket, c10::kBFloat16);
}

FuturePtr NoopCommHook::runHook(GradBucket& bucket) {
  return detail::completed_future(bucket.getBuffer());
}

CompressWrapperCommHook::CompressWrapperCommHook(c10::ScalarType dtype, std::unique_ptr<CommHookInterface> hook)
    : dtype_(dtype), hook_(std::move(hook)) {
  TORCH_CHECK(dtype == c10::kHalf || dtype == c10::kBFloat16,
              "CompressWrapperCommHook: expected Half or BFloat16, got ", dtype);
  TORCH_CHECK(hook_ != nullptr, "CompressWrapperCommHook: expected a hook");
}

FuturePtr CompressWrapperCommHook::runHook(GradBucket& bucket) {
  const c10::NoGradGuard no_grad;
  const Tensor buffer = bucket.getBuffer();
  bucket.getBufferRef() = at::to(buffer, dtype_);
  // Weakly: what runs on a thread of the group must not be the last to let go of it.
  return hook_->runHook(bucket)->then(
      [buffer, weak = std::weak_ptr<CommHookInterface>(hook_)](Future& future) {
        const c10::NoGradGuard no_grad_there;
        const auto hook = weak.lock();
        TORCH_CHECK(hook != nullptr, "CompressWrapperCommHook: the hook is gone");
        buffer.copy_(hook->parseHookResult(future.value()));
        return c10::IValue(buffer);
      },
      c10::TensorType::get());
}

}  // namespace c10d

#include "distributed/ddp/optimizer_overlap.h"

#include "c10/util/exception.h"
#include "c10/value/type.h"

namespace c10d {

OptimizerOverlapCommHook::OptimizerOverlapCommHook(std::unique_ptr<CommHookInterface> hook, Step step)
    : hook_(std::move(hook)), step_(std::make_shared<Step>(std::move(step))) {
  TORCH_CHECK(hook_ != nullptr && *step_ != nullptr, "OptimizerOverlapCommHook: expected a hook and a function");
}

c10::intrusive_ptr<c10::ivalue::Future> OptimizerOverlapCommHook::runHook(GradBucket& bucket) {
  // Weakly: what runs on a thread of the group must not be the last to let go of it.
  return hook_->runHook(bucket)->then(
      [bucket, weak = std::weak_ptr<CommHookInterface>(hook_), step = step_](c10::ivalue::Future& future) mutable {
        const auto hook = weak.lock();
        TORCH_CHECK(hook != nullptr, "OptimizerOverlapCommHook: the hook is gone");
        at::Tensor reduced = hook->parseHookResult(future.value());
        bucket.setBuffer(reduced);
        const std::vector<at::Tensor> parameters = bucket.getParameters(), gradients = bucket.getGradients();
        for (size_t i = 0; i < parameters.size(); ++i) (*step)(parameters[i], gradients[i]);
        return c10::IValue(reduced);
      },
      c10::TensorType::get());
}

}  // namespace c10d

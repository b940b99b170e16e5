#include "distributed/ddp/post_local_sgd.h"

#include <utility>

#include "c10/util/exception.h"
#include "distributed/ddp/default_comm_hooks.h"

namespace c10d {

PostLocalSGDState::PostLocalSGDState(c10::intrusive_ptr<ProcessGroup> group, c10::intrusive_ptr<ProcessGroup> within,
                                     int64_t start, bool reduces_later)
    : process_group(std::move(group)),
      subgroup(std::move(within)),
      start_localSGD_iter(start),
      post_local_gradient_allreduce(reduces_later) {
  TORCH_CHECK(process_group, "PostLocalSGDState: expected a process group");
}

PostLocalSGDCommHook::PostLocalSGDCommHook(std::shared_ptr<PostLocalSGDState> state)
    : CppCommHookInterface(std::move(state)) {
  TORCH_CHECK(state_ != nullptr, "PostLocalSGDCommHook: expected a state");
}

c10::intrusive_ptr<c10::ivalue::Future> PostLocalSGDCommHook::runHook(GradBucket& bucket) {
  const bool is_local = state_->iter >= state_->start_localSGD_iter;
  if (bucket.isLast()) ++state_->iter;
  if (!is_local) return AllReduceCommHook(state_->process_group).runHook(bucket);
  if (!state_->post_local_gradient_allreduce || !state_->subgroup) return NoopCommHook().runHook(bucket);
  return AllReduceCommHook(state_->subgroup).runHook(bucket);
}

}  // namespace c10d

// Gradients that are averaged over all ranks in the beginning, and within a group later, when parameters are averaged
// now and then instead (averagers.h).
#pragma once

#include <cstdint>

#include "distributed/ddp/comm.h"

namespace c10d {

struct PostLocalSGDState {
  /// `subgroup`: whom this rank goes on averaging with after `start_localSGD_iter` iterations; null, or
  /// `post_local_gradient_allreduce` false: with nobody.
  PostLocalSGDState(c10::intrusive_ptr<ProcessGroup> process_group, c10::intrusive_ptr<ProcessGroup> subgroup,
                    int64_t start_localSGD_iter, bool post_local_gradient_allreduce = true);

  c10::intrusive_ptr<ProcessGroup> process_group, subgroup;
  int64_t start_localSGD_iter;
  bool post_local_gradient_allreduce;
  int64_t iter = 0;
};

class PostLocalSGDCommHook : public CppCommHookInterface<std::shared_ptr<PostLocalSGDState>> {
 public:
  explicit PostLocalSGDCommHook(std::shared_ptr<PostLocalSGDState> state);
  c10::intrusive_ptr<c10::ivalue::Future> runHook(GradBucket& bucket) override;
};

}  // namespace c10d

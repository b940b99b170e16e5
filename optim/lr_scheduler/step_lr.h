#pragma once

#include "optim/lr_scheduler/lr_scheduler.h"

namespace torch::optim {

/// Multiplies the rates by `gamma` after every `step_size` steps, counted as libtorch counts: the call number step_size
/// + 1 is the first that changes anything. With `last_epoch` it counts as Python does, where the call number step_size
/// is that; -1: from the beginning.
class StepLR : public EpochScheduler {
 public:
  StepLR(Optimizer& optimizer, unsigned step_size, double gamma = 0.1);
  StepLR(Optimizer& optimizer, unsigned step_size, double gamma, int64_t last_epoch);

 protected:
  double next_lr(size_t group, int64_t epoch, double lr) const override;
  double lr_at(size_t group, int64_t epoch, double lr) const override;
  void visit(FieldVisitor& visitor) override;
  void check_state() const override;

 private:
  StepLR(Optimizer& optimizer, unsigned step_size, double gamma, int64_t last_epoch, int64_t late);

  int64_t step_size_;
  double gamma_;
  int64_t late_;  // 1: a call later than in Python
};

}  // namespace torch::optim

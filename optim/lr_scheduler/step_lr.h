#pragma once

#include "optim/lr_scheduler/lr_scheduler.h"

namespace torch::optim {

/// Multiplies the rates by `gamma` after every `step_size` steps, counted as libtorch counts: the call number
/// step_size + 1 is the first that changes anything.
class StepLR : public LRScheduler {
 public:
  StepLR(Optimizer& optimizer, unsigned step_size, double gamma = 0.1);

 private:
  std::vector<double> get_lrs() override;

  const unsigned step_size_;
  const double gamma_;
};

}  // namespace torch::optim

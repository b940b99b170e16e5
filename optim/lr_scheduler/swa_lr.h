#pragma once

#include <string>
#include <vector>

#include "optim/lr_scheduler/lr_scheduler.h"

namespace torch::optim {

/// Moves the rates to `swa_lr` (one, or one a group) in `anneal_epochs` epochs, by "cos" or "linear", and leaves them
/// there: for the last part of a training whose weights are averaged (AveragedModel).
class SWALR : public EpochScheduler {
 public:
  SWALR(Optimizer& optimizer, double swa_lr, int64_t anneal_epochs = 10, std::string anneal_strategy = "cos",
        int64_t last_epoch = -1);
  SWALR(Optimizer& optimizer, const std::vector<double>& swa_lr, int64_t anneal_epochs = 10,
        std::string anneal_strategy = "cos", int64_t last_epoch = -1);

 protected:
  double next_lr(size_t group, int64_t epoch, double lr) const override;
  void visit(FieldVisitor& visitor) override;

 private:
  double part(double step) const;

  int64_t anneal_epochs_;
  std::string anneal_strategy_;
};

namespace swa_utils {
using optim::SWALR;
}  // namespace swa_utils

}  // namespace torch::optim

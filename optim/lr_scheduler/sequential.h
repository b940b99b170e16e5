#pragma once

#include <memory>
#include <vector>

#include "optim/lr_scheduler/lr_scheduler.h"

namespace torch::optim {

/// Runs one schedule after another: number i from milestones[i-1] on. Each begins at its epoch 0, from the initial
/// rates.
///
///   auto warm_up = std::make_shared<LinearLR>(optimizer, 0.01, 1.0, 100);
///   auto decay = std::make_shared<CosineAnnealingLR>(optimizer, 1900);
///   SequentialLR schedule(optimizer, {warm_up, decay}, {100});
class SequentialLR : public LRScheduler {
 public:
  /// ValueError where a schedule is null or of another optimizer, or there is not one more than milestones.
  SequentialLR(Optimizer& optimizer, std::vector<std::shared_ptr<LRScheduler>> schedulers,
               std::vector<int64_t> milestones, int64_t last_epoch = -1);

  void step() override;
  void begin() override;
  void back_up() override { --last_epoch_; }
  StateDict state_dict() const override;
  void load_state_dict(const StateDict& dict) override;
  int64_t last_epoch() const { return last_epoch_; }

 protected:
  std::vector<double> get_lrs() override { return get_current_lrs(); }
  void visit(FieldVisitor& visitor) override;

 private:
  std::vector<std::shared_ptr<LRScheduler>> schedulers_;
  std::vector<int64_t> milestones_;
  int64_t last_epoch_;
};

/// Steps several schedules of one optimizer together: their factors multiply.
///
///   ChainedScheduler schedule({std::make_shared<ConstantLR>(optimizer), std::make_shared<ExponentialLR>(optimizer,
///   0.9)});
class ChainedScheduler : public LRScheduler {
 public:
  explicit ChainedScheduler(std::vector<std::shared_ptr<LRScheduler>> schedulers);
  /// ValueError where one of them is null or of another optimizer, or there is none.
  ChainedScheduler(std::vector<std::shared_ptr<LRScheduler>> schedulers, Optimizer& optimizer);

  void step() override;
  void begin() override;
  void restart() override;
  void back_up() override;
  StateDict state_dict() const override;
  void load_state_dict(const StateDict& dict) override;

 protected:
  std::vector<double> get_lrs() override { return get_current_lrs(); }
  void visit(FieldVisitor& visitor) override;

 private:
  std::vector<std::shared_ptr<LRScheduler>> schedulers_;
};

}  // namespace torch::optim

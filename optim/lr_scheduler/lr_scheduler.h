#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "optim/optimizer.h"
#include "optim/state_dict.h"

namespace torch::optim {

/// Changes the learning rates of an optimizer's groups from step to step. The optimizer must outlive it. Call step() after
/// the optimizer's own, once an epoch or once an update as the schedule means it.
///
/// A schedule of one's own overrides get_lrs(), which gives the rates that the next step() sets.
class LRScheduler {
 public:
  explicit LRScheduler(Optimizer& optimizer);
  virtual ~LRScheduler() = default;

  virtual void step();

  /// The rates in force, a group each.
  std::vector<double> get_last_lr() const { return get_current_lrs(); }

  /// Where the schedule stands, without the optimizer's rates, which its own state_dict holds.
  virtual StateDict state_dict() const;
  /// Takes that over; ValueError for a state of another kind of schedule or number of groups, and then nothing has changed.
  virtual void load_state_dict(const StateDict& dict);

 protected:
  /// The rates that the next step() sets, a group each.
  virtual std::vector<double> get_lrs() = 0;
  std::vector<double> get_current_lrs() const;
  void set_optimizer_lrs(const std::vector<double>& lrs);

  /// How often step() was called.
  unsigned step_count_ = 0;
  Optimizer& optimizer_;
};

/// The schedules of the Python interface. Epoch 0 is set by the constructor; step() moves on to the next epoch, from the
/// rates in force, so that several schedules on one optimizer multiply.
class EpochScheduler : public LRScheduler {
 public:
  explicit EpochScheduler(Optimizer& optimizer);

  StateDict state_dict() const override;
  void load_state_dict(const StateDict& dict) override;

  /// Goes back to epoch 0: the initial rates and what the schedule makes of them at its start.
  void restart();

  int64_t last_epoch() const { return step_count_; }
  /// The initial rates: those that the optimizer had when the schedule was made.
  const std::vector<double>& base_lrs() const { return base_lrs_; }
  void set_base_lrs(const std::vector<double>& lrs) { base_lrs_ = lrs; }

 protected:
  std::vector<double> get_lrs() override;
  /// The rate of group `group` in `epoch`; `lr` is the one in force (at epoch 0 the initial one).
  virtual double next_lr(size_t group, int64_t epoch, double lr) const = 0;

  std::vector<double> base_lrs_;
};

}  // namespace torch::optim

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "optim/optimizer.h"
#include "optim/state_dict.h"

namespace torch::optim {

/// Changes the learning rates of an optimizer's groups from step to step. The optimizer must outlive it. Call step()
/// after the optimizer's own, once an epoch or once an update as the schedule means it.
///
/// A schedule of one's own overrides get_lrs(), which gives the rates that the next step() sets.
class LRScheduler {
 public:
  explicit LRScheduler(Optimizer& optimizer);
  virtual ~LRScheduler() = default;

  virtual void step();

  /// The rates that this schedule set last, a group each.
  std::vector<double> get_last_lr() const { return last_lr_.empty() ? get_current_lrs() : last_lr_; }

  /// Where the schedule stands and its settings, under Python's names, without the optimizer's rates, which its own
  /// state_dict holds.
  virtual StateDict state_dict() const;
  /// Takes that over, also from Python; ValueError for a state of another kind of schedule or number of groups, and
  /// then nothing has changed.
  virtual void load_state_dict(const StateDict& dict);

  /// For schedules that are made of others. From the first epoch on: sets what the schedule begins with ...
  virtual void begin();
  /// ... the same in the middle of a run, from the initial rates ...
  virtual void restart() { begin(); }
  /// ... and undoes the count of the step that the constructor made.
  virtual void back_up() {}
  const Optimizer& optimizer() const { return optimizer_; }

 protected:
  /// The rates that the next step() sets, a group each.
  virtual std::vector<double> get_lrs() = 0;
  std::vector<double> get_current_lrs() const;
  void set_optimizer_lrs(const std::vector<double>& lrs);

  /// Shows settings and state, as options do (optim/state_dict.h).
  virtual void visit(FieldVisitor& visitor);
  /// Throws ValueError for a loaded state that cannot be.
  virtual void check_state() const {}

  /// How often step() was called.
  unsigned step_count_ = 0;
  Optimizer& optimizer_;
  std::vector<double> last_lr_;
};

/// The schedules of the Python interface. Epoch 0 is set by the constructor; step() moves on to the next epoch, from
/// the rates in force, so that several schedules on one optimizer multiply. `last_epoch` goes on after that epoch:
/// groups must have their "initial_lr" then (OptimizerParamGroup::set_extra, or a loaded state), else ValueError.
class EpochScheduler : public LRScheduler {
 public:
  explicit EpochScheduler(Optimizer& optimizer, int64_t last_epoch = -1);

  void step() override;
  /// Goes to an epoch, from the initial rates where the schedule has a formula of them.
  virtual void step(double epoch);
  void begin() override;
  void restart() override { step(0.0); }
  void back_up() override;

  int64_t last_epoch() const { return last_epoch_; }
  /// The initial rates: those that the optimizer's groups had when their first schedule was made.
  const std::vector<double>& base_lrs() const { return base_lrs_; }

 protected:
  std::vector<double> get_lrs() override;
  /// The rate of group `group` in `epoch`; `lr` is the one in force (at epoch 0 the initial one).
  virtual double next_lr(size_t group, int64_t epoch, double lr) const = 0;
  /// The same where the schedule goes there at once.
  virtual double lr_at(size_t group, int64_t epoch, double lr) const { return next_lr(group, epoch, lr); }
  /// What else a new epoch changes.
  virtual void epoch_set() {}
  /// The constructor goes on from the rates in force: most schedules leave them alone then.
  bool resumes() const { return initial_ && last_epoch_ > 0; }

  void visit(FieldVisitor& visitor) override;
  void check_state() const override;
  void set_lrs(const std::vector<double>& lrs);

  std::vector<double> base_lrs_;
  int64_t last_epoch_ = -1;
  bool initial_ = false;
};

}  // namespace torch::optim

#pragma once

#include <type_traits>
#include <vector>

#include "optim/optimizer.h"

namespace torch::optim {

/// Multiplies the rates by `factor` when a metric has not got better for more than `patience` steps; after that it waits
/// `cooldown` steps before it counts again. Better means below best * (1 - threshold) (`rel`) or best - threshold (`abs`) in
/// mode `min`, above in mode `max`. A rate never falls below its `min_lr`, and is left alone where it would change by
/// no more than `eps`. `min_lr` is empty, one number, or one a group. With `verbose` it warns when it changes a rate.
/// All numbers are doubles, as Python's are, so that a rate stops at the least one that was asked for and not beside it.
class ReduceLROnPlateauScheduler {
 public:
  enum SchedulerMode { min, max };
  enum ThresholdMode { rel, abs };

  ReduceLROnPlateauScheduler(
      Optimizer& optimizer,
      SchedulerMode mode = min,
      double factor = 0.1,
      int patience = 10,
      double threshold = 1e-4,
      ThresholdMode threshold_mode = rel,
      int cooldown = 0,
      std::vector<double> min_lr = {},
      double eps = 1e-8,
      bool verbose = false);
  /// With a vector of floats for `min_lr`.
  template <class T, std::enable_if_t<std::is_same_v<T, float>, int> = 0>
  ReduceLROnPlateauScheduler(
      Optimizer& optimizer,
      SchedulerMode mode,
      double factor,
      int patience,
      double threshold,
      ThresholdMode threshold_mode,
      int cooldown,
      const std::vector<T>& min_lr,
      double eps = 1e-8,
      bool verbose = false)
      : ReduceLROnPlateauScheduler(optimizer, mode, factor, patience, threshold, threshold_mode, cooldown,
                                   std::vector<double>(min_lr.begin(), min_lr.end()), eps, verbose) {}
  virtual ~ReduceLROnPlateauScheduler() = default;

  void step(double metric);

  double best() const { return best_; }
  int64_t num_bad_epochs() const { return bad_epochs_; }
  int64_t cooldown_counter() const { return cooldown_left_; }
  bool in_cooldown() const { return cooldown_left_ > 0; }
  std::vector<double> get_last_lr() const;

  /// Settings and state under Python's names.
  StateDict state_dict() const;
  /// ValueError for another state, and then nothing has changed.
  void load_state_dict(const StateDict& dict);

 private:
  void visit(FieldVisitor& visitor);
  bool is_better(double metric) const;
  void reduce_lr(int64_t epoch);

  Optimizer& optimizer_;
  SchedulerMode mode_;
  double factor_;
  int patience_;
  double threshold_;
  ThresholdMode threshold_mode_;
  int cooldown_;
  std::vector<double> min_lrs_;
  double eps_;
  bool verbose_;
  double best_;
  int64_t last_epoch_ = 0;
  int64_t bad_epochs_ = 0;
  int64_t cooldown_left_ = 0;
};

/// Python's name. As there, SequentialLR and ChainedScheduler do not take it: its step() needs a metric.
using ReduceLROnPlateau = ReduceLROnPlateauScheduler;

}  // namespace torch::optim

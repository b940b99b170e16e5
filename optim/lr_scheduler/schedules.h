#pragma once

#include <functional>
#include <vector>

#include "optim/lr_scheduler/lr_scheduler.h"

// The schedules of the Python interface, with its names, defaults and numbers. t is the epoch, lr_0 the initial rate.
// Settings out of range throw ValueError.

namespace torch::optim {

/// lr_t = lr_0 * f(t), with one function for all groups or one for each. state_dict() has None for each function.
///
///   torch::optim::LambdaLR warm_up(optimizer, [](int64_t t) { return std::min(1.0, (t + 1) / 100.0); });
class LambdaLR : public EpochScheduler {
 public:
  using Lambda = std::function<double(int64_t)>;
  LambdaLR(Optimizer& optimizer, Lambda lr_lambda, int64_t last_epoch = -1);
  LambdaLR(Optimizer& optimizer, std::vector<Lambda> lr_lambdas, int64_t last_epoch = -1);

 protected:
  double next_lr(size_t group, int64_t epoch, double lr) const override;
  void visit(FieldVisitor& visitor) override;

 private:
  std::vector<Lambda> lambdas_;
};

/// lr_t = lr_(t-1) * f(t).
class MultiplicativeLR : public EpochScheduler {
 public:
  using Lambda = std::function<double(int64_t)>;
  MultiplicativeLR(Optimizer& optimizer, Lambda lr_lambda, int64_t last_epoch = -1);
  MultiplicativeLR(Optimizer& optimizer, std::vector<Lambda> lr_lambdas, int64_t last_epoch = -1);

 protected:
  double next_lr(size_t group, int64_t epoch, double lr) const override;
  void visit(FieldVisitor& visitor) override;

 private:
  std::vector<Lambda> lambdas_;
};

/// lr_0 * factor until `total_iters`, then lr_0. factor in (0, 1].
class ConstantLR : public EpochScheduler {
 public:
  ConstantLR(Optimizer& optimizer, double factor = 1.0 / 3, int64_t total_iters = 5, int64_t last_epoch = -1);

 protected:
  double next_lr(size_t group, int64_t epoch, double lr) const override;
  double lr_at(size_t group, int64_t epoch, double lr) const override;
  void visit(FieldVisitor& visitor) override;

 private:
  double factor_;
  int64_t total_iters_;
};

/// The factor moves evenly from `start_factor` (in (0, 1]) at 0 to `end_factor` (in [0, 1]) at `total_iters`, and
/// stays.
class LinearLR : public EpochScheduler {
 public:
  LinearLR(Optimizer& optimizer, double start_factor = 1.0 / 3, double end_factor = 1.0, int64_t total_iters = 5,
           int64_t last_epoch = -1);

 protected:
  double next_lr(size_t group, int64_t epoch, double lr) const override;
  double lr_at(size_t group, int64_t epoch, double lr) const override;
  void visit(FieldVisitor& visitor) override;

 private:
  double start_factor_, end_factor_;
  int64_t total_iters_;
};

/// Multiplies by `gamma` at each of `milestones`; one that is listed twice counts twice.
class MultiStepLR : public EpochScheduler {
 public:
  MultiStepLR(Optimizer& optimizer, std::vector<int64_t> milestones, double gamma = 0.1, int64_t last_epoch = -1);

 protected:
  double next_lr(size_t group, int64_t epoch, double lr) const override;
  double lr_at(size_t group, int64_t epoch, double lr) const override;
  void visit(FieldVisitor& visitor) override;

 private:
  std::vector<int64_t> milestones_;
  double gamma_;
};

/// lr_t = lr_0 * gamma^t.
class ExponentialLR : public EpochScheduler {
 public:
  ExponentialLR(Optimizer& optimizer, double gamma, int64_t last_epoch = -1);

 protected:
  double next_lr(size_t group, int64_t epoch, double lr) const override;
  double lr_at(size_t group, int64_t epoch, double lr) const override;
  void visit(FieldVisitor& visitor) override;

 private:
  double gamma_;
};

/// lr_t = lr_0 * (1 - min(t, total_iters) / total_iters)^power.
class PolynomialLR : public EpochScheduler {
 public:
  PolynomialLR(Optimizer& optimizer, int64_t total_iters = 5, double power = 1.0, int64_t last_epoch = -1);

 protected:
  double next_lr(size_t group, int64_t epoch, double lr) const override;
  double lr_at(size_t group, int64_t epoch, double lr) const override;
  void visit(FieldVisitor& visitor) override;

 private:
  int64_t total_iters_;
  double power_;
};

/// lr_t = eta_min + (lr_0 - eta_min) * (1 + cos(pi * t / T_max)) / 2 (Loshchilov and Hutter, 2017); it goes up again
/// after T_max.
class CosineAnnealingLR : public EpochScheduler {
 public:
  CosineAnnealingLR(Optimizer& optimizer, int64_t T_max, double eta_min = 0, int64_t last_epoch = -1);

 protected:
  double next_lr(size_t group, int64_t epoch, double lr) const override;
  double lr_at(size_t group, int64_t epoch, double lr) const override;
  void visit(FieldVisitor& visitor) override;

 private:
  int64_t t_max_;
  double eta_min_;
};

/// Cosine annealing that begins again after T_0 epochs, then T_0 * T_mult, then T_0 * T_mult^2 ... step(epoch) goes to
/// any epoch, also between two.
class CosineAnnealingWarmRestarts : public EpochScheduler {
 public:
  CosineAnnealingWarmRestarts(Optimizer& optimizer, int64_t T_0, int64_t T_mult = 1, double eta_min = 0,
                              int64_t last_epoch = -1);

  void step() override;
  void step(double epoch) override;

 protected:
  double next_lr(size_t group, int64_t epoch, double lr) const override;
  void visit(FieldVisitor& visitor) override;
  void check_state() const override;

 private:
  int64_t t_0_, t_i_, t_mult_;
  double eta_min_, t_cur_;
};

}  // namespace torch::optim

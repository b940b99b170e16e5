#include "optim/lr_scheduler/schedules.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace torch::optim {

namespace {
constexpr double kPi = 3.14159265358979323846;
}  // namespace

LambdaLR::LambdaLR(Optimizer& optimizer, Lambda lr_lambda)
    : LambdaLR(optimizer, std::vector<Lambda>(optimizer.param_groups().size(), std::move(lr_lambda))) {}

LambdaLR::LambdaLR(Optimizer& optimizer, std::vector<Lambda> lr_lambdas)
    : EpochScheduler(optimizer), lambdas_(std::move(lr_lambdas)) {
  TORCH_CHECK_VALUE(lambdas_.size() == base_lrs_.size(), "Expected ", base_lrs_.size(), " lr_lambdas, but got ",
                    lambdas_.size());
  for (const Lambda& f : lambdas_) TORCH_CHECK_VALUE(f != nullptr, "LambdaLR: a function is empty");
  restart();
}

double LambdaLR::next_lr(size_t group, int64_t epoch, double) const { return base_lrs_[group] * lambdas_[group](epoch); }

MultiplicativeLR::MultiplicativeLR(Optimizer& optimizer, Lambda lr_lambda)
    : EpochScheduler(optimizer), lambda_(std::move(lr_lambda)) {
  TORCH_CHECK_VALUE(lambda_ != nullptr, "MultiplicativeLR: the function is empty");
  restart();
}

double MultiplicativeLR::next_lr(size_t, int64_t epoch, double lr) const { return epoch > 0 ? lr * lambda_(epoch) : lr; }

MultiStepLR::MultiStepLR(Optimizer& optimizer, std::vector<int64_t> milestones, double gamma)
    : EpochScheduler(optimizer), milestones_(std::move(milestones)), gamma_(gamma) {
  restart();
}

double MultiStepLR::next_lr(size_t, int64_t epoch, double lr) const {
  const auto times = std::count(milestones_.begin(), milestones_.end(), epoch);
  return times > 0 ? lr * std::pow(gamma_, static_cast<double>(times)) : lr;
}

ExponentialLR::ExponentialLR(Optimizer& optimizer, double gamma) : EpochScheduler(optimizer), gamma_(gamma) { restart(); }

double ExponentialLR::next_lr(size_t, int64_t epoch, double lr) const { return epoch > 0 ? lr * gamma_ : lr; }

ConstantLR::ConstantLR(Optimizer& optimizer, double factor, int64_t total_iters)
    : EpochScheduler(optimizer), factor_(factor), total_iters_(total_iters) {
  TORCH_CHECK_VALUE(factor > 0 && factor <= 1, "Constant multiplicative factor expected to be between 0 and 1, but got ",
                    factor);
  restart();
}

double ConstantLR::next_lr(size_t, int64_t epoch, double lr) const {
  if (epoch == 0) return lr * factor_;
  return epoch == total_iters_ ? lr * (1.0 / factor_) : lr;
}

LinearLR::LinearLR(Optimizer& optimizer, double start_factor, double end_factor, int64_t total_iters)
    : EpochScheduler(optimizer), start_factor_(start_factor), end_factor_(end_factor), total_iters_(total_iters) {
  TORCH_CHECK_VALUE(start_factor > 0 && start_factor <= 1,
                    "Starting multiplicative factor expected to be greater than 0 and less or equal to 1, but got ",
                    start_factor);
  TORCH_CHECK_VALUE(end_factor >= 0 && end_factor <= 1,
                    "Ending multiplicative factor expected to be between 0 and 1, but got ", end_factor);
  TORCH_CHECK_VALUE(total_iters > 0, "LinearLR: expected a positive total_iters, but got ", total_iters);
  restart();
}

double LinearLR::next_lr(size_t, int64_t epoch, double lr) const {
  if (epoch == 0) return lr * start_factor_;
  if (epoch > total_iters_) return lr;
  const double slope = end_factor_ - start_factor_;
  return lr *
         (1 + slope / (static_cast<double>(total_iters_) * start_factor_ + static_cast<double>(epoch - 1) * slope));
}

PolynomialLR::PolynomialLR(Optimizer& optimizer, int64_t total_iters, double power)
    : EpochScheduler(optimizer), total_iters_(total_iters), power_(power) {
  TORCH_CHECK_VALUE(total_iters > 0, "PolynomialLR: expected a positive total_iters, but got ", total_iters);
  restart();
}

double PolynomialLR::next_lr(size_t, int64_t epoch, double lr) const {
  if (epoch == 0 || epoch > total_iters_) return lr;
  const double total = static_cast<double>(total_iters_);
  const double t = static_cast<double>(epoch);
  return lr * std::pow((1 - t / total) / (1 - (t - 1) / total), power_);
}

CosineAnnealingLR::CosineAnnealingLR(Optimizer& optimizer, int64_t T_max, double eta_min)
    : EpochScheduler(optimizer), t_max_(T_max), eta_min_(eta_min) {
  TORCH_CHECK_VALUE(T_max > 0 && T_max <= INT64_MAX / 2, "CosineAnnealingLR: expected a positive T_max of at most ", INT64_MAX / 2,
                    ", but got ", T_max);
  restart();
}

double CosineAnnealingLR::next_lr(size_t group, int64_t epoch, double lr) const {
  if (epoch == 0) return lr;
  const double t_max = static_cast<double>(t_max_);
  // Where the previous factor is zero, the ratio below has no value.
  if ((epoch - 1 - t_max_) % (2 * t_max_) == 0)
    return lr + (base_lrs_[group] - eta_min_) * (1 - std::cos(kPi / t_max)) / 2;
  const double t = static_cast<double>(epoch);
  return (1 + std::cos(kPi * t / t_max)) / (1 + std::cos(kPi * (t - 1) / t_max)) * (lr - eta_min_) + eta_min_;
}

CosineAnnealingWarmRestarts::CosineAnnealingWarmRestarts(Optimizer& optimizer, int64_t T_0, int64_t T_mult, double eta_min)
    : EpochScheduler(optimizer), t_0_(T_0), t_mult_(T_mult), eta_min_(eta_min) {
  TORCH_CHECK_VALUE(T_0 > 0, "Expected positive integer T_0, but got ", T_0);
  TORCH_CHECK_VALUE(T_mult >= 1, "Expected integer T_mult >= 1, but got ", T_mult);
  restart();
}

double CosineAnnealingWarmRestarts::next_lr(size_t group, int64_t epoch, double) const {
  int64_t length = t_0_, since = epoch;
  if (t_mult_ == 1) {
    since %= length;
  } else {
    while (since >= length) {
      since -= length;
      if (__builtin_mul_overflow(length, t_mult_, &length)) length = INT64_MAX;
    }
  }
  return eta_min_ +
         (base_lrs_[group] - eta_min_) * (1 + std::cos(kPi * static_cast<double>(since) / static_cast<double>(length))) / 2;
}

SequentialLR::SequentialLR(
    Optimizer& optimizer, std::vector<std::shared_ptr<EpochScheduler>> schedulers, std::vector<int64_t> milestones)
    : LRScheduler(optimizer), schedulers_(std::move(schedulers)), milestones_(std::move(milestones)) {
  TORCH_CHECK_VALUE(!schedulers_.empty(), "SequentialLR expects at least one scheduler");
  TORCH_CHECK_VALUE(milestones_.size() + 1 == schedulers_.size(),
                    "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                    "milestone points, but got number of schedulers ",
                    schedulers_.size(), " and the number of milestones to be equal to ", milestones_.size());
  TORCH_CHECK_VALUE(std::is_sorted(milestones_.begin(), milestones_.end()), "SequentialLR: the milestones are not in order");
  for (const auto& s : schedulers_) TORCH_CHECK_VALUE(s != nullptr, "SequentialLR: a scheduler is null");
  // Those made later saw the rates that those made earlier had set already.
  for (size_t i = 1; i < schedulers_.size(); ++i) schedulers_[i]->set_base_lrs(schedulers_[0]->base_lrs());
  schedulers_[0]->restart();
}

void SequentialLR::step() {
  ++step_count_;
  const int64_t epoch = step_count_;
  const size_t i =
      static_cast<size_t>(std::upper_bound(milestones_.begin(), milestones_.end(), epoch) - milestones_.begin());
  if (i > 0 && milestones_[i - 1] == epoch) {
    schedulers_[i]->restart();
  } else {
    schedulers_[i]->step();
  }
}

StateDict SequentialLR::state_dict() const {
  StateDict dict = LRScheduler::state_dict();
  dict.scalars.emplace_back("schedulers.size", static_cast<int64_t>(schedulers_.size()));
  for (size_t i = 0; i < schedulers_.size(); ++i) {
    const StateDict part = schedulers_[i]->state_dict();
    for (const auto& [name, value] : part.scalars)
      dict.scalars.emplace_back(c10::str("schedulers.", i, ".", name), value);
  }
  return dict;
}

void SequentialLR::load_state_dict(const StateDict& dict) {
  const at::Scalar* const size = dict.scalar("schedulers.size");
  TORCH_CHECK_VALUE(size != nullptr && size->toLong() == static_cast<int64_t>(schedulers_.size()),
                    "load_state_dict: the state is not one of ", schedulers_.size(), " schedules in sequence");
  std::vector<StateDict> before, parts(schedulers_.size());
  for (size_t i = 0; i < schedulers_.size(); ++i) {
    before.push_back(schedulers_[i]->state_dict());
    const std::string prefix = c10::str("schedulers.", i, ".");
    for (const auto& [name, value] : dict.scalars)
      if (name.compare(0, prefix.size(), prefix) == 0) parts[i].scalars.emplace_back(name.substr(prefix.size()), value);
  }
  try {
    for (size_t i = 0; i < schedulers_.size(); ++i) schedulers_[i]->load_state_dict(parts[i]);
    LRScheduler::load_state_dict(dict);
  } catch (...) {
    for (size_t i = 0; i < schedulers_.size(); ++i) schedulers_[i]->load_state_dict(before[i]);
    throw;
  }
}

}  // namespace torch::optim

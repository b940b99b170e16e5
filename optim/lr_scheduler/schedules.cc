#include "optim/lr_scheduler/schedules.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace torch::optim {

namespace {

constexpr double kPi = 3.14159265358979323846;

std::vector<LambdaLR::Lambda> checked(const char* schedule, const Optimizer& optimizer,
                                      std::vector<LambdaLR::Lambda> lambdas) {
  const size_t groups = optimizer.param_groups().size();
  TORCH_CHECK_VALUE(lambdas.size() == groups, "Expected ", groups, " lr_lambdas, but got ", lambdas.size());
  for (const LambdaLR::Lambda& f : lambdas) TORCH_CHECK_VALUE(f != nullptr, schedule, ": a function is empty");
  return lambdas;
}

// Python has None for functions, which cannot be saved.
void visit_lambdas(FieldVisitor& visitor, size_t count) {
  c10::List<c10::IValue> none;
  for (size_t i = 0; i < count; ++i) none.push_back(c10::IValue());
  c10::IValue value(none);
  visitor("lr_lambdas", value);
}

double as_double(int64_t value) {
  return static_cast<double>(value);
}

}  // namespace

LambdaLR::LambdaLR(Optimizer& optimizer, Lambda lr_lambda, int64_t last_epoch)
    : LambdaLR(optimizer, std::vector<Lambda>(optimizer.param_groups().size(), std::move(lr_lambda)), last_epoch) {}

LambdaLR::LambdaLR(Optimizer& optimizer, std::vector<Lambda> lr_lambdas, int64_t last_epoch)
    : EpochScheduler(optimizer, last_epoch), lambdas_(checked("LambdaLR", optimizer, std::move(lr_lambdas))) {
  begin();
}

double LambdaLR::next_lr(size_t group, int64_t epoch, double) const {
  return base_lrs_[group] * lambdas_[group](epoch);
}

void LambdaLR::visit(FieldVisitor& visitor) {
  EpochScheduler::visit(visitor);
  visit_lambdas(visitor, lambdas_.size());
}

MultiplicativeLR::MultiplicativeLR(Optimizer& optimizer, Lambda lr_lambda, int64_t last_epoch)
    : MultiplicativeLR(optimizer, std::vector<Lambda>(optimizer.param_groups().size(), std::move(lr_lambda)),
                       last_epoch) {}

MultiplicativeLR::MultiplicativeLR(Optimizer& optimizer, std::vector<Lambda> lr_lambdas, int64_t last_epoch)
    : EpochScheduler(optimizer, last_epoch), lambdas_(checked("MultiplicativeLR", optimizer, std::move(lr_lambdas))) {
  begin();
}

double MultiplicativeLR::next_lr(size_t group, int64_t epoch, double lr) const {
  return initial_ ? lr : lr * lambdas_[group](epoch);
}

void MultiplicativeLR::visit(FieldVisitor& visitor) {
  EpochScheduler::visit(visitor);
  visit_lambdas(visitor, lambdas_.size());
}

MultiStepLR::MultiStepLR(Optimizer& optimizer, std::vector<int64_t> milestones, double gamma, int64_t last_epoch)
    : EpochScheduler(optimizer, last_epoch), milestones_(std::move(milestones)), gamma_(gamma) {
  std::sort(milestones_.begin(), milestones_.end());
  begin();
}

double MultiStepLR::next_lr(size_t, int64_t epoch, double lr) const {
  const auto times = std::count(milestones_.begin(), milestones_.end(), epoch);
  return times > 0 ? lr * std::pow(gamma_, static_cast<double>(times)) : lr;
}

double MultiStepLR::lr_at(size_t group, int64_t epoch, double) const {
  const auto passed = std::upper_bound(milestones_.begin(), milestones_.end(), epoch) - milestones_.begin();
  return base_lrs_[group] * std::pow(gamma_, static_cast<double>(passed));
}

void MultiStepLR::visit(FieldVisitor& visitor) {
  // How often each is there.
  c10::Dict<c10::IValue, c10::IValue> counts;
  for (const int64_t m : milestones_) {
    counts.insert_or_assign(c10::IValue(m),
                            c10::IValue(int64_t{std::count(milestones_.begin(), milestones_.end(), m)}));
  }
  c10::IValue value(counts);
  visitor("milestones", value);
  std::vector<int64_t> milestones;
  for (const std::string& name : names_of_parts(value)) {
    c10::IValue count;
    find_part(value, name, &count);
    const int64_t times = checked_count(count, "milestones");
    TORCH_CHECK_VALUE(times <= 1000, "load_state_dict: a milestone is there ", times, " times");
    milestones.insert(milestones.end(), static_cast<size_t>(times), std::atoll(name.c_str()));
  }
  std::sort(milestones.begin(), milestones.end());
  milestones_ = std::move(milestones);
  visitor("gamma", gamma_);
  EpochScheduler::visit(visitor);
}

ExponentialLR::ExponentialLR(Optimizer& optimizer, double gamma, int64_t last_epoch)
    : EpochScheduler(optimizer, last_epoch), gamma_(gamma) {
  begin();
}

double ExponentialLR::next_lr(size_t, int64_t, double lr) const {
  return initial_ ? lr : lr * gamma_;
}

double ExponentialLR::lr_at(size_t group, int64_t epoch, double) const {
  return base_lrs_[group] * std::pow(gamma_, as_double(epoch));
}

void ExponentialLR::visit(FieldVisitor& visitor) {
  visitor("gamma", gamma_);
  EpochScheduler::visit(visitor);
}

ConstantLR::ConstantLR(Optimizer& optimizer, double factor, int64_t total_iters, int64_t last_epoch)
    : EpochScheduler(optimizer, last_epoch), factor_(factor), total_iters_(total_iters) {
  TORCH_CHECK_VALUE(factor > 0 && factor <= 1,
                    "Constant multiplicative factor expected to be between 0 and 1, but got ", factor);
  begin();
}

double ConstantLR::next_lr(size_t, int64_t epoch, double lr) const {
  if (epoch == 0) return lr * factor_;
  return epoch == total_iters_ ? lr * (1.0 / factor_) : lr;
}

double ConstantLR::lr_at(size_t group, int64_t epoch, double) const {
  return base_lrs_[group] * (factor_ + (epoch >= total_iters_ ? 1 - factor_ : 0));
}

void ConstantLR::visit(FieldVisitor& visitor) {
  visitor("factor", factor_);
  visitor("total_iters", total_iters_);
  EpochScheduler::visit(visitor);
}

LinearLR::LinearLR(Optimizer& optimizer, double start_factor, double end_factor, int64_t total_iters,
                   int64_t last_epoch)
    : EpochScheduler(optimizer, last_epoch),
      start_factor_(start_factor),
      end_factor_(end_factor),
      total_iters_(total_iters) {
  TORCH_CHECK_VALUE(start_factor > 0 && start_factor <= 1,
                    "Starting multiplicative factor expected to be greater than 0 and less or equal to 1, but got ",
                    start_factor);
  TORCH_CHECK_VALUE(end_factor >= 0 && end_factor <= 1,
                    "Ending multiplicative factor expected to be between 0 and 1, but got ", end_factor);
  TORCH_CHECK_VALUE(total_iters > 0, "LinearLR: expected a positive total_iters, but got ", total_iters);
  begin();
}

double LinearLR::next_lr(size_t, int64_t epoch, double lr) const {
  if (epoch == 0) return lr * start_factor_;
  if (initial_ || epoch > total_iters_) return lr;
  const double slope = end_factor_ - start_factor_;
  return lr * (1 + slope / (as_double(total_iters_) * start_factor_ + as_double(epoch - 1) * slope));
}

double LinearLR::lr_at(size_t group, int64_t epoch, double) const {
  const double slope = end_factor_ - start_factor_;
  return base_lrs_[group] *
         (start_factor_ + slope * as_double(std::min(total_iters_, epoch)) / as_double(total_iters_));
}

void LinearLR::visit(FieldVisitor& visitor) {
  visitor("start_factor", start_factor_);
  visitor("end_factor", end_factor_);
  visitor("total_iters", total_iters_);
  EpochScheduler::visit(visitor);
}

PolynomialLR::PolynomialLR(Optimizer& optimizer, int64_t total_iters, double power, int64_t last_epoch)
    : EpochScheduler(optimizer, last_epoch), total_iters_(total_iters), power_(power) {
  TORCH_CHECK_VALUE(total_iters > 0, "PolynomialLR: expected a positive total_iters, but got ", total_iters);
  begin();
}

double PolynomialLR::next_lr(size_t, int64_t epoch, double lr) const {
  if (initial_ || epoch == 0 || epoch > total_iters_) return lr;
  const double total = as_double(total_iters_), t = as_double(epoch);
  return lr * std::pow((1 - t / total) / (1 - (t - 1) / total), power_);
}

double PolynomialLR::lr_at(size_t group, int64_t epoch, double) const {
  return base_lrs_[group] * std::pow(1 - as_double(std::min(total_iters_, epoch)) / as_double(total_iters_), power_);
}

void PolynomialLR::visit(FieldVisitor& visitor) {
  visitor("total_iters", total_iters_);
  visitor("power", power_);
  EpochScheduler::visit(visitor);
}

CosineAnnealingLR::CosineAnnealingLR(Optimizer& optimizer, int64_t T_max, double eta_min, int64_t last_epoch)
    : EpochScheduler(optimizer, last_epoch), t_max_(T_max), eta_min_(eta_min) {
  TORCH_CHECK_VALUE(T_max > 0 && T_max <= INT64_MAX / 2, "CosineAnnealingLR: expected a positive T_max of at most ",
                    INT64_MAX / 2, ", but got ", T_max);
  begin();
}

double CosineAnnealingLR::next_lr(size_t group, int64_t epoch, double lr) const {
  if (initial_ || epoch == 0) return lr;
  const double t_max = as_double(t_max_);
  // Where the previous factor is zero, the ratio below has no value.
  if ((epoch - 1 - t_max_) % (2 * t_max_) == 0)
    return lr + (base_lrs_[group] - eta_min_) * (1 - std::cos(kPi / t_max)) / 2;
  const double t = as_double(epoch);
  return (1 + std::cos(kPi * t / t_max)) / (1 + std::cos(kPi * (t - 1) / t_max)) * (lr - eta_min_) + eta_min_;
}

double CosineAnnealingLR::lr_at(size_t group, int64_t epoch, double) const {
  return eta_min_ + (base_lrs_[group] - eta_min_) * (1 + std::cos(kPi * as_double(epoch) / as_double(t_max_))) / 2;
}

void CosineAnnealingLR::visit(FieldVisitor& visitor) {
  visitor("T_max", t_max_);
  visitor("eta_min", eta_min_);
  EpochScheduler::visit(visitor);
  TORCH_CHECK_VALUE(t_max_ > 0 && t_max_ <= INT64_MAX / 2, "load_state_dict: T_max is ", t_max_);
}

CosineAnnealingWarmRestarts::CosineAnnealingWarmRestarts(Optimizer& optimizer, int64_t T_0, int64_t T_mult,
                                                         double eta_min, int64_t last_epoch)
    : EpochScheduler(optimizer, last_epoch),
      t_0_(T_0),
      t_i_(T_0),
      t_mult_(T_mult),
      eta_min_(eta_min),
      t_cur_(as_double(last_epoch)) {
  TORCH_CHECK_VALUE(T_0 > 0, "Expected positive integer T_0, but got ", T_0);
  TORCH_CHECK_VALUE(T_mult >= 1, "Expected integer T_mult >= 1, but got ", T_mult);
  begin();
}

void CosineAnnealingWarmRestarts::step() {
  if (last_epoch_ < 0) return step(0.0);
  last_epoch_ = next_count(last_epoch_);
  t_cur_ += 1;
  if (t_cur_ >= as_double(t_i_)) {
    t_cur_ -= as_double(t_i_);
    if (__builtin_mul_overflow(t_i_, t_mult_, &t_i_)) t_i_ = INT64_MAX;
  }
  set_lrs(get_lrs());
}

void CosineAnnealingWarmRestarts::step(double epoch) {
  TORCH_CHECK_VALUE(epoch >= 0 && epoch < 9e15, "Expected non-negative epoch, but got ", epoch);
  t_i_ = t_0_;
  t_cur_ = epoch;
  if (t_mult_ == 1) {
    t_cur_ = std::fmod(epoch, as_double(t_0_));
  } else {
    while (t_cur_ >= as_double(t_i_)) {
      t_cur_ -= as_double(t_i_);
      if (__builtin_mul_overflow(t_i_, t_mult_, &t_i_)) t_i_ = INT64_MAX;
    }
  }
  last_epoch_ = static_cast<int64_t>(std::floor(epoch));
  set_lrs(get_lrs());
}

double CosineAnnealingWarmRestarts::next_lr(size_t group, int64_t, double) const {
  return eta_min_ + (base_lrs_[group] - eta_min_) * (1 + std::cos(kPi * t_cur_ / as_double(t_i_))) / 2;
}

void CosineAnnealingWarmRestarts::visit(FieldVisitor& visitor) {
  visitor("T_0", t_0_);
  visitor("T_i", t_i_);
  visitor("T_mult", t_mult_);
  visitor("eta_min", eta_min_);
  visitor("T_cur", t_cur_);
  EpochScheduler::visit(visitor);
}

void CosineAnnealingWarmRestarts::check_state() const {
  EpochScheduler::check_state();
  TORCH_CHECK_VALUE(t_0_ > 0 && t_i_ > 0 && t_mult_ >= 1, "load_state_dict: T_0, T_i and T_mult are ", t_0_, ", ", t_i_,
                    " and ", t_mult_);
}

}  // namespace torch::optim

#include "optim/lr_scheduler/swa_lr.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "optim/lr_scheduler/momentum.h"

namespace torch::optim {

SWALR::SWALR(Optimizer& optimizer, double swa_lr, int64_t anneal_epochs, std::string anneal_strategy,
             int64_t last_epoch)
    : SWALR(optimizer, std::vector<double>{swa_lr}, anneal_epochs, std::move(anneal_strategy), last_epoch) {}

SWALR::SWALR(Optimizer& optimizer, const std::vector<double>& swa_lr, int64_t anneal_epochs,
             std::string anneal_strategy, int64_t last_epoch)
    : EpochScheduler(optimizer, last_epoch),
      anneal_epochs_(anneal_epochs),
      anneal_strategy_(std::move(anneal_strategy)) {
  TORCH_CHECK_VALUE(anneal_strategy_ == "cos" || anneal_strategy_ == "linear",
                    "anneal_strategy must by one of 'cos' or 'linear', instead got ", anneal_strategy_);
  TORCH_CHECK_VALUE(anneal_epochs >= 0, "anneal_epochs must be equal or greater than 0, got ", anneal_epochs);
  const std::vector<double> rates = one_a_group("swa_lr", optimizer, swa_lr);
  for (size_t g = 0; g < rates.size(); ++g) optimizer.param_groups()[g].set_extra("swa_lr", c10::IValue(rates[g]));
  begin();
}

// Of the way, after so many steps.
double SWALR::part(double step) const {
  const double t = std::clamp(step / static_cast<double>(std::max<int64_t>(1, anneal_epochs_)), 0.0, 1.0);
  return anneal_strategy_ == "cos" ? (1 - std::cos(3.14159265358979323846 * t)) / 2 : t;
}

double SWALR::next_lr(size_t group, int64_t, double lr) const {
  double step = static_cast<double>(step_count_) - 1;
  if (anneal_epochs_ == 0) step = std::max(1.0, step);
  const double target = extra_number(optimizer_.param_groups()[group], "swa_lr");
  const double before = part(step - 1), now = part(step);
  const double initial = before == 1 ? target : (lr - before * target) / (1 - before);
  return target * now + initial * (1 - now);
}

void SWALR::visit(FieldVisitor& visitor) {
  visitor("_anneal_strategy", anneal_strategy_);
  visitor("anneal_epochs", anneal_epochs_);
  EpochScheduler::visit(visitor);
}

}  // namespace torch::optim

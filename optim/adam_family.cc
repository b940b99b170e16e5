#include "optim/adam_family.h"

#include <cmath>

namespace torch::optim {

AdamUpdate::AdamUpdate(double lr, std::tuple<double, double> betas, double eps, double weight_decay, bool decoupled) {
  common_.lr = lr;
  common_.beta1 = std::get<0>(betas);
  common_.beta2 = std::get<1>(betas);
  common_.eps = eps;
  common_.weight_decay = weight_decay;
  common_.decoupled = decoupled;
}

void AdamUpdate::add(at::Tensor& param, int64_t* step, at::Tensor* exp_avg, at::Tensor* exp_avg_sq, at::Tensor* max_exp_avg_sq) {
  parameters_.add(param, {exp_avg, exp_avg_sq, max_exp_avg_sq});
  counters_.push_back(step);
  at::cpu::AdamStep adam = common_;
  const double t = static_cast<double>(next_count(*step));
  adam.bias_correction1 = 1 - std::pow(adam.beta1, t);
  adam.bias_correction2 = 1 - std::pow(adam.beta2, t);
  steps_.push_back(adam);
}

void AdamUpdate::run() {
  // Counted only now, when nothing can throw any more for a bad gradient.
  for (int64_t* step : counters_) *step = next_count(*step);
  parameters_.run(
      [](const void* context, size_t i, const FusedOperands& o) {
        at::cpu::adam_step(o.dtype, o.data[0], o.data[1], o.data[2], o.data[3], o.data[4], o.numel,
                           static_cast<const at::cpu::AdamStep*>(context)[i]);
      },
      steps_.data());
}

}  // namespace torch::optim

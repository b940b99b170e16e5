#include "optim/adam.h"

#include "optim/adam_family.h"

namespace torch::optim {

AdamOptions::AdamOptions(double lr) : lr_(lr) {}

void AdamOptions::visit(FieldVisitor& visitor) { visit_adam_options(*this, visitor); }
void AdamOptions::check() const { check_adam_options(*this); }
void AdamParamState::visit(FieldVisitor& visitor) { visit_adam_state(*this, visitor); }

at::Tensor Adam::step(LossClosure closure) {
  return run_step(closure, [this](OptimizerParamGroup& group) {
    const AdamOptions& options = static_cast<const AdamOptions&>(group.options());
    AdamUpdate update(options.lr(), options.betas(), options.eps(), options.weight_decay(), /*decoupled=*/false);
    for (at::Tensor& p : group.params()) {
      if (!p.grad().defined()) continue;
      AdamParamState& state = state_of<AdamParamState>(p);
      update.add(p, &state.step(), &state.exp_avg(), &state.exp_avg_sq(), options.amsgrad() ? &state.max_exp_avg_sq() : nullptr);
    }
    update.run();
  });
}

}  // namespace torch::optim

#include "optim/adamw.h"

#include "optim/adam_family.h"

namespace torch::optim {

AdamWOptions::AdamWOptions(double lr) : lr_(lr) {}

void AdamWOptions::visit(FieldVisitor& visitor) { visit_adam_options(*this, visitor); }
void AdamWOptions::check() const { check_adam_options(*this); }
void AdamWParamState::visit(FieldVisitor& visitor) { visit_adam_state(*this, visitor); }

at::Tensor AdamW::step(LossClosure closure) {
  return run_step(closure, [this](OptimizerParamGroup& group) {
    const AdamWOptions& options = static_cast<const AdamWOptions&>(group.options());
    AdamUpdate update(options.lr(), options.betas(), options.eps(), options.weight_decay(), /*decoupled=*/true);
    for (at::Tensor& p : group.params()) {
      if (!p.grad().defined()) continue;
      AdamWParamState& state = state_of<AdamWParamState>(p);
      update.add(p, &state.step(), &state.exp_avg(), &state.exp_avg_sq(), options.amsgrad() ? &state.max_exp_avg_sq() : nullptr);
    }
    update.run();
  });
}

}  // namespace torch::optim

#include "optim/sgd.h"

#include "aten/cpu/optimizer/optimizer_step.h"
#include "optim/fused_step.h"

namespace torch::optim {

SGDOptions::SGDOptions(double lr) : lr_(lr) {}

void SGDOptions::visit(FieldVisitor& visitor) {
  visitor.number("lr", lr_);
  visitor.number("momentum", momentum_);
  visitor.number("dampening", dampening_);
  visitor.number("weight_decay", weight_decay_);
  visitor.flag("nesterov", nesterov_);
}

void SGDOptions::check() const {
  TORCH_CHECK_VALUE(lr_ >= 0, "Invalid learning rate: ", lr_);
  TORCH_CHECK_VALUE(momentum_ >= 0, "Invalid momentum value: ", momentum_);
  TORCH_CHECK_VALUE(weight_decay_ >= 0, "Invalid weight_decay value: ", weight_decay_);
  TORCH_CHECK_VALUE(!nesterov_ || (momentum_ > 0 && dampening_ == 0),
                    "Nesterov momentum requires a momentum and zero dampening");
}

void SGDParamState::visit(FieldVisitor& visitor) { visitor.tensor("momentum_buffer", momentum_buffer_); }

at::Tensor SGD::step(LossClosure closure) {
  return run_step(closure, [this](OptimizerParamGroup& group) {
    const SGDOptions& options = static_cast<const SGDOptions&>(group.options());
    FusedParameters parameters;
    std::vector<at::cpu::SgdStep> steps;
    for (at::Tensor& p : group.params()) {
      if (!p.grad().defined()) continue;
      at::cpu::SgdStep step;
      step.lr = options.lr();
      step.momentum = options.momentum();
      step.dampening = options.dampening();
      step.weight_decay = options.weight_decay();
      step.nesterov = options.nesterov();
      at::Tensor* buffer = nullptr;
      if (options.momentum() != 0) {
        buffer = &state_of<SGDParamState>(p).momentum_buffer();
        step.first = !buffer->defined();
      }
      parameters.add(p, {buffer});
      steps.push_back(step);
    }
    parameters.run(
        [](const void* context, size_t i, const FusedOperands& o) {
          at::cpu::sgd_step(o.dtype, o.data[0], o.data[1], o.data[2], o.numel, static_cast<const at::cpu::SgdStep*>(context)[i]);
        },
        steps.data());
  });
}

}  // namespace torch::optim

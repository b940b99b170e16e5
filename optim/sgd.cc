#include "optim/sgd.h"

#include "aten/ops/creation/ops.h"
#include "aten/ops/foreach/ops.h"

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
    const auto step = [&](const StepLists& lists, const std::vector<at::Tensor>& buffers, bool first) {
      if (lists.params.empty()) return;
      at::_fused_sgd_(lists.params, lists.grads, buffers, options.weight_decay(), options.momentum(), options.lr(),
                      options.dampening(), options.nesterov(), /*maximize=*/false, first);
    };
    for (StepLists& lists : scratch_.list(group.params())) {
      if (options.momentum() == 0) {
        step(lists, {}, false);
        continue;
      }
      // Parameters without a buffer take their first step.
      StepLists first;
      size_t kept = 0;
      for (size_t i = 0; i < lists.params.size(); ++i) {
        const at::Tensor& buffer = state_of<SGDParamState>(lists.params[i]).momentum_buffer();
        if (!buffer.defined()) {
          first.state[0].push_back(at::empty_like(lists.params[i]));
          first.params.push_back(std::move(lists.params[i]));
          first.grads.push_back(std::move(lists.grads[i]));
          continue;
        }
        lists.state[0].push_back(buffer);
        if (kept != i) {
          lists.params[kept] = std::move(lists.params[i]);
          lists.grads[kept] = std::move(lists.grads[i]);
        }
        ++kept;
      }
      lists.params.resize(kept);
      lists.grads.resize(kept);
      step(first, first.state[0], true);
      for (size_t i = 0; i < first.params.size(); ++i) {
        state_of<SGDParamState>(first.params[i]).momentum_buffer(first.state[0][i]);
      }
      step(lists, lists.state[0], false);
    }
  });
}

}  // namespace torch::optim

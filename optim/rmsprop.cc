#include "optim/rmsprop.h"

#include "aten/ops/foreach/ops.h"

namespace torch::optim {

RMSpropOptions::RMSpropOptions(double lr) : lr_(lr) {}

void RMSpropOptions::visit(FieldVisitor& visitor) {
  visitor.number("lr", lr_);
  visitor.number("alpha", alpha_);
  visitor.number("eps", eps_);
  visitor.number("weight_decay", weight_decay_);
  visitor.number("momentum", momentum_);
  visitor.flag("centered", centered_);
}

void RMSpropOptions::check() const {
  TORCH_CHECK_VALUE(lr_ >= 0, "Invalid learning rate: ", lr_);
  TORCH_CHECK_VALUE(eps_ >= 0, "Invalid epsilon value: ", eps_);
  TORCH_CHECK_VALUE(momentum_ >= 0, "Invalid momentum value: ", momentum_);
  TORCH_CHECK_VALUE(weight_decay_ >= 0, "Invalid weight_decay value: ", weight_decay_);
  TORCH_CHECK_VALUE(alpha_ >= 0, "Invalid alpha value: ", alpha_);
}

void RMSpropParamState::visit(FieldVisitor& visitor) {
  visitor.count("step", step_);
  visitor.tensor("square_avg", square_avg_);
  visitor.tensor("momentum_buffer", momentum_buffer_);
  visitor.tensor("grad_avg", grad_avg_);
}

at::Tensor RMSprop::step(LossClosure closure) {
  return run_step(closure, [this](OptimizerParamGroup& group) {
    const RMSpropOptions& options = static_cast<const RMSpropOptions&>(group.options());
    for (StepLists& lists : scratch_.list(group.params())) {
      const auto take = [](const at::Tensor& param, at::Tensor& state, std::vector<at::Tensor>& list) {
        if (!state.defined()) state = make_state_tensor(param);
        list.push_back(state);
      };
      for (const at::Tensor& param : lists.params) {
        RMSpropParamState& state = state_of<RMSpropParamState>(param);
        lists.counters.push_back(&state.step());
        take(param, state.square_avg(), lists.state[0]);
        if (options.centered()) take(param, state.grad_avg(), lists.state[1]);
        if (options.momentum() > 0) take(param, state.momentum_buffer(), lists.state[2]);
      }
      at::_fused_rmsprop_(lists.params, lists.grads, lists.state[0], lists.state[1], lists.state[2], options.lr(),
                          options.alpha(), options.eps(), options.weight_decay(), options.momentum(),
                          options.centered(), /*maximize=*/false);
      StepScratch::count(lists);
    }
  });
}

}  // namespace torch::optim

#pragma once

#include "aten/ops/foreach/ops.h"
#include "optim/adam_family.h"

// The step of AdamFamily, instantiated by adam.cc and adamw.cc.
namespace torch::optim {

using FusedAdam = void (*)(at::TensorList, at::TensorList, at::TensorList, at::TensorList, at::TensorList,
                           at::TensorList, double lr, double beta1, double beta2, double weight_decay, double eps,
                           bool amsgrad, bool maximize, const std::optional<at::Tensor>& grad_scale,
                           const std::optional<at::Tensor>& found_inf);

template <class Options, class State, bool kDecoupled>
at::Tensor AdamFamily<Options, State, kDecoupled>::step(LossClosure closure) {
  return run_step(closure, [this](OptimizerParamGroup& group) { update(group); });
}

template <class Options, class State, bool kDecoupled>
void AdamFamily<Options, State, kDecoupled>::update(OptimizerParamGroup& group) {
  const Options& options = static_cast<const Options&>(group.options());
  const auto [beta1, beta2] = options.betas();
  for (StepLists& lists : scratch_.list(group.params())) {
    const auto take = [](const at::Tensor& param, at::Tensor& state, std::vector<at::Tensor>& list) {
      if (!state.defined()) state = make_state_tensor(param);
      list.push_back(state);
    };
    for (const at::Tensor& param : lists.params) {
      State& state = state_of<State>(param);
      take(param, state.exp_avg(), lists.state[0]);
      take(param, state.exp_avg_sq(), lists.state[1]);
      if (options.amsgrad()) take(param, state.max_exp_avg_sq(), lists.state[2]);
      scratch_.add_count(lists, state.step());
    }
    const auto fused_step = [] {
      if constexpr (kDecoupled) {
        return static_cast<FusedAdam>(at::_fused_adamw_);
      } else {
        return static_cast<FusedAdam>(at::_fused_adam_);
      }
    }();
    fused_step(lists.params, lists.grads, lists.state[0], lists.state[1], lists.state[2], lists.counts, options.lr(),
               beta1, beta2, options.weight_decay(), options.eps(), options.amsgrad(), /*maximize=*/false,
               /*grad_scale=*/std::nullopt, /*found_inf=*/std::nullopt);
    // Counted only now, when nothing can throw any more for a bad gradient.
    StepScratch::count(lists);
  }
}

}  // namespace torch::optim

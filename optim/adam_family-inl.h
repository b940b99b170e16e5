#pragma once

#include "aten/ops/foreach/ops.h"
#include "optim/adam_family.h"

// The step of AdamFamily, instantiated by adam.cc and adamw.cc.
namespace torch::optim {

using FusedAdam = void (*)(at::TensorList, at::TensorList, at::TensorList, at::TensorList, at::TensorList,
                           at::TensorList, double lr, double beta1, double beta2, double weight_decay, double eps,
                           bool amsgrad, bool maximize, const std::optional<at::Tensor>& grad_scale,
                           const std::optional<at::Tensor>& found_inf);

template <class Options, class State>
void AdamFamily<Options, State>::update(StepLists& lists, const Options& options) {
  const auto [beta1, beta2] = options.betas();
  this->list_states(lists);
  this->scratch_.list_counts(lists);
  this->take(lists, 0, &State::exp_avg);
  this->take(lists, 1, &State::exp_avg_sq);
  if (options.amsgrad()) this->take(lists, 2, &State::max_exp_avg_sq);
  const FusedAdam step = options.decoupled_weight_decay() ? static_cast<FusedAdam>(at::_fused_adamw_)
                                                          : static_cast<FusedAdam>(at::_fused_adam_);
  step(lists.params, lists.grads, lists.state[0], lists.state[1], lists.state[2], lists.counts, options.lr(), beta1,
       beta2, options.weight_decay(), options.eps(), options.amsgrad(), options.maximize(), this->grad_scale_,
       this->found_inf_);
}

}  // namespace torch::optim

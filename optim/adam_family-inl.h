#pragma once

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/foreach/ops.h"
#include "aten/ops/view/ops.h"
#include "optim/adam_family.h"

// Settings, state and step of AdamFamily, instantiated by adam.cc and adamw.cc.
namespace torch::optim {

template <class Derived>
void AdamFamilyOptions<Derived>::set_lr(double lr) {
  this->lr_ = lr;
  if (tensor_lr_.defined()) at::fill_(tensor_lr_, lr);
}

template <class Derived>
void AdamFamilyParamState<Derived>::read_device_step() {
  if (device_step_.defined()) step_ = at::item(device_step_).to<int64_t>();
}
template <class Derived>
void AdamFamilyParamState<Derived>::write_device_step() {
  if (device_step_.defined()) at::fill_(device_step_, step_);
}

// Counts each listed parameter's next step where the parameter is, and lists these counts; a step that found_inf leaves
// out does not count.
template <class Options, class State>
void AdamFamily<Options, State>::list_device_counts(StepLists& lists) {
  for (size_t i = 0; i < lists.params.size(); ++i) {
    State& state = this->state_at(lists, i);
    if (!state.device_step().defined()) {
      state.device_step(at::full({}, state.step(), lists.params[i].options().dtype(at::kFloat)));
    }
    lists.counts.push_back(state.device_step());
  }
  if (this->found_inf_.has_value()) {
    at::_foreach_add_(lists.counts, at::sub(at::ones_like(*this->found_inf_), *this->found_inf_));
  } else {
    at::_foreach_add_(lists.counts, 1);
  }
}

using FusedAdam = void (*)(at::TensorList, at::TensorList, at::TensorList, at::TensorList, at::TensorList,
                           at::TensorList, double lr, double beta1, double beta2, double weight_decay, double eps,
                           bool amsgrad, bool maximize, const std::optional<at::Tensor>& grad_scale,
                           const std::optional<at::Tensor>& found_inf);
using FusedAdamOfTensor = void (*)(at::TensorList, at::TensorList, at::TensorList, at::TensorList, at::TensorList,
                                   at::TensorList, const at::Tensor& lr, double beta1, double beta2, double weight_decay,
                                   double eps, bool amsgrad, bool maximize, const std::optional<at::Tensor>& grad_scale,
                                   const std::optional<at::Tensor>& found_inf);

template <class Options, class State>
void AdamFamily<Options, State>::update(StepLists& lists, const Options& options) {
  const auto [beta1, beta2] = options.betas();
  const bool on_device = options.capturable() && !lists.params[0].is_cpu();
  this->list_states(lists, !on_device);
  this->take(lists, 0, &State::exp_avg);
  this->take(lists, 1, &State::exp_avg_sq);
  if (options.amsgrad()) this->take(lists, 2, &State::max_exp_avg_sq);
  if (on_device) {
    list_device_counts(lists);
  } else {
    this->scratch_.list_counts(lists);
  }
  const auto step = [&](auto of_rate, auto of_rate_decoupled, const auto& lr) {
    (options.decoupled_weight_decay() ? of_rate_decoupled : of_rate)(
        lists.params, lists.grads, lists.state[0], lists.state[1], lists.state[2], lists.counts, lr, beta1, beta2,
        options.weight_decay(), options.eps(), options.amsgrad(), options.maximize(), this->grad_scale_,
        this->found_inf_);
  };
  if (options.tensor_lr().defined()) {
    step(static_cast<FusedAdamOfTensor>(at::_fused_adam_), static_cast<FusedAdamOfTensor>(at::_fused_adamw_),
         options.tensor_lr());
  } else {
    step(static_cast<FusedAdam>(at::_fused_adam_), static_cast<FusedAdam>(at::_fused_adamw_), options.lr());
  }
}

}  // namespace torch::optim

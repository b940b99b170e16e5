#include "optim/sgd.h"

#include "aten/ops/creation/ops.h"
#include "aten/ops/foreach/ops.h"
#include "aten/ops/index/ops.h"

namespace torch::optim {

TORCH_OPTIM_CLASSES_OF(, SGD)

void SGDOptions::visit(FieldVisitor& visitor) {
  visitor("lr", lr_);
  visitor("momentum", momentum_);
  visitor("dampening", dampening_);
  visitor("weight_decay", weight_decay_);
  visitor("nesterov", nesterov_);
  visitor("maximize", maximize_);
  visitor("foreach", foreach_);
  visitor("differentiable", differentiable_);
  visitor("fused", fused_);
}

void SGDOptions::check() const {
  StepOptions::check();
  TORCH_CHECK_VALUE(momentum_ >= 0, "Invalid momentum value: ", momentum_);
  TORCH_CHECK_VALUE(weight_decay_ >= 0, "Invalid weight_decay value: ", weight_decay_);
  TORCH_CHECK_VALUE(!nesterov_ || (momentum_ > 0 && dampening_ == 0),
                    "Nesterov momentum requires a momentum and zero dampening");
  check_fused(fused_);
}

void SGDParamState::visit(FieldVisitor& visitor) {
  visitor("momentum_buffer", momentum_buffer_);
}

void SGD::update(StepLists& lists, const SGDOptions& options) {
  const auto step = [&](const StepLists& some, const std::vector<at::Tensor>& buffers, bool first) {
    if (some.params.empty()) return;
    at::_fused_sgd_(some.params, some.grads, buffers, options.weight_decay(), options.momentum(), options.lr(),
                    options.dampening(), options.nesterov(), options.maximize(), first, grad_scale_, found_inf_);
  };
  if (options.momentum() == 0) return step(lists, {}, false);
  // Parameters without a buffer take their first step.
  StepLists first;
  size_t kept = 0;
  for (size_t i = 0; i < lists.params.size(); ++i) {
    at::Tensor& buffer = state_of<SGDParamState>(lists.params[i]).momentum_buffer();
    if (!buffer.defined()) {
      first.state[0].push_back(at::empty_like(lists.params[i]));
      first.params.push_back(std::move(lists.params[i]));
      first.grads.push_back(std::move(lists.grads[i]));
      continue;
    }
    if (lists.recorded) buffer = detail::copy_of(buffer);
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
  for (size_t i = 0; i < first.params.size() && !found_inf(); ++i) {
    state_of<SGDParamState>(first.params[i]).momentum_buffer(first.state[0][i]);
  }
  step(lists, lists.state[0], false);
}

void SGD::update_rows(const RowGradient& rows, const SGDOptions& options) {
  TORCH_CHECK(options.weight_decay() == 0, "add(sparse, dense) is not supported. Use add(dense, sparse) instead.");
  at::Tensor param = rows.parameter;
  if (options.momentum() == 0) {
    at::index_add_(param, 0, rows.indices, rows.values, options.maximize() ? options.lr() : -options.lr());
    return;
  }
  // A momentum keeps rows moving that have no gradient.
  StepLists lists;
  lists.params.push_back(param);
  lists.grads.push_back(at::zeros_like(param));
  at::index_add_(lists.grads[0], 0, rows.indices, rows.values);
  update(lists, options);
}

}  // namespace torch::optim

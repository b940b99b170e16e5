#include "optim/rprop.h"

#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/foreach/ops.h"
#include "aten/ops/pointwise/ops.h"

namespace torch::optim {

TORCH_OPTIM_CLASSES_OF(, Rprop)

void RpropOptions::visit(FieldVisitor& visitor) {
  visitor("lr", lr_);
  visitor("etas", etas_);
  visitor("step_sizes", step_sizes_);
  visitor("foreach", foreach_);
  visitor("maximize", maximize_);
  visitor("differentiable", differentiable_);
  visitor("capturable", capturable_);
}

void RpropOptions::check() const {
  StepOptions::check();
  const auto [less, more] = etas_;
  TORCH_CHECK_VALUE(0 < less && less < 1 && 1 < more, "Invalid eta values: ", less, ", ", more);
}

void RpropParamState::visit(FieldVisitor& visitor) {
  visitor.step("step", step_);
  visitor("prev", prev_);
  visitor("step_size", step_size_);
}

void Rprop::update(StepLists& lists, const RpropOptions& options) {
  const auto [less, more] = options.etas();
  const auto [least, most] = options.step_sizes();
  list_states(lists);
  const auto params = as_reals(lists.params);
  auto grads = step_gradients(lists, params, options.maximize(), 0);
  const auto before = as_reals(take(lists, 0, &RpropParamState::prev));
  const auto sizes = as_reals(take(lists, 1, &RpropParamState::step_size, options.lr()));
  const auto agreement = at::_foreach_mul(grads, before);
  std::vector<at::Tensor> factors;
  for (size_t i = 0; i < grads.size(); ++i) {
    const at::Tensor turned = at::lt(agreement[i], 0);
    const at::Tensor grows = at::where(at::gt(agreement[i], 0), more, at::ones_like(grads[i]));
    factors.push_back(at::where(turned, less, grows));
    grads[i] = at::where(turned, 0, grads[i]);
  }
  at::_foreach_mul_(sizes, factors);
  at::_foreach_clamp_min_(sizes, least);
  at::_foreach_clamp_max_(sizes, most);
  at::_foreach_addcmul_(params, at::_foreach_sign(grads), sizes, -1);
  at::_foreach_copy_(before, grads);
}

}  // namespace torch::optim

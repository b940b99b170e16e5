#include "autograd/engine/accumulate_grad.h"

#include <sys/single_threaded.h>

#include <mutex>
#include <utility>

#include "autograd/engine/autograd_meta.h"
#include "autograd/engine/fork.h"
#include "autograd/engine/grad_ops.h"
#include "autograd/engine/node_extras.h"
#include "c10/core/grad_mode.h"

namespace torch::autograd {

AccumulateGrad::AccumulateGrad(const at::TensorBase& leaf) : Node(kAccumulateSequence), leaf_(leaf.getIntrusivePtr()) {
  add_input_metadata(at::Tensor(leaf));
  set_saves_nothing();
}

at::Tensor AccumulateGrad::variable() const {
  return at::Tensor(leaf_.lock());
}

void AccumulateGrad::evaluate(at::Tensor* grad, at::Tensor*) {
  if (!grad[0].defined()) return;
  const at::Tensor leaf = variable();
  if (!leaf.defined()) return;
  add_to(leaf, std::move(grad[0]));
  if (C10_LIKELY(extras() == nullptr)) return;
  // By index: a hook may add and remove hooks.
  for (size_t i = 0; i < extras()->post_accumulate_hooks.size(); ++i) {
    const PostAccumulateHook hook = extras()->post_accumulate_hooks[i].hook;
    hook(leaf);
  }
}

void AccumulateGrad::add_to(const at::Tensor& leaf, at::Tensor fresh) {
  std::unique_lock<std::mutex> lock(mutexes.accumulate_into(this), std::defer_lock);
  if (!__libc_single_threaded) lock.lock();
  at::Tensor& own = materialize_meta(leaf).mutable_grad();
  if (!own.defined()) {
    if (!c10::GradMode::is_enabled() && grad_ops::is_sole_dense(fresh) && fresh.strides() == leaf.strides()) {
      own = std::move(fresh);
    } else {
      own = grad_ops::clone_like(fresh, leaf);
    }
  } else if (c10::GradMode::is_enabled() || !grad_ops::can_add_into(own, fresh)) {
    own = grad_ops::add(own, fresh);
  } else {
    grad_ops::add_into(own, fresh);
  }
}

}  // namespace torch::autograd

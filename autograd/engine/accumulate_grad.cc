#include "autograd/engine/accumulate_grad.h"

#include <sys/single_threaded.h>

#include <utility>

#include "autograd/engine/autograd_meta.h"
#include "autograd/engine/grad_ops.h"
#include "c10/core/grad_mode.h"

namespace torch::autograd {

AccumulateGrad::AccumulateGrad(const at::TensorBase& leaf) : Node(kAccumulateSequence), leaf_(leaf.getIntrusivePtr()) {
  add_input_metadata(at::Tensor(leaf));
}

at::Tensor AccumulateGrad::variable() const {
  return at::Tensor(leaf_.lock());
}

void AccumulateGrad::evaluate(at::Tensor* grad, at::Tensor*) {
  if (!grad[0].defined()) return;
  const at::Tensor leaf = variable();
  if (!leaf.defined()) return;
  at::Tensor fresh = std::move(grad[0]);
  std::unique_lock<std::mutex> lock(mutex_, std::defer_lock);
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

#include <stdexcept>
#include <utility>

#include "aten/core/tensor.h"
#include "autograd/autograd.h"
#include "autograd/engine/grad_ops.h"
#include "c10/util/exception.h"

// Tensor's methods that are autograd's.
namespace at {

using torch::autograd::AutogradMeta;

void Tensor::backward(
    const Tensor& gradient,
    std::optional<bool> retain_graph,
    bool create_graph,
    std::optional<TensorList> inputs) const {
  if (!inputs.has_value() && defined() && requires_grad() && (gradient.defined() || (numel() == 1 && !is_complex()))) {
    const torch::autograd::Edge root = torch::autograd::gradient_edge(*this);
    const Tensor given = gradient.defined() ? gradient : torch::autograd::grad_ops::one(*this);
    torch::autograd::Engine::get_default_engine().accumulate(
        root, given, retain_graph.value_or(create_graph), create_graph);
    return;
  }
  torch::autograd::variable_list ends;
  if (inputs.has_value()) {
    TORCH_CHECK(!inputs->empty(), "'inputs' argument to backward cannot be empty");
    ends.assign(inputs->begin(), inputs->end());
  }
  torch::autograd::backward({*this}, {gradient}, retain_graph, create_graph, ends);
}

const Tensor& Tensor::grad() const {
  static const Tensor kUndefined;
  TORCH_CHECK(defined(), "cannot call get_autograd_meta() on undefined tensor");
  const AutogradMeta* meta = torch::autograd::meta_of(*this);
  const Tensor& grad = meta == nullptr ? kUndefined : meta->grad_;
  if (!grad.defined() && !is_leaf() && !retains_grad()) {
    TORCH_WARN("The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be populated "
               "during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, use "
               ".retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access the leaf "
               "Tensor instead.");
  }
  return grad;
}

Tensor& Tensor::mutable_grad() const {
  return torch::autograd::materialize_meta(*this).grad_;
}

const Tensor& Tensor::set_requires_grad(bool requires_grad) const {
  TORCH_CHECK(defined(), "cannot call get_autograd_meta() on undefined tensor");
  c10::TensorImpl& impl = *unsafeGetTensorImpl();
  if (!requires_grad && torch::autograd::meta_of(*this) == nullptr) return *this;
  TORCH_CHECK(
      !requires_grad || !impl.is_inference() || c10::InferenceMode::is_enabled(),
      "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
  AutogradMeta& meta = torch::autograd::materialize_meta(*this);
  // What was computed goes on requiring one.
  if (!meta.grad_fn_) meta.set_requires_grad(requires_grad, impl);
  return *this;
}

Tensor& Tensor::requires_grad_(bool requires_grad) const {
  TORCH_CHECK(
      requires_grad || is_leaf(),
      "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph that "
      "doesn't require differentiation use var_no_grad = var.detach().");
  set_requires_grad(requires_grad);
  return const_cast<Tensor&>(*this);
}

bool Tensor::is_leaf() const {
  TORCH_CHECK(defined(), "cannot call get_autograd_meta() on undefined tensor");
  if (!torch::autograd::requires_grad(static_cast<const TensorBase&>(*this))) return true;
  if (!is_view() || !torch::autograd::is_detached_view(*unsafeGetTensorImpl())) return !torch::autograd::grad_fn(*this);
  const AutogradMeta* meta = torch::autograd::meta_of(*this);
  return meta == nullptr || !meta->grad_fn_;
}

void Tensor::retain_grad() const {
  torch::autograd::retain_grad(*this);
}

bool Tensor::retains_grad() const {
  if (!defined()) return false;
  const AutogradMeta* meta = torch::autograd::meta_of(*this);
  return meta != nullptr && meta->retains_grad_;
}

const c10::intrusive_ptr<torch::autograd::Node>& Tensor::grad_fn() const {
  return torch::autograd::grad_fn(*this);
}

int64_t Tensor::output_nr() const {
  if (!defined() || !torch::autograd::grad_fn(*this)) return 0;
  const AutogradMeta* meta = torch::autograd::meta_of(*this);
  return meta == nullptr ? 0 : meta->output_nr_;
}

Tensor Tensor::_base() const {
  if (!is_view()) throw std::runtime_error("Can't get base of non-view Tensor");
  return Tensor(unsafeGetTensorImpl()->base());
}

Tensor Tensor::variable_data() const {
  TORCH_CHECK(defined(), "cannot call variable_data() on undefined tensor");
  c10::intrusive_ptr<c10::TensorImpl> copy = unsafeGetTensorImpl()->shallow_copy();
  copy->set_version_counter(c10::make_intrusive<c10::VersionCounter>());
  return Tensor(std::move(copy));
}

Tensor Tensor::tensor_data() const {
  TORCH_CHECK(defined(), "cannot call tensor_data() on undefined tensor");
  return Tensor(unsafeGetTensorImpl()->shallow_copy());
}

void Tensor::set_data(const Tensor& fresh) const {
  TORCH_CHECK(defined() && fresh.defined(), "set_data: the tensor and its new data must be defined");
  TORCH_CHECK(
      !torch::autograd::requires_grad(static_cast<const TensorBase&>(*this)) ||
          c10::isFloatingType(fresh.scalar_type()) || c10::isComplexType(fresh.scalar_type()),
      "data set to a tensor that requires gradients must be floating point or complex dtype");
  c10::TensorImpl& impl = *unsafeGetTensorImpl();
  const bool same_kind =
      scalar_type() == fresh.scalar_type() && device() == fresh.device() && sizes() == fresh.sizes();
  // The version stays this tensor's own: it counts what happened to it, not to the memory it now shows.
  const uint32_t version = impl.version();
  impl.shallow_copy_from(*fresh.unsafeGetTensorImpl());
  impl.set_version_counter(c10::make_intrusive<c10::VersionCounter>(version));
  AutogradMeta* meta = torch::autograd::meta_of(*this);
  if (!same_kind && meta != nullptr) {
    // The accumulating node expects gradients of the old kind; a new one takes the leaf's hooks over.
    if (auto* node = meta->accumulator_.exchange(nullptr)) {
      const auto old = torch::autograd::NodePtr::reclaim(node);
      if (old->extras() == nullptr) return;
      if (const auto fresh = torch::autograd::grad_accumulator(*this)) {
        torch::autograd::move_leaf_hooks(*meta, *old, fresh);
      }
    }
  }
}

void Tensor::remove_hook(hook_position position) const {
  torch::autograd::remove_tensor_hook(*this, position);
}

}  // namespace at

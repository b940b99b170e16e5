#include "autograd/engine/autograd_meta.h"

#include <mutex>
#include <utility>
#include <vector>

#include "autograd/engine/accumulate_grad.h"
#include "autograd/engine/fork.h"
#include "autograd/engine/forward_grad.h"
#include "autograd/engine/generic_node.h"
#include "autograd/engine/grad_ops.h"
#include "autograd/engine/hooks.h"
#include "c10/memory/small_object.h"
#include "c10/util/exception.h"

namespace torch::autograd {
namespace {

// Takes a counted reference on `node` for a raw slot.
Node* retain(Node* node) {
  return NodePtr::reclaim_copy(node).release();
}

void apply_as_strided(GenericNode& node, const at::Tensor* grad, at::Tensor* out) {
  out[0] = node.extra<grad_ops::ViewGeometry>().of_base(grad[0]);
}

constexpr NodeKind kAsStrided{"AsStridedBackward0", apply_as_strided, GenericNode::drop_extra<grad_ops::ViewGeometry>};

const NodePtr kNoNode;

// Whether the view's history is older than its base's.
bool is_outdated(const c10::TensorImpl& view) {
  if (view.view_version() == view.version()) return false;
  const auto* base_meta = static_cast<const AutogradMeta*>(view.base()->autograd_meta());
  if (base_meta == nullptr) return false;
  return base_meta->grad_fn_.defined() || (is_detached_view(view) && view.base()->has_own_autograd_key());
}

void regenerate(const at::TensorBase& view) {
  std::lock_guard<std::mutex> lock(mutexes.view_history);
  c10::TensorImpl& impl = *view.unsafeGetTensorImpl();
  if (!is_outdated(impl)) return;
  if (impl.creation_meta() != c10::CreationMeta::kDefault) throw_view_inplace(view, /*indirect=*/true);
  const at::Tensor base(impl.base());
  GenericNode::Ptr node = GenericNode::make(
      kAsStrided, {.edges = 1, .saved = 0, .results = 1, .extra_bytes = sizeof(grad_ops::ViewGeometry)});
  node->set_edge(0, base);
  node->emplace_extra<grad_ops::ViewGeometry>(grad_ops::ViewGeometry::of(base, view));
  node->set_result_metadata(0, at::Tensor(view));
  AutogradMeta& meta = materialize_meta(view);
  move_retained(impl, meta, *node, 0);
  meta.grad_fn_ = std::move(node);
  meta.output_nr_ = 0;
  meta.requires_grad_ = false;
  impl.set_autograd_key(true);
  impl.set_view_version(impl.version());
}

}  // namespace

// Autocast keeps the casts of such tensors; it names this by a weak symbol (aten/autocast/casts.cc).
bool is_leaf_with_gradient(const c10::TensorImpl& t);
bool is_leaf_with_gradient(const c10::TensorImpl& t) {
  const auto* meta = static_cast<const AutogradMeta*>(t.autograd_meta());
  return meta != nullptr && meta->requires_grad_ && !meta->grad_fn_;
}

AutogradMeta::~AutogradMeta() {
  if (Node* node = accumulator_.load<c10::MemoryOrder::relaxed>()) NodePtr::reclaim(node).reset();
  delete_hook_keys(hook_keys_);
  if (C10_UNLIKELY(forward_grad_ != nullptr)) drop_forward_grad(*this);
}

void* AutogradMeta::operator new(size_t bytes) {
  return c10::small_alloc(bytes);
}

void AutogradMeta::operator delete(void* p, size_t bytes) noexcept {
  c10::small_free(p, bytes);
}

bool AutogradMeta::requires_grad(const c10::TensorImpl& self) const {
  if (self.has_own_autograd_key()) return true;
  // A view takes part where its base does, one made without gradients too; what is computed with such a view leads nowhere.
  // One of the same bits in another dtype has no derivative.
  if (self.is_view()) {
    return self.base()->has_own_autograd_key() && is_differentiable_type(self.dtype()) &&
           c10::toRealValueType(self.dtype()) == c10::toRealValueType(self.base()->dtype());
  }
  return self.is_inference() && requires_grad_;
}

void AutogradMeta::set_requires_grad(bool requires_grad, c10::TensorImpl& self) {
  TORCH_CHECK(
      !requires_grad || is_differentiable_type(self.dtype()),
      "Only Tensors of floating point and complex dtype can require gradients");
  TORCH_CHECK(
      !requires_grad || !self.key_set().has(c10::DispatchKey::FuncTorchBatched),
      "You are attempting to call Tensor.requires_grad_() inside of vmap, on a tensor that stands for one of each "
      "sample. Use torch::func::grad, vjp or jacrev there, or call requires_grad_() on the tensor that is given to "
      "vmap");
  requires_grad_ = requires_grad && !grad_fn_;
  if (!requires_grad) {
    grad_fn_.reset();
    output_nr_ = 0;
    retains_grad_ = false;
  }
  self.set_autograd_key(requires_grad && !self.is_inference());
}

void AutogradMeta::detach(c10::TensorImpl& self) {
  set_requires_grad(false, self);
  if (forward_grad_ != nullptr) drop_forward_grad(*this);
  self.set_forward_key(false);
}

AutogradMeta& materialize_meta(const at::TensorBase& t) {
  c10::TensorImpl* impl = t.unsafeGetTensorImpl();
  TORCH_CHECK(impl != nullptr, "cannot call get_autograd_meta() on undefined tensor");
  if (impl->autograd_meta() == nullptr) impl->set_autograd_meta(new AutogradMeta);
  return *static_cast<AutogradMeta*>(impl->autograd_meta());
}

const NodePtr& grad_fn(const at::TensorBase& t) {
  c10::TensorImpl* impl = t.unsafeGetTensorImpl();
  TORCH_CHECK(impl != nullptr, "cannot call get_autograd_meta() on undefined tensor");
  if (C10_UNLIKELY(impl->is_view()) && is_outdated(*impl)) regenerate(t);
  const auto* meta = static_cast<const AutogradMeta*>(impl->autograd_meta());
  return meta == nullptr ? kNoNode : meta->grad_fn_;
}

void throw_view_inplace(const at::TensorBase& view, bool indirect) {
  constexpr const char* kSeveral =
      "This view is the output of a function that returns multiple views. Such functions do not allow the output views to be "
      "modified inplace. You should replace the inplace operation by an out-of-place one.";
  constexpr const char* kCustom =
      "This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to "
      "handle view+inplace would override the custom backward associated with the custom Function, leading to incorrect "
      "gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function.";
  const c10::CreationMeta how = view.unsafeGetTensorImpl()->creation_meta();
  const char* const modified = indirect ? "its base or another view of its base has been modified inplace" : "is being modified inplace";
  if (is_detached_view(*view.unsafeGetTensorImpl())) {
    const bool inference = how == c10::CreationMeta::kInference;
    const char* const mode = inference ? "inference" : "no_grad";
    TORCH_CHECK(false, "A view was created in ", mode, " mode and ", modified,
                inference ? " in normal mode." : " with grad mode enabled.",
                " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by "
                "moving both the view and the inplace either both inside the ", inference ? "inference_mode" : mode,
                " block (if you don't want the inplace to be tracked) or both outside (if you want the inplace to be "
                "tracked).");
  }
  const AutogradMeta* meta = meta_of(view);
  const bool known = meta != nullptr && meta->grad_fn_;
  TORCH_CHECK(how != c10::CreationMeta::kNotImplemented, "Mutating a view made by an operator which does not have a derivative "
              "implemented is forbidden: ", modified, ".");
  TORCH_CHECK(false, "Output ", known ? meta->output_nr_ : 0, " of ", known ? meta->grad_fn_->name() : std::string("Unknown"),
              " is a view and ", modified, ". ", how == c10::CreationMeta::kCustomFunction ? kCustom : kSeveral);
}

Edge gradient_edge(const at::TensorBase& t) {
  if (const NodePtr& node = grad_fn(t)) return Edge(node, meta_of(t)->output_nr_);
  return Edge(grad_accumulator(t), 0);
}

NodePtr grad_accumulator(const at::TensorBase& t) {
  AutogradMeta* meta = meta_of(t);
  if (meta == nullptr || meta->grad_fn_ || !meta->requires_grad_) return {};
  Node* node = meta->accumulator_.load();
  if (node == nullptr) {
    NodePtr fresh(c10::make_intrusive<AccumulateGrad>(t));
    if (meta->accumulator_.compare_exchange(node, fresh.get())) {
      node = fresh.get();
      return NodePtr::reclaim_copy(fresh.release());
    }
    node = meta->accumulator_.load();
  }
  return NodePtr::reclaim_copy(node);
}

NodePtr try_get_grad_accumulator(const at::TensorBase& t) {
  AutogradMeta* meta = meta_of(t);
  Node* node = meta == nullptr ? nullptr : meta->accumulator_.load();
  return node == nullptr ? NodePtr() : NodePtr::reclaim_copy(node);
}

void set_gradient_edge(const at::TensorBase& t, Edge edge) {
  AutogradMeta& meta = materialize_meta(t);
  c10::TensorImpl& impl = *t.unsafeGetTensorImpl();
  if (dynamic_cast<AccumulateGrad*>(edge.function.get()) != nullptr) {
    // A second handle to a leaf: what is computed with it flows to that leaf.
    meta.grad_fn_.reset();
    meta.requires_grad_ = true;
    Node* expected = nullptr;
    if (meta.accumulator_.compare_exchange(expected, edge.function.get())) retain(edge.function.get());
  } else {
    meta.grad_fn_ = std::move(edge.function);
    meta.requires_grad_ = false;
  }
  meta.output_nr_ = edge.input_nr;
  impl.set_autograd_key(meta.grad_fn_.defined() || meta.requires_grad_);
  if (impl.is_view()) impl.set_view_version(impl.version());
}

}  // namespace torch::autograd

#include "autograd/engine/record.h"

#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "autograd/engine/forward_grad.h"
#include "autograd/engine/grad_ops.h"
#include "autograd/engine/hooks.h"
#include "autograd/engine/node_gate.h"
#include "c10/util/exception.h"
#include "c10/value/list.h"

namespace torch::autograd {
namespace {

// Points the tensor's history at the node. The node has the metadata already.
void attach(c10::TensorImpl& impl, NodePtr node, uint32_t output_nr) {
  auto* meta = static_cast<AutogradMeta*>(impl.autograd_meta());
  if (meta == nullptr) {
    meta = new AutogradMeta;
    impl.set_autograd_meta(meta);
  } else {
    move_retained(impl, *meta, *node, output_nr);
  }
  meta->grad_fn_ = std::move(node);
  meta->output_nr_ = output_nr;
  meta->requires_grad_ = false;
  impl.set_autograd_key(true);
  if (impl.is_view()) impl.set_view_version(impl.version());
}

// Before `impl`, just modified in place, becomes a result of `node`: nodes that `node` leads to may keep it for a backward
// pass that can only fail from now on, and it would keep them.
void break_cycles(c10::TensorImpl& impl, Node& node) {
  if (C10_LIKELY(!impl.kept_for_backward())) return;
  if (c10::raw::intrusive_ptr::use_count(&impl) == 1) {
    // Whoever kept it is gone.
    impl.set_kept_for_backward(false);
    return;
  }
  std::vector<Node*> open{&node};
  std::unordered_set<Node*> seen{&node};
  while (!open.empty()) {
    Node& next = *open.back();
    open.pop_back();
    {
      const NodeGate alone(next, true, current_frame);
      next.keep_past_of(impl);
    }
    for (const Edge* edge = next.next_edges_begin(); edge != next.next_edges_end(); ++edge) {
      Node* const target = edge->function.get();
      if (target != nullptr && seen.insert(target).second) open.push_back(target);
    }
  }
}

// base' = base with its part `view` replaced by the view's new value: edge 0 leads to the old base, edge 1 to the value.
void apply_copy_slices(GenericNode& node, const at::Tensor* grad, at::Tensor* out) {
  const auto& geometry = node.extra<grad_ops::ViewGeometry>();
  if (node.needs(0)) out[0] = geometry.outside(grad[0]);
  if (node.needs(1)) out[1] = geometry.inside(grad[0]);
}

constexpr NodeKind kCopySlices{
    "torch::autograd::CopySlices", apply_copy_slices, GenericNode::drop_extra<grad_ops::ViewGeometry>};

// After `view` became the result of a node: its base is now the result of writing it there, and the view a part of that
// base, by a node that is made when it is asked for.
void rebase_base(const at::Tensor& view) {
  c10::TensorImpl& impl = *view.unsafeGetTensorImpl();
  const at::Tensor base(impl.base());
  GenericNode::Ptr node = GenericNode::make(
      kCopySlices, {.edges = 2, .saved = 0, .results = 1, .extra_bytes = sizeof(grad_ops::ViewGeometry)});
  node->set_edge(0, base);
  node->set_edge(1, view);
  node->emplace_extra<grad_ops::ViewGeometry>(grad_ops::ViewGeometry::of(base, view));
  node->set_result_metadata(0, base);
  break_cycles(*base.unsafeGetTensorImpl(), *node);
  break_cycles(impl, *node);
  attach(*base.unsafeGetTensorImpl(), NodePtr(std::move(node)), 0);
  impl.set_view_version(impl.version() - 1);
}

}  // namespace

bool requires_grad(at::TensorList tensors) {
  for (const at::Tensor& t : tensors) {
    if (requires_grad(static_cast<const at::TensorBase&>(t))) return true;
  }
  return false;
}

bool requires_grad(const c10::List<std::optional<at::Tensor>>& tensors) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::optional<at::Tensor>& t = tensors[i];
    if (t.has_value() && requires_grad(static_cast<const at::TensorBase&>(*t))) return true;
  }
  return false;
}

void set_history(const at::Tensor& result, const GenericNode::Ptr& node, uint32_t output_nr) {
  if (!result.defined()) return;
  c10::TensorImpl& impl = *result.unsafeGetTensorImpl();
  if (!is_differentiable_type(impl.dtype())) return;
  node->set_result_metadata(output_nr, result);
  attach(impl, NodePtr(node), output_nr);
}

void set_history(const at::Tensor& result, const NodePtr& node, uint32_t output_nr) {
  if (!result.defined()) return;
  c10::TensorImpl& impl = *result.unsafeGetTensorImpl();
  TORCH_CHECK(
      is_differentiable_type(impl.dtype()), "only Tensors of floating point and complex dtype can require gradients");
  TORCH_INTERNAL_ASSERT(output_nr < node->num_inputs());
  attach(impl, node, output_nr);
}

void set_history(at::TensorList results, const GenericNode::Ptr& node, uint32_t first_nr) {
  for (const at::Tensor& result : results) set_history(result, node, first_nr++);
}

void set_multi_view_history(at::TensorList views, const GenericNode::Ptr& node, uint32_t first_nr) {
  for (const at::Tensor& view : views) {
    set_history(view, node, first_nr++);
    if (view.is_view()) view.unsafeGetTensorImpl()->set_creation_meta(c10::CreationMeta::kMultiOutput);
  }
}

void check_inplace(const at::Tensor& self, bool record) {
  if (!record || !self.defined()) return;
  c10::TensorImpl& impl = *self.unsafeGetTensorImpl();
  if (impl.is_view()) {
    if (impl.creation_meta() != c10::CreationMeta::kDefault) throw_view_inplace(self, /*indirect=*/false);
    const at::Tensor base(impl.base());
    const auto* base_meta = meta_of(base);
    TORCH_CHECK(
        base_meta == nullptr || !base_meta->requires_grad_,
        "a view of a leaf Variable that requires grad is being used in an in-place operation.");
  }
  const auto* meta = meta_of(self);
  TORCH_CHECK(
      meta == nullptr || !meta->requires_grad_ || meta->grad_fn_,
      "a leaf Variable that requires grad is being used in an in-place operation.");
}

void check_inplace(at::TensorList self, bool record) {
  for (const at::Tensor& t : self) check_inplace(t, record);
}

void rebase_history(const at::Tensor& self, const GenericNode::Ptr& node, uint32_t output_nr) {
  if (!self.defined()) return;
  c10::TensorImpl& impl = *self.unsafeGetTensorImpl();
  if (!is_differentiable_type(impl.dtype())) return;
  node->set_result_metadata(output_nr, self);
  break_cycles(impl, *node);
  attach(impl, NodePtr(node), output_nr);
  if (impl.is_view()) rebase_base(self);
}

void rebase_history(at::TensorList self, const GenericNode::Ptr& node, uint32_t first_nr) {
  for (const at::Tensor& t : self) rebase_history(t, node, first_nr++);
}

void rebase_history(const at::Tensor& self, const NodePtr& node, uint32_t output_nr) {
  if (self.defined()) break_cycles(*self.unsafeGetTensorImpl(), *node);
  set_history(self, node, output_nr);
  if (self.defined() && self.is_view()) rebase_base(self);
}

namespace {

// The wrappers around a recorded call have come down to level 0 and exclude the key that tangents of further levels need.
class SeesTangents {
 public:
  SeesTangents() : state_(c10::thread_state()), before_(state_.explicitly_excluded) { set(before_ - c10::kForwardKey); }
  ~SeesTangents() { set(before_); }
  SeesTangents(const SeesTangents&) = delete;
  SeesTangents& operator=(const SeesTangents&) = delete;

 private:
  void set(c10::DispatchKeySet keys) {
    state_.explicitly_excluded = keys;
    state_.update();
  }
  c10::ThreadState& state_;
  const c10::DispatchKeySet before_;
};

}  // namespace

at::Tensor saved_before_inplace(const at::Tensor& self) {
  at::Tensor copy = [&] {
    c10::NoGradGuard no_grad;
    return grad_ops::clone_like(self, self);
  }();
  if (requires_grad(static_cast<const at::TensorBase&>(self))) set_gradient_edge(copy, gradient_edge(self));
  const std::vector<at::Tensor> tangents = all_tangents_of(self);
  if (tangents.empty()) return copy;
  const SeesTangents sees;
  for (size_t level = 0; level < tangents.size(); ++level) {
    const ForwardScope scope(static_cast<int>(level));
    set_tangent(copy, tangents[level]);
  }
  return copy;
}

void check_no_grad_for_out(const char* operator_name, bool any) {
  if (!any) return;
  std::string name(operator_name);
  if (const size_t dot = name.find('.'); dot != std::string::npos) name.resize(dot);
  TORCH_CHECK(
      false, name, "(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
      "requires grad.");
}

namespace {

struct NotImplementedExtra {
  std::string name;
};

void apply_not_implemented(GenericNode& node, const at::Tensor*, at::Tensor*) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      false, "the derivative for '", node.extra<NotImplementedExtra>().name, "' is not implemented.");
}

constexpr NodeKind kNotImplemented{
    "NotImplemented", apply_not_implemented, GenericNode::drop_extra<NotImplementedExtra>};

}  // namespace

GenericNode::Ptr make_not_implemented_node(const char* operator_name, uint32_t edges, uint32_t results) {
  GenericNode::Ptr node = GenericNode::make(
      kNotImplemented,
      {.edges = edges, .saved = 0, .results = results, .extra_bytes = sizeof(NotImplementedExtra)});
  node->emplace_extra<NotImplementedExtra>(operator_name);
  return node;
}

std::vector<at::Tensor> unpack_list(GenericNode& node, size_t first, size_t count) {
  std::vector<at::Tensor> tensors;
  tensors.reserve(count);
  for (size_t i = 0; i < count; ++i) tensors.push_back(node.saved(first + i).get());
  return tensors;
}

std::vector<at::Tensor> materialize_grads(GenericNode& node, const at::Tensor* grads) {
  std::vector<at::Tensor> all;
  all.reserve(node.num_inputs());
  for (uint32_t i = 0; i < node.num_inputs(); ++i) {
    all.push_back(
        grads[i].defined() || !node.input_metadata(i).defined() ? grads[i] : node.input_metadata(i).zeros());
  }
  return all;
}

void put_list(GenericNode& node, at::Tensor* grad_inputs, size_t first, std::vector<at::Tensor>&& grads) {
  for (size_t i = 0; i < grads.size(); ++i) {
    if (node.needs(first + i)) grad_inputs[first + i] = std::move(grads[i]);
  }
}

}  // namespace torch::autograd

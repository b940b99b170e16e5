#include "autograd/engine/hooks.h"

#include <utility>
#include <vector>

#include "c10/util/exception.h"

namespace torch::autograd {

// By position: the node a hook was added to and its key there (0: removed).
struct AutogradMeta::HookKeys {
  struct Place {
    NodePtr node;
    uint64_t key;
  };
  std::vector<Place> places;
};

void delete_hook_keys(AutogradMeta::HookKeys* keys) noexcept {
  delete keys;
}

unsigned register_tensor_hook(const at::TensorBase& t, TensorHook hook) {
  TORCH_CHECK(requires_grad(t), "cannot register a hook on a variable that doesn't require gradient");
  const Edge edge = gradient_edge(t);
  const uint64_t key = add_tensor_hook(*edge.function, edge.input_nr, std::move(hook));
  AutogradMeta& meta = materialize_meta(t);
  if (meta.hook_keys_ == nullptr) meta.hook_keys_ = new AutogradMeta::HookKeys;
  meta.hook_keys_->places.push_back({edge.function, key});
  return static_cast<unsigned>(meta.hook_keys_->places.size() - 1);
}

void remove_tensor_hook(const at::TensorBase& t, unsigned position) {
  AutogradMeta* meta = t.defined() ? meta_of(t) : nullptr;
  TORCH_CHECK(
      meta != nullptr && meta->hook_keys_ != nullptr && position < meta->hook_keys_->places.size(),
      "Invalid index, no hook at position ", position);
  AutogradMeta::HookKeys::Place& place = meta->hook_keys_->places[position];
  if (place.node) remove_tensor_hook(*place.node, place.key);
  place.node.reset();
}

void retain_grad(const at::TensorBase& t) {
  TORCH_CHECK(requires_grad(t), "can't retain_grad on Tensor that has requires_grad=False");
  const NodePtr node = grad_fn(t);
  if (!node) return;
  AutogradMeta& meta = *meta_of(t);
  if (std::exchange(meta.retains_grad_, true)) return;
  node->mutable_extras().retained.push_back({meta.output_nr_, c10::weak_intrusive_ptr<c10::TensorImpl>(t.getIntrusivePtr())});
}

}  // namespace torch::autograd

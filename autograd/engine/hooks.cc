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

NodeExtras::~NodeExtras() {
  if (handle == nullptr) return;
  std::lock_guard<std::mutex> lock(handle->mutex);
  handle->node = nullptr;
}

std::shared_ptr<NodeHandle> handle_of(Node& node) {
  NodeExtras& extras = node.mutable_extras();
  if (extras.handle == nullptr) extras.handle = std::make_shared<NodeHandle>(&node);
  return extras.handle;
}

uint64_t add_tensor_hook(Node& node, uint32_t input_nr, TensorHook hook, bool even_undefined) {
  NodeExtras& extras = node.mutable_extras();
  extras.tensor_hooks.push_back({extras.next_key, input_nr, even_undefined, std::move(hook)});
  return extras.next_key++;
}

bool remove_tensor_hook(Node& node, uint64_t key) {
  return node.extras() != nullptr &&
      std::erase_if(node.extras()->tensor_hooks, [key](const auto& keyed) { return keyed.key == key; }) != 0;
}

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

utils::hooks::RemovableHandle register_post_accumulate_grad_hook(const at::TensorBase& t, PostAccumulateHook hook) {
  TORCH_CHECK(requires_grad(t), "cannot register a hook on a tensor that doesn't require gradient");
  TORCH_CHECK(!grad_fn(t), "post accumulate grad hooks cannot be registered on non-leaf tensors");
  TORCH_CHECK(hook != nullptr, "register_post_accumulate_grad_hook: the hook is empty");
  const NodePtr node = grad_accumulator(t);
  NodeExtras& extras = node->mutable_extras();
  const uint64_t key = extras.next_key++;
  extras.post_accumulate_hooks.push_back({key, std::move(hook)});
  return utils::hooks::RemovableHandle([leaf = c10::weak_intrusive_ptr<c10::TensorImpl>(t.getIntrusivePtr()), key] {
    const at::Tensor alive(leaf.lock());
    const NodePtr accumulator = alive.defined() ? try_get_grad_accumulator(alive) : NodePtr();
    if (accumulator == nullptr || accumulator->extras() == nullptr) return;
    std::erase_if(accumulator->extras()->post_accumulate_hooks, [key](const auto& keyed) { return keyed.key == key; });
  });
}

void move_retained(c10::TensorImpl& t, const AutogradMeta& meta, Node& to, uint32_t output_nr) {
  if (C10_LIKELY(!meta.retains_grad_)) return;
  if (meta.grad_fn_ && meta.grad_fn_->extras() != nullptr) {
    std::erase_if(meta.grad_fn_->extras()->retained, [&](const NodeExtras::Retained& kept) {
      return kept.tensor.unsafe_get() == &t;
    });
  }
  to.mutable_extras().retained.push_back(
      {output_nr, c10::weak_intrusive_ptr<c10::TensorImpl>(c10::intrusive_ptr<c10::TensorImpl>::reclaim_copy(&t))});
}

void move_leaf_hooks(AutogradMeta& meta, Node& from, const NodePtr& to) {
  if (from.extras() == nullptr) return;
  NodeExtras& old = *from.extras();
  NodeExtras& fresh = to->mutable_extras();
  fresh.next_key = old.next_key;
  fresh.tensor_hooks = std::exchange(old.tensor_hooks, {});
  fresh.post_accumulate_hooks = std::exchange(old.post_accumulate_hooks, {});
  if (meta.hook_keys_ == nullptr) return;
  for (AutogradMeta::HookKeys::Place& place : meta.hook_keys_->places) {
    if (place.node.get() == &from) place.node = to;
  }
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

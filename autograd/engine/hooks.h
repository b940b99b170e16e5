#pragma once

#include <cstdint>
#include <functional>

#include "aten/core/tensor.h"
#include "autograd/engine/autograd_meta.h"
#include "autograd/engine/node_extras.h"
#include "autograd/engine/removable_handle.h"

namespace torch::autograd {

// Adds `hook` to the gradient of `t`; returns its position for remove_hook. Throws where `t` requires no gradient.
unsigned register_tensor_hook(const at::TensorBase& t, TensorHook hook);
// Throws "Invalid index, no hook at position 99".
void remove_tensor_hook(const at::TensorBase& t, unsigned position);

// Adds `hook` to the leaf `t`: it is called with `t` whenever a backward pass has updated t.grad(). Throws "post accumulate
// grad hooks cannot be registered on non-leaf tensors".
utils::hooks::RemovableHandle register_post_accumulate_grad_hook(const at::TensorBase& t, PostAccumulateHook hook);

// Makes a non-leaf keep its gradient in grad(), after all hooks on it; nothing for leaves, which always do.
void retain_grad(const at::TensorBase& t);

// `t`, whose meta is `meta`, becomes result `output_nr` of `to`: if it keeps its gradient, it keeps the one that comes there.
void move_retained(c10::TensorImpl& t, const AutogradMeta& meta, Node& to, uint32_t output_nr);
// The hooks of a leaf go from its old accumulating node to its new one.
void move_leaf_hooks(AutogradMeta& meta, Node& from, const NodePtr& to);

// Lets go of the positions of a tensor's hooks; the hooks stay with their nodes.
void delete_hook_keys(AutogradMeta::HookKeys* keys) noexcept;

}  // namespace torch::autograd

#pragma once

#include <cstdint>
#include <functional>

#include "aten/core/tensor.h"
#include "autograd/engine/autograd_meta.h"
#include "autograd/engine/node_extras.h"

namespace torch::autograd {

// Adds `hook` to the gradient of `t`; returns its position for remove_hook. Throws where `t` requires no gradient.
unsigned register_tensor_hook(const at::TensorBase& t, TensorHook hook);
// Throws "Invalid index, no hook at position 99".
void remove_tensor_hook(const at::TensorBase& t, unsigned position);

// Makes a non-leaf keep its gradient in grad(), after all hooks on it; nothing for leaves, which always do.
void retain_grad(const at::TensorBase& t);

// Lets go of the positions of a tensor's hooks; the hooks stay with their nodes.
void delete_hook_keys(AutogradMeta::HookKeys* keys) noexcept;

}  // namespace torch::autograd

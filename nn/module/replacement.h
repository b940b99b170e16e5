// For libraries that change models layer by layer after they were built, as quantization does.
//
//   call_instead(*conv, AnyModule(fused));   // conv(x), wherever somebody calls it, is fused(x) from now on
//   attach(*conv, std::make_shared<const QConfig>(qconfig));
//
// A layer is replaced where it is registered (Module::set_submodule), which a member that holds it does not see. Calls
// of the member, as `conv(x)`, are calls that hooks see: call_instead() turns them over. `conv->forward(x)` stays what
// it was.
#pragma once

#include <functional>
#include <memory>
#include <typeindex>
#include <typeinfo>
#include <vector>

#include "nn/module/any_module.h"
#include "nn/module/module.h"

namespace torch::nn {

// A call by its tensors, as hooks see them (module_call.h): arguments in, results out.
using TensorsCall = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>& arguments)>;

// `call` is made in place of the module's forward, between the module's hooks. Null: forward again.
void call_instead(Module& module, TensorsCall call);
// The same for a module that maps a tensor to a tensor, which is called with its hooks. Throws c10::Error where `other`
// takes anything else than one tensor, when it is called.
void call_instead(Module& module, AnyModule other);
// Whether another is called.
bool is_replaced(const Module& module);

// The forward pre-hooks and forward hooks of a module become those of another, behind its own. Their handles no longer
// remove them.
void move_forward_hooks(Module& from, Module& to);
// Takes them away.
void remove_forward_hooks(Module& module);
// Takes those forward hooks away whose function is of this type.
void remove_forward_hooks(Module& module, const std::type_info& type);

namespace detail {
void attach(Module& module, std::type_index type, std::shared_ptr<const void> value);
const void* attached(const Module& module, std::type_index type);
}  // namespace detail

// Keeps a value of a type of one's own with a module; null takes it away. A clone shares it, and of a module with
// such values a clone has all children, also those that reset() does not make.
template <typename T>
void attach(Module& module, std::shared_ptr<const T> value) {
  detail::attach(module, typeid(T), std::move(value));
}
// Null: there is none.
template <typename T>
const T* attached(const Module& module) {
  return static_cast<const T*>(detail::attached(module, typeid(T)));
}

}  // namespace torch::nn

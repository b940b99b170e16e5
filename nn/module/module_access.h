// Opens a module's own state to hooks, state dictionaries and archives.
#pragma once

#include "nn/module/module.h"

namespace torch::nn {

struct ModuleAccess {
  static detail::HookSlot& hooks(Module& m) { return m.hooks_; }
  static const detail::HookSlot& hooks(const Module& m) { return m.hooks_; }
  static OrderedDict<std::string, at::Tensor>& parameters(Module& m) { return m.parameters_; }
  static OrderedDict<std::string, at::Tensor>& buffers(Module& m) { return m.buffers_; }
  static const OrderedDict<std::string, std::shared_ptr<Module>>& children(const Module& m) { return m.children_; }
  static at::Tensor* tensor_member(Module& m, const std::string& name) { return m.tensor_member(name); }
  static void initialize_from(Module& m, const StateDict& state, const std::string& prefix) {
    m.initialize_from(state, prefix);
  }
  static void remove_child(Module& m, const std::string& name) { m.children_.erase(name); }
  static bool is_persistent(const Module& m, const std::string& buffer) { return m.is_persistent(buffer); }
};

}  // namespace torch::nn

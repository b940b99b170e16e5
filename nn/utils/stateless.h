// Calls of modules with other parameters than their own.
//
//   torch::OrderedDict<std::string, torch::Tensor> weights = net->named_parameters();
//   for (auto& item : weights) *item = *item - 0.1 * gradient_of(item.key());
//   torch::Tensor y = torch::func::functional_call(net, weights, x);        // net itself is as it was
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nn/module/computed_tensor.h"

namespace torch::nn::utils::stateless {

using Tensors = OrderedDict<std::string, at::Tensor>;

namespace detail {
// The modules' tensors by path that the given ones take the place of: those tied to them too, if `tie_weights`.
void replace(Module& module, const Tensors& tensors, bool tie_weights, bool strict, ReplacedTensors& replaced);
}  // namespace detail

// How functional_call() takes the names: with `tie_weights` a tensor that the module has under several names is
// replaced under all; with `strict` the names are all those of the module, and no others.
struct Options {
  bool tie_weights = true;
  bool strict = false;
};

// Calls the module with the parameters and buffers that `tensors` names, by dotted path, in place of its own; others
// are the module's. What the call changes in place it changes in the given tensors; gradients go to them. Names that
// the module has not are left alone. Throws c10::ValueError where two tensors are given for one that is tied. One
// thread at a time may call a module so. The classes of the modules say where their tensors are with
// TORCH_MODULE_TENSORS (module.h); all layers do.
template <ModuleHandle M, typename... Args>
auto functional_call(const M& module, const Tensors& tensors, const Options& options, Args&&... args) {
  auto& m = const_cast<std::remove_const_t<std::remove_reference_t<decltype(*module)>>&>(*module);
  ReplacedTensors replaced(m);
  detail::replace(m, tensors, options.tie_weights, options.strict, replaced);
  return call_module(m, std::forward<Args>(args)...);
}
template <ModuleHandle M, typename... Args>
requires(sizeof...(Args) == 0 || !(std::is_same_v<std::decay_t<Args>, Options> ||
                                   ...)) auto functional_call(const M& module, const Tensors& tensors, Args&&... args) {
  return functional_call(module, tensors, Options(), std::forward<Args>(args)...);
}
// Parameters and buffers apart. A later name counts where two are the same.
template <ModuleHandle M, typename... Args>
auto functional_call(const M& module, const std::vector<Tensors>& tensors, Args&&... args) {
  Tensors all;
  for (const Tensors& some : tensors) {
    for (const auto& item : some) {
      if (at::Tensor* there = all.find(item.key())) {
        *there = item.value();
      } else {
        all.insert(item.key(), item.value());
      }
    }
  }
  return functional_call(module, all, std::forward<Args>(args)...);
}

}  // namespace torch::nn::utils::stateless

namespace torch::func {
using FunctionalCallOptions = nn::utils::stateless::Options;
using nn::utils::stateless::functional_call;
}  // namespace torch::func

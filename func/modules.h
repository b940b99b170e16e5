// Modules as functions of their parameters: with functional_call() (nn/utils/stateless.h) and vmap an ensemble of modules is
// one call.
//
//   const auto [params, buffers] = torch::func::stack_module_state(models);
//   auto call = [&](const Tensors& p, const Tensors& b, const at::Tensor& x) {
//     return functional_call(models[0], std::vector{p, b}, x);
//   };
//   at::Tensor y = vmap(call, {0, 0, std::nullopt})(params, buffers, x);     // [models, outputs of one]
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "nn/utils/stateless.h"

namespace torch::func {

using ModuleState = OrderedDict<std::string, at::Tensor>;

namespace detail {
std::pair<ModuleState, ModuleState> stack_module_state(const std::vector<nn::Module*>& modules);
}  // namespace detail

/// The parameters of modules of one class, and their buffers, stacked by name: each tensor has a first dimension that counts the
/// modules. Parameters are new leaves, which require a gradient where those of the modules do.
///
/// Throws Error where there is no module, where classes, names, or the mode (training or evaluation) differ, and where a parameter
/// requires a gradient in some of the modules only.
template <nn::ModuleHandle M>
std::pair<ModuleState, ModuleState> stack_module_state(const std::vector<M>& modules) {
  std::vector<nn::Module*> all;
  for (const M& module : modules) all.push_back(const_cast<std::remove_const_t<std::remove_reference_t<decltype(*module)>>*>(&*module));
  return detail::stack_module_state(all);
}

}  // namespace torch::func

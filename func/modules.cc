#include "func/modules.h"

#include <typeinfo>

#include "aten/ops/join/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"

namespace torch::func::detail {
namespace {

ModuleState stacked(const std::vector<ModuleState>& states, const char* what) {
  ModuleState result;
  for (const auto& item : states[0]) {
    std::vector<at::Tensor> tensors;
    size_t recorded = 0;
    for (size_t i = 0; i < states.size(); ++i) {
      const at::Tensor* const t = states[i].find(item.key());
      TORCH_CHECK(t != nullptr, "stack_module_state: module ", i, " has no ", what, " '", item.key(), "'");
      recorded += t->requires_grad() ? 1 : 0;
      tensors.push_back(at::detach(*t));
    }
    TORCH_CHECK(recorded == 0 || recorded == states.size(), "Expected ", item.key(),
                " from each model to have the same .requires_grad");
    result.insert(item.key(), at::stack(tensors));
    if (recorded != 0) result[item.key()].set_requires_grad(true);
  }
  return result;
}

}  // namespace

std::pair<ModuleState, ModuleState> stack_module_state(const std::vector<nn::Module*>& modules) {
  TORCH_CHECK(!modules.empty(), "stack_module_state: Expected at least one model, got 0.");
  std::vector<ModuleState> parameters, buffers;
  const nn::Module& first = *modules[0];
  for (const nn::Module* module : modules) {
    const nn::Module& one = *module;
    TORCH_CHECK(one.is_training() == first.is_training(),
                "stack_module_state: Expected all models to have the same training/eval mode.");
    TORCH_CHECK(typeid(one) == typeid(first),
                "stack_module_state: Expected all models to be of the same class.");
    parameters.push_back(one.named_parameters());
    buffers.push_back(one.named_buffers());
    TORCH_CHECK(parameters.back().size() == parameters[0].size() && buffers.back().size() == buffers[0].size(),
                "stack_module_state: Expected all models to have the same parameters and buffers.");
  }
  return {stacked(parameters, "parameter"), stacked(buffers, "buffer")};
}

}  // namespace torch::func::detail

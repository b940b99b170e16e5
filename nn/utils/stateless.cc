#include "nn/utils/stateless.h"

#include <algorithm>
#include <unordered_map>

#include "c10/util/string_util.h"
#include "nn/module/module_access.h"

namespace torch::nn::utils::stateless::detail {
namespace {

struct Named {
  std::string path;
  const c10::TensorImpl* tensor;
};

void list(Module& m, const std::string& prefix, std::vector<Named>& all) {
  for (auto* tensors : {&ModuleAccess::parameters(m), &ModuleAccess::buffers(m)}) {
    for (const auto& item : *tensors) {
      if (item.value().defined()) all.push_back({prefix + item.key(), item.value().unsafeGetTensorImpl()});
    }
  }
  for (const auto& child : ModuleAccess::children(m)) {
    if (child.value() != nullptr) list(*child.value(), prefix + child.key() + ".", all);
  }
}

std::string listed(const char* which, std::vector<std::string> names) {
  if (names.empty()) return "";
  std::sort(names.begin(), names.end());
  return c10::str("\n\t", which, " key(s): '", c10::Join("', '", names), "'.");
}

void check_names(const Module& module, const std::vector<Named>& all, const Tensors& tensors, bool tie_weights) {
  std::unordered_map<const c10::TensorImpl*, bool> given;
  std::vector<std::string> missing, unexpected;
  std::unordered_map<std::string, bool> known;
  for (const Named& named : all) {
    known[named.path] = true;
    if (tensors.contains(named.path)) given[named.tensor] = true;
  }
  for (const Named& named : all) {
    if (!tensors.contains(named.path) && !(tie_weights && given.contains(named.tensor))) missing.push_back(named.path);
  }
  for (const auto& item : tensors) {
    if (!known.contains(item.key())) unexpected.push_back(item.key());
  }
  if (missing.empty() && unexpected.empty()) return;
  TORCH_CHECK(false, "Error(s) in reparametrizing for ", nn::detail::class_name(module), ":",
              listed("Unexpected", unexpected), listed("Missing", missing));
}

}  // namespace

void replace(Module& module, const Tensors& tensors, bool tie_weights, bool strict, ReplacedTensors& replaced) {
  std::vector<Named> all;
  list(module, "", all);
  if (strict) check_names(module, all, tensors, tie_weights);
  // What was given for a tensor, for its other names.
  std::unordered_map<const c10::TensorImpl*, std::pair<std::string, at::Tensor>> of_tied;
  if (tie_weights) {
    for (const Named& named : all) {
      const at::Tensor* const given = tensors.find(named.path);
      if (given == nullptr) continue;
      const auto [there, fresh] = of_tied.try_emplace(named.tensor, named.path, *given);
      TORCH_CHECK_VALUE(fresh || there->second.second.is_same(*given),
                        "functional_call got multiple values for keys ['", there->second.first, "', '", named.path,
                        "'], which are tied. Consider using tie_weights=false");
    }
  }
  for (const Named& named : all) {
    if (const at::Tensor* given = tensors.find(named.path)) {
      replaced.replace(named.path, *given);
    } else if (const auto tied = of_tied.find(named.tensor); tied != of_tied.end()) {
      replaced.replace(named.path, tied->second.second);
    }
  }
}

}  // namespace torch::nn::utils::stateless::detail

// Walks over modules that are about to be replaced. For the files of this folder.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "nn/module/module.h"
#include "quantization/eager/mappings.h"

namespace torch::quantization::detail {

/// f(path, module, parent's path) for all modules below, each once; what is in whole ones (is_whole) is left out.
template <class F>
void for_modules(nn::Module& model, const F& f) {
  std::string within;
  for (const auto& item : model.named_modules(std::string(), /*include_self=*/false)) {
    if (!within.empty() && item.key().starts_with(within)) continue;
    within.clear();
    f(item.key(), *item.value());
    if (is_whole(*item.value())) within = item.key() + ".";
  }
}

/// f(module) for the model and all modules below.
template <class F>
void for_all(nn::Module& model, const F& f) {
  f(model);
  for (const auto& module : model.modules(/*include_self=*/false)) f(*module);
}

/// Collects replacements, then makes all of them.
class Replacing {
 public:
  explicit Replacing(nn::Module& model) : model_(model) {}
  void add(const std::string& path, Replacement replacement);
  /// `forget`: modules that were replaced have no tensors any more.
  void apply(bool forget);

 private:
  nn::Module& model_;
  std::vector<std::pair<std::string, Replacement>> all_;
};

/// A forward hook that shows the results to the child activation_post_process, before all others.
void observe(nn::Module& module, std::shared_ptr<ObserverBase> observer);
/// Takes hook and child away.
void stop_observing(nn::Module& module);

}  // namespace torch::quantization::detail

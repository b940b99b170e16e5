#include "nn/module/module_dict.h"

namespace torch::nn {

std::shared_ptr<Module> ModuleDictImpl::clone(const std::optional<c10::Device>& device) const {
  const detail::Cloning cloning(*this);
  if (auto made = cloning.made()) return made;
  auto copy = std::make_shared<ModuleDictImpl>();
  for (const auto& child : children_) copy->register_module(child.key(), child.value()->clone(device));
  return cloning.finish(copy);
}

void ModuleDictImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, "torch::nn::ModuleDict");
}

std::shared_ptr<Module> ModuleDictImpl::operator[](const std::string& key) const {
  const std::shared_ptr<Module>* module = children_.find(key);
  TORCH_CHECK(module != nullptr, "Key '", key, "' is not defined");
  return *module;
}

std::shared_ptr<Module> ModuleDictImpl::pop(const std::string& key) {
  std::shared_ptr<Module> module = (*this)[key];
  children_.erase(key);
  return module;
}

void ModuleDictImpl::update(const std::vector<std::pair<std::string, std::shared_ptr<Module>>>& modules) {
  for (const auto& [key, module] : modules) {
    if (children_.contains(key)) {
      replace_module(key, module);
    } else {
      register_module(key, module);
    }
  }
}

template class Cloneable<ModuleDictImpl>;

}  // namespace torch::nn

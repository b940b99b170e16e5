#include "nn/module/module_list.h"

namespace torch::nn {

std::shared_ptr<Module> ModuleListImpl::clone(const std::optional<c10::Device>& device) const {
  const detail::Cloning cloning(*this);
  if (auto made = cloning.made()) return made;
  auto copy = std::make_shared<ModuleListImpl>();
  for (const auto& module : modules_) copy->push_back(module->clone(device));
  return cloning.finish(copy);
}

void ModuleListImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, "torch::nn::ModuleList");
}

void ModuleListImpl::push_back(std::shared_ptr<Module> module) {
  register_module(std::to_string(modules_.size()), module);
  modules_.push_back(std::move(module));
}

void ModuleListImpl::insert(size_t index, std::shared_ptr<Module> module) {
  TORCH_CHECK(index <= size(), "Index out of range");
  modules_.insert(modules_.begin() + static_cast<std::ptrdiff_t>(index), std::move(module));
  children_.clear();
  for (size_t i = 0; i < modules_.size(); ++i) register_module(std::to_string(i), modules_[i]);
}

std::shared_ptr<Module> ModuleListImpl::pop(int64_t index) {
  const int64_t n = static_cast<int64_t>(size());
  const int64_t at = index < 0 ? index + n : index;
  TORCH_CHECK_INDEX(at >= 0 && at < n, "index ", index, " is out of range");
  std::shared_ptr<Module> module = std::move(modules_[static_cast<size_t>(at)]);
  modules_.erase(modules_.begin() + static_cast<std::ptrdiff_t>(at));
  children_.clear();
  for (size_t i = 0; i < modules_.size(); ++i) register_module(std::to_string(i), modules_[i]);
  return module;
}

void ModuleListImpl::on_set_child(const std::string& name, const std::shared_ptr<Module>& module) {
  for (size_t i = 0; i < size(); ++i) {
    if (children_[i].key() == name) {
      modules_[i] = module;
      return;
    }
  }
  TORCH_CHECK(name == std::to_string(size()), "ModuleList: the next module is submodule '", size(), "', not '", name, "'");
  modules_.push_back(module);
}

std::shared_ptr<Module> ModuleListImpl::ptr(size_t index) const {
  TORCH_CHECK(index < size(), "Index out of range");
  return modules_[index];
}

template class Cloneable<ModuleListImpl>;

}  // namespace torch::nn

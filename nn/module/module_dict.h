// ModuleDict: registered modules by name, in order, without a forward of its own.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nn/module/cloneable.h"

namespace torch::nn {

class ModuleDictImpl : public Cloneable<ModuleDictImpl> {
 public:
  using Iterator = OrderedDict<std::string, std::shared_ptr<Module>>::Iterator;
  using ConstIterator = OrderedDict<std::string, std::shared_ptr<Module>>::ConstIterator;

  ModuleDictImpl() = default;
  explicit ModuleDictImpl(const std::vector<std::pair<std::string, std::shared_ptr<Module>>>& modules) {
    update(modules);
  }
  explicit ModuleDictImpl(const OrderedDict<std::string, std::shared_ptr<Module>>& modules) { update(modules.pairs()); }

  std::shared_ptr<Module> clone(const std::optional<c10::Device>& device = std::nullopt) const override;
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  std::vector<std::pair<std::string, std::shared_ptr<Module>>> items() const { return children_.pairs(); }
  std::vector<std::string> keys() const { return children_.keys(); }
  std::vector<std::shared_ptr<Module>> values() const { return children_.values(); }
  size_t size() const noexcept { return children_.size(); }
  bool empty() const noexcept { return children_.is_empty(); }
  bool contains(const std::string& key) const noexcept { return children_.contains(key); }
  void clear() { children_.clear(); }

  // Throws "Key 'zz' is not defined".
  std::shared_ptr<Module> operator[](const std::string& key) const;
  template <typename M>
  M& at(const std::string& key) {
    M* module = (*this)[key]->template as<M>();
    TORCH_CHECK(module != nullptr, "ModuleDict: the module '", key, "' is not of the requested type");
    return *module;
  }
  template <typename M>
  const M& at(const std::string& key) const {
    return const_cast<ModuleDictImpl*>(this)->at<M>(key);
  }
  // Takes the module out and returns it.
  std::shared_ptr<Module> pop(const std::string& key);
  // Adds modules, or replaces those of the same names.
  void update(const std::vector<std::pair<std::string, std::shared_ptr<Module>>>& modules);
  void update(std::initializer_list<std::pair<std::string, std::shared_ptr<Module>>> modules) {
    update(std::vector<std::pair<std::string, std::shared_ptr<Module>>>(modules));
  }
  void update(const OrderedDict<std::string, std::shared_ptr<Module>>& modules) { update(modules.pairs()); }
  void update(const ModuleDictImpl& other) { update(other.items()); }

  Iterator begin() { return children_.begin(); }
  Iterator end() { return children_.end(); }
  ConstIterator begin() const { return children_.begin(); }
  ConstIterator end() const { return children_.end(); }
};
TORCH_COMPILED_MODULE(ModuleDict);

}  // namespace torch::nn

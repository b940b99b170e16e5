// ModuleList: registered modules without a forward of its own. Children are named "0", "1" ...
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "nn/module/cloneable.h"

namespace torch::nn {

class ModuleListImpl : public Cloneable<ModuleListImpl> {
 public:
  using Iterator = std::vector<std::shared_ptr<Module>>::iterator;
  using ConstIterator = std::vector<std::shared_ptr<Module>>::const_iterator;

  ModuleListImpl() = default;
  template <typename... Modules>
  requires(sizeof...(Modules) > 0 &&
           !(sizeof...(Modules) == 1 && (std::is_same_v<std::decay_t<Modules>, ModuleListImpl> &&
                                         ...))) explicit ModuleListImpl(Modules&&... modules) {
    (push_back(std::forward<Modules>(modules)), ...);
  }

  std::shared_ptr<Module> clone(const std::optional<c10::Device>& device = std::nullopt) const override;
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  void push_back(std::shared_ptr<Module> module);
  template <detail::ModuleImpl M>
  void push_back(M&& module) {
    push_back(std::make_shared<std::decay_t<M>>(std::forward<M>(module)));
  }
  template <typename M>
  void push_back(const ModuleHolder<M>& holder) {
    push_back(std::shared_ptr<Module>(holder.ptr()));
  }
  template <typename Container>
  void extend(const Container& container) {
    for (const auto& module : container) push_back(module);
  }
  template <typename M>
  void append(M&& module) {
    push_back(std::forward<M>(module));
  }
  // Takes the module at `index` out, from the end where negative, and returns it; those behind it are numbered anew.
  std::shared_ptr<Module> pop(int64_t index = -1);
  // Before position `index`; the children behind it are numbered anew.
  void insert(size_t index, std::shared_ptr<Module> module);
  template <detail::ModuleImpl M>
  void insert(size_t index, M&& module) {
    insert(index, std::make_shared<std::decay_t<M>>(std::forward<M>(module)));
  }
  template <typename M>
  void insert(size_t index, const ModuleHolder<M>& holder) {
    insert(index, std::shared_ptr<Module>(holder.ptr()));
  }

  Iterator begin() { return modules_.begin(); }
  Iterator end() { return modules_.end(); }
  ConstIterator begin() const { return modules_.begin(); }
  ConstIterator end() const { return modules_.end(); }

  // Throws for a bad index or another type.
  template <typename M>
  M& at(size_t index) {
    M* module = ptr(index)->template as<M>();
    TORCH_CHECK(module != nullptr, "ModuleList: the module at index ", index, " is not of the requested type");
    return *module;
  }
  template <typename M>
  const M& at(size_t index) const {
    return const_cast<ModuleListImpl*>(this)->at<M>(index);
  }
  std::shared_ptr<Module> ptr(size_t index) const;
  template <typename M>
  std::shared_ptr<M> ptr(size_t index) const {
    return std::dynamic_pointer_cast<M>(ptr(index));
  }
  std::shared_ptr<Module> operator[](size_t index) const { return ptr(index); }
  size_t size() const noexcept { return modules_.size(); }
  bool is_empty() const noexcept { return modules_.empty(); }

 protected:
  void on_set_child(const std::string& name, const std::shared_ptr<Module>& module) override;

 private:
  std::vector<std::shared_ptr<Module>> modules_;
};
TORCH_COMPILED_MODULE(ModuleList);

}  // namespace torch::nn

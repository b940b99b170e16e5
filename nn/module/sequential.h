// Sequential: modules called one after another, the first with all arguments, each next one with the result before it.
//
//   torch::nn::Sequential net(torch::nn::Linear(8, 16), torch::nn::Tanh(), torch::nn::Linear(16, 1));
//   torch::Tensor y = net->forward(x);
//
// Children are named "0", "1" ... or as given: Sequential({{"in", Linear(8, 16)}, {"act", Tanh()}}).
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nn/module/any_module.h"
#include "nn/module/cloneable.h"

namespace torch::nn {

class SequentialImpl : public Cloneable<SequentialImpl> {
 public:
  using Iterator = std::vector<AnyModule>::iterator;
  using ConstIterator = std::vector<AnyModule>::const_iterator;

  SequentialImpl() = default;
  template <typename... Modules>
  requires(sizeof...(Modules) > 0 &&
           !(sizeof...(Modules) == 1 && (std::is_same_v<std::decay_t<Modules>, SequentialImpl> &&
                                         ...))) explicit SequentialImpl(Modules&&... modules) {
    modules_.reserve(sizeof...(Modules));
    (push_back(std::forward<Modules>(modules)), ...);
  }
  explicit SequentialImpl(OrderedDict<std::string, AnyModule>&& modules);
  explicit SequentialImpl(std::initializer_list<NamedAnyModule> modules);

  // Modules and names are kept.
  std::shared_ptr<Module> clone(const std::optional<c10::Device>& device = std::nullopt) const override;
  // The list is part of the value: nothing to make.
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  // Throws where the sequence is empty or the last result is no R.
  template <typename R = at::Tensor, typename... Inputs>
  R forward(Inputs&&... inputs) {
    check_not_empty();
    if constexpr (std::is_same_v<R, at::Tensor> && sizeof...(Inputs) == 1 &&
                  (std::is_same_v<std::decay_t<Inputs>, at::Tensor> && ...)) {
      return run_tensor(inputs...);
    } else {
      std::vector<AnyValue> values;
      values.reserve(sizeof...(Inputs));
      (values.push_back(AnyValue(std::forward<Inputs>(inputs))), ...);
      AnyValue result = run(std::move(values), 0);
      if (R* value = result.template try_get<R>()) return std::move(*value);
      detail::bad_return(result.type_info(), typeid(R));
    }
  }

  template <typename M>
  void push_back(std::shared_ptr<M> module) {
    push_back(std::to_string(modules_.size()), std::move(module));
  }
  template <typename M>
  void push_back(std::string name, std::shared_ptr<M> module) {
    push_back(std::move(name), AnyModule(std::move(module)));
  }
  template <detail::ModuleImpl M>
  void push_back(M&& module) {
    push_back(std::to_string(modules_.size()), std::forward<M>(module));
  }
  template <detail::ModuleImpl M>
  void push_back(std::string name, M&& module) {
    push_back(std::move(name), std::make_shared<std::decay_t<M>>(std::forward<M>(module)));
  }
  template <typename M>
  void push_back(const ModuleHolder<M>& holder) {
    push_back(std::to_string(modules_.size()), holder);
  }
  template <typename M>
  void push_back(std::string name, const ModuleHolder<M>& holder) {
    push_back(std::move(name), holder.ptr());
  }
  void push_back(AnyModule module);
  void push_back(std::string name, AnyModule module);

  template <typename M>
  SequentialImpl& append(M&& module) {
    push_back(std::forward<M>(module));
    return *this;
  }
  // Before position `index`, from the end where negative. Modules whose name is their position are numbered anew.
  template <typename M>
  SequentialImpl& insert(int64_t index, const M& module) {
    return insert(index, AnyModule(module));
  }
  SequentialImpl& insert(int64_t index, AnyModule module);
  // Takes the module at `index` out and returns it.
  std::shared_ptr<Module> pop(int64_t index = -1);

  // Puts a module of any type in the place of another.
  template <typename M>
  std::shared_ptr<M> replace_module(const std::string& name, std::shared_ptr<M> module) {
    replace(name, AnyModule(module));
    return module;
  }
  template <typename M>
  std::shared_ptr<M> replace_module(const std::string& name, ModuleHolder<M> holder) {
    return replace_module(name, holder.ptr());
  }

  template <typename Container>
  void extend(const Container& container) {
    for (const auto& module : container) push_back(module);
  }

  Iterator begin() { return modules_.begin(); }
  Iterator end() { return modules_.end(); }
  ConstIterator begin() const { return modules_.begin(); }
  ConstIterator end() const { return modules_.end(); }

  template <typename M>
  M& at(size_t index) {
    return checked(index).get<M>();
  }
  template <typename M>
  const M& at(size_t index) const {
    return const_cast<SequentialImpl*>(this)->at<M>(index);
  }
  std::shared_ptr<Module> ptr(size_t index) const { return const_cast<SequentialImpl*>(this)->checked(index).ptr(); }
  template <typename M>
  std::shared_ptr<M> ptr(size_t index) const {
    return const_cast<SequentialImpl*>(this)->checked(index).ptr<M>();
  }
  std::shared_ptr<Module> operator[](size_t index) const { return ptr(index); }
  size_t size() const noexcept { return modules_.size(); }
  bool is_empty() const noexcept { return size() == 0; }

 protected:
  // Without its static type a module can take only the place of one of the same type.
  void on_set_child(const std::string& name, const std::shared_ptr<Module>& module) override;
  void on_set_any_child(const std::string& name, const AnyModule& module) override;

 private:
  void replace(const std::string& name, AnyModule module);
  // The names of all modules; empty for those that are their positions.
  std::vector<std::string> own_names() const;
  void rename(const std::vector<std::string>& names);
  size_t position(const std::string& name) const;
  AnyModule& checked(size_t index);
  void check_not_empty() const;
  at::Tensor run_tensor(const at::Tensor& input);
  AnyValue run(std::vector<AnyValue>&& values, size_t first);

  std::vector<AnyModule> modules_;
};

extern template class Cloneable<SequentialImpl>;
class Sequential : public ModuleHolder<SequentialImpl> {
 public:
  using ModuleHolder<SequentialImpl>::ModuleHolder;
  Sequential();
  Sequential(std::initializer_list<NamedAnyModule> modules);
  using Impl = SequentialImpl;
};

}  // namespace torch::nn

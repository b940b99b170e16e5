// ParameterList and ParameterDict: registered tensors by number ("0", "1" ...) or by name.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "nn/module/cloneable.h"

namespace torch::nn {

// Tensors keep their requires_grad.
class ParameterListImpl : public Cloneable<ParameterListImpl> {
 public:
  using Iterator = OrderedDict<std::string, at::Tensor>::Iterator;
  using ConstIterator = OrderedDict<std::string, at::Tensor>::ConstIterator;

  ParameterListImpl() = default;
  template <typename... Tensors>
  requires(sizeof...(Tensors) > 0 && (std::is_same_v<std::decay_t<Tensors>, at::Tensor> &&
                                      ...)) explicit ParameterListImpl(Tensors&&... parameters) {
    (append(std::forward<Tensors>(parameters)), ...);
  }

  std::shared_ptr<Module> clone(const std::optional<c10::Device>& device = std::nullopt) const override;
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  void append(at::Tensor parameter);
  template <typename Container>
  void extend(const Container& container) {
    for (const auto& parameter : container) append(value_of(parameter));
  }
  ParameterListImpl& operator+=(const ParameterListImpl& other) {
    const std::vector<at::Tensor> tensors = other.parameters_.values();
    extend(tensors);
    return *this;
  }

  // Throws "Index out of range".
  at::Tensor& at(size_t index);
  const at::Tensor& at(size_t index) const { return const_cast<ParameterListImpl*>(this)->at(index); }
  at::Tensor& operator[](size_t index) { return at(index); }
  const at::Tensor& operator[](size_t index) const { return at(index); }
  size_t size() const noexcept { return parameters_.size(); }
  bool is_empty() const noexcept { return parameters_.is_empty(); }

  Iterator begin() { return parameters_.begin(); }
  Iterator end() { return parameters_.end(); }
  ConstIterator begin() const { return parameters_.begin(); }
  ConstIterator end() const { return parameters_.end(); }

 protected:
  at::Tensor* tensor_member(const std::string& name) override { return parameters_.find(name); }

 private:
  static const at::Tensor& value_of(const at::Tensor& t) { return t; }
  static const at::Tensor& value_of(const OrderedDict<std::string, at::Tensor>::Item& item) { return item.value(); }
};
TORCH_COMPILED_MODULE(ParameterList);

class ParameterDictImpl : public Cloneable<ParameterDictImpl> {
 public:
  using Iterator = OrderedDict<std::string, at::Tensor>::Iterator;
  using ConstIterator = OrderedDict<std::string, at::Tensor>::ConstIterator;

  ParameterDictImpl() = default;
  explicit ParameterDictImpl(const OrderedDict<std::string, at::Tensor>& parameters) {
    for (const auto& p : parameters) insert(p.key(), p.value());
  }

  std::shared_ptr<Module> clone(const std::optional<c10::Device>& device = std::nullopt) const override;
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  at::Tensor& insert(std::string key, at::Tensor parameter);
  // Throws "Parameter 'zz' is not defined".
  at::Tensor& get(const std::string& key) { return parameters_[key]; }
  const at::Tensor& get(const std::string& key) const { return parameters_[key]; }
  at::Tensor& operator[](const std::string& key) { return parameters_[key]; }
  const at::Tensor& operator[](const std::string& key) const { return parameters_[key]; }
  at::Tensor pop(const std::string& key);
  // Takes the last parameter out, with its name; throws c10::IndexError where there is none.
  std::pair<std::string, at::Tensor> popitem();
  // The parameter `key`; where there is none, `parameter` from now on.
  at::Tensor& setdefault(const std::string& key, const at::Tensor& parameter);
  // The same parameters in a dictionary of their own.
  std::shared_ptr<ParameterDictImpl> copy() const;
  // Replaces parameters by those of the same names; throws where a name is not there, with nothing replaced.
  void update(const OrderedDict<std::string, at::Tensor>& parameters);
  void update(const ParameterDictImpl& other) { update(other.parameters_); }
  void clear() { parameters_.clear(); }
  bool contains(const std::string& key) const noexcept { return parameters_.contains(key); }
  std::vector<std::string> keys() const { return parameters_.keys(); }
  std::vector<at::Tensor> values() const { return parameters_.values(); }
  size_t size() const noexcept { return parameters_.size(); }
  bool empty() const noexcept { return parameters_.is_empty(); }

  Iterator begin() { return parameters_.begin(); }
  Iterator end() { return parameters_.end(); }
  ConstIterator begin() const { return parameters_.begin(); }
  ConstIterator end() const { return parameters_.end(); }

 protected:
  at::Tensor* tensor_member(const std::string& name) override { return parameters_.find(name); }
};
TORCH_COMPILED_MODULE(ParameterDict);

}  // namespace torch::nn

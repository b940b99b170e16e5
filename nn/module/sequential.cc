#include "nn/module/sequential.h"

namespace torch::nn {

SequentialImpl::SequentialImpl(OrderedDict<std::string, AnyModule>&& modules) {
  modules_.reserve(modules.size());
  for (auto& item : modules) push_back(item.key(), std::move(item.value()));
}

SequentialImpl::SequentialImpl(std::initializer_list<NamedAnyModule> modules) {
  modules_.reserve(modules.size());
  for (const auto& named : modules) push_back(named.name(), named.module());
}

std::shared_ptr<Module> SequentialImpl::clone(const std::optional<c10::Device>& device) const {
  const detail::Cloning cloning(*this);
  if (auto made = cloning.made()) return made;
  auto copy = std::make_shared<SequentialImpl>();
  for (size_t i = 0; i < modules_.size(); ++i) copy->push_back(children_[i].key(), modules_[i].clone(device));
  return cloning.finish(copy);
}

void SequentialImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, "torch::nn::Sequential");
}

void SequentialImpl::push_back(AnyModule module) {
  push_back(std::to_string(modules_.size()), std::move(module));
}

void SequentialImpl::push_back(std::string name, AnyModule module) {
  // Registered first: a name that is refused leaves the sequence as it was.
  register_module(std::move(name), module.ptr());
  modules_.push_back(std::move(module));
}

std::vector<std::string> SequentialImpl::own_names() const {
  std::vector<std::string> names = children_.keys();
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == std::to_string(i)) names[i].clear();
  }
  return names;
}

void SequentialImpl::rename(const std::vector<std::string>& names) {
  children_.clear();
  for (size_t i = 0; i < modules_.size(); ++i)
    children_.insert(names[i].empty() ? std::to_string(i) : names[i], modules_[i].ptr());
}

SequentialImpl& SequentialImpl::insert(int64_t index, AnyModule module) {
  const int64_t n = static_cast<int64_t>(size());
  TORCH_CHECK_INDEX(index >= -n && index <= n, "Index out of range: ", index);
  const auto at = static_cast<std::ptrdiff_t>(index < 0 ? index + n : index);
  std::vector<std::string> names = own_names();
  names.emplace(names.begin() + at);
  modules_.insert(modules_.begin() + at, std::move(module));
  rename(names);
  return *this;
}

std::shared_ptr<Module> SequentialImpl::pop(int64_t index) {
  const int64_t n = static_cast<int64_t>(size());
  const auto at = static_cast<std::ptrdiff_t>(index < 0 ? index + n : index);
  TORCH_CHECK_INDEX(at >= 0 && at < n, "index ", index, " is out of range");
  std::vector<std::string> names = own_names();
  std::shared_ptr<Module> module = modules_[static_cast<size_t>(at)].ptr();
  names.erase(names.begin() + at);
  modules_.erase(modules_.begin() + at);
  rename(names);
  return module;
}

size_t SequentialImpl::position(const std::string& name) const {
  for (size_t i = 0; i < children_.size(); ++i) {
    if (children_[i].key() == name) return i;
  }
  TORCH_CHECK(false, "Submodule '", name, "' is not defined");
}

void SequentialImpl::replace(const std::string& name, AnyModule module) {
  const size_t i = position(name);
  children_[name] = module.ptr();
  modules_[i] = std::move(module);
}

void SequentialImpl::on_set_child(const std::string& name, const std::shared_ptr<Module>& module) {
  TORCH_CHECK(children_.contains(name), "Sequential: a module is added with push_back(), not as submodule '", name,
              "'");
  TORCH_CHECK(
      modules_[position(name)].rebind(module), "Sequential: submodule '", name,
      "' can be replaced by a module of another type only with SequentialImpl::replace_module(), or as an AnyModule");
}

void SequentialImpl::on_set_any_child(const std::string& name, const AnyModule& module) {
  TORCH_CHECK(children_.contains(name), "Sequential: a module is added with push_back(), not as submodule '", name,
              "'");
  modules_[position(name)] = module;
}

AnyModule& SequentialImpl::checked(size_t index) {
  TORCH_CHECK(index < size(), "Index out of range");
  return modules_[index];
}

void SequentialImpl::check_not_empty() const {
  TORCH_CHECK(!is_empty(), "Cannot call forward() on an empty Sequential");
}

at::Tensor SequentialImpl::run_tensor(const at::Tensor& input) {
  at::Tensor value = input;
  for (size_t i = 0; i < modules_.size(); ++i) {
    at::Tensor next;
    if (!modules_[i].forward_tensor(value, next)) {
      std::vector<AnyValue> values;
      values.push_back(AnyValue(std::move(value)));
      AnyValue result = run(std::move(values), i);
      if (at::Tensor* out = result.try_get<at::Tensor>()) return std::move(*out);
      detail::bad_return(result.type_info(), typeid(at::Tensor));
    }
    value = std::move(next);
  }
  return value;
}

AnyValue SequentialImpl::run(std::vector<AnyValue>&& values, size_t first) {
  AnyValue result = modules_[first].forward_values(std::move(values));
  for (size_t i = first + 1; i < modules_.size(); ++i) {
    std::vector<AnyValue> next;
    next.push_back(std::move(result));
    result = modules_[i].forward_values(std::move(next));
  }
  return result;
}

Sequential::Sequential() : ModuleHolder() {}
Sequential::Sequential(std::initializer_list<NamedAnyModule> modules)
    : ModuleHolder(std::make_shared<SequentialImpl>(modules)) {}

template class Cloneable<SequentialImpl>;

}  // namespace torch::nn

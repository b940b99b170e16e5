#include "nn/module/parameter_containers.h"

#include "c10/util/string_util.h"

namespace torch::nn {
namespace {

std::string text_of(const char* name, const OrderedDict<std::string, at::Tensor>& parameters) {
  std::string text = c10::str(name, "(\n");
  for (const auto& p : parameters) {
    text += c10::str("(", p.key(), "): Parameter containing: [", p.value().scalar_type(), " of size ",
                     p.value().sizes(), "]\n");
  }
  return text + ")";
}

}  // namespace

std::shared_ptr<Module> ParameterListImpl::clone(const std::optional<c10::Device>& device) const {
  c10::NoGradGuard no_grad;
  const detail::Cloning cloning(*this);
  if (auto made = cloning.made()) return made;
  auto copy = std::make_shared<ParameterListImpl>();
  for (const auto& p : parameters_) {
    copy->register_parameter(p.key(), cloning.tensor(p.value(), device), p.value().requires_grad());
  }
  return cloning.finish(copy);
}

void ParameterListImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, text_of("torch::nn::ParameterList", parameters_));
}

void ParameterListImpl::append(at::Tensor parameter) {
  const bool requires_grad = parameter.requires_grad();
  register_parameter(std::to_string(parameters_.size()), std::move(parameter), requires_grad);
}

at::Tensor& ParameterListImpl::at(size_t index) {
  TORCH_CHECK(index < size(), "Index out of range");
  return parameters_[index].value();
}

std::shared_ptr<Module> ParameterDictImpl::clone(const std::optional<c10::Device>& device) const {
  c10::NoGradGuard no_grad;
  const detail::Cloning cloning(*this);
  if (auto made = cloning.made()) return made;
  auto copy = std::make_shared<ParameterDictImpl>();
  for (const auto& p : parameters_) {
    copy->register_parameter(p.key(), cloning.tensor(p.value(), device), p.value().requires_grad());
  }
  return cloning.finish(copy);
}

void ParameterDictImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, text_of("torch::nn::ParameterDict", parameters_));
}

at::Tensor& ParameterDictImpl::insert(std::string key, at::Tensor parameter) {
  const bool requires_grad = parameter.requires_grad();
  return register_parameter(std::move(key), std::move(parameter), requires_grad);
}

at::Tensor ParameterDictImpl::pop(const std::string& key) {
  at::Tensor parameter = parameters_[key];
  parameters_.erase(key);
  return parameter;
}

std::pair<std::string, at::Tensor> ParameterDictImpl::popitem() {
  TORCH_CHECK_INDEX(!empty(), "popitem(): the ParameterDict is empty");
  std::pair<std::string, at::Tensor> item = parameters_.back().pair();
  parameters_.erase(item.first);
  return item;
}

at::Tensor& ParameterDictImpl::setdefault(const std::string& key, const at::Tensor& parameter) {
  if (at::Tensor* present = parameters_.find(key)) return *present;
  return insert(key, parameter);
}

std::shared_ptr<ParameterDictImpl> ParameterDictImpl::copy() const {
  return std::make_shared<ParameterDictImpl>(parameters_);
}

void ParameterDictImpl::update(const OrderedDict<std::string, at::Tensor>& parameters) {
  for (const auto& p : parameters) (void)parameters_[p.key()];
  for (const auto& p : parameters) parameters_[p.key()] = p.value();
}

template class Cloneable<ParameterListImpl>;
template class Cloneable<ParameterDictImpl>;

}  // namespace torch::nn

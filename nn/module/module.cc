#include "nn/module/module.h"

#include <new>
#include <typeinfo>

#include "aten/ops/copy/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/string_util.h"
#include "nn/module/any_value.h"
#include "nn/module/cloneable.h"

namespace torch::nn {
namespace {

std::string join_name(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "." + name;
}

void check_name(const char* kind, const std::string& name) {
  TORCH_CHECK(!name.empty(), kind, " name must not be empty");
  TORCH_CHECK(name.find('.') == std::string::npos, kind, " name must not contain a dot (got '", name, "')");
}

// Where modules wait whose parent this thread is destroying; null where it destroys none.
thread_local constinit std::vector<std::shared_ptr<Module>>* dying_children = nullptr;

}  // namespace

Module::Module() = default;
Module::Module(std::string name) : name_(std::move(name)) {}

// Children go one after the other, not one inside the other: modules may be nested deeply.
Module::~Module() {
  const auto put_aside = [this](std::vector<std::shared_ptr<Module>>& waiting) {
    try {
      for (auto child = children_.end(); child != children_.begin();) waiting.push_back(std::move((--child)->value()));
    } catch (const std::bad_alloc&) {
      // The rest is destroyed where it is.
    }
  };
  if (children_.is_empty()) return;
  if (dying_children != nullptr) {
    put_aside(*dying_children);
    return;
  }
  std::vector<std::shared_ptr<Module>> waiting;
  put_aside(waiting);
  dying_children = &waiting;
  while (!waiting.empty()) {
    const std::shared_ptr<Module> next = std::move(waiting.back());
    waiting.pop_back();
  }
  dying_children = nullptr;
}

const std::string& Module::name() const noexcept {
  // Not in the constructor: the dynamic type is known only afterwards.
  if (!name_.has_value()) name_ = c10::demangle(typeid(*this).name());
  return *name_;
}

std::shared_ptr<Module> Module::clone(const std::optional<c10::Device>&) const {
  TORCH_CHECK(false, "clone() has not been implemented for ", name(), ". Subclass torch::nn::Cloneable<", name(),
              "> instead of torch::nn::Module to inherit the ability to clone.");
}

void Module::clone_(Module&, const std::optional<c10::Device>&) {}

std::shared_ptr<Module> Module::shared_from_this_checked() const {
  std::shared_ptr<const Module> self = weak_from_this().lock();
  TORCH_CHECK(
      self != nullptr,
      "It looks like you attempted to retrieve your top-level module as a shared_ptr, but it is not stored in a "
      "shared_ptr. Use std::make_shared<",
      name(),
      "> instead of creating your module on the stack, or "
      "alternatively do not try to access your top-level module at all by passing /*include_self=*/false to "
      "modules() or named_modules()");
  return std::const_pointer_cast<Module>(self);
}

template <typename F>
void Module::visit_children(const std::string& prefix, const F& visit) const {
  for (const auto& child : children_) {
    if (child.value() == nullptr) continue;
    const std::string name = join_name(prefix, child.key());
    visit(name, child.value());
    child.value()->visit_children(name, visit);
  }
}

void Module::apply(const ModuleApplyFunction& function) {
  function(*this);
  visit_children({}, [&](const std::string&, const std::shared_ptr<Module>& m) { function(*m); });
}
void Module::apply(const ConstModuleApplyFunction& function) const {
  function(*this);
  visit_children({}, [&](const std::string&, const std::shared_ptr<Module>& m) { function(*m); });
}
void Module::apply(const NamedModuleApplyFunction& function, const std::string& name_prefix) {
  function(name_prefix, *this);
  visit_children(name_prefix, [&](const std::string& name, const std::shared_ptr<Module>& m) { function(name, *m); });
}
void Module::apply(const ConstNamedModuleApplyFunction& function, const std::string& name_prefix) const {
  function(name_prefix, *this);
  visit_children(name_prefix, [&](const std::string& name, const std::shared_ptr<Module>& m) { function(name, *m); });
}
void Module::apply(const ModulePointerApplyFunction& function) const {
  function(shared_from_this_checked());
  visit_children({}, [&](const std::string&, const std::shared_ptr<Module>& m) { function(m); });
}
void Module::apply(const NamedModulePointerApplyFunction& function, const std::string& name_prefix) const {
  function(name_prefix, shared_from_this_checked());
  visit_children(name_prefix, function);
}

std::vector<at::Tensor> Module::parameters(bool recurse) const {
  return named_parameters(recurse).values();
}
std::vector<at::Tensor> Module::buffers(bool recurse) const {
  return named_buffers(recurse).values();
}

OrderedDict<std::string, at::Tensor> Module::named_parameters(bool recurse) const {
  OrderedDict<std::string, at::Tensor> out;
  const auto add = [&out](const std::string& prefix, const Module& m) {
    for (const auto& p : m.parameters_) {
      if (p.value().defined()) out.insert(join_name(prefix, p.key()), p.value());
    }
  };
  add({}, *this);
  if (recurse) visit_children({}, [&](const std::string& name, const std::shared_ptr<Module>& m) { add(name, *m); });
  return out;
}

OrderedDict<std::string, at::Tensor> Module::named_buffers(bool recurse) const {
  OrderedDict<std::string, at::Tensor> out;
  const auto add = [&out](const std::string& prefix, const Module& m) {
    for (const auto& b : m.buffers_) {
      if (b.value().defined()) out.insert(join_name(prefix, b.key()), b.value());
    }
  };
  add({}, *this);
  if (recurse) visit_children({}, [&](const std::string& name, const std::shared_ptr<Module>& m) { add(name, *m); });
  return out;
}

std::vector<std::shared_ptr<Module>> Module::modules(bool include_self) const {
  std::vector<std::shared_ptr<Module>> out;
  if (include_self) out.push_back(shared_from_this_checked());
  visit_children({}, [&](const std::string&, const std::shared_ptr<Module>& m) { out.push_back(m); });
  return out;
}

OrderedDict<std::string, std::shared_ptr<Module>> Module::named_modules(const std::string& name_prefix,
                                                                        bool include_self) const {
  OrderedDict<std::string, std::shared_ptr<Module>> out;
  if (include_self) out.insert(name_prefix, shared_from_this_checked());
  visit_children(name_prefix, [&](const std::string& name, const std::shared_ptr<Module>& m) { out.insert(name, m); });
  return out;
}

std::vector<std::shared_ptr<Module>> Module::children() const {
  return children_.values();
}
OrderedDict<std::string, std::shared_ptr<Module>> Module::named_children() const {
  return children_;
}

void Module::train(bool on) {
  for (const auto& child : children_) {
    if (child.value() != nullptr) child.value()->train(on);
  }
  is_training_ = on;
}

void Module::convert(const std::optional<c10::Device>& device, const std::optional<Dtype>& dtype, bool non_blocking) {
  TORCH_CHECK(!dtype.has_value() || c10::isFloatingType(*dtype) || c10::isComplexType(*dtype),
              "nn::Module.to only accepts floating point or complex dtypes, but got desired dtype=", *dtype);
  c10::NoGradGuard no_grad;
  const auto converted = [&](const at::Tensor& t) {
    const bool cast =
        dtype.has_value() && (c10::isFloatingType(t.scalar_type()) || c10::isComplexType(t.scalar_type()));
    at::TensorOptions options = t.options();
    if (device.has_value()) options = options.device(device);
    if (cast) options = options.dtype(*dtype);
    return at::to(t, options, non_blocking, /*copy=*/false, std::nullopt);
  };
  for (const auto& child : children_) {
    if (child.value() != nullptr) child.value()->convert(device, dtype, non_blocking);
  }
  for (auto& parameter : parameters_) {
    if (parameter->defined()) parameter->set_data(converted(parameter->variable_data()));
  }
  for (auto& buffer : buffers_) {
    if (buffer->defined()) buffer->set_data(converted(buffer->variable_data()));
  }
}

void Module::to(c10::Device device, Dtype dtype, bool non_blocking) {
  convert(device, dtype, non_blocking);
}
void Module::to(Dtype dtype, bool non_blocking) {
  convert(std::nullopt, dtype, non_blocking);
}
void Module::to(c10::Device device, bool non_blocking) {
  convert(device, std::nullopt, non_blocking);
}

void Module::zero_grad(bool set_to_none) {
  for (const auto& child : children_) {
    if (child.value() != nullptr) child.value()->zero_grad(set_to_none);
  }
  for (auto& parameter : parameters_) {
    if (!parameter->defined()) continue;
    at::Tensor& grad = parameter->mutable_grad();
    if (!grad.defined()) continue;
    if (set_to_none) {
      grad.reset();
    } else {
      c10::NoGradGuard no_grad;
      grad = at::detach(grad);
      at::zero_(grad);
    }
  }
}

bool Module::is_serializable() const {
  return true;
}

at::Tensor& Module::register_parameter(std::string name, at::Tensor tensor, bool requires_grad) {
  check_name("Parameter", name);
  if (!tensor.defined()) {
    if (requires_grad) {
      TORCH_WARN("An undefined tensor cannot require grad. ", "Ignoring the `requires_grad=true` function parameter.");
    }
  } else {
    tensor.set_requires_grad(requires_grad);
  }
  return parameters_.insert(std::move(name), std::move(tensor));
}

at::Tensor& Module::register_buffer(std::string name, at::Tensor tensor) {
  check_name("Buffer", name);
  return buffers_.insert(std::move(name), std::move(tensor));
}

void Module::add_child(std::string name, std::shared_ptr<Module> module) {
  check_name("Submodule", name);
  children_.insert(std::move(name), std::move(module));
}

void Module::unregister_module(const std::string& name) {
  TORCH_CHECK(children_.contains(name), "No Module with name `", name, "` is registered");
  children_.erase(name);
}

unsigned int Module::_forward_num_required_args() {
  TORCH_CHECK(false,
              "torch::nn::Module subclass that has default arguments in `forward` method must override "
              "`_forward_num_required_args` method. Please use `FORWARD_HAS_DEFAULT_ARGS` macro to do so.");
}

std::vector<AnyValue> Module::_forward_populate_default_args(std::vector<AnyValue>&&) {
  TORCH_CHECK(false,
              "torch::nn::Module subclass that has default arguments in `forward` method must override "
              "`_forward_populate_default_args` method. Please use `FORWARD_HAS_DEFAULT_ARGS` macro to do so.");
}

namespace detail {

void copy_tensors(const OrderedDict<std::string, at::Tensor>& from, OrderedDict<std::string, at::Tensor>& to,
                  const std::optional<c10::Device>& device, const char* kind, bool parameters) {
  TORCH_CHECK(from.size() == to.size(), "The cloned module does not have the same number of ", kind,
              " as the original module after calling reset(). Are you sure you called register_",
              parameters ? "parameter" : "buffer", "() inside reset() and not the constructor?");
  for (const auto& item : from) {
    const at::Tensor& source = item.value();
    at::Tensor& target = to[item.key()];
    if (!source.defined()) {
      target = at::Tensor();
      continue;
    }
    at::Tensor copy = device.has_value() && source.device() != *device
                          ? at::to(source, source.options().device(device), false, false, std::nullopt)
                          : at::clone(source, std::nullopt);
    if (target.defined()) {
      target.set_data(copy);
      if (parameters) target.set_requires_grad(source.requires_grad());
    } else {
      target = at::detach(copy);
      if (parameters) target.set_requires_grad(source.requires_grad());
    }
  }
}

void check_children(size_t copied, size_t original) {
  TORCH_CHECK(copied == original,
              "The cloned module does not have the same number of child modules as the original module after calling "
              "reset(). Are you sure you called register_module() inside reset() and not the constructor?");
}

void clone_type_error() {
  TORCH_CHECK(
      false, "Attempted to clone submodule, but it is of a different type than the submodule it was to be cloned into");
  __builtin_unreachable();
}

// Defined where archives are (//utils/serialize), so that a program without archives links none.
[[gnu::weak]] void save_module(const Module& module, serialize::OutputArchive& archive);
[[gnu::weak]] void load_module(Module& module, serialize::InputArchive& archive);

}  // namespace detail

void Module::save(serialize::OutputArchive& archive) const {
  TORCH_CHECK(detail::save_module != nullptr,
              "Module::save: archives are not linked; add //utils/serialize:module_archive");
  detail::save_module(*this, archive);
}

void Module::load(serialize::InputArchive& archive) {
  TORCH_CHECK(detail::load_module != nullptr,
              "Module::load: archives are not linked; add //utils/serialize:module_archive");
  detail::load_module(*this, archive);
}

}  // namespace torch::nn

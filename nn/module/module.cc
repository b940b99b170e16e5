#include "nn/module/module.h"

#include <algorithm>
#include <new>
#include <typeinfo>
#include <unordered_set>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/string_util.h"
#include "c10/value/ivalue.h"
#include "nn/module/any_module.h"
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

void Module::collect(OrderedDict<std::string, at::Tensor> Module::*tensors, bool recurse, bool remove_duplicate,
                     OrderedDict<std::string, at::Tensor>& out, const std::string& prefix) const {
  std::unordered_set<const c10::TensorImpl*> seen;
  const auto add = [&](const std::string& prefix, const Module& m) {
    TORCH_CHECK(!m.has_uninitialized_params(), "the parameters of ", prefix.empty() ? "a" : prefix + ", a", " ",
                detail::class_name(m),
                ", are not initialized: their sizes come from the first forward. Call the module with a batch before "
                "its parameters are listed or given to an optimizer");
    for (const auto& item : m.*tensors) {
      const at::Tensor& t = item.value();
      if (!t.defined() || (remove_duplicate && !seen.insert(t.unsafeGetTensorImpl()).second)) continue;
      out.insert(join_name(prefix, item.key()), t);
    }
  };
  add(prefix, *this);
  if (!recurse) return;
  visit_children(prefix, [&](const std::string& name, const std::shared_ptr<Module>& m) { add(name, *m); });
}

OrderedDict<std::string, at::Tensor> Module::named_parameters(bool recurse, bool remove_duplicate) const {
  OrderedDict<std::string, at::Tensor> out;
  collect(&Module::parameters_, recurse, remove_duplicate, out);
  return out;
}

OrderedDict<std::string, at::Tensor> Module::named_buffers(bool recurse, bool remove_duplicate) const {
  OrderedDict<std::string, at::Tensor> out;
  collect(&Module::buffers_, recurse, remove_duplicate, out);
  return out;
}

OrderedDict<std::string, at::Tensor> Module::named_parameters(const std::string& prefix, bool recurse,
                                                              bool remove_duplicate) const {
  OrderedDict<std::string, at::Tensor> out;
  collect(&Module::parameters_, recurse, remove_duplicate, out, prefix);
  return out;
}

OrderedDict<std::string, at::Tensor> Module::named_buffers(const std::string& prefix, bool recurse,
                                                           bool remove_duplicate) const {
  OrderedDict<std::string, at::Tensor> out;
  collect(&Module::buffers_, recurse, remove_duplicate, out, prefix);
  return out;
}

std::vector<std::shared_ptr<Module>> Module::modules(bool include_self) const {
  return named_modules({}, include_self).values();
}

OrderedDict<std::string, std::shared_ptr<Module>> Module::named_modules(const std::string& name_prefix,
                                                                        bool include_self) const {
  OrderedDict<std::string, std::shared_ptr<Module>> out;
  std::unordered_set<const Module*> seen = {this};
  if (include_self) out.insert(name_prefix, shared_from_this_checked());
  visit_children(name_prefix, [&](const std::string& name, const std::shared_ptr<Module>& m) {
    if (seen.insert(m.get()).second) out.insert(name, m);
  });
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
  c10::NoGradGuard no_grad;
  const auto converted = [&](const at::Tensor& t) {
    at::TensorOptions options = t.options();
    if (device.has_value()) options = options.device(device);
    if (dtype.has_value()) options = options.dtype(*dtype);
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

Module& Module::half() {
  to(c10::kHalf);
  return *this;
}
Module& Module::bfloat16() {
  to(c10::kBFloat16);
  return *this;
}
Module& Module::cpu() {
  to(c10::Device(c10::kCPU));
  return *this;
}
Module& Module::cuda(std::optional<c10::DeviceIndex> index) {
  to(index.has_value() ? c10::Device(c10::kCUDA, *index) : c10::Device(c10::kCUDA));
  return *this;
}

Module& Module::type(Dtype dtype) {
  c10::NoGradGuard no_grad;
  for (const auto& child : children_) {
    if (child.value() != nullptr) child.value()->type(dtype);
  }
  for (auto* tensors : {&parameters_, &buffers_}) {
    for (auto& item : *tensors) {
      if (item->defined()) item->set_data(at::to(item->variable_data(), dtype));
    }
  }
  return *this;
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

Module& Module::requires_grad_(bool requires_grad) {
  for (const auto& child : children_) {
    if (child.value() != nullptr) child.value()->requires_grad_(requires_grad);
  }
  for (auto& parameter : parameters_) {
    if (parameter->defined()) parameter->set_requires_grad(requires_grad);
  }
  return *this;
}

Module& Module::to_empty(c10::Device device, bool recurse) {
  c10::NoGradGuard no_grad;
  const auto renew = [&](const at::Tensor& t) {
    t.set_data(at::empty_like(t.variable_data(), t.options().device(device)));
  };
  for (const at::Tensor& t : parameters(recurse)) renew(t);
  for (const at::Tensor& t : buffers(recurse)) renew(t);
  return *this;
}

Module& Module::share_memory() {
  for (at::Tensor& t : parameters()) {
    t.share_memory_();
    if (t.grad().defined()) t.mutable_grad().share_memory_();
  }
  for (at::Tensor& t : buffers()) t.share_memory_();
  return *this;
}

Module& Module::descend(const std::string& path) const {
  const Module* at = this;
  for (size_t begin = 0; begin < path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    const std::shared_ptr<Module>* child = at->children_.find(name);
    TORCH_CHECK(child != nullptr && *child != nullptr, detail::class_name(*at), " has no attribute `", name, "`");
    at = child->get();
    begin = end + 1;
  }
  return const_cast<Module&>(*at);
}

std::shared_ptr<Module> Module::get_submodule(const std::string& target) const {
  return descend(target).shared_from_this_checked();
}

at::Tensor& Module::find_tensor(const std::string& target, OrderedDict<std::string, at::Tensor> Module::*tensors,
                                const char* kind) const {
  const size_t dot = target.rfind('.');
  Module& owner = dot == std::string::npos ? const_cast<Module&>(*this) : descend(target.substr(0, dot));
  const std::string name = dot == std::string::npos ? target : target.substr(dot + 1);
  at::Tensor* const found = (owner.*tensors).find(name);
  const bool other = found == nullptr && (owner.parameters_.contains(name) || owner.buffers_.contains(name) ||
                                          owner.children_.contains(name));
  TORCH_CHECK(!other, "`", name, "` is not ", kind);
  TORCH_CHECK(found != nullptr, detail::class_name(owner), " has no attribute `", name, "`");
  return *found;
}

at::Tensor& Module::get_parameter(const std::string& target) const {
  return find_tensor(target, &Module::parameters_, "an nn.Parameter");
}

at::Tensor& Module::get_buffer(const std::string& target) const {
  return find_tensor(target, &Module::buffers_, "a buffer");
}

void Module::set_submodule(const std::string& target, const std::shared_ptr<Module>& module, bool strict) {
  TORCH_CHECK_VALUE(module != nullptr, "Cannot set the submodule `", target, "` to nothing");
  std::string name;
  Module& parent = parent_of(target, name, strict);
  if (parent.children_.contains(name)) return parent.replace_child(name, module);
  parent.on_set_child(name, module);
  parent.add_child(name, module);
}

void Module::set_submodule(const std::string& target, const AnyModule& module, bool strict) {
  TORCH_CHECK_VALUE(!module.is_empty(), "Cannot set the submodule `", target, "` to nothing");
  std::string name;
  Module& parent = parent_of(target, name, strict);
  parent.on_set_any_child(name, module);
  if (parent.children_.contains(name)) {
    parent.children_[name] = module.ptr();
  } else {
    parent.add_child(name, module.ptr());
  }
}

void Module::on_set_any_child(const std::string& name, const AnyModule& module) {
  on_set_child(name, module.ptr());
}

Module& Module::parent_of(const std::string& target, std::string& name, bool strict) {
  TORCH_CHECK_VALUE(!target.empty(), "Cannot set the submodule without a target name!");
  const size_t dot = target.rfind('.');
  Module& parent = dot == std::string::npos ? *this : descend(target.substr(0, dot));
  name = dot == std::string::npos ? target : target.substr(dot + 1);
  TORCH_CHECK(!strict || parent.children_.contains(name), detail::class_name(parent), " has no attribute `", name, "`");
  return parent;
}

bool Module::is_persistent(const std::string& buffer) const {
  return std::find(not_persistent_.begin(), not_persistent_.end(), buffer) == not_persistent_.end();
}

c10::IValue Module::get_extra_state() const {
  return {};
}
void Module::set_extra_state(const c10::IValue&) {}
void Module::upgrade_state_dict(StateDict&, const std::string&, std::optional<int64_t>) const {}

at::Tensor& Module::register_parameter(std::string name, at::Tensor tensor, bool requires_grad) {
  check_name("Parameter", name);
  if (const detail::HookRunner* runner = detail::hook_runner.load(std::memory_order_acquire)) {
    runner->on_parameter(*this, name, tensor);
  }
  if (const at::Tensor* shared = detail::Cloning::shared(*this, &Module::parameters_, name)) tensor = *shared;
  if (!tensor.defined()) {
    if (requires_grad) {
      TORCH_WARN("An undefined tensor cannot require grad. ", "Ignoring the `requires_grad=true` function parameter.");
    }
  } else {
    tensor.set_requires_grad(requires_grad);
  }
  return parameters_.insert(std::move(name), std::move(tensor));
}

at::Tensor& Module::register_buffer(std::string name, at::Tensor tensor, bool persistent) {
  check_name("Buffer", name);
  if (const detail::HookRunner* runner = detail::hook_runner.load(std::memory_order_acquire)) {
    runner->on_buffer(*this, name, tensor);
  }
  if (const at::Tensor* shared = detail::Cloning::shared(*this, &Module::buffers_, name)) tensor = *shared;
  at::Tensor& registered = buffers_.insert(name, std::move(tensor));
  std::erase(not_persistent_, name);
  if (!persistent) not_persistent_.push_back(std::move(name));
  return registered;
}

at::Tensor& Module::replace_parameter(const std::string& name, at::Tensor tensor) {
  return parameters_[name] = std::move(tensor);
}
at::Tensor& Module::replace_buffer(const std::string& name, at::Tensor tensor) {
  return buffers_[name] = std::move(tensor);
}

void Module::add_child(std::string name, std::shared_ptr<Module> module) {
  check_name("Submodule", name);
  if (const detail::HookRunner* runner = detail::hook_runner.load(std::memory_order_acquire)) {
    runner->on_module(*this, name, module);
  }
  children_.insert(std::move(name), std::move(module));
}

void Module::replace_child(const std::string& name, std::shared_ptr<Module> module) {
  std::shared_ptr<Module>& child = children_[name];
  on_set_child(name, module);
  child = std::move(module);
}

void Module::unregister_module(const std::string& name) {
  TORCH_CHECK(children_.contains(name), "No Module with name `", name, "` is registered");
  children_.erase(name);
}

at::Tensor* Module::tensor_member(const std::string&) {
  return nullptr;
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

constinit std::atomic<const HookRunner*> hook_runner{nullptr};

void TensorWalk::tensor(at::Tensor& t) {
  if (writes_) {
    if (next_ < list_.size()) t = list_[next_];
    ++next_;
  } else {
    list_.push_back(t);
  }
}

void TensorWalk::check_end() const {
  TORCH_CHECK(next_ == list_.size(), "a module that is called in place of another gave ", list_.size(),
              " result(s), but ", next_, " were expected");
}

void TensorWalk::other() {
  if (!writes_) {
    list_.emplace_back();
    return;
  }
  TORCH_CHECK(next_ >= list_.size() || !list_[next_].defined(), "a module hook gave a tensor in place of entry ", next_,
              ", which is no tensor");
  ++next_;
}

void cannot_replace_reference() {
  TORCH_CHECK(false, "the result of a forward that returns a reference cannot be replaced by a module hook");
  __builtin_unreachable();
}

at::Tensor* pick_member(const std::string& name, std::string_view names, std::initializer_list<at::Tensor*> members) {
  for (at::Tensor* member : members) {
    const std::string_view one = names.substr(0, names.find(','));
    if (one == name) return member;
    names.remove_prefix(std::min(one.size() + 1, names.size()));
    while (names.starts_with(' ')) names.remove_prefix(1);
  }
  return nullptr;
}

std::string class_name(const Module& module) {
  std::string name = module.name();
  if (const size_t colon = name.rfind(':'); colon != std::string::npos) name.erase(0, colon + 1);
  if (name.size() > 4 && name.ends_with("Impl")) name.resize(name.size() - 4);
  return name;
}

// Defined where archives are (//utils/serialize), so that a program without archives links none.
[[gnu::weak]] void save_module(Module& module, serialize::OutputArchive& archive);
[[gnu::weak]] void load_module(Module& module, serialize::InputArchive& archive);

}  // namespace detail

void Module::save(serialize::OutputArchive& archive) const {
  TORCH_CHECK(detail::save_module != nullptr,
              "Module::save: archives are not linked; add //utils/serialize:module_archive");
  detail::save_module(const_cast<Module&>(*this), archive);
}

void Module::load(serialize::InputArchive& archive) {
  TORCH_CHECK(detail::load_module != nullptr,
              "Module::load: archives are not linked; add //utils/serialize:module_archive");
  detail::load_module(*this, archive);
}

}  // namespace torch::nn

#include "nn/module/computed_tensor.h"

#include <algorithm>

#include "nn/module/hook_lists.h"

namespace torch::nn {
namespace {

using detail::ComputedMember;
using detail::ModuleHooks;

const ComputedMember* find_computed(const Module& module, const std::string& name) {
  const ModuleHooks* const hooks = detail::hooks_of(module);
  if (hooks == nullptr) return nullptr;
  for (const ComputedMember& member : hooks->computed) {
    if (member.name == name) return &member;
  }
  return nullptr;
}

ComputedMember& computed(Module& module, const std::string& name) {
  const ComputedMember* const found = find_computed(module, name);
  TORCH_CHECK(found != nullptr, detail::class_name(module), ": the member `", name, "` is not computed");
  return const_cast<ComputedMember&>(*found);
}

at::Tensor* registered(Module& module, const std::string& name) {
  at::Tensor* const parameter = ModuleAccess::parameters(module).find(name);
  return parameter != nullptr ? parameter : ModuleAccess::buffers(module).find(name);
}

bool has_no_member(const Module& module, const std::string& name) {
  const ModuleHooks* const hooks = detail::hooks_of(module);
  return hooks != nullptr &&
         std::find(hooks->without_member.begin(), hooks->without_member.end(), name) != hooks->without_member.end();
}

// Null for a tensor that was registered without one.
at::Tensor* member_if_any(Module& module, const std::string& name) {
  return has_no_member(module, name) ? nullptr : &tensor_member(module, name);
}

std::shared_ptr<Module> owner_of(Module& module, const std::string& path, std::string& name) {
  const size_t dot = path.rfind('.');
  name = dot == std::string::npos ? path : path.substr(dot + 1);
  // A module on the stack is not shared; it outlives this.
  if (dot == std::string::npos) return std::shared_ptr<Module>(std::shared_ptr<Module>(), &module);
  return module.get_submodule(path.substr(0, dot));
}

}  // namespace

void ModuleRef::check() const {
  TORCH_CHECK(module_ != nullptr, "expected a module, but got an empty pointer");
}

at::Tensor& tensor_member(Module& module, const std::string& name) {
  at::Tensor* const member = ModuleAccess::tensor_member(module, name);
  TORCH_CHECK(member != nullptr, detail::class_name(module), " does not say which member holds its tensor `", name,
              "`, so that it cannot be replaced: add TORCH_MODULE_TENSORS(", name, ", ..) to the class");
  return *member;
}

at::Tensor compute_tensor(Module& module, const std::string& name, std::shared_ptr<const TensorRule> rule) {
  TORCH_CHECK(find_computed(module, name) == nullptr, detail::class_name(module), ": the member `", name,
              "` is computed already");
  const at::Tensor* const found = registered(module, name);
  TORCH_CHECK_VALUE(found != nullptr && found->defined(), detail::class_name(module),
                    " does not have a parameter or a buffer with name '", name, "'");
  tensor_member(module, name);
  const at::Tensor tensor = *found;
  detail::hooks_for_tensors(module).computed.push_back({name, std::move(rule)});
  auto& parameters = ModuleAccess::parameters(module);
  (parameters.contains(name) ? parameters : ModuleAccess::buffers(module)).erase(name);
  return tensor;
}

std::shared_ptr<const TensorRule> rule_of(const Module& module, const std::string& name) {
  const ComputedMember* const found = find_computed(module, name);
  return found == nullptr ? nullptr : found->rule;
}

bool has_rule(const Module& module, const std::type_info& rule) {
  const ModuleHooks* const hooks = detail::hooks_of(module);
  if (hooks == nullptr) return false;
  for (const ComputedMember& member : hooks->computed) {
    const TensorRule& one = *member.rule;
    if (typeid(one) == rule) return true;
  }
  return false;
}

void change_rule(Module& module, const std::string& name, std::shared_ptr<const TensorRule> rule) {
  computed(module, name).rule = std::move(rule);
}

at::Tensor refresh_tensor(Module& module, const std::string& name) {
  const std::shared_ptr<const TensorRule> rule = computed(module, name).rule;
  at::Tensor& member = tensor_member(module, name);
  return member = rule->compute(module, name);
}

void refresh_tensors(Module& module) {
  const ModuleHooks* const hooks = detail::hooks_of(module);
  if (hooks == nullptr) return;
  for (size_t i = 0; i < hooks->computed.size(); ++i) refresh_tensor(module, std::string(hooks->computed[i].name));
}

void stop_computing(Module& module, const std::string& name, const at::Tensor& tensor, bool is_parameter) {
  computed(module, name);
  std::erase_if(detail::hooks_for_tensors(module).computed, [&](const ComputedMember& m) { return m.name == name; });
  at::Tensor& member = tensor_member(module, name);
  member = is_parameter ? module.register_parameter(name, tensor, tensor.requires_grad())
                        : module.register_buffer(name, tensor);
}

void register_memberless(Module& module, const std::string& name, const at::Tensor& tensor, bool is_parameter) {
  if (is_parameter) {
    module.register_parameter(name, tensor, tensor.requires_grad());
  } else {
    module.register_buffer(name, tensor);
  }
  detail::hooks_for_tensors(module).without_member.push_back(name);
}

void unregister_memberless(Module& module, const std::string& name) {
  TORCH_CHECK(has_no_member(module, name), detail::class_name(module), ": `", name, "` was not registered so");
  auto& parameters = ModuleAccess::parameters(module);
  (parameters.contains(name) ? parameters : ModuleAccess::buffers(module)).erase(name);
  std::erase(detail::hooks_for_tensors(module).without_member, name);
}

void ReplacedTensors::replace(const std::string& path, const at::Tensor& tensor) {
  Saved saved;
  saved.owner = owner_of(module_, path, saved.name);
  Module& owner = *saved.owner;
  at::Tensor* const entry = registered(owner, saved.name);
  TORCH_CHECK(entry != nullptr, detail::class_name(owner), " has no attribute `", saved.name, "`");
  at::Tensor* const member = member_if_any(owner, saved.name);
  saved.registered = *entry;
  if (member != nullptr) saved.member = *member;
  saved_.push_back(std::move(saved));
  *entry = tensor;
  if (member != nullptr) *member = tensor;
}

ReplacedTensors::~ReplacedTensors() {
  for (auto saved = saved_.rbegin(); saved != saved_.rend(); ++saved) {
    if (at::Tensor* entry = registered(*saved->owner, saved->name)) *entry = saved->registered;
    if (has_no_member(*saved->owner, saved->name)) continue;
    if (at::Tensor* member = ModuleAccess::tensor_member(*saved->owner, saved->name)) *member = saved->member;
  }
}

}  // namespace torch::nn

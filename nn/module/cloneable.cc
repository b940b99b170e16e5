#include "nn/module/cloneable.h"

#include <unordered_map>
#include <utility>

#include "aten/ops/copy/ops.h"
#include "aten/ops/view/ops.h"
#include "nn/module/hook_lists.h"

namespace torch::nn::detail {

// What was cloned already, by what it was cloned from.
struct Cloning::Memo {
  const at::Tensor* find(const at::Tensor& original) const {
    const auto found = tensors.find(original.unsafeGetTensorImpl());
    return found == tensors.end() ? nullptr : &found->second;
  }
  std::unordered_map<const c10::TensorImpl*, at::Tensor> tensors;
  std::unordered_map<const Module*, std::shared_ptr<Module>> modules;
};

// Of the clone() that is running in this thread; hidden from what a reset() calls.
static thread_local Cloning::Memo* running = nullptr;
// The innermost reset() that a clone() of this thread is waiting for.
static thread_local const Cloning::Resetting* resetting = nullptr;

Cloning::Cloning(const Module& original) : original_(original) {
  if (running != nullptr) return;
  own_ = std::make_unique<Memo>();
  running = own_.get();
}

Cloning::~Cloning() {
  if (own_ != nullptr) running = nullptr;
}

std::shared_ptr<Module> Cloning::made() const {
  const auto found = running->modules.find(&original_);
  return found == running->modules.end() ? nullptr : found->second;
}

std::shared_ptr<Module> Cloning::finish(std::shared_ptr<Module> copy) const {
  copy->is_training_ = original_.is_training_;
  copy->hooks_ = original_.hooks_;
  return running->modules[&original_] = std::move(copy);
}

Cloning::Resetting::Resetting(const Cloning& cloning, Module& copy_)
    : original(cloning.original_),
      copy(copy_),
      memo(std::exchange(running, nullptr)),
      outer(std::exchange(resetting, this)) {
  copy_.parameters_.clear();
  copy_.buffers_.clear();
  copy_.children_.clear();
}

Cloning::Resetting::~Resetting() {
  running = memo;
  resetting = outer;
}

const at::Tensor* Cloning::shared(const Module& copy, Kind kind, const std::string& name) {
  if (resetting == nullptr || &resetting->copy != &copy) return nullptr;
  const at::Tensor* const original = (resetting->original.*kind).find(name);
  return original == nullptr ? nullptr : resetting->memo->find(*original);
}

namespace {

at::Tensor copy_of(const at::Tensor& t, const std::optional<c10::Device>& device) {
  const bool moves = device.has_value() && t.device() != *device;
  return at::detach(moves ? at::to(t, t.options().device(device), false, false, std::nullopt)
                          : at::clone(t, std::nullopt));
}

}  // namespace

at::Tensor Cloning::tensor(const at::Tensor& original, const std::optional<c10::Device>& device) const {
  if (const at::Tensor* made = running->find(original)) return *made;
  at::Tensor copy = copy_of(original, device);
  copy.set_requires_grad(original.requires_grad());
  return running->tensors[original.unsafeGetTensorImpl()] = copy;
}

void Cloning::tensors(Module& copy, Kind kind, const std::optional<c10::Device>& device) const {
  const bool parameters = kind == &Module::parameters_;
  TORCH_CHECK((original_.*kind).size() == (copy.*kind).size(), "The cloned module does not have the same number of ",
              parameters ? "parameters" : "buffers",
              " as the original module after calling reset(). Are you sure you called register_",
              parameters ? "parameter" : "buffer", "() inside reset() and not the constructor?");
  for (const auto& item : original_.*kind) {
    const at::Tensor& source = item.value();
    at::Tensor& target = (copy.*kind)[item.key()];
    if (!source.defined()) {
      target = at::Tensor();
      continue;
    }
    if (const at::Tensor* made = running->find(source)) target = *made;
    // Also what was made before: reset() may have filled it anew.
    const at::Tensor data = copy_of(source, device);
    if (target.defined()) {
      target.set_data(data);
    } else {
      target = data;
    }
    if (parameters) target.set_requires_grad(source.requires_grad());
    running->tensors[source.unsafeGetTensorImpl()] = target;
  }
}

void Cloning::adopt_computed(Module& copy, const std::optional<c10::Device>& device) const {
  const ModuleHooks* const hooks = hooks_of(original_);
  if (hooks == nullptr || (hooks->computed.empty() && hooks->attached.empty())) return;
  for (const ComputedMember& member : hooks->computed) {
    for (const Kind kind : {&Module::parameters_, &Module::buffers_}) {
      if ((copy.*kind).contains(member.name)) (copy.*kind).erase(member.name);
    }
    at::Tensor* const from = const_cast<Module&>(original_).tensor_member(member.name);
    at::Tensor* const to = copy.tensor_member(member.name);
    if (from != nullptr && to != nullptr) *to = from->defined() ? copy_of(*from, device) : at::Tensor();
  }
  for (const Kind kind : {&Module::parameters_, &Module::buffers_}) {
    for (const auto& item : original_.*kind) {
      if (!(copy.*kind).contains(item.key())) (copy.*kind).insert(item.key(), at::Tensor());
    }
  }
  for (const auto& child : original_.children_) {
    if (!copy.children_.contains(child.key())) copy.children_.insert(child.key(), child.value()->clone(device));
  }
  copy.not_persistent_ = original_.not_persistent_;
}

void Cloning::tensors(Module& copy, const std::optional<c10::Device>& device) const {
  adopt_computed(copy, device);
  tensors(copy, &Module::parameters_, device);
  tensors(copy, &Module::buffers_, device);
  TORCH_CHECK(copy.children_.size() == original_.children_.size(),
              "The cloned module does not have the same number of child modules as the original module after calling "
              "reset(). Are you sure you called register_module() inside reset() and not the constructor?");
}

void clone_type_error() {
  TORCH_CHECK(
      false, "Attempted to clone submodule, but it is of a different type than the submodule it was to be cloned into");
  __builtin_unreachable();
}

}  // namespace torch::nn::detail

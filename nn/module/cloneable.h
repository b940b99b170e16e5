// Cloneable<Derived>: a Module with clone(). Derived declares its parameters in reset(), which its constructor calls.
#pragma once

#include <memory>
#include <optional>

#include "c10/core/grad_mode.h"
#include "nn/module/module.h"

namespace torch::nn {

namespace detail {

// A clone() with all those that it calls: what is shared in the original is cloned once, and shared in the clone.
class Cloning {
 public:
  struct Memo;

  explicit Cloning(const Module& original);
  ~Cloning();
  Cloning(const Cloning&) = delete;
  Cloning& operator=(const Cloning&) = delete;

  // The clone, if a clone() around this one made it already; else null.
  std::shared_ptr<Module> made() const;
  // The clone of one tensor, for modules without reset().
  at::Tensor tensor(const at::Tensor& original, const std::optional<c10::Device>& device) const;
  // Copies the original's tensors into `copy`, which has the same names after its reset().
  void tensors(Module& copy, const std::optional<c10::Device>& device) const;
  // Remembers the clone, and gives it the original's mode and hooks.
  std::shared_ptr<Module> finish(std::shared_ptr<Module> copy) const;

  // While it lives, `copy` forgets what it copied and registers anew; what is shared and was cloned already is registered in
  // place of what reset() made, so that the members hold it too.
  struct Resetting {
    Resetting(const Cloning& cloning, Module& copy);
    ~Resetting();
    Resetting(const Resetting&) = delete;
    Resetting& operator=(const Resetting&) = delete;

    const Module& original;
    const Module& copy;
    Memo* const memo;
    const Resetting* const outer;
  };

 private:
  friend class nn::Module;
  using Kind = OrderedDict<std::string, at::Tensor> Module::*;
  static const at::Tensor* shared(const Module& copy, Kind kind, const std::string& name);
  void tensors(Module& copy, Kind kind, const std::optional<c10::Device>& device) const;
  // What reset() made that is computed in the original (computed_tensor.h) is taken off the copy; what it is computed
  // from is put there.
  void adopt_computed(Module& copy, const std::optional<c10::Device>& device) const;

  const Module& original_;
  std::unique_ptr<Memo> own_;
};

[[noreturn]] void clone_type_error();

}  // namespace detail

template <typename Derived>
class Cloneable : public virtual Module {
 public:
  using Module::Module;

  // Makes (again) all parameters, buffers and submodules. May be called at any time: nothing of the old ones is kept.
  virtual void reset() = 0;

  // A copy of the module with copies of all tensors, on `device` if given; what is shared in it is shared in the copy. Throws
  // where reset() does not register what the module has. reset() assigns to members what registration returns.
  std::shared_ptr<Module> clone(const std::optional<c10::Device>& device = std::nullopt) const override;

 private:
  void clone_(Module& other, const std::optional<c10::Device>& device) final;
};

// Not inline, so that they are compiled once where a module's source holds them (TORCH_COMPILED_MODULE).
template <typename Derived>
std::shared_ptr<Module> Cloneable<Derived>::clone(const std::optional<c10::Device>& device) const {
  c10::NoGradGuard no_grad;
  const detail::Cloning cloning(*this);
  if (auto made = cloning.made()) return made;
  auto copy = std::make_shared<Derived>(static_cast<const Derived&>(*this));
  {
    const detail::Cloning::Resetting resetting(cloning, *copy);
    copy->reset();
  }
  cloning.tensors(*copy, device);
  for (const auto& child : children_) {
    const auto& fresh = copy->children_[child.key()];
    if (fresh != nullptr && child.value() != nullptr) fresh->clone_(*child.value(), device);
  }
  return cloning.finish(copy);
}

template <typename Derived>
void Cloneable<Derived>::clone_(Module& other, const std::optional<c10::Device>& device) {
  // Derived's own assignment would need a static cast through a virtual base, so it goes by a dynamic one.
  auto clone = std::dynamic_pointer_cast<Derived>(other.clone(device));
  if (clone == nullptr) detail::clone_type_error();
  static_cast<Derived&>(*this) = *clone;
}

}  // namespace torch::nn

// What TORCH_MODULE makes, in namespace torch::nn, for a module whose source holds `template class Cloneable<NameImpl>;`. A
// program that includes the header neither compiles its clone() again nor, before it names the holder, the holder.
#define TORCH_COMPILED_MODULE(Name)            \
  extern template class Cloneable<Name##Impl>; \
  using Name = ModuleHolder<Name##Impl>

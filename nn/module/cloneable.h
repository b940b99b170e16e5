// Cloneable<Derived>: a Module with clone(). Derived declares its parameters in reset(), which its constructor calls.
#pragma once

#include <memory>
#include <optional>

#include "c10/core/grad_mode.h"
#include "nn/module/module.h"

namespace torch::nn {

namespace detail {
// The tensors of `from` become copies in `to` (which has the same names): on `device`, or where they are.
void copy_tensors(const OrderedDict<std::string, at::Tensor>& from, OrderedDict<std::string, at::Tensor>& to,
                  const std::optional<c10::Device>& device, const char* kind, bool parameters);
void check_children(size_t copied, size_t original);
[[noreturn]] void clone_type_error();
}  // namespace detail

template <typename Derived>
class Cloneable : public virtual Module {
 public:
  using Module::Module;

  // Makes (again) all parameters, buffers and submodules. May be called at any time: nothing of the old ones is kept.
  virtual void reset() = 0;

  // A copy of the module with copies of all tensors, on `device` if given. Throws where reset() does not register what
  // the module has.
  std::shared_ptr<Module> clone(const std::optional<c10::Device>& device = std::nullopt) const override {
    c10::NoGradGuard no_grad;
    const auto& self = static_cast<const Derived&>(*this);
    auto copy = std::make_shared<Derived>(self);
    copy->parameters_.clear();
    copy->buffers_.clear();
    copy->children_.clear();
    copy->reset();
    detail::copy_tensors(parameters_, copy->parameters_, device, "parameters", true);
    detail::copy_tensors(buffers_, copy->buffers_, device, "buffers", false);
    detail::check_children(copy->children_.size(), children_.size());
    for (const auto& child : children_) {
      const auto& fresh = copy->children_[child.key()];
      if (fresh != nullptr && child.value() != nullptr) fresh->clone_(*child.value(), device);
    }
    return copy;
  }

 private:
  void clone_(Module& other, const std::optional<c10::Device>& device) final {
    // Derived's own assignment would need a static cast through a virtual base, so it goes by a dynamic one.
    auto clone = std::dynamic_pointer_cast<Derived>(other.clone(device));
    if (clone == nullptr) detail::clone_type_error();
    static_cast<Derived&>(*this) = *clone;
  }
};

}  // namespace torch::nn

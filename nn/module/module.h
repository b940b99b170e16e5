// torch::nn::Module: the base of everything that owns parameters, buffers and other modules.
//
//   struct NetImpl : torch::nn::Module {
//     NetImpl() { fc = register_module("fc", torch::nn::Linear(8, 1)); }
//     torch::Tensor forward(torch::Tensor x) { return fc(x); }
//     torch::nn::Linear fc{nullptr};
//   };
//   TORCH_MODULE(Net);
//
// A module is used through a std::shared_ptr or a ModuleHolder. Several threads may call forward of one module at once
// while nobody changes it.
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/core/device.h"
#include "c10/core/scalar_type.h"
#include "nn/module/module_holder.h"
#include "nn/module/ordered_dict.h"

namespace torch {
using Dtype = c10::ScalarType;

namespace serialize {
class OutputArchive;
class InputArchive;
}  // namespace serialize
}  // namespace torch

namespace torch::nn {

class AnyValue;

class Module : public std::enable_shared_from_this<Module> {
 public:
  using ModuleApplyFunction = std::function<void(Module&)>;
  using ConstModuleApplyFunction = std::function<void(const Module&)>;
  using NamedModuleApplyFunction = std::function<void(const std::string&, Module&)>;
  using ConstNamedModuleApplyFunction = std::function<void(const std::string&, const Module&)>;
  using ModulePointerApplyFunction = std::function<void(const std::shared_ptr<Module>&)>;
  using NamedModulePointerApplyFunction = std::function<void(const std::string&, const std::shared_ptr<Module>&)>;

  explicit Module(std::string name);
  // The name is then the demangled type ("torch::nn::LinearImpl").
  Module();
  // No moves: a virtual base that two bases share would be moved from twice.
  Module(const Module&) = default;
  Module& operator=(const Module&) = default;
  virtual ~Module();

  const std::string& name() const noexcept;

  // A deep copy, on `device` if given. Only Cloneable<Derived> has one; others throw.
  virtual std::shared_ptr<Module> clone(const std::optional<c10::Device>& device = std::nullopt) const;

  // Calls `function` for this module and, depth first, for every module below it. With names, a path of dotted keys
  // below `name_prefix`. The forms that pass a shared_ptr need this module to be owned by one.
  void apply(const ModuleApplyFunction& function);
  void apply(const ConstModuleApplyFunction& function) const;
  void apply(const NamedModuleApplyFunction& function, const std::string& name_prefix = std::string());
  void apply(const ConstNamedModuleApplyFunction& function, const std::string& name_prefix = std::string()) const;
  void apply(const ModulePointerApplyFunction& function) const;
  void apply(const NamedModulePointerApplyFunction& function, const std::string& name_prefix = std::string()) const;

  // Own ones first, then the children's, depth first, in the order of registration; undefined ones are left out.
  std::vector<at::Tensor> parameters(bool recurse = true) const;
  OrderedDict<std::string, at::Tensor> named_parameters(bool recurse = true) const;
  std::vector<at::Tensor> buffers(bool recurse = true) const;
  OrderedDict<std::string, at::Tensor> named_buffers(bool recurse = true) const;
  std::vector<std::shared_ptr<Module>> modules(bool include_self = true) const;
  OrderedDict<std::string, std::shared_ptr<Module>> named_modules(const std::string& name_prefix = std::string(),
                                                                  bool include_self = true) const;
  std::vector<std::shared_ptr<Module>> children() const;
  OrderedDict<std::string, std::shared_ptr<Module>> named_children() const;

  // Training (or evaluation) mode, for this module and all below.
  virtual void train(bool on = true);
  void eval() { train(false); }
  virtual bool is_training() const noexcept { return is_training_; }

  // Moves and converts parameters and buffers in place. A dtype must be floating-point or complex and applies to such
  // tensors only: counters and indices keep theirs.
  virtual void to(c10::Device device, Dtype dtype, bool non_blocking = false);
  virtual void to(Dtype dtype, bool non_blocking = false);
  virtual void to(c10::Device device, bool non_blocking = false);

  // Clears the gradients of all parameters: to zero, or to no tensor at all.
  virtual void zero_grad(bool set_to_none = false);

  // Writes (reads) parameters, buffers and children under their names. Linked with //utils/serialize.
  virtual void save(serialize::OutputArchive& archive) const;
  virtual void load(serialize::InputArchive& archive);
  // Whether save and load handle this module; others are skipped with their parent.
  virtual bool is_serializable() const;

  // Writes the one-line form; `<<` adds the children, indented.
  virtual void pretty_print(std::ostream& stream) const;

  // This module as an M (by holder or implementation type); null where it is something else.
  template <typename M>
  auto* as() noexcept {
    return dynamic_cast<detail::contained_type_t<M>*>(this);
  }
  template <typename M>
  const auto* as() const noexcept {
    return dynamic_cast<const detail::contained_type_t<M>*>(this);
  }

  // --- registration, normally in a constructor. Names are not empty, have no dot and are unique in their kind ---
  // A parameter is trained: it requires a gradient unless told otherwise. An undefined tensor reserves the name.
  at::Tensor& register_parameter(std::string name, at::Tensor tensor, bool requires_grad = true);
  // State that is saved and moved, but not trained.
  at::Tensor& register_buffer(std::string name, at::Tensor tensor);
  template <typename M>
  std::shared_ptr<M> register_module(std::string name, std::shared_ptr<M> module) {
    add_child(std::move(name), module);
    return module;
  }
  template <typename M>
  std::shared_ptr<M> register_module(std::string name, ModuleHolder<M> holder) {
    return register_module(std::move(name), holder.ptr());
  }
  template <typename M>
  std::shared_ptr<M> replace_module(const std::string& name, std::shared_ptr<M> module) {
    children_[name] = module;
    return module;
  }
  template <typename M>
  std::shared_ptr<M> replace_module(const std::string& name, ModuleHolder<M> holder) {
    return replace_module(name, holder.ptr());
  }
  void unregister_module(const std::string& name);

 protected:
  // What FORWARD_HAS_DEFAULT_ARGS overrides, for AnyModule.
  virtual bool _forward_has_default_args() { return false; }
  virtual unsigned int _forward_num_required_args();
  virtual std::vector<AnyValue> _forward_populate_default_args(std::vector<AnyValue>&& arguments);

  OrderedDict<std::string, at::Tensor> parameters_{"Parameter"};
  OrderedDict<std::string, at::Tensor> buffers_{"Buffer"};
  OrderedDict<std::string, std::shared_ptr<Module>> children_{"Submodule"};

 private:
  template <typename Derived>
  friend class Cloneable;
  friend struct AnyModuleAccess;
  friend std::ostream& operator<<(std::ostream& stream, const Module& module);

  // Makes this module's tensors those of `other`, deeply; what Cloneable implements.
  virtual void clone_(Module& other, const std::optional<c10::Device>& device);
  void add_child(std::string name, std::shared_ptr<Module> module);
  void convert(const std::optional<c10::Device>& device, const std::optional<Dtype>& dtype, bool non_blocking);
  void pretty_print_recursive(std::ostream& stream, const std::string& indentation) const;
  std::shared_ptr<Module> shared_from_this_checked() const;
  template <typename F>
  void visit_children(const std::string& prefix, const F& visit) const;

  mutable std::optional<std::string> name_;
  bool is_training_ = true;
};

std::ostream& operator<<(std::ostream& stream, const Module& module);

namespace detail {
// Puts text into the stream's buffer as it is. It reaches no formatting code, so that the virtual pretty_print of every
// module costs a program that prints nothing no stream library.
void put_text(std::ostream& stream, std::string_view text);
}  // namespace detail

}  // namespace torch::nn

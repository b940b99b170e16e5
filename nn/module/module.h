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
//
// A tensor (a module) may be registered in several places, under several names; it is then shared: converted, cleared and
// counted once, and shared in a clone as well.
#pragma once

#include <functional>
#include <initializer_list>
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
#include "nn/module/module_hooks.h"
#include "nn/module/ordered_dict.h"

namespace c10 {
class IValue;
}

namespace torch {
using Dtype = c10::ScalarType;

namespace serialize {
class OutputArchive;
class InputArchive;
}  // namespace serialize
}  // namespace torch

namespace torch::nn {

class AnyModule;
class AnyValue;

namespace detail {

// Owns a module's hooks. Copies have hooks of their own; most modules have none.
class HookSlot {
 public:
  HookSlot() = default;
  HookSlot(const HookSlot& other) : set(other.set == nullptr ? nullptr : other.set->copy()) {}
  HookSlot& operator=(const HookSlot& other) {
    if (this != &other) set = other.set == nullptr ? nullptr : other.set->copy();
    return *this;
  }
  std::shared_ptr<HookSet> set;
};

class Cloning;

}  // namespace detail

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

  // Own ones first, then the children's, depth first, in the order of registration; undefined ones are left out. What is
  // registered in several places comes once, under its first name.
  std::vector<at::Tensor> parameters(bool recurse = true) const;
  OrderedDict<std::string, at::Tensor> named_parameters(bool recurse = true, bool remove_duplicate = true) const;
  // With `prefix` and a dot before each name.
  OrderedDict<std::string, at::Tensor> named_parameters(const std::string& prefix, bool recurse = true,
                                                        bool remove_duplicate = true) const;
  OrderedDict<std::string, at::Tensor> named_parameters(const char* prefix, bool recurse = true,
                                                        bool remove_duplicate = true) const {
    return named_parameters(std::string(prefix), recurse, remove_duplicate);
  }
  std::vector<at::Tensor> buffers(bool recurse = true) const;
  OrderedDict<std::string, at::Tensor> named_buffers(bool recurse = true, bool remove_duplicate = true) const;
  OrderedDict<std::string, at::Tensor> named_buffers(const std::string& prefix, bool recurse = true,
                                                     bool remove_duplicate = true) const;
  OrderedDict<std::string, at::Tensor> named_buffers(const char* prefix, bool recurse = true,
                                                     bool remove_duplicate = true) const {
    return named_buffers(std::string(prefix), recurse, remove_duplicate);
  }
  std::vector<std::shared_ptr<Module>> modules(bool include_self = true) const;
  OrderedDict<std::string, std::shared_ptr<Module>> named_modules(const std::string& name_prefix = std::string(),
                                                                  bool include_self = true) const;
  std::vector<std::shared_ptr<Module>> children() const;
  OrderedDict<std::string, std::shared_ptr<Module>> named_children() const;

  // Training (or evaluation) mode, for this module and all below.
  virtual void train(bool on = true);
  void eval() { train(false); }
  virtual bool is_training() const noexcept { return is_training_; }

  // Moves and converts parameters and buffers in place, counters and indices too, unlike Python's. Throws for an integral
  // dtype where a parameter requires gradients.
  virtual void to(c10::Device device, Dtype dtype, bool non_blocking = false);
  virtual void to(Dtype dtype, bool non_blocking = false);
  virtual void to(c10::Device device, bool non_blocking = false);
  // to() with the dtype or device that they name. `to(torch::kFloat)` and `to(torch::kDouble)` have no shorter form.
  Module& half();
  Module& bfloat16();
  Module& cpu();
  Module& cuda(std::optional<c10::DeviceIndex> index = std::nullopt);
  // Converts all parameters and buffers, counters too.
  Module& type(Dtype dtype);

  // Switches recording for all parameters.
  Module& requires_grad_(bool requires_grad = true);
  // Gives parameters and buffers (those of the modules below too, if `recurse`) fresh memory on `device`, of undefined
  // content: how a module made on the meta device gets real tensors.
  Module& to_empty(c10::Device device, bool recurse = true);
  // Moves parameters, their gradients and buffers to memory that processes forked later share, as Tensor::share_memory_ does.
  Module& share_memory();

  // Clears the gradients of all parameters: to no tensor at all, or to zero.
  virtual void zero_grad(bool set_to_none = true);

  // Parameters, persistent buffers and extra state by dotted name, each name after `prefix` (which ends in a dot, if not
  // empty). Tensors share their data with the module and are detached from the graph, unless `keep_vars`. StateDict:
  // nn/module/state_dict.h.
  StateDict state_dict(const std::string& prefix = std::string(), bool keep_vars = false) const;
  // Copies the tensors of `state` into those of the same names; with `assign` parameters and buffers take over the tensors
  // of `state`, their dtype and device included, without a copy. Names that only one side has are returned; if `strict`,
  // they are an error. The error names all of them and all tensors whose sizes differ; then nothing was copied (unless
  // there are load hooks, which may have ended by accepting the names).
  IncompatibleKeys load_state_dict(const StateDict& state, bool strict = true, bool assign = false);
  // What belongs to the module's state and is no parameter or buffer: put under "_extra_state". None: there is nothing, and
  // set_extra_state() is not called.
  virtual c10::IValue get_extra_state() const;
  virtual void set_extra_state(const c10::IValue& state);
  // The version of the names and meanings in the module's own part of a state_dict; and a chance to bring a part of an
  // older version (none: it has no versions) up to date before it is loaded.
  virtual int64_t state_dict_version() const { return 1; }
  virtual void upgrade_state_dict(StateDict& state, const std::string& prefix, std::optional<int64_t> version) const;

  // What lies at a dotted path below this module; the empty path is the module itself. Throw "Sequential has no attribute
  // `7`" where there is nothing.
  std::shared_ptr<Module> get_submodule(const std::string& target) const;
  at::Tensor& get_parameter(const std::string& target) const;
  at::Tensor& get_buffer(const std::string& target) const;
  // Puts a module at a dotted path, in place of one that is there or, unless `strict`, as a new child; its parent must be
  // there. A member of the parent that holds the old module goes on holding it.
  void set_submodule(const std::string& target, const std::shared_ptr<Module>& module, bool strict = false);
  template <typename M>
  void set_submodule(const std::string& target, const ModuleHolder<M>& holder, bool strict = false) {
    set_submodule(target, std::shared_ptr<Module>(holder.ptr()), strict);
  }
  // The same with a module of a type that is known, which takes the place of one of another type in a Sequential, too.
  void set_submodule(const std::string& target, const AnyModule& module, bool strict = false);

  // Whether tensors of this module get their sizes only from its first call (nn/layers/lazy.h): they cannot be listed
  // before.
  virtual bool has_uninitialized_params() const { return false; }

  // Writes (reads) parameters, buffers and children under their names. Linked with //utils/serialize.
  virtual void save(serialize::OutputArchive& archive) const;
  virtual void load(serialize::InputArchive& archive);
  // Whether save and load handle this module; others are skipped with their parent.
  virtual bool is_serializable() const;

  // Writes the one-line form; `<<` adds the children, indented. The default is the name, and extra_repr() in
  // parentheses where it is not empty.
  virtual void pretty_print(std::ostream& stream) const;
  virtual std::string extra_repr() const { return {}; }

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
  // State that is moved, but not trained; and saved, if `persistent`.
  at::Tensor& register_buffer(std::string name, at::Tensor tensor, bool persistent = true);
  template <typename M>
  std::shared_ptr<M> register_module(std::string name, std::shared_ptr<M> module) {
    add_child(std::move(name), module);
    return module;
  }
  template <typename M>
  std::shared_ptr<M> register_module(std::string name, ModuleHolder<M> holder) {
    return register_module(std::move(name), holder.ptr());
  }
  // Puts another module, parameter or buffer in the place of one that is registered. For shared ones:
  // `decoder->weight = decoder->replace_parameter("weight", encoder->weight);` in reset().
  template <typename M>
  std::shared_ptr<M> replace_module(const std::string& name, std::shared_ptr<M> module) {
    replace_child(name, module);
    return module;
  }
  template <typename M>
  std::shared_ptr<M> replace_module(const std::string& name, ModuleHolder<M> holder) {
    return replace_module(name, holder.ptr());
  }
  at::Tensor& replace_parameter(const std::string& name, at::Tensor tensor);
  at::Tensor& replace_buffer(const std::string& name, at::Tensor tensor);
  void unregister_module(const std::string& name);

  // --- hooks (module_hooks.h). They run where a holder, a container or call_module() calls the module. A clone has copies of
  // the hooks, which should therefore use the module they are given and not one they remember ---
  // `hook(Module&, const Tensors& inputs)` before forward.
  template <typename F>
  RemovableHandle register_forward_pre_hook(F hook, bool prepend = false) {
    return detail::add_hook(this, detail::forward_pre_hook(std::move(hook)), prepend);
  }
  // `hook(Module&, const Tensors& inputs, const Tensors& outputs)` after forward; or with `const Tensor& output`, where there
  // is one. With `always_call` also after an exception of forward or of another hook, then with the results there are.
  template <typename F>
  RemovableHandle register_forward_hook(F hook, bool prepend = false, bool always_call = false) {
    return detail::add_hook(this, detail::forward_hook(std::move(hook)), prepend, always_call);
  }
  // `hook(Module&, const Tensors& grad_outputs)` when the gradients of the results are known.
  template <typename F>
  RemovableHandle register_full_backward_pre_hook(F hook, bool prepend = false) {
    return detail::add_backward_pre_hook(this, detail::forward_pre_hook(std::move(hook)), prepend);
  }
  // `hook(Module&, const Tensors& grad_inputs, const Tensors& grad_outputs)` when the gradients of the arguments are known; it
  // may replace those. Undefined where an argument has none. Arguments and results may not be modified in place.
  template <typename F>
  RemovableHandle register_full_backward_hook(F hook, bool prepend = false) {
    return detail::add_backward_hook(this, detail::backward_hook(std::move(hook)), prepend);
  }
  // `hook(Module&, const std::string& prefix, bool keep_vars)` before the module's part of a state_dict is made;
  // `hook(Module&, StateDict&, const std::string& prefix)` when it and those below are.
  RemovableHandle register_state_dict_pre_hook(detail::StateDictPreHook hook) {
    return detail::add_hook(*this, std::move(hook));
  }
  RemovableHandle register_state_dict_post_hook(detail::StateDictPostHook hook) {
    return detail::add_hook(*this, std::move(hook));
  }
  // `hook(Module&, StateDict&, const std::string& prefix, bool strict, missing_keys, unexpected_keys, error_msgs)`, the last
  // three std::vector<std::string>&, before the module's part is loaded; `hook(Module&, IncompatibleKeys&)` after it and those
  // below are. Both may change the lists.
  RemovableHandle register_load_state_dict_pre_hook(detail::LoadPreHook hook) {
    return detail::add_hook(*this, std::move(hook));
  }
  RemovableHandle register_load_state_dict_post_hook(detail::LoadPostHook hook) {
    return detail::add_hook(*this, std::move(hook));
  }

 protected:
  // What FORWARD_HAS_DEFAULT_ARGS overrides, for AnyModule.
  virtual bool _forward_has_default_args() { return false; }
  virtual unsigned int _forward_num_required_args();
  virtual std::vector<AnyValue> _forward_populate_default_args(std::vector<AnyValue>&& arguments);
  // Where the member stands that holds the parameter or buffer `name`; null: nobody said. What puts another tensor in a
  // parameter's place (nn/utils: weight_norm, parametrize, prune, functional_call) writes it there. A class says it
  // with TORCH_MODULE_TENSORS(weight, bias), below; all layers do.
  virtual at::Tensor* tensor_member(const std::string& name);
  // What to() does with this module's own tensors.
  virtual void convert(const std::optional<c10::Device>& device, const std::optional<Dtype>& dtype, bool non_blocking);
  // Where has_uninitialized_params(): gives the tensors the sizes of those that are about to be loaded, if there are
  // any.
  virtual void initialize_from(const StateDict& /*state*/, const std::string& /*prefix*/) {}
  // A child is about to be replaced or, by set_submodule(), added: for containers that know their children in other ways too.
  virtual void on_set_child(const std::string& /*name*/, const std::shared_ptr<Module>& /*module*/) {}
  // The same where the type is known.
  virtual void on_set_any_child(const std::string& name, const AnyModule& module);

  OrderedDict<std::string, at::Tensor> parameters_{"Parameter"};
  OrderedDict<std::string, at::Tensor> buffers_{"Buffer"};
  OrderedDict<std::string, std::shared_ptr<Module>> children_{"Submodule"};

 private:
  template <typename Derived>
  friend class Cloneable;
  friend struct AnyModuleAccess;
  friend class detail::Cloning;
  friend struct ModuleAccess;
  friend std::ostream& operator<<(std::ostream& stream, const Module& module);

  // Makes this module's tensors those of `other`, deeply; what Cloneable implements.
  virtual void clone_(Module& other, const std::optional<c10::Device>& device);
  void add_child(std::string name, std::shared_ptr<Module> module);
  void replace_child(const std::string& name, std::shared_ptr<Module> module);
  // The module that is to have the child of a dotted path, and the child's name.
  Module& parent_of(const std::string& target, std::string& name, bool strict);
  void collect(OrderedDict<std::string, at::Tensor> Module::*tensors, bool recurse, bool remove_duplicate,
               OrderedDict<std::string, at::Tensor>& out, const std::string& prefix = std::string()) const;
  at::Tensor& find_tensor(const std::string& target, OrderedDict<std::string, at::Tensor> Module::*tensors,
                          const char* kind) const;
  Module& descend(const std::string& path) const;
  bool is_persistent(const std::string& buffer) const;
  void pretty_print_recursive(std::ostream& stream, const std::string& indentation) const;
  std::shared_ptr<Module> shared_from_this_checked() const;
  template <typename F>
  void visit_children(const std::string& prefix, const F& visit) const;

  mutable std::optional<std::string> name_;
  std::vector<std::string> not_persistent_;
  detail::HookSlot hooks_;
  bool is_training_ = true;
};

std::ostream& operator<<(std::ostream& stream, const Module& module);
// The same text for c10::str.
void to_text(std::string& out, const Module& module);

namespace detail {
// The member of these whose name is in "weight, bias"; null: none.
at::Tensor* pick_member(const std::string& name, std::string_view names, std::initializer_list<at::Tensor*> members);
// The class as people call it: "Linear" for a torch::nn::LinearImpl; or the name it was given.
std::string class_name(const Module& module);
// Puts text into the stream's buffer as it is. It reaches no formatting code, so that the virtual pretty_print of every
// module costs a program that prints nothing no stream library.
void put_text(std::ostream& stream, std::string_view text);
// The same for a layer whose text in libtorch leaves the stream with boolalpha.
void put_text_with_words(std::ostream& stream, std::string_view text);
}  // namespace detail

}  // namespace torch::nn

// In a class that registers its members under their own names: `TORCH_MODULE_TENSORS(weight, bias)`.
#define TORCH_MODULE_TENSORS(...)                                                            \
  at::Tensor* tensor_member(const std::string& name) override {                              \
    const auto pick = [&](auto&... members) {                                                \
      return torch::nn::detail::pick_member(name, #__VA_ARGS__, {&members...});              \
    };                                                                                       \
    return pick(__VA_ARGS__);                                                                \
  }

// Members of modules that are computed from other tensors before each call: what weight norm, parametrizations and
// pruning are made of (nn/utils).
//
// compute_tensor(m, "weight", rule) takes the parameter "weight" off the module's list. From then on rule->compute(m,
// "weight") is put in the member `weight` before each call of the module, after its forward pre-hooks. Calls are those
// that hooks see: `linear(x)` or call_module(), not `linear->forward(x)`, which uses what the member holds. Between
// calls the member holds what the last call, or refresh_tensor(), put there: to(), load_state_dict() and the
// optimizer's step change only what it is computed from. A module with computed members is called by one thread at a
// time. A clone has the rules and what they need.
//
// The class must say where its members are, with TORCH_MODULE_TENSORS (module.h): all layers do.
#pragma once

#include <memory>
#include <string>
#include <typeinfo>
#include <vector>

#include "nn/module/module.h"

namespace torch::nn {

// How a member is computed. Shared by a module and its clones: the module's own tensors are found by their names in it.
class TensorRule {
 public:
  virtual ~TensorRule() = default;
  virtual at::Tensor compute(Module& module, const std::string& name) const = 0;
};

// Any module, whatever it is held by: what the functions of nn/utils take.
class ModuleRef {
 public:
  ModuleRef(Module& module) : module_(&module) {}
  template <typename M>
  ModuleRef(const ModuleHolder<M>& holder) : module_(const_cast<Module*>(static_cast<const Module*>(holder.get()))) {}
  template <typename M>
  requires std::is_base_of_v<Module, M> ModuleRef(const std::shared_ptr<M>& module) : module_(module.get()) { check(); }
  Module& operator*() const { return *module_; }
  Module* operator->() const { return module_; }

 private:
  void check() const;
  Module* module_;
};

// What keeps a module: a holder, or a shared_ptr.
template <typename M>
concept ModuleHandle = detail::is_module_holder<M> || requires(const M& m) {
  typename M::element_type;
  static_cast<const std::shared_ptr<Module>&>(std::shared_ptr<Module>(m));
};

// The member that holds `name`. Throws where the class does not say it.
at::Tensor& tensor_member(Module& module, const std::string& name);

// Takes the parameter or buffer off the module and computes it from now on. Gives what was registered. Throws where
// there is none, where it is computed already, or where its member is not known. The member is left as it is.
at::Tensor compute_tensor(Module& module, const std::string& name, std::shared_ptr<const TensorRule> rule);
// The rule of a member; null: it is not computed.
std::shared_ptr<const TensorRule> rule_of(const Module& module, const std::string& name);
// Whether a member of this module is computed by a rule of this class.
bool has_rule(const Module& module, const std::type_info& rule);
template <typename Rule>
bool has_rule(const Module& module) {
  return has_rule(module, typeid(Rule));
}
// Another rule for a member that is computed.
void change_rule(Module& module, const std::string& name, std::shared_ptr<const TensorRule> rule);
// Computes a member, or all of the module, and puts the result there.
at::Tensor refresh_tensor(Module& module, const std::string& name);
void refresh_tensors(Module& module);
// Computes the member no more; it is registered again as a parameter or buffer, and holds `tensor`.
void stop_computing(Module& module, const std::string& name, const at::Tensor& tensor, bool is_parameter);

// Registers a tensor that no member holds, and takes it away again.
void register_memberless(Module& module, const std::string& name, const at::Tensor& tensor, bool is_parameter);
void unregister_memberless(Module& module, const std::string& name);

// While it lives, parameters and buffers of a module are others: named by their dotted paths.
class ReplacedTensors {
 public:
  explicit ReplacedTensors(Module& module) : module_(module) {}
  ReplacedTensors(const ReplacedTensors&) = delete;
  ReplacedTensors& operator=(const ReplacedTensors&) = delete;
  ~ReplacedTensors();

  void replace(const std::string& path, const at::Tensor& tensor);

 private:
  struct Saved {
    std::shared_ptr<Module> owner;
    std::string name;
    at::Tensor registered, member;
  };
  Module& module_;
  std::vector<Saved> saved_;
};

}  // namespace torch::nn

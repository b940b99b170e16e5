// Modules of TorchScript: objects with parameters, buffers, submodules and methods.
//
//   torch::jit::Module net = torch::jit::load("net.pt");            // export/torchscript/load.h
//   net.eval();
//   at::Tensor y = net.forward({x}).toTensor();
//   for (const auto& p : net.named_parameters()) std::cout << p.name << " " << p.value.sizes() << "\n";
//
// A Module is a handle: copies of it are the same object.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/value/class_type.h"
#include "c10/value/object.h"
#include "jit/api/compilation_unit.h"
#include "jit/api/qualified_name.h"

namespace torch::graph {
class Graph;
}

namespace torch::jit {

using ModulePtr = c10::intrusive_ptr<c10::ivalue::Object>;
using ExtraFilesMap = std::unordered_map<std::string, std::string>;
using ObjectPtr = c10::intrusive_ptr<c10::ivalue::Object>;

struct Module;

/// A method of an object. It keeps the object.
struct Method {
  Method(ObjectPtr owner, Function* function) : owner_(std::move(owner)), function_(function) {}
  /// Without the object. Throws what Function does.
  c10::IValue operator()(std::vector<c10::IValue> stack, const Kwargs& kwargs = {}) const;
  /// The same on one of the threads of at::launch(); errors are the future's.
  c10::intrusive_ptr<c10::ivalue::Future> run_async(std::vector<c10::IValue> stack, const Kwargs& kwargs = {}) const;
  void run(c10::Stack& stack) const { stack = {(*this)(std::move(stack))}; }
  const std::string& name() const { return function_->name(); }
  Function& function() const { return *function_; }
  /// With the object.
  size_t num_inputs() const;
  const std::shared_ptr<CompilationUnit> compilation_unit() const { return owner_->compilation_unit(); }
  /// The compiled method; null where it is none of a program, such as those of torch::class_.
  std::shared_ptr<const torch::graph::Graph> graph() const;
  Module owner() const;

 private:
  ObjectPtr owner_;
  Function* function_;
};

template <class T>
struct Named {
  std::string name;
  T value;
};
using NameValue = Named<c10::IValue>;
using NameTensor = Named<at::Tensor>;
using NameModule = Named<Module>;

using parameter_list = std::vector<at::Tensor>;
using buffer_list = std::vector<at::Tensor>;
using module_list = std::vector<Module>;
using attribute_list = std::vector<c10::IValue>;
using named_parameter_list = std::vector<NameTensor>;
using named_buffer_list = std::vector<NameTensor>;
using named_module_list = std::vector<NameModule>;
using named_attribute_list = std::vector<NameValue>;

/// An object of a class.
struct Object {
  Object() = default;
  /* implicit */ Object(ObjectPtr object) : object_(std::move(object)) {}
  Object(std::shared_ptr<CompilationUnit> unit, const c10::ClassTypePtr& type);

  /// Throws where there is none of that name: "Module has no attribute 'x'".
  c10::IValue attr(const std::string& name) const;
  c10::IValue attr(const std::string& name, c10::IValue or_else) const;
  /// Also of a new attribute's type. Throws TypeError for a value of another type than the attribute's.
  void setattr(const std::string& name, c10::IValue value);
  bool hasattr(const std::string& name) const { return type()->hasAttribute(name); }

  std::optional<Method> find_method(const std::string& name) const;
  /// Throws "Method 'name' is not defined."
  Method get_method(const std::string& name) const;
  bool has_method(const std::string& name) const { return find_method(name).has_value(); }
  std::vector<Method> get_methods() const;
  template <class... T>
  c10::IValue run_method(const std::string& name, T&&... arguments) {
    return get_method(name)({c10::IValue(std::forward<T>(arguments))...});
  }

  c10::ClassTypePtr type() const { return _ivalue()->type(); }
  /// Throws for an object that is none.
  const ObjectPtr& _ivalue() const;
  size_t num_slots() const { return _ivalue()->slots().size(); }
  /// With the same values, shared.
  Object copy() const { return Object(_ivalue()->copy()); }
  Object deepcopy() const;

 protected:
  mutable ObjectPtr object_;
};

struct Module : Object {
  /// An empty one of a class of its own.
  Module() : Module("__torch__.Module") {}
  explicit Module(c10::QualifiedName class_name);
  Module(std::shared_ptr<CompilationUnit> unit, const c10::ClassTypePtr& type) : Object(std::move(unit), type) {}
  /* implicit */ Module(ObjectPtr object) : Object(std::move(object)) {}

  /// The method forward, without hooks.
  c10::IValue forward(std::vector<c10::IValue> inputs, const Kwargs& kwargs = {}) {
    return get_method("forward")(std::move(inputs), kwargs);
  }
  /// The same with the hooks before and behind it.
  c10::IValue operator()(std::vector<c10::IValue> inputs);

  void register_parameter(const std::string& name, at::Tensor value, bool is_buffer);
  void register_buffer(const std::string& name, at::Tensor value);
  void register_attribute(const std::string& name, const c10::TypePtr& type, c10::IValue value,
                          bool is_parameter = false, bool is_buffer = false);
  void register_module(const std::string& name, const Module& module);
  /// Compiles methods, whose first parameter is the module. Throws ErrorReport.
  void define(const std::string& source);

  /// Parameters in the order of the attributes, those of submodules where these stand; each once for each name that it
  /// has. Without `recurse` the module's own.
  std::vector<at::Tensor> parameters(bool recurse = true) const;
  std::vector<NameTensor> named_parameters(bool recurse = true) const;
  std::vector<at::Tensor> buffers(bool recurse = true) const;
  std::vector<NameTensor> named_buffers(bool recurse = true) const;
  std::vector<Module> children() const;
  std::vector<NameModule> named_children() const;
  /// With this module, under the name "".
  std::vector<Module> modules() const;
  std::vector<NameModule> named_modules() const;
  std::vector<c10::IValue> attributes(bool recurse = true) const;
  std::vector<NameValue> named_attributes(bool recurse = true) const;

  /// Sets the attribute "training" wherever there is one.
  void train(bool on = true);
  void eval() { train(false); }
  /// True where there is no attribute "training".
  bool is_training() const { return attr("training", true).toBool(); }
  /// Parameters and buffers; only floating-point ones get another dtype.
  void to(c10::Device device, c10::ScalarType dtype, bool non_blocking = false);
  void to(c10::ScalarType dtype, bool non_blocking = false);
  void to(c10::Device device, bool non_blocking = false);

  Module copy() const { return Module(_ivalue()->copy()); }
  Module deepcopy(std::optional<c10::Device> device = std::nullopt) const;
  /// With classes of its own, so that what is registered or defined later is this module's alone. `inplace` shares the
  /// attributes.
  Module clone(bool inplace = false) const;
  /// f(module) for submodules first.
  Module& apply(const std::function<void(Module&)>& f);

  /// As Python's torch.jit.save; //export/torchscript has them, and loads what they write.
  void save(const std::string& filename, const ExtraFilesMap& extra_files = {}) const;
  void save(std::ostream& out, const ExtraFilesMap& extra_files = {}) const;

  void dump(bool print_method_bodies, bool print_attr_values, bool print_param_values) const;
  std::string dump_to_str(bool print_method_bodies, bool print_attr_values, bool print_param_values) const;
  friend bool operator==(const Module& a, const Module& b) { return a._ivalue().get() == b._ivalue().get(); }

 private:
  void move(const std::optional<c10::Device>& device, const std::optional<c10::ScalarType>& dtype, bool non_blocking);
};

/// A copy of a module in evaluation mode that has no parameters any more: they are plain attributes without gradients.
/// Of its methods those in `preserved` and forward are left. Throws where the module is in training mode.
Module freeze(const Module& module, const std::vector<std::string>& preserved = {}, bool optimize_numerics = true);
/// freeze(), for a module in evaluation mode.
Module optimize_for_inference(Module& module, const std::vector<std::string>& other_methods = {});

namespace script = ::torch::jit;

}  // namespace torch::jit

#include "jit/api/module.h"

#include <cstdio>
#include <map>
#include <set>

#include "aten/core/interop.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "c10/value/future.h"
#include "graph/ir/text.h"
#include "jit/api/script_function.h"

namespace torch::jit {
namespace {

using c10::IValue;

// Modules within modules are few levels; files may say otherwise.
constexpr int kDeepest = 1000;

bool is_module(const IValue& value) {
  return value.isObject() && value.toObjectRef().type()->is_module();
}

// f(name, attribute of a class, value) for the attributes of a module, and of those below it where they stand.
template <class F>
void visit(const Module& module, const std::string& prefix, bool recurse, const F& f, int depth = 0) {
  TORCH_CHECK(depth < kDeepest, "more than ", kDeepest, " modules inside each other");
  const c10::ClassTypePtr type = module.type();
  const ObjectPtr& object = module._ivalue();
  for (size_t slot = 0; slot < type->numAttributes() && slot < object->slots().size(); ++slot) {
    const c10::ClassAttribute& attribute = type->getAttribute(slot);
    const IValue& value = object->getSlot(slot);
    const std::string name = prefix + attribute.getName();
    f(name, attribute, value);
    if (recurse && is_module(value)) visit(Module(value.toObject()), name + ".", true, f, depth + 1);
  }
}

template <class T>
std::vector<T> values_of(const std::vector<Named<T>>& named) {
  std::vector<T> values;
  for (const Named<T>& one : named) values.push_back(one.value);
  return values;
}

c10::ClassTypePtr copied(const c10::ClassTypePtr& type, std::map<const c10::ClassType*, c10::ClassTypePtr>& known) {
  const auto found = known.find(type.get());
  if (found != known.end()) return found->second;
  const c10::ClassTypePtr copy = c10::ClassType::create(type->qualified_name(), type->is_module());
  known[type.get()] = copy;
  for (const c10::ClassAttribute& one : type->getAttributes()) {
    const auto inner = one.getType()->cast<c10::ClassType>();
    const bool module = inner != nullptr && inner->is_module();
    copy->addAttribute(one.getName(), module ? c10::TypePtr(copied(inner, known)) : one.getType(), one.is_parameter(),
                       one.is_buffer());
  }
  for (Function* method : type->methods()) copy->addMethod(method);
  for (const c10::ClassType::Property& p : type->properties()) copy->addProperty(p.name, p.getter, p.setter);
  return copy;
}

// The same attributes in objects of classes of their own.
struct Cloning {
  std::map<const c10::ClassType*, c10::ClassTypePtr> types;
  std::map<const c10::ivalue::Object*, ObjectPtr> objects;

  ObjectPtr operator()(const ObjectPtr& object, int depth = 0) {
    TORCH_CHECK(depth < kDeepest, "more than ", kDeepest, " modules inside each other");
    if (const auto found = objects.find(object.get()); found != objects.end()) return found->second;
    const c10::ClassTypePtr type = copied(object->type(), types);
    ObjectPtr made =
        c10::ivalue::Object::create(c10::StrongTypePtr(object->compilation_unit(), type), object->slots().size());
    objects[object.get()] = made;
    for (size_t slot = 0; slot < object->slots().size(); ++slot) {
      const IValue& value = object->getSlot(slot);
      made->setSlot(slot, is_module(value) ? IValue((*this)(value.toObject(), depth + 1)) : value);
    }
    return made;
  }
};

// The same without parameters, and the outermost without methods but those that are kept.
struct Freezing {
  std::set<std::string> kept;
  std::map<const c10::ClassType*, c10::ClassTypePtr> types;
  std::map<const c10::ivalue::Object*, ObjectPtr> objects;

  c10::ClassTypePtr frozen(const c10::ClassTypePtr& type, bool outermost) {
    const auto found = types.find(type.get());
    if (found != types.end()) return found->second;
    const c10::ClassTypePtr made = c10::ClassType::create(type->qualified_name(), true);
    types[type.get()] = made;
    for (const c10::ClassAttribute& one : type->getAttributes()) {
      const auto inner = one.getType()->cast<c10::ClassType>();
      const bool module = inner != nullptr && inner->is_module();
      made->addAttribute(one.getName(), module ? c10::TypePtr(frozen(inner, false)) : one.getType(), false,
                         one.is_buffer());
    }
    for (Function* method : type->methods()) {
      if (!outermost || kept.count(method->name()) != 0) made->addMethod(method);
    }
    return made;
  }
  ObjectPtr operator()(const ObjectPtr& object, bool outermost, int depth = 0) {
    TORCH_CHECK(depth < kDeepest, "more than ", kDeepest, " modules inside each other");
    if (const auto found = objects.find(object.get()); found != objects.end()) return found->second;
    ObjectPtr made = c10::ivalue::Object::create(
        c10::StrongTypePtr(object->compilation_unit(), frozen(object->type(), outermost)), object->slots().size());
    objects[object.get()] = made;
    for (size_t slot = 0; slot < object->slots().size(); ++slot) {
      const IValue& value = object->getSlot(slot);
      made->setSlot(slot, is_module(value)   ? IValue((*this)(value.toObject(), false, depth + 1))
                          : value.isTensor() ? IValue(at::detach(value.toTensor()))
                                             : value);
    }
    return made;
  }
};

}  // namespace

// --- Method ---

IValue Method::operator()(std::vector<IValue> stack, const Kwargs& kwargs) const {
  stack.insert(stack.begin(), IValue(owner_));
  return (*function_)(std::move(stack), kwargs);
}
c10::intrusive_ptr<c10::ivalue::Future> Method::run_async(std::vector<IValue> stack, const Kwargs& kwargs) const {
  auto future = c10::make_intrusive<c10::ivalue::Future>(function_->getSchema().returns().at(0).type());
  at::launch([future, method = *this, stack = std::move(stack), kwargs]() mutable {
    try {
      future->markCompleted(method(std::move(stack), kwargs));
    } catch (...) {
      future->setError(std::current_exception());
    }
  });
  return future;
}
size_t Method::num_inputs() const {
  return function_->getSchema().arguments().size();
}
std::shared_ptr<const torch::graph::Graph> Method::graph() const {
  auto* script = dynamic_cast<ScriptFunction*>(function_);
  return script == nullptr ? nullptr : script->compiled().graph;
}
Module Method::owner() const {
  return Module(owner_);
}

// --- Object ---

Object::Object(std::shared_ptr<CompilationUnit> unit, const c10::ClassTypePtr& type)
    : object_(c10::ivalue::Object::create(c10::StrongTypePtr(std::move(unit), type), type->numAttributes())) {}

const ObjectPtr& Object::_ivalue() const {
  TORCH_CHECK(object_ != nullptr, "an object that is none");
  return object_;
}

IValue Object::attr(const std::string& name) const {
  if (const auto slot = type()->findAttributeSlot(name)) return _ivalue()->getSlot(*slot);
  if (const auto constant = type()->findConstant(name)) return *constant;
  TORCH_CHECK(false, type()->is_module() ? "Module" : type()->qualified_name(), " has no attribute '", name, "'");
}
IValue Object::attr(const std::string& name, IValue or_else) const {
  if (const auto slot = type()->findAttributeSlot(name)) return _ivalue()->getSlot(*slot);
  if (const auto constant = type()->findConstant(name)) return *constant;
  return or_else;
}

void Object::setattr(const std::string& name, IValue value) {
  if (type()->findConstant(name).has_value())
    TORCH_CHECK(false, "Can't set constant '", name, "' which has value:", type()->getConstant(name));
  const auto slot = type()->findAttributeSlot(name);
  if (!slot.has_value()) {
    type()->addAttribute(name, value.type());
    return _ivalue()->setAttr(name, std::move(value));
  }
  const c10::TypePtr& wanted = type()->getAttribute(*slot).getType();
  const bool undefined = wanted->kind() == c10::TypeKind::TensorType && value.isNone();
  TORCH_CHECK_TYPE(undefined || value.type()->isSubtypeOf(wanted), "Expected a value of type '",
                   wanted->annotation_str(), "' for field '", name, "', but found '", value.type()->annotation_str(),
                   "'");
  _ivalue()->setSlot(*slot, std::move(value));
}

std::optional<Method> Object::find_method(const std::string& name) const {
  Function* function = type()->findMethod(name);
  if (function == nullptr) return std::nullopt;
  return Method(_ivalue(), function);
}
Method Object::get_method(const std::string& name) const {
  if (std::optional<Method> method = find_method(name)) return *method;
  TORCH_CHECK(false, "Method '", name, "' is not defined.");
}
std::vector<Method> Object::get_methods() const {
  std::vector<Method> all;
  for (Function* function : type()->methods()) all.emplace_back(_ivalue(), function);
  return all;
}
Object Object::deepcopy() const {
  return Object(IValue(_ivalue()).deepcopy().toObject());
}

// --- Module ---

Module::Module(c10::QualifiedName class_name)
    : Object(std::make_shared<CompilationUnit>(), c10::ClassType::create(class_name.qualifiedName(), true)) {}

IValue Module::operator()(std::vector<IValue> inputs) {
  const std::shared_ptr<CompilationUnit> unit = _ivalue()->compilation_unit();
  const ClassNotes notes = unit == nullptr ? ClassNotes() : unit->notes_of(*type());
  for (Function* hook : notes.pre_hooks) {
    const IValue changed = Method(_ivalue(), hook)({IValue(c10::ivalue::Tuple::create(inputs))});
    if (changed.isNone()) continue;
    inputs = changed.isTuple() ? changed.toTupleRef().elements().vec() : std::vector<IValue>{changed};
  }
  const IValue given = c10::ivalue::Tuple::create(inputs);
  IValue output = forward(std::move(inputs));
  for (Function* hook : notes.hooks) {
    IValue changed = Method(_ivalue(), hook)({given, output});
    if (!changed.isNone()) output = std::move(changed);
  }
  return output;
}

void Module::register_attribute(const std::string& name, const c10::TypePtr& type, IValue value, bool is_parameter,
                                bool is_buffer) {
  this->type()->addOrCheckAttribute(name, type, is_parameter, is_buffer);
  _ivalue()->setAttr(name, std::move(value));
}
void Module::register_parameter(const std::string& name, at::Tensor value, bool is_buffer) {
  register_attribute(name, c10::TensorType::get(), std::move(value), !is_buffer, is_buffer);
}
void Module::register_buffer(const std::string& name, at::Tensor value) {
  register_attribute(name, c10::TensorType::get(), std::move(value), false, true);
}
void Module::register_module(const std::string& name, const Module& module) {
  register_attribute(name, module.type(), module._ivalue());
}
void Module::define(const std::string& source) {
  const std::shared_ptr<CompilationUnit> unit = _ivalue()->compilation_unit();
  TORCH_CHECK(unit != nullptr, "methods are defined on a module that knows its compilation unit");
  unit->define_methods(type(), source);
}

std::vector<NameTensor> Module::named_parameters(bool recurse) const {
  std::vector<NameTensor> all;
  visit(*this, "", recurse, [&](const std::string& name, const c10::ClassAttribute& attribute, const IValue& value) {
    if (attribute.is_parameter() && value.isTensor()) all.push_back({name, value.toTensor()});
  });
  return all;
}
std::vector<NameTensor> Module::named_buffers(bool recurse) const {
  std::vector<NameTensor> all;
  visit(*this, "", recurse, [&](const std::string& name, const c10::ClassAttribute& attribute, const IValue& value) {
    if (!attribute.is_parameter() && attribute.is_buffer() && value.isTensor()) all.push_back({name, value.toTensor()});
  });
  return all;
}
std::vector<NameModule> Module::named_children() const {
  std::vector<NameModule> all;
  visit(*this, "", false, [&](const std::string& name, const c10::ClassAttribute&, const IValue& value) {
    if (is_module(value)) all.push_back({name, Module(value.toObject())});
  });
  return all;
}
std::vector<NameModule> Module::named_modules() const {
  std::vector<NameModule> all{{"", *this}};
  visit(*this, "", true, [&](const std::string& name, const c10::ClassAttribute&, const IValue& value) {
    if (is_module(value)) all.push_back({name, Module(value.toObject())});
  });
  return all;
}
std::vector<NameValue> Module::named_attributes(bool recurse) const {
  std::vector<NameValue> all;
  visit(*this, "", recurse, [&](const std::string& name, const c10::ClassAttribute&, const IValue& value) {
    all.push_back({name, value});
  });
  return all;
}
std::vector<at::Tensor> Module::parameters(bool recurse) const {
  return values_of(named_parameters(recurse));
}
std::vector<at::Tensor> Module::buffers(bool recurse) const {
  return values_of(named_buffers(recurse));
}
std::vector<Module> Module::children() const {
  return values_of(named_children());
}
std::vector<Module> Module::modules() const {
  return values_of(named_modules());
}
std::vector<IValue> Module::attributes(bool recurse) const {
  return values_of(named_attributes(recurse));
}

void Module::train(bool on) {
  for (Module& module : modules()) {
    if (module.hasattr("training")) module._ivalue()->setAttr("training", on);
  }
}

void Module::move(const std::optional<c10::Device>& device, const std::optional<c10::ScalarType>& dtype,
                  bool non_blocking) {
  const auto moved = [&](at::Tensor t) {
    c10::TensorOptions options = t.options();
    if (device.has_value()) options = options.device(*device);
    if (dtype.has_value() && (t.is_floating_point() || t.is_complex())) options = options.dtype(*dtype);
    const c10::AutoGradMode no_grad(false);
    t.set_data(at::to(t, options, non_blocking));
  };
  for (const at::Tensor& t : parameters()) moved(t);
  for (const at::Tensor& t : buffers()) moved(t);
}
void Module::to(c10::Device device, c10::ScalarType dtype, bool non_blocking) {
  move(device, dtype, non_blocking);
}
void Module::to(c10::ScalarType dtype, bool non_blocking) {
  move(std::nullopt, dtype, non_blocking);
}
void Module::to(c10::Device device, bool non_blocking) {
  move(device, std::nullopt, non_blocking);
}

Module Module::deepcopy(std::optional<c10::Device> device) const {
  return Module(IValue(_ivalue()).deepcopy(device).toObject());
}
Module Module::clone(bool inplace) const {
  return Module(Cloning()(inplace ? _ivalue() : deepcopy()._ivalue()));
}
Module& Module::apply(const std::function<void(Module&)>& f) {
  for (Module& child : children()) child.apply(f);
  f(*this);
  return *this;
}

Module freeze(const Module& module, const std::vector<std::string>& preserved, bool) {
  TORCH_CHECK(!module.hasattr("training") || !module.is_training(),
              "Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module "
              "before freezing.");
  for (const std::string& name : preserved)
    TORCH_CHECK(module.hasattr(name) || module.has_method(name), "Did not find preserved attribute or method ", name);
  Freezing freezing{{preserved.begin(), preserved.end()}, {}, {}};
  freezing.kept.insert("forward");
  return Module(freezing(module.deepcopy()._ivalue(), true));
}
Module optimize_for_inference(Module& module, const std::vector<std::string>& other_methods) {
  return freeze(module, other_methods);
}

std::string Module::dump_to_str(bool print_method_bodies, bool print_attr_values, bool print_param_values) const {
  std::string out = "module " + type()->qualified_name() + " {\n";
  const auto line = [&](const std::string& text) { out += "  " + text + "\n"; };
  const auto section = [&](const char* name, const auto& fill) {
    line(std::string(name) + " {");
    fill();
    line("}");
  };
  const auto text_of = [](const IValue& value) {
    std::string text;
    c10::to_text(text, value);
    return text;
  };
  section("parameters", [&] {
    for (const NameTensor& p : named_parameters(false))
      line("  " + p.name + " = " + (print_param_values ? text_of(p.value) : "..."));
  });
  section("attributes", [&] {
    for (const NameValue& a : named_attributes(false)) {
      const auto slot = type()->findAttributeSlot(a.name);
      if (type()->is_parameter(*slot) || is_module(a.value)) continue;
      line("  " + a.name + " = " + (print_attr_values ? text_of(a.value) : "..."));
    }
  });
  section("methods", [&] {
    for (const Method& method : get_methods()) {
      const auto graph = print_method_bodies ? method.graph() : nullptr;
      std::vector<IValue> tensors;
      line("  " + (graph == nullptr ? method.function().getSchema().str() : torch::graph::print(*graph, &tensors)));
    }
  });
  section("submodules", [&] {
    for (const NameModule& child : named_children()) {
      std::string text = child.value.dump_to_str(print_method_bodies, print_attr_values, print_param_values);
      for (size_t at = 0; (at = text.find('\n', at)) + 1 < text.size() && at != std::string::npos; at += 5)
        text.insert(at + 1, "    ");
      line("  " + child.name + " = " + text.substr(0, text.size() - 1));
    }
  });
  return out + "}\n";
}
void Module::dump(bool print_method_bodies, bool print_attr_values, bool print_param_values) const {
  const std::string text = dump_to_str(print_method_bodies, print_attr_values, print_param_values);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace torch::jit

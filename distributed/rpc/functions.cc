#include "distributed/rpc/functions.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "c10/dispatch/registry.h"
#include "distributed/rpc/rref.h"

namespace torch::distributed::rpc {
namespace {

using c10::IValue;

struct Functions {
  std::mutex mutex;
  std::unordered_map<std::string, std::shared_ptr<const Function>> by_name;
};
// Never destroyed: functions may still be called while a program ends.
Functions& functions() {
  static auto* const all = new Functions;
  return *all;
}

std::shared_ptr<const Function> find_function(const std::string& name) {
  Functions& all = functions();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.by_name.find(name);
  return found == all.by_name.end() ? nullptr : found->second;
}

bool fits(const c10::Argument& argument, const IValue& value) {
  const c10::TypePtr type = value.type();
  if (type->isSubtypeOf(argument.type())) return true;
  const c10::ArgumentShape shape = argument.shape();
  if (value.isNone()) return shape.optional;
  if (value.isList() && value.toListRef().empty()) return shape.list;
  if (shape.list != value.isList()) return false;
  if (shape.list) return value.isTensorList() == (shape.kind == c10::TypeKind::TensorType);
  switch (shape.kind) {
    case c10::TypeKind::TensorType:
      return value.isTensor();
    case c10::TypeKind::NumberType:
      return value.isScalar();
    case c10::TypeKind::FloatType:
      return value.isDouble() || value.isInt();
    case c10::TypeKind::IntType:
      return value.isInt();
    case c10::TypeKind::BoolType:
      return value.isBool();
    default:
      return false;
  }
}

bool takes(const c10::FunctionSchema& schema, const std::vector<IValue>& arguments) {
  const std::vector<c10::Argument>& wanted = schema.arguments();
  if (arguments.size() > wanted.size()) return false;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (i < arguments.size() ? !fits(wanted[i], arguments[i]) : !wanted[i].default_value().has_value()) return false;
  }
  return true;
}

// The overloads of "aten::add" in alphabetical order. Looking through all names takes milliseconds, so what was found
// is kept, and looked for again where none fits.
std::vector<c10::OperatorHandle> overloads_of(const std::string& name, bool again) {
  struct Found {
    std::mutex mutex;
    std::unordered_map<std::string, std::vector<c10::OperatorHandle>> by_name;
  };
  static auto* const found = new Found;
  const std::lock_guard<std::mutex> lock(found->mutex);
  std::vector<c10::OperatorHandle>& overloads = found->by_name[name];
  if (!overloads.empty() && !again) return overloads;
  overloads.clear();
  c10::Dispatcher& all = c10::Dispatcher::singleton();
  for (const std::string& full : all.getAllOpNames()) {
    if (full != name && !full.starts_with(name + ".")) continue;
    if (const auto op = all.findSchema(name, full.size() > name.size() ? full.substr(name.size() + 1) : ""))
      overloads.push_back(*op);
  }
  if (!overloads.empty()) return overloads;
  found->by_name.erase(name);  // names that others make up are not kept
  return {};
}

// "aten::add.Tensor", or the first overload of "aten::add" that takes the arguments, or (to say what is wrong) the
// first.
std::optional<c10::OperatorHandle> find_operator(const std::string& name, const std::vector<IValue>& arguments) {
  const size_t dot = name.find('.');
  if (dot != std::string::npos) {
    return c10::Dispatcher::singleton().findSchema(std::string_view(name).substr(0, dot),
                                                   std::string_view(name).substr(dot + 1));
  }
  std::optional<c10::OperatorHandle> first;
  for (const bool again : {false, true}) {
    for (const c10::OperatorHandle& overload : overloads_of(name, again)) {
      if (takes(overload.schema(), arguments)) return overload;
      if (!first) first = overload;
    }
  }
  return first;
}

}  // namespace

namespace detail {

IValue reference_value(const RRefPtr& reference) {
  return reference ? IValue::make_capsule(reference) : IValue();
}

RRefPtr to_reference(const IValue& value) {
  if (value.isNone()) return {};
  RRef* const reference = value.isCapsule() ? dynamic_cast<RRef*>(value.toCapsule().get()) : nullptr;
  TORCH_CHECK_TYPE(reference != nullptr, "rpc: expected a reference (RRef), but got ", value.tagKind());
  return RRefPtr::reclaim_copy(reference);
}

IValue dereferenced(const IValue& value) {
  const auto* const reference = value.isCapsule() ? dynamic_cast<RRef*>(value.toCapsule().get()) : nullptr;
  return reference == nullptr ? value : reference->local_value();
}

std::shared_ptr<void> to_object(const IValue& value, const std::type_info& type) {
  const auto* const local = value.isCapsule() ? dynamic_cast<Local*>(value.toCapsule().get()) : nullptr;
  TORCH_CHECK_TYPE(local != nullptr && *local->type == type, "rpc: expected an object of type ", type.name(),
                   ", but got ", local != nullptr ? local->type->name() : value.tagKind().c_str());
  return local->object;
}

void add_function(const std::string& name, Function function) {
  TORCH_CHECK_VALUE(!name.empty() && name.find("::") == std::string::npos, "register_function: the name \"", name,
                    "\" is empty or an operator's");
  Functions& all = functions();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const bool is_new = all.by_name.emplace(name, std::make_shared<const Function>(std::move(function))).second;
  TORCH_CHECK_VALUE(is_new, "register_function: the name \"", name, "\" is taken");
}

IValue call_function(const std::string& name, std::vector<IValue> arguments) {
  if (const std::shared_ptr<const Function> function = find_function(name)) return (*function)(arguments);
  TORCH_CHECK_VALUE(name.find("::") != std::string::npos, "rpc: there is no function \"", name,
                    "\": call register_function in this worker's program");
  for (IValue& argument : arguments) argument = dereferenced(argument);
  const std::optional<c10::OperatorHandle> op = find_operator(name, arguments);
  TORCH_CHECK_VALUE(op.has_value(), "rpc: there is no operator \"", name,
                    "\": link //aten/ops:registry into this worker's program");
  op->callBoxed(arguments);
  if (arguments.size() == 1) return arguments[0];
  return arguments.empty() ? IValue() : IValue(c10::ivalue::Tuple::create(std::move(arguments)));
}

}  // namespace detail

}  // namespace torch::distributed::rpc

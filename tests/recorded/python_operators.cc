// Calls of operators by Python's arguments.
#include <algorithm>
#include <map>

#include "aten/ops/creation/ops.h"
#include "c10/dispatch/registry.h"
#include "tests/conformance/case_set.h"
#include "tests/recorded/python_interpreter.h"

namespace recorded {
namespace {

using c10::IValue;
using c10::TypeKind;

bool has_tag(const Json& v, const char* tag) {
  return v.is_object() && v.contains(tag);
}

// The overloads of a name, those that make their results first.
const std::vector<c10::OperatorHandle>& overloads(const std::string& name) {
  static const std::map<std::string, std::vector<c10::OperatorHandle>> all = [] {
    std::map<std::string, std::vector<c10::OperatorHandle>> map;
    c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
    for (const std::string& full : dispatcher.getAllOpNames()) {
      if (full.rfind("aten::", 0) != 0) continue;
      const size_t dot = full.find('.');
      const std::string base = full.substr(6, dot == std::string::npos ? dot : dot - 6);
      map[base].push_back(
          dispatcher.findSchemaOrThrow("aten::" + base, dot == std::string::npos ? "" : full.substr(dot + 1)));
    }
    const auto rank = [](const c10::OperatorHandle& op) { return op.schema().is_mutable(); };
    for (auto& [base, ops] : map)
      std::stable_sort(ops.begin(), ops.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
    return map;
  }();
  static const std::vector<c10::OperatorHandle> none;
  const auto found = all.find(name);
  return found == all.end() ? none : found->second;
}

int64_t memory_format(const Json& v) {
  const std::string name = v.at("memory_format");
  for (const auto& [known, format] : {std::pair{"contiguous_format", c10::MemoryFormat::Contiguous},
                                      {"preserve_format", c10::MemoryFormat::Preserve},
                                      {"channels_last", c10::MemoryFormat::ChannelsLast},
                                      {"channels_last_3d", c10::MemoryFormat::ChannelsLast3d}}) {
    if (name == known) return static_cast<int64_t>(format);
  }
  throw NotExpressible("no memory format " + name);
}

class Binder {
 public:
  Binder(PythonInterpreter& python, const c10::FunctionSchema& schema, bool may_take_the_rest)
      : python_(python), schema_(schema), may_take_the_rest_(may_take_the_rest) {}

  // False where the arguments do not fit.
  bool bind(const PythonArguments& given, c10::Stack& stack) {
    const auto& arguments = schema_.arguments();
    size_t used = 0;
    for (size_t i = 0; i < arguments.size(); ++i) {
      const c10::Argument& argument = arguments[i];
      const Json* v = nullptr;
      Json rest;
      if (i < given.positional.size() && !argument.kwarg_only()) {
        v = &given.positional[i];
        if (takes_the_rest(argument, i, given)) {
          rest = Json(std::vector<Json>(given.positional.begin() + static_cast<int64_t>(i), given.positional.end()));
          v = &rest;
        }
      } else if (const auto named = find(given, argument.name(), i); named != given.named.end()) {
        v = &named->second;
        ++used;
      }
      IValue value;
      if (v == nullptr) {
        if (!argument.default_value().has_value()) return false;
        value = *argument.default_value();
      } else if (!convert(*v, argument.shape(), value)) {
        return false;
      }
      stack.push_back(value);
      if (!rest.is_null()) taken_all_ = true;
    }
    return used == given.named.size() && (taken_all_ || given.positional.size() <= positional_count());
  }

 private:
  size_t positional_count() const {
    return std::count_if(schema_.arguments().begin(), schema_.arguments().end(),
                         [](const c10::Argument& a) { return !a.kwarg_only(); });
  }
  // Python calls the first argument of a function "input".
  static std::map<std::string, Json>::const_iterator find(const PythonArguments& given, const std::string& name,
                                                          size_t place) {
    const auto found = given.named.find(name);
    return found == given.named.end() && place == 0 && name == "self" ? given.named.find("input") : found;
  }
  // t.view(2, 3), torch.ones(2, 3), torch.meshgrid(a, b): the values of the first list that is given.
  bool takes_the_rest(const c10::Argument& argument, size_t i, const PythonArguments& given) const {
    const c10::ArgumentShape type = argument.shape();
    if (!may_take_the_rest_ || !type.list || given.positional[i].is_array()) return false;
    // Only where there is nothing else to be given by its place.
    return type.kind == TypeKind::IntType && type.list_size < 0 && positional_count() == i + 1 && i <= 1;
  }

  bool convert(const Json& v, const c10::ArgumentShape& type, IValue& out) {
    if (v.is_null()) return type.optional;
    if (!type.list) return element(v, type, out);
    if (!v.is_array()) {
      if (type.kind == TypeKind::TensorType && !type.element_optional && has_tag(v, "tensor")) {
        out = std::vector<at::Tensor>{python_.tensor(v)};
        return true;
      }
      if (type.list_size < 1) return false;
      IValue one;
      if (!element(v, type, one)) return false;
      if (type.kind == TypeKind::IntType) {
        out = std::vector<int64_t>(static_cast<size_t>(type.list_size), one.toInt());
        return true;
      }
      return false;
    }
    std::vector<IValue> elements(v.size());
    for (size_t i = 0; i < v.size(); ++i) {
      if (v[i].is_null() && type.element_optional) continue;
      if (!element(v[i], type, elements[i])) return false;
    }
    const auto list_of = [&](auto get) {
      std::vector<decltype(get(elements[0]))> all;
      for (const IValue& e : elements) all.push_back(get(e));
      return IValue(std::move(all));
    };
    if (type.kind == TypeKind::IntType)
      out = list_of([](const IValue& e) { return e.toInt(); });
    else if (type.kind == TypeKind::FloatType)
      out = list_of([](const IValue& e) { return e.toScalar().toDouble(); });
    else if (type.kind == TypeKind::BoolType)
      out = list_of([](const IValue& e) { return e.toBool(); });
    else
      out = IValue(std::move(elements));
    return true;
  }

  bool number(const Json& v, bool whole, IValue& out) {
    if (v.is_boolean()) {
      out = v.get<bool>();
    } else if (v.is_number_integer()) {
      out = v.get<int64_t>();
    } else if (whole) {
      return false;
    } else if (v.is_number() || has_tag(v, "float")) {
      out = conformance::number(v);
    } else if (has_tag(v, "complex")) {
      out = c10::complex<double>(v.at("complex").at(0).get<double>(), v.at("complex").at(1).get<double>());
    } else {
      return false;
    }
    return true;
  }

  bool element(const Json& v, const c10::ArgumentShape& type, IValue& out) {
    switch (type.kind) {
      case TypeKind::TensorType:
        if (!has_tag(v, "tensor")) return false;
        out = python_.tensor(v);
        return true;
      case TypeKind::NumberType:
        return number(v, false, out);
      case TypeKind::FloatType:
        if (!number(v, false, out) || out.isComplexDouble()) return false;
        if (!out.isDouble()) out = out.isBool() ? static_cast<double>(out.toBool()) : static_cast<double>(out.toInt());
        return true;
      case TypeKind::IntType:
        if (!number(v, true, out)) return false;
        if (out.isBool()) out = static_cast<int64_t>(out.toBool());
        return true;
      case TypeKind::BoolType:
        if (!v.is_boolean()) return false;
        out = v.get<bool>();
        return true;
      case TypeKind::StringType:
        if (!v.is_string()) return false;
        out = v.get<std::string>();
        return true;
      case TypeKind::DeviceObjType:
        if (!v.is_string()) return false;
        out = c10::Device(v.get<std::string>());
        return true;
      case TypeKind::ScalarTypeType:
        if (!has_tag(v, "dtype")) return false;
        out = conformance::dtype_of(v.at("dtype"));
        return true;
      case TypeKind::MemoryFormatType:
        if (!has_tag(v, "memory_format")) return false;
        out = memory_format(v);
        return true;
      case TypeKind::GeneratorType: {
        at::Generator* generator = python_.object_of<at::Generator>(v);
        if (generator == nullptr) return false;
        out = IValue(IValue::Tag::Generator, generator->getIntrusivePtr());
        return true;
      }
      default:
        return false;
    }
  }

  PythonInterpreter& python_;
  const c10::FunctionSchema& schema_;
  bool may_take_the_rest_;
  bool taken_all_ = false;
};

Json call(PythonInterpreter& python, const c10::OperatorHandle& op, c10::Stack stack) {
  op.callBoxed(stack);
  Json results = Json::array();
  for (const IValue& result : stack) results.push_back(python.value(result));
  return results.size() == 1 ? results[0] : results;
}

}  // namespace

Json call_overload(PythonInterpreter& python, const std::string& full_name, const PythonArguments& arguments) {
  const size_t dot = full_name.find('.');
  const auto op = c10::Dispatcher::singleton().findSchema(full_name.substr(0, dot),
                                                          dot == std::string::npos ? "" : full_name.substr(dot + 1));
  if (!op) throw NotExpressible("no operator " + full_name + " here");
  for (const bool may_take_the_rest : {false, true}) {
    c10::Stack stack;
    if (!Binder(python, op->schema(), may_take_the_rest).bind(arguments, stack)) continue;
    return call(python, *op, std::move(stack));
  }
  throw CompilerRefuses(full_name + " does not take these arguments");
}

Json call_operator(PythonInterpreter& python, const std::string& name, const PythonArguments& arguments) {
  const auto& candidates = overloads(name);
  if (candidates.empty()) throw NotExpressible("no operator " + name + " here");
  PythonArguments given = arguments;
  // A setting of the result, not of the operator.
  bool requires_grad = false;
  if (given.named.count("requires_grad") > 0) {
    requires_grad = given.named.at("requires_grad").get<bool>();
    given.named.erase("requires_grad");
  }
  for (const bool may_take_the_rest : {false, true}) {
    for (const c10::OperatorHandle& op : candidates) {
      c10::Stack stack;
      if (!Binder(python, op.schema(), may_take_the_rest).bind(given, stack)) continue;
      const Json results = call(python, op, std::move(stack));
      if (requires_grad) python.tensor(results).set_requires_grad(true);
      return results;
    }
  }
  std::string types;
  for (const Json& v : given.positional) types += (types.empty() ? "" : ", ") + PythonInterpreter::type_name(v);
  for (const auto& [key, v] : given.named)
    types += (types.empty() ? "" : ", ") + key + "=" + PythonInterpreter::type_name(v);
  throw CompilerRefuses("no overload of " + name + " takes (" + types + ")");
}

}  // namespace recorded

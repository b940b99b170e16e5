#include "tests/recorded/python_interpreter.h"

#include <cmath>

#include "aten/core/tensor_indexing.h"
#include "aten/ops/copy/ops.h"
#include "tests/conformance/case_set.h"

namespace recorded {

using at::Tensor;
using Kind = PythonNode::Kind;

namespace {

bool is_tensor(const Json& v) {
  return v.is_object() && v.contains("tensor");
}
bool has_tag(const Json& v, const char* tag) {
  return v.is_object() && v.contains(tag);
}

// The dotted name that a node spells, or "".
std::string dotted(const PythonNode& node) {
  if (node.kind == Kind::kName) return node.text;
  if (node.kind != Kind::kAttribute) return "";
  const std::string left = dotted(*node.children[0]);
  return left.empty() ? "" : left + "." + node.text;
}

bool is_module_name(const std::string& path) {
  return path == "F" || path == "nn" || path == "torch" || path.rfind("F.", 0) == 0 || path.rfind("nn.", 0) == 0 ||
         path.rfind("torch.", 0) == 0;
}

Json dtype_named(const std::string& name) {
  static const std::map<std::string, std::string> others = {
      {"float", "float32"}, {"double", "float64"}, {"half", "float16"},     {"long", "int64"},
      {"int", "int32"},     {"short", "int16"},    {"cfloat", "complex64"}, {"cdouble", "complex128"}};
  static const std::vector<std::string> all = {"float32",   "float64",    "float16", "bfloat16", "int64",
                                               "int32",     "int16",      "int8",    "uint8",    "bool",
                                               "complex64", "complex128", "quint8",  "qint8",    "qint32"};
  const auto other = others.find(name);
  const std::string full = other == others.end() ? name : other->second;
  for (const std::string& known : all) {
    if (full == known) return Json{{"dtype", full}};
  }
  return {};
}

// A name of a module: a constant, or a function.
Json global(const std::string& path) {
  const std::string name = path.substr(path.rfind('.') + 1);
  if (path.rfind("torch.", 0) == 0 && path.find('.', 6) == std::string::npos) {
    if (Json dtype = dtype_named(name); !dtype.is_null()) return dtype;
    for (const char* format : {"channels_last", "channels_last_3d", "contiguous_format", "preserve_format"}) {
      if (name == format) return Json{{"memory_format", name}};
    }
    for (const char* layout : {"strided", "sparse_coo", "sparse_csr"}) {
      if (name == layout) return Json{{"layout", name}};
    }
  }
  return Json{{"function", path}};
}

double real(const Json& v) {
  return v.is_boolean() ? v.get<bool>() : conformance::number(v);
}

}  // namespace

Json PythonArguments::by_name(const std::string& function, const std::string& signature) const {
  Json all = Json::object();
  std::vector<std::string> names;
  std::map<std::string, bool> optional;
  for (size_t at = 0; at < signature.size();) {
    const size_t end = std::min(signature.find(", ", at), signature.size());
    std::string name = signature.substr(at, end - at);
    const size_t equals = name.find('=');
    const bool has_default = equals != std::string::npos;
    if (has_default) name.resize(equals);
    optional[name] = has_default;
    names.push_back(name);
    at = end + 2;
  }
  if (positional.size() > names.size()) throw CompilerRefuses(function + " takes fewer arguments");
  for (size_t i = 0; i < positional.size(); ++i) all[names[i]] = positional[i];
  for (const auto& [name, v] : named) {
    if (optional.count(name) == 0) throw CompilerRefuses(function + " has no argument '" + name + "'");
    all[name] = v;
  }
  for (const auto& [name, has_default] : optional) {
    if (!has_default && !all.contains(name)) throw CompilerRefuses(function + " needs an argument '" + name + "'");
  }
  return all;
}

Tensor PythonInterpreter::tensor(const Json& v) const {
  if (v.is_null()) return {};
  if (!is_tensor(v)) throw CompilerRefuses("a value of type " + type_name(v) + " where a tensor is taken");
  return tensors_.at(std::stoul(v.at("tensor").get<std::string>()));
}
Json PythonInterpreter::value(const Tensor& t) {
  tensors_.push_back(t);
  return Json{{"tensor", std::to_string(tensors_.size() - 1)}};
}
Json PythonInterpreter::value(const c10::IValue& v) {
  if (v.isTensor()) return value(v.toTensor());
  if (v.isBool()) return v.toBool();
  if (v.isInt()) return v.toInt();
  if (v.isDouble()) return v.toDouble();
  if (v.isString()) return v.toStringRef();
  if (v.isNone()) return {};
  if (v.isIntList()) return v.toIntVector();
  if (v.isTensorList()) {
    Json all = Json::array();
    for (const Tensor& t : v.toTensorVector()) all.push_back(value(t));
    return all;
  }
  return object(v);
}

std::string PythonInterpreter::type_name(const Json& v) {
  if (v.is_null()) return "None";
  if (v.is_boolean()) return "bool";
  if (v.is_number_integer() || has_tag(v, "big")) return "int";
  if (v.is_number() || has_tag(v, "float")) return "float";
  if (v.is_string()) return "str";
  if (v.is_array()) return "list";
  return v.items().begin().key();
}

Json PythonInterpreter::evaluate(const PythonNode& node) {
  switch (node.kind) {
    case Kind::kInteger:
      if (node.text.size() > 18) return Json{{"big", node.text}};
      return static_cast<int64_t>(std::stoll(node.text));
    case Kind::kFloat:
      return std::stod(node.text);
    case Kind::kImaginary:
      return Json{{"complex", {0.0, std::stod(node.text)}}};
    case Kind::kText:
      return node.text;
    case Kind::kBytes:
      return Json{{"bytes", node.text}};
    case Kind::kEllipsis:
      return Json{{"ellipsis", true}};
    case Kind::kName:
      if (node.text == "True" || node.text == "False") return node.text == "True";
      if (node.text == "None") return nullptr;
      if (const auto found = names_.find(node.text); found != names_.end()) return found->second;
      return Json{{"function", node.text}};
    case Kind::kList:
    case Kind::kTuple: {
      Json all = Json::array();
      for (const auto& child : node.children) all.push_back(evaluate(*child));
      return all;
    }
    case Kind::kDict: {
      Json members = Json::object();
      for (size_t i = 0; i + 1 < node.children.size(); i += 2) {
        const Json key = evaluate(*node.children[i]);
        if (!key.is_string()) throw NotExpressible("a dictionary with keys that are not texts");
        members[key.get<std::string>()] = evaluate(*node.children[i + 1]);
      }
      return Json{{"dict", members}};
    }
    case Kind::kAttribute: {
      const std::string path = dotted(node);
      if (is_module_name(path)) return global(path);
      return attribute(evaluate(*node.children[0]), node.text);
    }
    case Kind::kCall:
      return call(node);
    case Kind::kSubscript:
      return index(evaluate(*node.children[0]), evaluate(*node.children[1]));
    case Kind::kSlice: {
      Json bounds = Json::array();
      for (const auto& bound : node.children) bounds.push_back(bound == nullptr ? Json() : evaluate(*bound));
      return Json{{"slice", bounds}};
    }
    case Kind::kUnary:
      return unary(node.text, evaluate(*node.children[0]));
    case Kind::kBinary:
      return binary(node.text, evaluate(*node.children[0]), evaluate(*node.children[1]));
    case Kind::kCondition:
      return evaluate(*node.children[truth(evaluate(*node.children[1])) ? 0 : 2]);
    case Kind::kLambda:
      return Json{{"lambda", object(node.children[0]).at("object")}};
    case Kind::kAssignment:
      return names_[node.text] = evaluate(*node.children[0]);
  }
  throw NotExpressible("a node of an unknown kind");
}

Json PythonInterpreter::call(const PythonNode& node) {
  PythonArguments arguments;
  for (size_t i = 1; i < node.children.size(); ++i) {
    const Json v = evaluate(*node.children[i]);
    if (node.names[i].empty()) {
      arguments.positional.push_back(v);
    } else {
      arguments.named[node.names[i]] = v;
    }
  }
  const PythonNode& callee = *node.children[0];
  if (callee.kind == Kind::kAttribute && !is_module_name(dotted(callee)))
    return call_method(evaluate(*callee.children[0]), callee.text, arguments);
  const Json function = evaluate(callee);
  if (!has_tag(function, "function")) {
    Json result;
    if (call_object(*this, function, "", arguments, result)) return result;
    throw CompilerRefuses("a value of type " + type_name(function) + " cannot be called");
  }
  const std::string path = function.at("function");
  if (path.rfind("torch.nn.functional.", 0) == 0) return call_functional(*this, path.substr(20), arguments);
  if (path.rfind("F.", 0) == 0) return call_functional(*this, path.substr(2), arguments);
  if (path.rfind("nn.", 0) == 0) return call_nn(*this, path.substr(3), arguments);
  if (path.rfind("torch.nn.", 0) == 0) return call_nn(*this, path.substr(9), arguments);
  if (path.rfind("torch.optim.", 0) == 0) return call_optim(*this, path.substr(12), arguments);
  if (path.rfind("torch.", 0) == 0) return call_torch(*this, path.substr(6), arguments);
  if (path == "slice") {
    Json bounds = Json::array({nullptr, nullptr, nullptr});
    for (size_t i = 0; i < arguments.positional.size(); ++i) bounds.at(i) = arguments.positional[i];
    return Json{{"slice", bounds}};
  }
  if (path == "float" && arguments.positional.at(0).is_string())
    return Json{{"float", arguments.positional[0].get<std::string>()}};
  if (path == "bytearray") return Json{{"bytes", std::string(arguments.positional.at(0).get<size_t>(), '\0')}};
  if (arguments.positional.size() == 1 && is_tensor(arguments.positional[0])) {
    const Tensor t = tensor(arguments.positional[0]);
    if (path == "bool") return t.item().toBool();
    if (path == "int") return t.item().toLong();
    if (path == "float") return t.item().toDouble();
    if (path == "len") return t.size(0);
    if (path == "iter") return value(c10::IValue(t.unbind(0)));
  }
  throw NotExpressible("no function " + path + " here");
}

Json PythonInterpreter::call_method(const Json& object, const std::string& name, const PythonArguments& arguments) {
  if (!is_tensor(object)) {
    Json result;
    if (call_object(*this, object, name, arguments, result)) return result;
    throw CompilerRefuses("a value of type " + type_name(object) + " has no member " + name);
  }
  if (name == "__setitem__") {
    const Tensor self = tensor(object);
    const auto indices = tensor_indices(arguments.positional.at(0));
    const Json& v = arguments.positional.at(1);
    if (is_tensor(v)) {
      self.index_put_(indices, tensor(v));
    } else {
      self.index_put_(indices, c10::Scalar(real(v)));
    }
    return nullptr;
  }
  Json result;
  if (call_tensor_method(*this, tensor(object), name, arguments, result)) return result;
  PythonArguments all = arguments;
  all.positional.insert(all.positional.begin(), object);
  return call_operator(*this, name, all);
}

Json PythonInterpreter::attribute(const Json& object, const std::string& name) {
  static const std::map<std::string, const char*> operators = {{"mT", "mT"},     {"mH", "mH"},     {"H", "matrix_H"},
                                                               {"T", "numpy_T"}, {"imag", "imag"}, {"real", "real"}};
  const auto found = operators.find(name);
  if (is_tensor(object) && found != operators.end()) return call_operator(*this, found->second, {{object}, {}});
  throw CompilerRefuses("a value of type " + type_name(object) + " has no member " + name);
}

std::vector<at::indexing::TensorIndex> PythonInterpreter::tensor_indices(const Json& where) {
  std::vector<at::indexing::TensorIndex> indices;
  for (const Json& one : where.is_array() ? where : Json::array({where})) {
    if (has_tag(one, "slice")) {
      const Json& bounds = one.at("slice");
      const auto bound = [&](size_t i) {
        return bounds[i].is_null() ? std::optional<int64_t>() : bounds[i].get<int64_t>();
      };
      indices.emplace_back(at::indexing::Slice(bound(0), bound(1), bound(2)));
    } else if (is_tensor(one)) {
      indices.emplace_back(tensor(one));
    } else if (has_tag(one, "ellipsis")) {
      indices.emplace_back(at::indexing::Ellipsis);
    } else if (one.is_null()) {
      indices.emplace_back(std::nullopt);
    } else if (one.is_boolean()) {
      indices.emplace_back(one.get<bool>());
    } else if (one.is_number_integer()) {
      indices.emplace_back(one.get<int64_t>());
    } else if (one.is_string()) {
      throw NotExpressible("TensorIndex takes a text in libtorch, and refuses all but \"...\" with a ValueError");
    } else {
      throw CompilerRefuses("a tensor is not indexed by a value of type " + type_name(one));
    }
  }
  return indices;
}

Json PythonInterpreter::index(const Json& object, const Json& where) {
  if (object.is_array()) {
    if (where.is_number_integer()) return object.at(where.get<size_t>());
    if (!has_tag(where, "slice")) throw CompilerRefuses("a list is indexed by integers");
    const Json& stop = where.at("slice").at(1);
    Json part = Json::array();
    for (size_t i = 0; i < object.size() && (stop.is_null() || i < stop.get<size_t>()); ++i) part.push_back(object[i]);
    return part;
  }
  return value(tensor(object).index(tensor_indices(where)));
}

Json PythonInterpreter::unary(const std::string& name, const Json& v) {
  if (is_tensor(v)) return call_operator(*this, name == "-" ? "neg" : "bitwise_not", {{v}, {}});
  if (name != "-" || !v.is_number()) throw CompilerRefuses("no operator " + name + " for " + type_name(v));
  return v.is_number_integer() ? Json(-v.get<int64_t>()) : Json(-v.get<double>());
}

Json PythonInterpreter::numbers(const std::string& name, const Json& left, const Json& right) {
  const double a = real(left), b = real(right);
  const bool whole = left.is_number_integer() && right.is_number_integer();
  const auto result = [&](double v) -> Json {
    if (!whole) return v;
    if (std::abs(v) >= 0x1p63) return Json{{"big", std::to_string(v)}};
    return static_cast<int64_t>(v);
  };
  if (name == "+") return result(a + b);
  if (name == "-") return result(a - b);
  if (name == "*") return result(a * b);
  if (name == "**") return result(std::pow(a, b));
  if (name == "%") return result(a - std::floor(a / b) * b);
  if (name == "//") return result(std::floor(a / b));
  if (name == "/") return a / b;
  throw NotExpressible("no operator " + name + " for numbers here");
}

Json PythonInterpreter::binary(const std::string& name, const Json& left, const Json& right) {
  if (left.is_array() && name == "*") return left;  // only by 1
  if (!is_tensor(left) && !is_tensor(right)) return numbers(name, left, right);
  static const std::map<std::string, const char*> operators = {
      {"+", "add"},         {"-", "sub"},         {"*", "mul"},         {"/", "div"},         {"//", "floor_divide"},
      {"%", "remainder"},   {"**", "pow"},        {"@", "matmul"},      {"&", "bitwise_and"}, {"|", "bitwise_or"},
      {"^", "bitwise_xor"}, {"<<", "__lshift__"}, {">>", "__rshift__"}, {">", "gt"},          {"<", "lt"},
      {">=", "ge"},         {"<=", "le"},         {"==", "eq"},         {"!=", "ne"}};
  return call_operator(*this, operators.at(name), {{left, right}, {}});
}

bool PythonInterpreter::truth(const Json& v) {
  if (is_tensor(v)) return tensor(v).item().toBool();
  if (v.is_boolean()) return v.get<bool>();
  return real(v) != 0;
}

}  // namespace recorded

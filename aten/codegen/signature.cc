#include <algorithm>
#include <array>
#include <string_view>

#include "aten/codegen/model.h"

namespace kindling::codegen {
namespace {

using c10::Argument;
using c10::FunctionSchema;
using c10::ArgumentShape;
using c10::TypeKind;

constexpr std::array<std::string_view, 4> kOptionNames{"dtype", "layout", "device", "pin_memory"};

// The type of one value of this kind, as a parameter (`reference`) or inside a container.
std::string value_type(TypeKind kind) {
  switch (kind) {
    case TypeKind::TensorType: return "Tensor";
    case TypeKind::NumberType: return "Scalar";
    case TypeKind::IntType: return "int64_t";
    case TypeKind::FloatType: return "double";
    case TypeKind::ComplexType: return "c10::complex<double>";
    case TypeKind::BoolType: return "bool";
    case TypeKind::StringType: return "std::string_view";
    case TypeKind::ScalarTypeType: return "ScalarType";
    case TypeKind::LayoutType: return "Layout";
    case TypeKind::DeviceObjType: return "Device";
    case TypeKind::MemoryFormatType: return "MemoryFormat";
    case TypeKind::GeneratorType: return "Generator";
    case TypeKind::QSchemeType: return "QScheme";
    case TypeKind::DimnameType: return "Dimname";
    case TypeKind::StorageType: return "Storage";
    case TypeKind::StreamObjType: return "Stream";
    case TypeKind::AnyType: return "IValue";
    default: break;  // not a type of the tables
  }
  return "";
}

bool by_reference(TypeKind kind) { return kind == TypeKind::TensorType || kind == TypeKind::NumberType; }

std::string list_type(const c10::ArgumentShape& type) {
  if (type.element_optional) return "c10::List<std::optional<" + value_type(type.kind) + ">>";
  switch (type.kind) {
    case TypeKind::TensorType: return "TensorList";
    case TypeKind::IntType: return "IntArrayRef";
    case TypeKind::DimnameType: return "DimnameList";
    case TypeKind::BoolType:
      if (type.list_size >= 0) return "std::array<bool, " + std::to_string(type.list_size) + ">";
      return "ArrayRef<bool>";
    default: return "ArrayRef<" + value_type(type.kind) + ">";
  }
}

bool is_keyword(std::string_view name) {
  static constexpr std::array<std::string_view, 12> kKeywords{
      "and", "or", "xor", "not", "default", "register", "lambda", "template", "typename", "operator", "new", "delete"};
  return std::find(kKeywords.begin(), kKeywords.end(), name) != kKeywords.end();
}

std::string cpp_name(const std::string& name) { return is_keyword(name) ? name + "_" : name; }

std::string join(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) {
    if (!out.empty()) out += ", ";
    out += part;
  }
  return out;
}

std::string default_value(const Argument& argument) {
  if (!argument.default_text()) return "";
  std::string text = *argument.default_text();
  const c10::ArgumentShape type = argument.shape();
  if (type.list && type.kind == TypeKind::BoolType && type.list_size >= 0 && (text == "True" || text == "False")) {
    return "{" + join(std::vector<std::string>(type.list_size, text == "True" ? "true" : "false")) + "}";
  }
  if (text == "None") return type.kind == TypeKind::TensorType ? "{}" : "std::nullopt";
  if (text == "True") return "true";
  if (text == "False") return "false";
  if (text == "Mean") return "at::Reduction::Mean";
  if (text == "contiguous_format") return "MemoryFormat::Contiguous";
  if (text == "long") return "ScalarType::Long";
  if (text == "strided") return "Layout::Strided";
  if (text.front() == '[') {
    text.front() = '{';
    text.back() = '}';
    return text;
  }
  if (text.front() == '\'') text.front() = text.back() = '"';
  return text;
}

// Whether arguments i..i+3 are the four that make a TensorOptions.
bool options_at(const std::vector<Argument>& arguments, size_t i) {
  if (i + 4 > arguments.size()) return false;
  for (size_t k = 0; k < 4; ++k) {
    if (arguments[i + k].name() != kOptionNames[k]) return false;
  }
  return true;
}

std::string options_default(const std::vector<Argument>& arguments, size_t i) {
  std::string value = "{}";
  for (size_t k = 0; k < 4; ++k) {
    const auto& text = arguments[i + k].default_text();
    if (!text) return "";
    if (*text == "long") value = "ScalarType::Long";
  }
  return value;
}

}  // namespace

bool is_tensor_like(const c10::ArgumentShape& type) { return type.kind == TypeKind::TensorType; }

std::string cpp_argument_type(const Argument& argument) {
  const c10::ArgumentShape type = argument.shape();
  if (type.list) {
    const std::string list = list_type(type);
    if (type.element_optional) return "const " + list + "&";
    if (!type.optional) return list;
    return list == "IntArrayRef" ? "OptionalIntArrayRef" : "std::optional<" + list + ">";
  }
  const std::string value = value_type(type.kind);
  if (type.optional) {
    const std::string optional = "std::optional<" + value + ">";
    return by_reference(type.kind) ? "const " + optional + "&" : optional;
  }
  if (argument.is_write()) return value + "&";
  return by_reference(type.kind) ? "const " + value + "&" : value;
}

std::string cpp_result_type(const FunctionSchema& schema) {
  std::vector<std::string> types;
  for (const Argument& result : schema.returns()) {
    const c10::ArgumentShape type = result.shape();
    if (type.list) {
      types.push_back("std::vector<" + value_type(type.kind) + ">");
    } else {
      types.push_back(value_type(type.kind) + (result.is_write() ? "&" : ""));
    }
  }
  if (types.empty()) return "void";
  if (types.size() == 1) {
    // resize_ and resize_as_ hand back what they were given, as const.
    if (schema.name() == "resize_" || schema.name() == "resize_as_") return "const Tensor&";
    return types[0];
  }
  return "std::tuple<" + join(types) + ">";
}

Signature cpp_signature(const FunctionSchema& schema, const std::vector<std::string>& required) {
  Signature signature;
  signature.result = cpp_result_type(schema);
  const std::vector<Argument>& arguments = schema.arguments();
  bool has_tensor = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    Param param;
    param.argument = static_cast<int>(i);
    if (options_at(arguments, i)) {
      param.type = "TensorOptions";
      param.name = "options";
      param.default_value = options_default(arguments, i);
      param.is_options = true;
      i += 3;
    } else {
      const Argument& argument = arguments[i];
      param.type = cpp_argument_type(argument);
      if (schema.returns().size() == 1 && signature.result == "const Tensor&" && argument.is_write()) param.type = "const Tensor&";
      param.name = cpp_name(argument.name());
      if (std::find(required.begin(), required.end(), argument.name()) == required.end()) {
        param.default_value = default_value(argument);
      }
      param.carries_keys = is_tensor_like(argument.shape());
      param.is_out = argument.is_out();
      has_tensor = has_tensor || param.carries_keys;
    }
    signature.params.push_back(std::move(param));
  }
  for (Param& param : signature.params) {
    if (param.is_options && !has_tensor) param.carries_keys = true;
  }
  return signature;
}

std::string Signature::types() const {
  std::vector<std::string> parts;
  for (const Param& param : params) parts.push_back(param.type);
  return join(parts);
}

std::string Signature::parameters() const {
  std::vector<std::string> parts;
  for (const Param& param : params) parts.push_back(param.type + " " + param.name);
  return join(parts);
}

std::string Signature::arguments() const {
  std::vector<std::string> parts;
  for (const Param& param : params) {
    const bool move = param.type == "std::optional<Generator>" || param.type == "Storage";
    parts.push_back(move ? "std::move(" + param.name + ")" : param.name);
  }
  return join(parts);
}

std::string Signature::declaration(bool outs_first) const {
  std::vector<Param> ordered;
  for (const Param& param : params) {
    if (outs_first && param.is_out) ordered.push_back(param);
  }
  for (const Param& param : params) {
    if (!(outs_first && param.is_out)) ordered.push_back(param);
  }
  bool allowed = true;
  for (auto param = ordered.rbegin(); param != ordered.rend(); ++param) {
    allowed = allowed && !param->default_value.empty();
    if (!allowed) param->default_value.clear();
  }
  std::vector<std::string> parts;
  for (const Param& param : ordered) {
    parts.push_back(param.type + " " + param.name + (param.default_value.empty() ? "" : " = " + param.default_value));
  }
  return join(parts);
}

}  // namespace kindling::codegen

#include "jit/compiler/annotations.h"

#include <map>
#include <string>
#include <vector>

#include "c10/value/class_type.h"
#include "c10/value/custom_class_registry.h"

namespace torch::jit {
namespace {

using c10::TypePtr;

const std::map<std::string, TypePtr>& plain_types() {
  static const auto& types = *new std::map<std::string, TypePtr>{
      {"Tensor", c10::TensorType::get()},
      {"torch.Tensor", c10::TensorType::get()},
      {"int", c10::IntType::get()},
      {"float", c10::FloatType::get()},
      {"complex", c10::ComplexType::get()},
      {"bool", c10::BoolType::get()},
      {"str", c10::StringType::get()},
      {"None", c10::NoneType::get()},
      {"NoneType", c10::NoneType::get()},
      {"Any", c10::AnyType::get()},
      {"any", c10::AnyType::get()},
      {"Device", c10::DeviceObjType::get()},
      {"torch.device", c10::DeviceObjType::get()},
      {"number", c10::NumberType::get()},
      {"Scalar", c10::NumberType::get()},
      {"Generator", c10::GeneratorType::get()},
      {"torch.dtype", c10::IntType::get()},
      {"Layout", c10::IntType::get()},
      {"Storage", c10::StorageType::get()},
      {"Stream", c10::StreamObjType::get()},
      {"list", c10::AnyListType::get()},
      {"tuple", c10::AnyTupleType::get()},
  };
  return types;
}

[[noreturn]] void unknown(const Expr& node) {
  std::string name = dotted_path(node);
  if (name.empty()) name = node.range.text();
  throw ErrorReport(node.range, "Unknown type name '", name, "'");
}

std::vector<TypePtr> parameters(const Expr& index, Scope& scope) {
  std::vector<TypePtr> types;
  if (const auto* tuple = index.as<TupleExpr>()) {
    for (const ExprPtr& item : tuple->items) types.push_back(type_of_annotation(*item, scope));
  } else {
    types.push_back(type_of_annotation(index, scope));
  }
  return types;
}

TypePtr generic_type(const SubscriptExpr& node, Scope& scope) {
  std::string name = dotted_path(*node.value);
  if (name.rfind("typing.", 0) == 0) name = name.substr(7);
  const std::vector<TypePtr> types = parameters(*node.index, scope);
  const auto expect = [&](size_t count) {
    if (types.size() != count)
      throw ErrorReport(node.range, name, "[...] takes ", count, count == 1 ? " type" : " types", ", got ",
                        types.size());
  };
  if (name == "Tuple" || name == "tuple") return c10::TupleType::create(types);
  if (name == "Union") return c10::UnionType::create(types);
  if (name == "Dict" || name == "dict") {
    expect(2);
    try {
      return c10::DictType::create(types[0], types[1]);
    } catch (const c10::Error& error) {
      throw ErrorReport(node.range, error.what_without_backtrace());
    }
  }
  if (name == "List" || name == "list") return expect(1), c10::ListType::create(types[0]);
  if (name == "Optional") return expect(1), c10::OptionalType::create(types[0]);
  if (name == "Final") return expect(1), types[0];
  if (name == "Future") return expect(1), c10::FutureType::create(types[0]);
  if (name == "Await") return expect(1), c10::AwaitType::create(types[0]);
  if (name == "RRef") return expect(1), c10::RRefType::create(types[0]);
  unknown(*node.value);
}

}  // namespace

std::string dotted_path(const Expr& node) {
  if (const auto* name = node.as<NameExpr>()) return name->name;
  const auto* attribute = node.as<AttributeExpr>();
  if (attribute == nullptr) return "";
  const std::string object = dotted_path(*attribute->object);
  return object.empty() ? "" : object + "." + attribute->name;
}

TypePtr type_of_annotation(const Expr& node, Scope& scope) {
  if (const auto* text = node.as<StringExpr>()) {
    const auto found = plain_types().find(text->value);
    if (found != plain_types().end()) return found->second;
  }
  if (const auto* constant = node.as<ConstantExpr>();
      constant != nullptr && constant->value == ConstantExpr::Value::kNone)
    return c10::NoneType::get();
  if (const auto* subscript = node.as<SubscriptExpr>()) return generic_type(*subscript, scope);
  if (const auto* either = node.as<BinaryExpr>(); either != nullptr && either->op == "|") {
    const TypePtr left = type_of_annotation(*either->left, scope), right = type_of_annotation(*either->right, scope);
    if (left->kind() == c10::TypeKind::NoneType) return c10::OptionalType::create(right);
    if (right->kind() == c10::TypeKind::NoneType) return c10::OptionalType::create(left);
    return c10::UnionType::create({left, right});
  }
  if (const auto* empty = node.as<TupleExpr>(); empty != nullptr && empty->items.empty())
    return c10::TupleType::create({});
  const std::string path = dotted_path(node);
  if (const auto found = plain_types().find(path); found != plain_types().end()) return found->second;
  if (path.rfind("__torch__.torch.classes.", 0) == 0) {
    if (auto type = c10::getCustomClass(path)) return type;
  }
  if (!path.empty()) {
    if (auto type = scope.type(path)) return type;
  }
  unknown(node);
}

}  // namespace torch::jit

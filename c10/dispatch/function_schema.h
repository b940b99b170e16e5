#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "c10/value/ivalue.h"
#include "c10/value/type.h"
#include "c10/value/type_parser.h"

namespace c10 {

// An argument's type taken apart as far as the operators' go: `int[2]?` is {IntType, list, optional, list_size 2}, `Tensor?[]`
// {TensorType, list, element_optional}. Of any other type, the type itself, in `kind`.
struct ArgumentShape {
  TypeKind kind = TypeKind::TensorType;  // of the elements; IntType for SymInt
  bool list = false;
  bool element_optional = false;
  bool optional = false;
  int list_size = -1;  // of a fixed-size list, else -1
  friend bool operator==(const ArgumentShape&, const ArgumentShape&) = default;
};
ArgumentShape shape_of(const Type& type, std::optional<int32_t> size = std::nullopt);

// One argument or result.
class Argument {
 public:
  explicit Argument(
      std::string name = "", TypePtr type = nullptr, std::optional<int32_t> N = std::nullopt,
      std::optional<IValue> default_value = std::nullopt, bool kwarg_only = false, std::optional<AliasInfo> alias_info = std::nullopt);

  const std::string& name() const { return name_; }
  // The type of the values: int for ScalarType, Layout, MemoryFormat and SymInt.
  const TypePtr& type() const { return type_; }
  // The type as written.
  const TypePtr& real_type() const { return real_type_; }
  // The size of a list of fixed size.
  std::optional<int32_t> N() const { return N_; }
  const std::optional<IValue>& default_value() const { return default_value_; }
  bool kwarg_only() const { return kwarg_only_; }
  bool is_out() const { return kwarg_only_ && is_write(); }
  // Null where it has no annotation.
  const AliasInfo* alias_info() const { return alias_info_.has_value() ? &*alias_info_ : nullptr; }
  bool is_write() const { return alias_info_.has_value() && alias_info_->isWrite(); }
  // The first alias set: "a" in Tensor(a!) and in Tensor(a)[]; empty if there is none.
  std::string alias() const;
  // The default as the schema has it ("1", "None", "[0, 1]", "\"linear\"", "long"), if there is one.
  const std::optional<std::string>& default_text() const { return default_text_; }
  ArgumentShape shape() const { return shape_of(*real_type_, N_); }
  // "Tensor(a!)[]", "int[2]?".
  std::string type_str() const;
  friend bool operator==(const Argument& a, const Argument& b);

 private:
  friend class SchemaParser;
  std::string name_;
  TypePtr type_;
  TypePtr real_type_;
  std::optional<int32_t> N_;
  std::optional<IValue> default_value_;
  std::optional<std::string> default_text_;
  std::optional<AliasInfo> alias_info_;
  bool kwarg_only_ = false;
};

// An operator's name, with its namespace.
struct OperatorName {
  std::string name;  // "aten::add"
  std::string overload_name;

  OperatorName() = default;
  OperatorName(std::string full_name, std::string overload)
      : name(std::move(full_name)), overload_name(std::move(overload)) {}
  std::optional<std::string_view> getNamespace() const;
  friend bool operator==(const OperatorName&, const OperatorName&) = default;
};
// "aten::add.Tensor"
std::string toString(const OperatorName& name);

// The signature of an operator as PyTorch's schema language writes it:
//   aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
// A "..." may stand for further arguments or results.
class FunctionSchema {
 public:
  FunctionSchema() = default;
  // Argument names must differ; a default may stand only before arguments that have one or are keyword-only.
  FunctionSchema(
      std::string name, std::string overload_name, std::vector<Argument> arguments, std::vector<Argument> returns,
      bool is_vararg = false, bool is_varret = false);

  // With its namespace: "aten::add".
  const std::string& name() const { return name_.name; }
  const std::string& overload_name() const { return name_.overload_name; }
  const OperatorName& operator_name() const { return name_; }
  std::optional<std::string_view> getNamespace() const { return name_.getNamespace(); }
  // "aten", "add" and "add.Tensor" ("add" where the overload has no name).
  std::string ns() const { return std::string(getNamespace().value_or("")); }
  std::string base_name() const;
  std::string qualified_name() const;
  const std::vector<Argument>& arguments() const { return arguments_; }
  const std::vector<Argument>& returns() const { return returns_; }
  bool is_vararg() const { return is_vararg_; }
  bool is_varret() const { return is_varret_; }
  // Whether an argument is written.
  bool is_mutable() const;
  bool is_mutable(size_t index) const { return arguments_.at(index).is_write(); }
  bool is_mutable(std::string_view name) const;
  std::optional<int> argument_index(std::string_view name) const;
  std::optional<int> argumentIndexWithName(std::string_view name) const { return argument_index(name); }
  FunctionSchema cloneWithArguments(std::vector<Argument> arguments) const;
  FunctionSchema cloneWithReturns(std::vector<Argument> returns) const;
  FunctionSchema cloneWithName(std::string name, std::string overload_name) const;

  // Whether all that calls `old` can call this: its arguments in their places, with types that take in theirs and the same
  // defaults; further ones have defaults; results of types that theirs take in. `why_not` gets the first reason.
  bool isBackwardCompatibleWith(const FunctionSchema& old, std::string* why_not = nullptr) const;

  // The schema as text, with the values of the defaults; parse_schema(s.str()) gives an equal schema.
  std::string str() const;
  friend bool operator==(const FunctionSchema& a, const FunctionSchema& b);

 private:
  friend class SchemaParser;
  void check() const;
  OperatorName name_;
  std::vector<Argument> arguments_;
  std::vector<Argument> returns_;
  bool is_vararg_ = false;
  bool is_varret_ = false;
};

inline void to_text(std::string& out, const FunctionSchema& schema) { out += schema.str(); }
template <TextStream Stream, SameType<FunctionSchema> X>
Stream& operator<<(Stream& out, const X& schema) {
  out << schema.str().c_str();
  return out;
}

// Parses one schema. Whatever the text, it returns: nullopt with a message that names the column and what was expected, or
// the schema. Argument names are unique, a default stands only after arguments of a kind that takes it.
std::optional<FunctionSchema> try_parse_schema(std::string_view text, std::string* error);

// The same, for a schema that a program wrote itself: throws c10::Error.
FunctionSchema parse_schema(std::string_view text);

}  // namespace c10

namespace torch::jit {
inline c10::FunctionSchema parseSchema(std::string_view text) { return c10::parse_schema(text); }
}  // namespace torch::jit

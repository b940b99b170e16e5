#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace c10 {

// The type of an argument or a result in an operator schema. `int[2]?` is {Int, list, list_size 2, optional}; `Tensor?[]` is
// {Tensor, list, element_optional}.
struct SchemaType {
  enum class Kind : uint8_t {
    Tensor,
    Scalar,
    Int,  // also SymInt
    Float,
    Complex,
    Bool,
    String,
    ScalarType,
    Layout,
    Device,
    MemoryFormat,
    Generator,
    QScheme,
    Dimname,
    Storage,
    Stream,
    Any,
  };

  Kind kind = Kind::Tensor;
  bool symbolic = false;  // written SymInt
  bool list = false;
  bool element_optional = false;
  bool optional = false;
  int list_size = -1;  // of a fixed-size list, else -1

  // As in a schema, without alias annotation, e.g. "int[2]?".
  std::string str() const;
  friend bool operator==(const SchemaType&, const SchemaType&) = default;
};

// One argument or result. `alias` names the alias set of its annotation ("a" in Tensor(a!)), empty if there is none.
class Argument {
 public:
  const std::string& name() const { return name_; }
  const SchemaType& type() const { return type_; }
  const std::string& alias() const { return alias_; }
  bool is_write() const { return is_write_; }
  bool kwarg_only() const { return kwarg_only_; }
  bool is_out() const { return is_write_ && kwarg_only_; }
  // The default's text as in the schema ("1", "None", "[0, 1]", "\"linear\""), if there is one.
  const std::optional<std::string>& default_text() const { return default_text_; }

 private:
  friend class SchemaParser;
  std::string name_;
  SchemaType type_;
  std::string alias_;
  bool is_write_ = false;
  bool kwarg_only_ = false;
  std::optional<std::string> default_text_;
};

// The signature of an operator as PyTorch's schema language writes it:
//   add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
// A namespace ("aten::") may stand before the name; it is kept in ns().
class FunctionSchema {
 public:
  const std::string& ns() const { return ns_; }
  const std::string& name() const { return name_; }
  const std::string& overload_name() const { return overload_name_; }
  const std::vector<Argument>& arguments() const { return arguments_; }
  const std::vector<Argument>& returns() const { return returns_; }
  bool is_mutable() const;
  // "add.Tensor"; "add" where the overload has no name.
  std::string qualified_name() const;
  // The schema as text; parse_schema(s.str()) gives an equal schema.
  std::string str() const;
  std::optional<int> argument_index(std::string_view name) const;

 private:
  friend class SchemaParser;
  std::string ns_;
  std::string name_;
  std::string overload_name_;
  std::vector<Argument> arguments_;
  std::vector<Argument> returns_;
};

// Parses one schema. Whatever the text, it returns: nullopt with a message that names the column and what was expected, or
// the schema. Argument names are unique, a default stands only after arguments of a kind that takes it.
std::optional<FunctionSchema> try_parse_schema(std::string_view text, std::string* error);

// The same, for a schema that a program wrote itself: throws c10::Error.
FunctionSchema parse_schema(std::string_view text);

}  // namespace c10

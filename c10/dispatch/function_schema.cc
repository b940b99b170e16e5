#include "c10/dispatch/function_schema.h"

#include <array>
#include <utility>

#include "c10/util/exception.h"

namespace c10 {
namespace {

using Kind = SchemaType::Kind;

struct TypeName {
  std::string_view text;
  Kind kind;
};

constexpr std::array<TypeName, 17> kTypeNames{{
    {"Tensor", Kind::Tensor},
    {"Scalar", Kind::Scalar},
    {"int", Kind::Int},
    {"float", Kind::Float},
    {"complex", Kind::Complex},
    {"bool", Kind::Bool},
    {"str", Kind::String},
    {"ScalarType", Kind::ScalarType},
    {"Layout", Kind::Layout},
    {"Device", Kind::Device},
    {"MemoryFormat", Kind::MemoryFormat},
    {"Generator", Kind::Generator},
    {"QScheme", Kind::QScheme},
    {"Dimname", Kind::Dimname},
    {"Storage", Kind::Storage},
    {"Stream", Kind::Stream},
    {"Any", Kind::Any},
}};

constexpr size_t kMaxSchemaLength = 1 << 16;
constexpr int kMaxListSize = 1 << 16;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string SchemaType::str() const {
  std::string text;
  if (symbolic) {
    text = "SymInt";
  } else {
    for (const TypeName& name : kTypeNames) {
      if (name.kind == kind) text = name.text;
    }
  }
  if (element_optional) text += '?';
  if (list) {
    text += '[';
    if (list_size >= 0) text += std::to_string(list_size);
    text += ']';
  }
  if (optional) text += '?';
  return text;
}

// Recursive descent without recursion: no construct of the language nests.
class SchemaParser {
 public:
  explicit SchemaParser(std::string_view text) : text_(text) {}

  std::optional<FunctionSchema> parse(std::string* error) {
    FunctionSchema schema;
    if (text_.size() > kMaxSchemaLength) {
      fail("a schema of at most 65536 characters");
    } else {
      parse_all(&schema);
    }
    if (failed_) {
      if (error != nullptr) *error = std::move(error_);
      return std::nullopt;
    }
    return schema;
  }

 private:
  bool fail(std::string_view expected) {
    if (failed_) return false;
    failed_ = true;
    error_ = "schema \"" + std::string(text_.substr(0, 200)) + "\", column " + std::to_string(pos_ + 1) + ": expected " +
             std::string(expected);
    if (pos_ < text_.size()) {
      error_ += ", got '" + std::string(text_.substr(pos_, 12)) + "'";
    } else {
      error_ += ", got the end";
    }
    return false;
  }

  void skip_space() {
    while (pos_ < text_.size() && (text_[pos_] == ' ' || text_[pos_] == '\t' || text_[pos_] == '\n')) ++pos_;
  }

  bool peek(std::string_view token) {
    skip_space();
    return text_.substr(pos_, token.size()) == token;
  }

  bool accept(std::string_view token) {
    if (!peek(token)) return false;
    pos_ += token.size();
    return true;
  }

  bool expect(std::string_view token) { return accept(token) || fail("'" + std::string(token) + "'"); }

  bool identifier(std::string* out, std::string_view what) {
    skip_space();
    const size_t begin = pos_;
    if (pos_ < text_.size() && is_letter(text_[pos_])) {
      while (pos_ < text_.size() && (is_letter(text_[pos_]) || is_digit(text_[pos_]))) ++pos_;
    }
    if (pos_ == begin) return fail(what);
    *out = text_.substr(begin, pos_ - begin);
    return true;
  }

  bool parse_all(FunctionSchema* schema) {
    if (!identifier(&schema->name_, "the operator's name")) return false;
    if (accept("::")) {
      schema->ns_ = std::move(schema->name_);
      schema->name_.clear();
      if (!identifier(&schema->name_, "the operator's name")) return false;
    }
    if (accept(".") && !identifier(&schema->overload_name_, "the overload's name")) return false;
    if (!expect("(") || !parse_arguments(schema) || !expect("->") || !parse_returns(schema)) return false;
    skip_space();
    return pos_ == text_.size() || fail("the end of the schema");
  }

  bool parse_arguments(FunctionSchema* schema) {
    bool kwarg_only = false;
    if (accept(")")) return true;
    do {
      if (accept("*")) {
        if (kwarg_only) return fail("one '*' only");
        kwarg_only = true;
        continue;
      }
      Argument argument;
      argument.kwarg_only_ = kwarg_only;
      if (!parse_type(&argument)) return false;
      if (!identifier(&argument.name_, "the argument's name")) return false;
      if (schema->argument_index(argument.name_)) return fail("another name than '" + argument.name_ + "' again, before this");
      if (accept("=") && !parse_default(&argument)) return false;
      schema->arguments_.push_back(std::move(argument));
    } while (accept(","));
    return expect(")");
  }

  bool parse_returns(FunctionSchema* schema) {
    const bool parenthesised = accept("(");
    if (parenthesised && accept(")")) return true;
    do {
      Argument result;
      if (!parse_type(&result)) return false;
      skip_space();
      if (pos_ < text_.size() && is_letter(text_[pos_])) identifier(&result.name_, "the result's name");
      schema->returns_.push_back(std::move(result));
    } while (parenthesised && accept(","));
    return !parenthesised || expect(")");
  }

  bool parse_type(Argument* argument) {
    std::string name;
    skip_space();
    const size_t begin = pos_;
    if (!identifier(&name, "a type")) return false;
    SchemaType& type = argument->type_;
    if (name == "SymInt") {
      type.kind = Kind::Int;
      type.symbolic = true;
    } else {
      bool known = false;
      for (const TypeName& candidate : kTypeNames) {
        if (candidate.text == name) {
          type.kind = candidate.kind;
          known = true;
        }
      }
      if (!known) {
        pos_ = begin;
        return fail("a type");
      }
    }
    if (accept("(") && !parse_alias(argument)) return false;
    if (accept("?")) type.optional = true;
    if (accept("[")) {
      type.list = true;
      type.element_optional = std::exchange(type.optional, false);
      skip_space();
      if (pos_ < text_.size() && is_digit(text_[pos_])) {
        type.list_size = 0;
        while (pos_ < text_.size() && is_digit(text_[pos_])) {
          type.list_size = type.list_size * 10 + (text_[pos_] - '0');
          if (type.list_size > kMaxListSize) return fail("a smaller list size");
          ++pos_;
        }
      }
      if (!expect("]")) return false;
      if (accept("?")) type.optional = true;
    }
    return true;
  }

  // (a), (a!), (a -> *), (a! -> a|b)
  bool parse_alias(Argument* argument) {
    if (argument->type_.kind != Kind::Tensor) return fail("no alias annotation on this type");
    if (!identifier(&argument->alias_, "an alias set")) return false;
    argument->is_write_ = accept("!");
    if (accept("->")) {
      std::string after;
      do {
        if (!accept("*") && !identifier(&after, "an alias set")) return false;
      } while (accept("|"));
    }
    return expect(")");
  }

  bool parse_default(Argument* argument) {
    skip_space();
    const size_t begin = pos_;
    const SchemaType& type = argument->type_;
    bool good = false;
    if (accept("None")) {
      good = type.optional;
    } else if (accept("[")) {
      good = type.list;
      if (!accept("]")) {
        do {
          good = good && literal(type.kind);
        } while (accept(","));
        if (good && !expect("]")) return false;
      }
    } else {
      good = literal(type.kind);
    }
    if (!good) {
      pos_ = begin;
      return fail("a default of type " + type.str());
    }
    argument->default_text_ = text_.substr(begin, pos_ - begin);
    return true;
  }

  bool literal(Kind kind) {
    skip_space();
    std::string word;
    switch (kind) {
      case Kind::String:
        return string_literal();
      case Kind::Bool:
        return accept("True") || accept("False");
      case Kind::ScalarType:
      case Kind::Layout:
      case Kind::MemoryFormat:
      case Kind::QScheme:
        return pos_ < text_.size() && is_letter(text_[pos_]) && identifier(&word, "");
      case Kind::Int:
        // The one named integer constant of the schemas, a loss's reduction.
        return accept("Mean") || number(/*fraction=*/false);
      case Kind::Float:
      case Kind::Complex:
      case Kind::Scalar:
        return number(/*fraction=*/true) || (kind == Kind::Scalar && (accept("True") || accept("False")));
      default:
        return false;
    }
  }

  bool digits() {
    const size_t begin = pos_;
    while (pos_ < text_.size() && is_digit(text_[pos_])) ++pos_;
    return pos_ > begin;
  }

  bool number(bool fraction) {
    if (pos_ < text_.size() && (text_[pos_] == '-' || text_[pos_] == '+')) ++pos_;
    if (!digits()) return false;
    if (!fraction) return true;
    if (pos_ < text_.size() && text_[pos_] == '.') {
      ++pos_;
      digits();
    }
    if (pos_ < text_.size() && (text_[pos_] == 'e' || text_[pos_] == 'E')) {
      ++pos_;
      if (pos_ < text_.size() && (text_[pos_] == '-' || text_[pos_] == '+')) ++pos_;
      return digits();
    }
    return true;
  }

  bool string_literal() {
    if (pos_ >= text_.size() || (text_[pos_] != '"' && text_[pos_] != '\'')) return false;
    const size_t end = text_.find(text_[pos_], pos_ + 1);
    if (end == std::string_view::npos || text_.substr(pos_, end - pos_).find('\\') != std::string_view::npos) return false;
    pos_ = end + 1;
    return true;
  }

  std::string_view text_;
  size_t pos_ = 0;
  bool failed_ = false;
  std::string error_;
};

namespace {

void append_type(const Argument& argument, std::string* out) {
  std::string type = argument.type().str();
  if (!argument.alias().empty()) {
    size_t base = 0;
    while (base < type.size() && is_letter(type[base])) ++base;
    type.insert(base, "(" + argument.alias() + (argument.is_write() ? "!)" : ")"));
  }
  *out += type;
}

}  // namespace

bool FunctionSchema::is_mutable() const {
  for (const Argument& argument : arguments_) {
    if (argument.is_write()) return true;
  }
  return false;
}

std::string FunctionSchema::qualified_name() const {
  return overload_name_.empty() ? name_ : name_ + "." + overload_name_;
}

std::string FunctionSchema::str() const {
  std::string out = ns_.empty() ? std::string() : ns_ + "::";
  out += qualified_name() + "(";
  bool kwarg_only = false;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const Argument& argument = arguments_[i];
    if (i > 0) out += ", ";
    if (argument.kwarg_only() && !kwarg_only) {
      kwarg_only = true;
      out += "*, ";
    }
    append_type(argument, &out);
    out += " " + argument.name();
    if (argument.default_text()) out += "=" + *argument.default_text();
  }
  out += ") -> ";
  if (returns_.size() != 1) out += '(';
  for (size_t i = 0; i < returns_.size(); ++i) {
    if (i > 0) out += ", ";
    append_type(returns_[i], &out);
    if (!returns_[i].name().empty()) out += " " + returns_[i].name();
  }
  if (returns_.size() != 1) out += ')';
  return out;
}

std::optional<int> FunctionSchema::argument_index(std::string_view name) const {
  for (size_t i = 0; i < arguments_.size(); ++i) {
    if (arguments_[i].name() == name) return static_cast<int>(i);
  }
  return std::nullopt;
}

std::optional<FunctionSchema> try_parse_schema(std::string_view text, std::string* error) {
  return SchemaParser(text).parse(error);
}

FunctionSchema parse_schema(std::string_view text) {
  std::string error;
  std::optional<FunctionSchema> schema = try_parse_schema(text, &error);
  TORCH_CHECK(schema.has_value(), error);
  return *std::move(schema);
}

}  // namespace c10

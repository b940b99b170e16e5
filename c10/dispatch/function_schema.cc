#include "c10/dispatch/function_schema.h"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "c10/util/exception.h"
#include "c10/value/text_cursor.h"

namespace c10 {
namespace {

// The annotation stands after the type that it is about: in the innermost place that has one.
void write_type(const Type& type, const AliasInfo* alias, std::optional<int32_t> size, std::string* out) {
  if (const auto* optional = type.castRaw<OptionalType>()) {
    write_type(*optional->getElementType(), alias, size, out);
    *out += '?';
    return;
  }
  const auto* list = type.castRaw<ListType>();
  if (list == nullptr) {
    to_text(*out, type);
  } else {
    const AliasInfo* element = alias != nullptr && !alias->containedTypes().empty() ? &alias->containedTypes()[0] : nullptr;
    write_type(*list->getElementType(), element, std::nullopt, out);
    *out += '[';
    if (size.has_value()) *out += std::to_string(*size);
    *out += ']';
  }
  if (alias != nullptr && !alias->beforeSets().empty()) *out += "(" + alias->str() + ")";
}

void write_double(double value, std::string* out) {
  char buffer[40];
  std::snprintf(buffer, sizeof(buffer), "%.17g", value);
  *out += buffer;
  if (std::string_view(buffer).find_first_of(".en") == std::string_view::npos) *out += '.';
}

void write_string(std::string_view text, std::string* out) {
  *out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') *out += '\\';
    *out += c;
  }
  *out += '"';
}

void write_value(const IValue& value, std::string* out) {
  switch (value.tag()) {
    case IValue::Tag::None: *out += "None"; break;
    case IValue::Tag::Int: *out += std::to_string(value.toInt()); break;
    case IValue::Tag::UInt:
      *out += std::to_string(value.toUInt());
      break;
    case IValue::Tag::Double: write_double(value.toDouble(), out); break;
    case IValue::Tag::Bool: *out += value.toBool() ? "True" : "False"; break;
    case IValue::Tag::String: write_string(value.toStringView(), out); break;
    case IValue::Tag::Device: *out += value.toDevice().str(); break;
    case IValue::Tag::ComplexDouble: {
      const complex<double> z = value.toComplexDouble();
      write_double(z.real(), out);
      if (!std::signbit(z.imag())) *out += '+';
      write_double(z.imag(), out);
      *out += 'j';
      break;
    }
    case IValue::Tag::GenericList: {
      *out += '[';
      for (size_t i = 0; i < value.toListRef().size(); ++i) {
        if (i > 0) *out += ", ";
        write_value(value.toListRef()[i], out);
      }
      *out += ']';
      break;
    }
    case IValue::Tag::Tuple: {
      const auto& parts = value.toTupleRef().elements();
      *out += '(';
      for (size_t i = 0; i < parts.size(); ++i) {
        if (i > 0) *out += ", ";
        write_value(parts[i], out);
      }
      *out += parts.size() == 1 ? ",)" : ")";
      break;
    }
    default: TORCH_CHECK(false, "a default of ", value.tag_name(), " cannot be written");
  }
}

std::string value_text(const std::optional<IValue>& value) {
  std::string text;
  if (value.has_value()) write_value(*value, &text);
  return text;
}

}  // namespace

// --- arguments ---

ArgumentShape shape_of(const Type& type, std::optional<int32_t> size) {
  ArgumentShape shape;
  const Type* inner = &type;
  if (const auto* optional = inner->castRaw<OptionalType>()) {
    shape.optional = true;
    inner = optional->getElementType().get();
  }
  if (const auto* list = inner->castRaw<ListType>()) {
    shape.list = true;
    shape.list_size = size.value_or(-1);
    inner = list->getElementType().get();
    if (const auto* optional = inner->castRaw<OptionalType>()) {
      shape.element_optional = true;
      inner = optional->getElementType().get();
    }
  }
  shape.kind = inner->kind();
  if (shape.kind == TypeKind::SymIntType) shape.kind = TypeKind::IntType;
  if (shape.kind == TypeKind::SymFloatType) shape.kind = TypeKind::FloatType;
  if (shape.kind == TypeKind::SymBoolType) shape.kind = TypeKind::BoolType;
  return shape;
}

Argument::Argument(
    std::string name, TypePtr type, std::optional<int32_t> N, std::optional<IValue> default_value, bool kwarg_only,
    std::optional<AliasInfo> alias_info)
    : name_(std::move(name)),
      real_type_(type != nullptr ? std::move(type) : TypePtr(TensorType::get())),
      N_(N),
      default_value_(std::move(default_value)),
      alias_info_(std::move(alias_info)),
      kwarg_only_(kwarg_only) {
  type_ = detail::without_schema_names(real_type_);
  if (default_value_.has_value()) default_text_ = value_text(default_value_);
}

std::string Argument::alias() const {
  const AliasInfo* info = alias_info();
  while (info != nullptr && info->beforeSets().empty()) info = info->containedTypes().empty() ? nullptr : &info->containedTypes()[0];
  return info != nullptr ? info->beforeSets()[0] : std::string();
}

std::string Argument::type_str() const {
  std::string text;
  write_type(*real_type_, alias_info(), N_, &text);
  return text;
}

bool operator==(const Argument& a, const Argument& b) {
  return a.name_ == b.name_ && *a.real_type_ == *b.real_type_ && a.N_ == b.N_ && a.kwarg_only_ == b.kwarg_only_ &&
         a.alias_info_ == b.alias_info_ && a.default_value_.has_value() == b.default_value_.has_value() &&
         value_text(a.default_value_) == value_text(b.default_value_);
}

// --- names ---

std::optional<std::string_view> OperatorName::getNamespace() const {
  const size_t colons = name.find("::");
  return colons == std::string::npos ? std::nullopt : std::optional<std::string_view>(std::string_view(name).substr(0, colons));
}

std::string toString(const OperatorName& name) {
  return name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
}

// --- schemas ---

// Recursive descent; only types nest.
class SchemaParser {
 public:
  explicit SchemaParser(std::string_view text) : in_(text, "schema"), size_(text.size()) {}

  std::optional<FunctionSchema> parse(std::string* error) {
    FunctionSchema schema;
    if (size_ > kMaxSchemaLength) {
      in_.fail("a schema of at most 65536 characters");
    } else {
      parse_all(&schema);
    }
    if (!in_.failed()) return schema;
    if (error != nullptr) *error = in_.error();
    return std::nullopt;
  }

 private:
  static constexpr size_t kMaxSchemaLength = 1 << 16;

  bool parse_all(FunctionSchema* schema) {
    std::string& name = schema->name_.name;
    if (!in_.identifier(&name, "the operator's name")) return false;
    if (in_.accept("::")) {
      std::string base;
      if (!in_.identifier(&base, "the operator's name")) return false;
      name += "::" + base;
    }
    if (in_.accept(".") && !in_.identifier(&schema->name_.overload_name, "the overload's name")) return false;
    if (!in_.expect("(") || !parse_arguments(schema) || !in_.expect("->") || !parse_returns(schema)) return false;
    return in_.at_end() || in_.fail("the end of the schema");
  }

  bool parse_arguments(FunctionSchema* schema) {
    bool kwarg_only = false;
    if (in_.accept(")")) return true;
    do {
      if (in_.accept("...")) {
        schema->is_vararg_ = true;
        break;
      }
      if (in_.accept("*")) {
        if (kwarg_only) return in_.fail("one '*' only");
        kwarg_only = true;
        continue;
      }
      Argument argument;
      argument.kwarg_only_ = kwarg_only;
      if (!parse_type(&argument)) return false;
      if (!in_.identifier(&argument.name_, "the argument's name")) return false;
      if (schema->argument_index(argument.name_)) return in_.fail("another name than '" + argument.name_ + "' again, before this");
      if (in_.accept("=") && !parse_default(&argument)) return false;
      schema->arguments_.push_back(std::move(argument));
    } while (in_.accept(","));
    return in_.expect(")");
  }

  bool parse_returns(FunctionSchema* schema) {
    const bool parenthesised = in_.accept("(");
    if (parenthesised && in_.accept(")")) return true;
    do {
      if (in_.accept("...")) {
        schema->is_varret_ = true;
        break;
      }
      Argument result;
      if (!parse_type(&result)) return false;
      in_.skip_space();
      if (detail::TextCursor::is_letter(in_.next())) in_.identifier(&result.name_, "the result's name");
      schema->returns_.push_back(std::move(result));
    } while (parenthesised && in_.accept(","));
    return !parenthesised || in_.expect(")");
  }

  bool parse_type(Argument* argument) {
    detail::ParsedType parsed;
    if (!detail::parse_type(in_, &parsed)) return false;
    argument->real_type_ = std::move(parsed.type);
    argument->type_ = detail::without_schema_names(argument->real_type_);
    argument->N_ = parsed.size;
    argument->alias_info_ = std::move(parsed.alias);
    return true;
  }

  bool parse_default(Argument* argument) {
    in_.skip_space();
    const size_t begin = in_.position();
    IValue value;
    if (!default_of(*argument, &value)) {
      if (in_.failed()) return false;
      in_.go_back(begin);
      return in_.fail("a default of type " + argument->type_str());
    }
    argument->default_value_ = std::move(value);
    argument->default_text_ = in_.since(begin);
    return true;
  }

  bool default_of(const Argument& argument, IValue* out) {
    const ArgumentShape shape = argument.shape();
    if (in_.accept_word("None")) return shape.optional;
    if (!shape.list) return literal(shape.kind, out);
    std::vector<IValue> values;
    if (in_.accept("[")) {
      if (!in_.accept("]")) {
        do {
          if (!literal(shape.kind, &values.emplace_back())) return false;
        } while (in_.accept(","));
        if (!in_.expect("]")) return false;
      }
    } else {
      // One value stands for all.
      if (!literal(shape.kind, &values.emplace_back())) return false;
      if (shape.list_size > 0) values.resize(static_cast<size_t>(shape.list_size), values[0]);
    }
    const Type* list = argument.type_.get();
    if (const auto* optional = list->castRaw<OptionalType>()) list = optional->getElementType().get();
    List<IValue> result(list->castRaw<ListType>()->getElementType());
    for (IValue& value : values) result.push_back(value);
    *out = IValue(result);
    return true;
  }

  bool literal(TypeKind kind, IValue* out) {
    in_.skip_space();
    switch (kind) {
      case TypeKind::StringType: return string_literal(out);
      case TypeKind::BoolType: return bool_literal(out);
      case TypeKind::ScalarTypeType:
        return constant(out, {{"long", ScalarType::Long}, {"int", ScalarType::Int}, {"float", ScalarType::Float},
                              {"double", ScalarType::Double}, {"bool", ScalarType::Bool}}) ||
               number(/*fraction=*/false, out);
      case TypeKind::LayoutType: return constant(out, {{"strided", Layout::Strided}}) || number(/*fraction=*/false, out);
      case TypeKind::MemoryFormatType:
        return constant(out, {{"contiguous_format", MemoryFormat::Contiguous}, {"preserve_format", MemoryFormat::Preserve}}) ||
               number(/*fraction=*/false, out);
      case TypeKind::QSchemeType: return number(/*fraction=*/false, out);
      // The named constants of the schemas: a loss's reduction.
      case TypeKind::IntType: return constant(out, {{"Mean", int64_t{1}}, {"Sum", int64_t{2}}}) || number(/*fraction=*/false, out);
      case TypeKind::FloatType:
        if (!number(/*fraction=*/true, out)) return false;
        *out = IValue(out->toScalar().toDouble());
        return true;
      case TypeKind::ComplexType: return complex_literal(out);
      case TypeKind::NumberType: return bool_literal(out) || number(/*fraction=*/true, out);
      default: return false;
    }
  }

  struct Constant {
    const char* name;
    IValue value;
  };
  bool constant(IValue* out, std::initializer_list<Constant> constants) {
    for (const Constant& candidate : constants) {
      if (!in_.accept_word(candidate.name)) continue;
      *out = candidate.value;
      return true;
    }
    return false;
  }

  bool bool_literal(IValue* out) { return constant(out, {{"True", IValue(true)}, {"False", IValue(false)}}); }

  // An integer without a point or an exponent is an Int; beyond its range, no number.
  bool number(bool fraction, IValue* out) {
    const size_t begin = in_.position();
    if (in_.next() == '-' || in_.next() == '+') in_.advance();
    bool integer = true;
    if (fraction && constant(out, {{"inf", IValue(HUGE_VAL)}, {"nan", IValue(std::nan(""))}})) {
      if (in_.since(begin)[0] == '-') *out = IValue(-out->toDouble());
      return true;
    }
    if (!in_.digits()) return false;
    if (fraction && in_.next() == '.') {
      integer = false;
      in_.advance();
      in_.digits();
    }
    if (fraction && (in_.next() == 'e' || in_.next() == 'E')) {
      integer = false;
      in_.advance();
      if (in_.next() == '-' || in_.next() == '+') in_.advance();
      if (!in_.digits()) return false;
    }
    const std::string text(in_.since(begin));
    if (!integer) {
      *out = IValue(std::strtod(text.c_str(), nullptr));
      return true;
    }
    errno = 0;
    *out = IValue(static_cast<int64_t>(std::strtoll(text.c_str(), nullptr, 10)));
    return errno == 0;
  }

  // a+bj, bj or a.
  bool complex_literal(IValue* out) {
    IValue part;
    if (!number(/*fraction=*/true, &part)) return false;
    double real = part.toScalar().toDouble(), imaginary = 0;
    if (in_.next() == 'j') {
      in_.advance();
      std::swap(real, imaginary);
    } else if (in_.next() == '+' || in_.next() == '-') {
      if (!number(/*fraction=*/true, &part) || in_.next() != 'j') return false;
      in_.advance();
      imaginary = part.toScalar().toDouble();
    }
    *out = IValue(complex<double>(real, imaginary));
    return true;
  }

  bool string_literal(IValue* out) {
    const char quote = in_.next();
    if (quote != '"' && quote != '\'') return false;
    in_.advance();
    std::string text;
    for (; in_.next() != quote; in_.advance()) {
      if (in_.next() == '\\') in_.advance();
      if (in_.next() == '\0') return false;
      text += in_.next();
    }
    in_.advance();
    *out = IValue(std::move(text));
    return true;
  }

  detail::TextCursor in_;
  size_t size_;
};

FunctionSchema::FunctionSchema(
    std::string name, std::string overload_name, std::vector<Argument> arguments, std::vector<Argument> returns, bool is_vararg,
    bool is_varret)
    : name_{std::move(name), std::move(overload_name)},
      arguments_(std::move(arguments)),
      returns_(std::move(returns)),
      is_vararg_(is_vararg),
      is_varret_(is_varret) {
  check();
}

void FunctionSchema::check() const {
  bool seen_default = false;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    TORCH_CHECK(argument_index(arguments_[i].name()) == static_cast<int>(i), name(), ": two arguments are named '",
                arguments_[i].name(), "'");
    if (arguments_[i].kwarg_only()) continue;
    TORCH_CHECK(!seen_default || arguments_[i].default_value().has_value() || arguments_[i].shape().kind == TypeKind::ListType,
                "Non-default positional argument follows default argument. Parameter ", arguments_[i].name(), " in ", str());
    seen_default = seen_default || arguments_[i].default_value().has_value();
  }
}

std::string FunctionSchema::base_name() const {
  const size_t colons = name().find("::");
  return colons == std::string::npos ? name() : name().substr(colons + 2);
}

std::string FunctionSchema::qualified_name() const {
  return overload_name().empty() ? base_name() : base_name() + "." + overload_name();
}

bool FunctionSchema::is_mutable() const {
  for (const Argument& argument : arguments_) {
    if (argument.is_write()) return true;
  }
  return false;
}

bool FunctionSchema::is_mutable(std::string_view name) const {
  const std::optional<int> index = argument_index(name);
  TORCH_CHECK(index.has_value(), "Schema has no argument named ", name);
  return is_mutable(static_cast<size_t>(*index));
}

std::optional<int> FunctionSchema::argument_index(std::string_view name) const {
  for (size_t i = 0; i < arguments_.size(); ++i) {
    if (arguments_[i].name() == name) return static_cast<int>(i);
  }
  return std::nullopt;
}

FunctionSchema FunctionSchema::cloneWithArguments(std::vector<Argument> arguments) const {
  return FunctionSchema(name(), overload_name(), std::move(arguments), returns_, is_vararg_, is_varret_);
}
FunctionSchema FunctionSchema::cloneWithReturns(std::vector<Argument> returns) const {
  return FunctionSchema(name(), overload_name(), arguments_, std::move(returns), is_vararg_, is_varret_);
}
FunctionSchema FunctionSchema::cloneWithName(std::string name, std::string overload_name) const {
  return FunctionSchema(std::move(name), std::move(overload_name), arguments_, returns_, is_vararg_, is_varret_);
}

namespace {

bool same_place(const Argument& now, const Argument& before) {
  return now.name() == before.name() && before.real_type()->isSubtypeOf(now.real_type()) && now.N() == before.N() &&
         (now.alias_info() == nullptr) == (before.alias_info() == nullptr) &&
         (now.alias_info() == nullptr || *now.alias_info() == *before.alias_info());
}

}  // namespace

bool FunctionSchema::isBackwardCompatibleWith(const FunctionSchema& old, std::string* why_not) const {
  const auto no = [&](const std::string& why) {
    if (why_not != nullptr) *why_not = why;
    return false;
  };
  if (name_ != old.name_) return no("the name is another");
  if (is_vararg_ != old.is_vararg_ || is_varret_ != old.is_varret_) return no("the number of arguments or results is open in one only");
  if (returns_.size() != old.returns_.size()) return no("the number of results is another");
  for (size_t i = 0; i < returns_.size(); ++i) {
    if (!returns_[i].real_type()->isSubtypeOf(old.returns_[i].real_type())) return no("result " + std::to_string(i) + " is another");
  }
  if (arguments_.size() < old.arguments_.size()) return no("arguments are missing");
  std::vector<bool> matched(arguments_.size(), false);
  for (size_t i = 0; i < old.arguments_.size(); ++i) {
    const Argument& before = old.arguments_[i];
    const std::optional<int> index = argument_index(before.name());
    if (!index.has_value()) return no("argument '" + before.name() + "' is missing");
    const Argument& now = arguments_[static_cast<size_t>(*index)];
    matched[static_cast<size_t>(*index)] = true;
    if (!before.kwarg_only() && (now.kwarg_only() || static_cast<size_t>(*index) != i)) {
      return no("argument '" + before.name() + "' has another place");
    }
    if (!same_place(now, before)) return no("argument '" + before.name() + "' has another type");
    if (before.default_value().has_value() && value_text(now.default_value()) != value_text(before.default_value())) {
      return no("argument '" + before.name() + "' has another default");
    }
  }
  for (size_t i = 0; i < arguments_.size(); ++i) {
    if (!matched[i] && !arguments_[i].default_value().has_value()) return no("argument '" + arguments_[i].name() + "' is new");
  }
  return true;
}

std::string FunctionSchema::str() const {
  std::string out = toString(name_) + "(";
  bool kwarg_only = false;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const Argument& argument = arguments_[i];
    if (i > 0) out += ", ";
    if (argument.kwarg_only() && !kwarg_only) {
      kwarg_only = true;
      out += "*, ";
    }
    out += argument.type_str() + " " + argument.name();
    if (argument.default_value().has_value()) out += "=" + value_text(argument.default_value());
  }
  if (is_vararg_) out += arguments_.empty() ? "..." : ", ...";
  out += ") -> ";
  const bool parenthesised = returns_.size() != 1 || is_varret_ || returns_[0].real_type()->kind() == TypeKind::TupleType;
  const bool bare = is_varret_ && returns_.empty();
  if (parenthesised && !bare) out += '(';
  for (size_t i = 0; i < returns_.size(); ++i) {
    if (i > 0) out += ", ";
    out += returns_[i].type_str();
    if (!returns_[i].name().empty()) out += " " + returns_[i].name();
  }
  if (is_varret_) out += returns_.empty() ? "..." : ", ...";
  if (parenthesised && !bare) out += ')';
  return out;
}

bool operator==(const FunctionSchema& a, const FunctionSchema& b) {
  return a.name_ == b.name_ && a.arguments_ == b.arguments_ && a.returns_ == b.returns_ && a.is_vararg_ == b.is_vararg_ &&
         a.is_varret_ == b.is_varret_;
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

#include "c10/value/type_parser.h"

#include <algorithm>
#include <array>

#include "c10/util/exception.h"
#include "c10/value/custom_class_registry.h"
#include "c10/value/text_cursor.h"

namespace c10 {
namespace {

using detail::ParsedType;
using detail::TextCursor;

constexpr int32_t kMaxListSize = 1 << 16;
constexpr size_t kMaxTypeLength = 1 << 16;
constexpr int kMaxDepth = 64;

struct NamedPlainType {
  std::string_view text;
  TypePtr (*get)();
};

template <class T>
TypePtr plain() {
  return T::get();
}

constexpr std::array kPlainTypes{
    NamedPlainType{"Tensor", plain<TensorType>},         NamedPlainType{"Scalar", plain<NumberType>},
    NamedPlainType{"int", plain<IntType>},               NamedPlainType{"float", plain<FloatType>},
    NamedPlainType{"complex", plain<ComplexType>},       NamedPlainType{"bool", plain<BoolType>},
    NamedPlainType{"str", plain<StringType>},            NamedPlainType{"NoneType", plain<NoneType>},
    NamedPlainType{"ScalarType", plain<ScalarTypeType>}, NamedPlainType{"Layout", plain<LayoutType>},
    NamedPlainType{"Device", plain<DeviceObjType>},      NamedPlainType{"MemoryFormat", plain<MemoryFormatType>},
    NamedPlainType{"Generator", plain<GeneratorType>},   NamedPlainType{"QScheme", plain<QSchemeType>},
    NamedPlainType{"Dimname", plain<DimnameType>},       NamedPlainType{"Storage", plain<StorageType>},
    NamedPlainType{"Stream", plain<StreamObjType>},      NamedPlainType{"Any", plain<AnyType>},
    NamedPlainType{"DeviceIndex", plain<IntType>},
    NamedPlainType{"SymInt", plain<SymIntType>},         NamedPlainType{"SymFloat", plain<SymFloatType>},
    NamedPlainType{"SymBool", plain<SymBoolType>},       NamedPlainType{"Capsule", plain<CapsuleType>},
    NamedPlainType{"Quantizer", plain<QuantizerType>},   NamedPlainType{"AnyEnumType", plain<AnyEnumType>},
    NamedPlainType{"AnyClassType", plain<AnyClassType>}, NamedPlainType{"PyObject", plain<PyObjectType>},
    NamedPlainType{"list", plain<AnyListType>},          NamedPlainType{"tuple", plain<AnyTupleType>},
};

// Numbers and strings are values: nothing can share their memory.
bool may_alias(TypeKind kind) {
  switch (kind) {
    case TypeKind::IntType:
    case TypeKind::FloatType:
    case TypeKind::ComplexType:
    case TypeKind::BoolType:
    case TypeKind::NumberType:
    case TypeKind::StringType:
    case TypeKind::NoneType:
    case TypeKind::ScalarTypeType:
    case TypeKind::LayoutType:
    case TypeKind::MemoryFormatType:
    case TypeKind::QSchemeType:
    case TypeKind::DeviceObjType:
    case TypeKind::SymIntType:
    case TypeKind::SymFloatType:
    case TypeKind::SymBoolType:
    case TypeKind::DimnameType:
      return false;
    default:
      return true;
  }
}

class TypeParser {
 public:
  explicit TypeParser(TextCursor& in) : in_(in) {}

  bool parse(ParsedType* out) {
    if (++depth_ > kMaxDepth) return in_.fail("at most 64 levels of types");
    const bool good = parse_base(out) && parse_suffixes(out);
    --depth_;
    return good;
  }

 private:
  bool parse_base(ParsedType* out) {
    in_.skip_space();
    const size_t begin = in_.position();
    if (in_.accept("(")) return parse_tuple(out);
    std::string name;
    if (!in_.identifier(&name, "a type")) return false;
    if (name == "__torch__") return parse_class(begin, out);
    for (const NamedPlainType& type : kPlainTypes) {
      if (type.text == name) out->type = type.get();
    }
    if (out->type != nullptr) return parse_alias(out);
    if (name == "Dict") return parse_dict(out);
    if (name == "Union") return parse_union(out);
    if (name == "Future") return parse_wrapped(out) && ((out->type = FutureType::create(std::move(out->type))), true);
    if (name == "Await") return parse_wrapped(out) && ((out->type = AwaitType::create(std::move(out->type))), true);
    if (name == "RRef") return parse_wrapped(out) && ((out->type = RRefType::create(std::move(out->type))), true);
    if (name[0] >= 'a' && name[0] <= 'z') {
      out->type = VarType::create(std::move(name));
      return parse_alias(out);
    }
    in_.go_back(begin);
    return in_.fail("a type");
  }

  bool parse_list(std::vector<TypePtr>* types) {
    do {
      ParsedType element;
      if (!parse(&element)) return false;
      types->push_back(std::move(element.type));
    } while (in_.accept(","));
    return in_.expect(")");
  }

  bool parse_tuple(ParsedType* out) {
    std::vector<TypePtr> types;
    if (!in_.accept(")") && !parse_list(&types)) return false;
    out->type = TupleType::create(std::move(types));
    return parse_alias(out);
  }

  bool parse_union(ParsedType* out) {
    std::vector<TypePtr> types;
    if (!in_.expect("(") || !parse_list(&types)) return false;
    out->type = UnionType::create(std::move(types));
    return parse_alias(out);
  }

  bool parse_wrapped(ParsedType* out) {
    ParsedType element;
    if (!in_.expect("(") || !parse(&element) || !in_.expect(")")) return false;
    out->type = std::move(element.type);
    return true;
  }

  bool parse_dict(ParsedType* out) {
    ParsedType key, value;
    if (!in_.expect("(")) return false;
    const size_t begin = in_.position();
    if (!parse(&key) || !in_.expect(",") || !parse(&value) || !in_.expect(")")) return false;
    try {
      out->type = DictType::create(std::move(key.type), std::move(value.type));
    } catch (const Error&) {
      in_.go_back(begin);
      return in_.fail("a type that keys may have");
    }
    return parse_alias(out);
  }

  bool parse_class(size_t begin, ParsedType* out) {
    std::string part;
    while (in_.next() == '.') {
      in_.advance();
      if (!in_.identifier(&part, "a part of a class's name")) return false;
    }
    out->type = getCustomClass(std::string(in_.since(begin)));
    if (out->type == nullptr) {
      in_.go_back(begin);
      return in_.fail("a class that is registered");
    }
    return parse_alias(out);
  }

  bool parse_suffixes(ParsedType* out) {
    for (int suffixes = 0;; ++suffixes) {
      if (suffixes > kMaxDepth) return in_.fail("at most 64 levels of types");
      if (in_.accept("?")) {
        out->type = OptionalType::create(std::move(out->type));
      } else if (in_.accept("[")) {
        if (!parse_brackets(out)) return false;
      } else {
        return true;
      }
    }
  }

  bool parse_brackets(ParsedType* out) {
    in_.skip_space();
    out->size.reset();
    if (TextCursor::is_digit(in_.next())) {
      int32_t size = 0;
      for (; TextCursor::is_digit(in_.next()); in_.advance()) {
        size = size * 10 + (in_.next() - '0');
        if (size > kMaxListSize) return in_.fail("a smaller list size");
      }
      out->size = size;
    }
    if (!in_.expect("]")) return false;
    out->type = ListType::create(std::move(out->type));
    std::optional<AliasInfo> element = std::move(out->alias);
    out->alias.reset();
    if (in_.peek("(") && !parse_alias(out)) return false;
    if (element.has_value()) {
      if (!out->alias.has_value()) out->alias.emplace();
      if (element->isWrite()) out->alias->setIsWrite(true);
      out->alias->addContainedType(*std::move(element));
    }
    return true;
  }

  // (a), (a!), (a -> *), (a! -> a|b)
  bool parse_alias(ParsedType* out) {
    if (!in_.peek("(")) return true;
    if (!may_alias(out->type->kind())) return in_.accept("(") && in_.fail("no alias annotation on this type");
    in_.accept("(");
    AliasInfo alias;
    if (!parse_sets([&](const std::string& name) { alias.addBeforeSet(name); })) return false;
    alias.setIsWrite(in_.accept("!"));
    if (in_.accept("->")) {
      if (!parse_sets([&](const std::string& name) { alias.addAfterSet(name); })) return false;
    } else {
      for (const std::string& name : alias.beforeSets()) alias.addAfterSet(name);
    }
    out->alias = std::move(alias);
    return in_.expect(")");
  }

  template <class F>
  bool parse_sets(const F& add) {
    std::string name;
    do {
      if (in_.accept("*")) {
        add("*");
      } else if (in_.identifier(&name, "an alias set")) {
        add(name);
      } else {
        return false;
      }
    } while (in_.accept("|"));
    return true;
  }

  TextCursor& in_;
  int depth_ = 0;
};

void add_sorted(std::vector<std::string>& sets, const std::string& name) {
  const auto at = std::lower_bound(sets.begin(), sets.end(), name);
  if (at == sets.end() || *at != name) sets.insert(at, name);
}

std::string joined(const std::vector<std::string>& sets) {
  std::string text;
  for (const std::string& name : sets) text += (text.empty() ? "" : "|") + name;
  return text;
}

}  // namespace

void AliasInfo::addBeforeSet(const std::string& name) { add_sorted(before_, name); }
void AliasInfo::addAfterSet(const std::string& name) { add_sorted(after_, name); }

std::string AliasInfo::str() const {
  if (before_.empty()) return "";
  std::string text = joined(before_);
  if (is_write_) text += '!';
  if (after_ != before_) text += c10::str(" -> ", joined(after_));
  return text;
}

bool detail::parse_type(TextCursor& in, ParsedType* out) { return TypeParser(in).parse(out); }

TypePtr try_parse_type(std::string_view text, std::string* error) {
  TextCursor in(text, "type");
  ParsedType parsed;
  if (text.size() > kMaxTypeLength) {
    in.fail("a type of at most 65536 characters");
  } else if (detail::parse_type(in, &parsed) && !in.at_end()) {
    in.fail("the end of the type");
  }
  if (!in.failed()) return parsed.type;
  if (error != nullptr) *error = in.error();
  return nullptr;
}

TypePtr parseType(std::string_view text) {
  std::string error;
  const TypePtr type = try_parse_type(text, &error);
  TORCH_CHECK(type != nullptr, error);
  return detail::without_schema_names(type);
}

}  // namespace c10

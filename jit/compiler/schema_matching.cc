#include "jit/compiler/schema_matching.h"

#include <algorithm>
#include <map>

#include "c10/util/string_util.h"

namespace torch::jit {
namespace {

using c10::Argument;
using c10::TypeKind;
using c10::TypePtr;
using Variables = std::map<std::string, TypePtr>;

bool is(const TypePtr& type, TypeKind kind) {
  return type->kind() == kind;
}
bool is_number(const TypePtr& type) {
  return is(type, TypeKind::IntType) || is(type, TypeKind::FloatType) || is(type, TypeKind::ComplexType) ||
         is(type, TypeKind::NumberType);
}
TypePtr without_optional(const TypePtr& type) {
  return is(type, TypeKind::OptionalType) ? type->expectRef<c10::OptionalType>().getElementType() : type;
}

// Binds the variables in `formal` so that it takes `actual`; false with a reason where that cannot be.
bool bind_types(const TypePtr& formal, const TypePtr& actual, Variables& variables, std::string* why) {
  if (!formal->hasFreeVariables()) return true;
  if (const auto* variable = formal->castRaw<c10::VarType>()) {
    const auto [entry, fresh] = variables.try_emplace(variable->name(), actual);
    if (fresh || actual->isSubtypeOf(entry->second)) return true;
    if (TypePtr both = unify_types(entry->second, actual); both != nullptr && both->kind() == TypeKind::OptionalType)
      return (entry->second = both), true;
    *why = c10::str("Type variable '", variable->name(), "' previously matched to type ",
                    entry->second->annotation_str(), " is matched to type ", actual->annotation_str(), ".");
    return false;
  }
  if (is(formal, TypeKind::OptionalType)) {
    return is(actual, TypeKind::NoneType) ||
           bind_types(without_optional(formal), without_optional(actual), variables, why);
  }
  if (is(formal, TypeKind::ListType) && is(actual, TypeKind::TupleType)) {
    TypePtr element;
    for (const TypePtr& type : actual->containedTypes())
      element = element == nullptr ? type : unify_types(element, type);
    if (element != nullptr) return bind_types(formal->containedType(0), element, variables, why);
  }
  if (formal->kind() != actual->kind() || formal->containedTypeSize() != actual->containedTypeSize()) {
    *why = c10::str("Cannot match ", formal->annotation_str(), " to ", actual->annotation_str(), ".");
    return false;
  }
  for (size_t i = 0; i < formal->containedTypeSize(); ++i) {
    if (!bind_types(formal->containedType(i), actual->containedType(i), variables, why)) return false;
  }
  return true;
}

TypePtr resolved(const TypePtr& type, const Variables& variables) {
  if (!type->hasFreeVariables()) return type;
  if (const auto* variable = type->castRaw<c10::VarType>()) {
    const auto found = variables.find(variable->name());
    return found == variables.end() ? nullptr : found->second;
  }
  std::vector<TypePtr> parts;
  for (const TypePtr& part : type->containedTypes()) {
    parts.push_back(resolved(part, variables));
    if (parts.back() == nullptr) return nullptr;
  }
  return type->withContained(std::move(parts));
}

class Matcher {
 public:
  Matcher(const c10::FunctionSchema& schema, const std::vector<TypePtr>& positional, const NamedTypes& named,
          Leniency leniency, std::string* why)
      : schema_(schema), positional_(positional), named_(named), leniency_(leniency), why_(why) {}

  std::optional<SchemaMatch> run() {
    SchemaMatch match;
    std::vector<bool> used(named_.size(), false);
    size_t next = 0;
    for (size_t i = 0; i < schema_.arguments().size(); ++i) {
      const Argument& argument = schema_.arguments()[i];
      ArgumentSource source;
      const auto named =
          std::find_if(named_.begin(), named_.end(), [&](const auto& one) { return one.first == argument.name(); });
      const bool by_place = !argument.kwarg_only() && next < positional_.size();
      if (by_place && named != named_.end())
        return no("argument ", argument.name(), " specified twice in schema, ", schema_.str());
      if (by_place) {
        source.index = next;
        if (is_last_positional(i) && takes_rest(argument, next, &source)) {
          next = positional_.size();
        } else if (!takes(argument, positional_[next++], &source)) {
          return std::nullopt;
        }
      } else if (named != named_.end()) {
        used[static_cast<size_t>(named - named_.begin())] = true;
        source.index = positional_.size() + static_cast<size_t>(named - named_.begin());
        if (!takes(argument, named->second, &source)) return std::nullopt;
      } else if (!argument.default_value().has_value()) {
        return no("Argument ", argument.name(), " not provided.");
      } else {
        source.type = argument.type();
      }
      match.arguments.push_back(std::move(source));
    }
    if (next < positional_.size())
      return no("Expected at most ", next, " arguments but found ", positional_.size(), " positional arguments.");
    for (size_t i = 0; i < used.size(); ++i) {
      if (!used[i]) return no("Unknown keyword argument '", named_[i].first, "'.");
    }
    for (const Argument& result : schema_.returns()) {
      TypePtr type = resolved(result.type(), variables_);
      if (type == nullptr) return no("the type of the result is not known");
      match.returns.push_back(std::move(type));
    }
    return match;
  }

 private:
  template <class... T>
  std::nullopt_t no(const T&... reason) {
    *why_ = c10::str(reason...);
    return std::nullopt;
  }
  bool is_last_positional(size_t i) const {
    const auto& all = schema_.arguments();
    return i + 1 == all.size() || all[i + 1].kwarg_only();
  }
  // torch.zeros(2, 3): the rest of the arguments as one list.
  bool takes_rest(const Argument& argument, size_t next, ArgumentSource* source) const {
    if (!is(argument.type(), TypeKind::ListType) || argument.N().has_value()) return false;
    const TypePtr element = argument.type()->containedType(0);
    if (is(element, TypeKind::VarType)) return false;
    for (size_t i = next; i < positional_.size(); ++i) {
      if (!positional_[i]->isSubtypeOf(element)) return false;
    }
    source->kind = ArgumentSource::Kind::kRest;
    source->type = argument.type();
    return true;
  }
  bool takes(const Argument& argument, const TypePtr& actual, ArgumentSource* source) {
    source->kind = ArgumentSource::Kind::kGiven;
    std::string reason;
    TypePtr formal = argument.type();
    if (formal->hasFreeVariables()) {
      if (!bind_types(formal, actual, variables_, &reason) || (formal = resolved(formal, variables_)) == nullptr) {
        no("Could not match type ", actual->annotation_str(), " to ", argument.type()->annotation_str(),
           " in argument '", argument.name(), "': ", reason);
        return false;
      }
    }
    source->type = formal;
    if (find_conversion(actual, formal, argument.N(), leniency_, source)) return true;
    no("Expected a value of type '", formal->annotation_str(), "' for argument '", argument.name(),
       "' but instead found type '", actual->annotation_str(), "'.");
    return false;
  }

  const c10::FunctionSchema& schema_;
  const std::vector<TypePtr>& positional_;
  const NamedTypes& named_;
  Leniency leniency_;
  std::string* why_;
  Variables variables_;
};

bool from_tensor(const TypePtr& target, Conversion* out) {
  switch (target->kind()) {
    case TypeKind::IntType:
      *out = Conversion::kToInt;
      return true;
    case TypeKind::FloatType:
      *out = Conversion::kToFloat;
      return true;
    case TypeKind::NumberType:
      *out = Conversion::kToScalar;
      return true;
    case TypeKind::BoolType:
      *out = Conversion::kToBool;
      return true;
    default:
      return false;
  }
}

}  // namespace

bool find_conversion(const TypePtr& from, const TypePtr& to, std::optional<int32_t> size, Leniency leniency,
                     ArgumentSource* out) {
  out->conversion = Conversion::kNone;
  if (from->isSubtypeOf(to)) return true;
  const TypePtr target = without_optional(to);
  if (is(target, TypeKind::ListType)) {
    const TypePtr element = target->containedType(0);
    if (is(from, TypeKind::ListType))
      return is(element, TypeKind::OptionalType) && *from->containedType(0) == *without_optional(element);
    if (is(from, TypeKind::TupleType)) {
      const auto parts = from->containedTypes();
      out->conversion = Conversion::kTupleToList;
      return !parts.empty() &&
             std::all_of(parts.begin(), parts.end(), [&](const TypePtr& part) { return part->isSubtypeOf(element); });
    }
    const bool fits = from->isSubtypeOf(element) || (is(from, TypeKind::IntType) && is(element, TypeKind::FloatType));
    out->conversion = Conversion::kRepeat;
    out->repeat = size.value_or(0);
    return size.has_value() && *size > 0 && fits;
  }
  if (leniency == Leniency::kExact) return false;
  if (is(from, TypeKind::BoolType)) return is(target, TypeKind::NumberType);
  if (is(target, TypeKind::FloatType) && (is(from, TypeKind::IntType) || is(from, TypeKind::NumberType)))
    return (out->conversion = Conversion::kToFloat), true;
  if (is(target, TypeKind::ComplexType) && is_number(from)) return (out->conversion = Conversion::kToComplex), true;
  if (is(target, TypeKind::IntType) && is(from, TypeKind::NumberType))
    return (out->conversion = Conversion::kToInt), true;
  if (is(target, TypeKind::DeviceObjType) && is(from, TypeKind::StringType))
    return (out->conversion = Conversion::kToDevice), true;
  return leniency == Leniency::kNumbersFromTensors && is(from, TypeKind::TensorType) &&
         from_tensor(target, &out->conversion);
}

std::optional<SchemaMatch> match_schema(const c10::FunctionSchema& schema, const std::vector<TypePtr>& positional,
                                        const NamedTypes& named, Leniency leniency, std::string* why) {
  return Matcher(schema, positional, named, leniency, why).run();
}

TypePtr unify_types(const TypePtr& a, const TypePtr& b) {
  if (a->isSubtypeOf(b)) return b;
  if (b->isSubtypeOf(a)) return a;
  if (is(a, TypeKind::NoneType)) return c10::OptionalType::create(b);
  if (is(b, TypeKind::NoneType)) return c10::OptionalType::create(a);
  if (is(a, TypeKind::OptionalType) || is(b, TypeKind::OptionalType)) {
    TypePtr inner = unify_types(without_optional(a), without_optional(b));
    return inner == nullptr ? nullptr : c10::OptionalType::create(std::move(inner));
  }
  if (is(a, TypeKind::TupleType) && is(b, TypeKind::TupleType) && a->containedTypeSize() == b->containedTypeSize()) {
    std::vector<TypePtr> parts;
    for (size_t i = 0; i < a->containedTypeSize(); ++i) {
      parts.push_back(unify_types(a->containedType(i), b->containedType(i)));
      if (parts.back() == nullptr) return nullptr;
    }
    return c10::TupleType::create(std::move(parts));
  }
  return nullptr;
}

}  // namespace torch::jit

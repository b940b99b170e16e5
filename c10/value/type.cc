#include "c10/value/type.h"

#include <algorithm>
#include <array>

#include "c10/util/exception.h"

namespace c10 {
namespace {

using detail::TypeStyle;

bool all_equal(ArrayRef<TypePtr> a, ArrayRef<TypePtr> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const TypePtr& x, const TypePtr& y) { return *x == *y; });
}

bool is_number_kind(TypeKind kind) {
  return kind == TypeKind::IntType || kind == TypeKind::FloatType || kind == TypeKind::ComplexType;
}

// An optional or a union, as its members.
std::vector<TypePtr> alternatives(const Type& type) {
  if (const auto* optional = type.castRaw<OptionalType>()) {
    std::vector<TypePtr> members = alternatives(*optional->getElementType());
    members.push_back(NoneType::get());
    return members;
  }
  if (type.kind() == TypeKind::UnionType) {
    const ArrayRef<TypePtr> members = type.containedTypes();
    return {members.begin(), members.end()};
  }
  return {type.self()};
}

bool has_alternatives(const Type& type) {
  return type.kind() == TypeKind::OptionalType || type.kind() == TypeKind::UnionType;
}

}  // namespace

const char* typeKindToString(TypeKind kind) {
  static constexpr std::array kNames{
#define KD_NAME_(name) #name,
      C10_FORALL_TYPES(KD_NAME_)
#undef KD_NAME_
  };
  return kNames[static_cast<size_t>(kind)];
}

Type::~Type() = default;

TypePtr Type::self() const {
  Type* type = const_cast<Type*>(this);
  return permanent_ ? TypePtr(std::shared_ptr<void>(), type) : type->shared_from_this();
}

void Type::check_kind(TypeKind kind) const {
  TORCH_CHECK(kind_ == kind, "expected a ", typeKindToString(kind), ", got ", str());
}

bool Type::equals(const Type& other) const { return this == &other || (kind_ == other.kind_ && same(other)); }

bool Type::same(const Type&) const { return true; }

bool Type::fits(const Type& other) const {
  if (is_number_kind(kind_)) return other.kind() == TypeKind::NumberType;
  return false;
}

// Whatever holds alternatives is compared member by member; the rest is the kinds' own matter.
bool Type::isSubtypeOf(const Type& other) const {
  if (other.kind_ == TypeKind::AnyType || equals(other)) return true;
  if (has_alternatives(*this)) {
    const std::vector<TypePtr> mine = alternatives(*this);
    return std::all_of(mine.begin(), mine.end(), [&](const TypePtr& type) { return type->isSubtypeOf(other); });
  }
  if (has_alternatives(other)) {
    const std::vector<TypePtr> theirs = alternatives(other);
    const auto takes = [&](const Type& type) {
      return std::any_of(theirs.begin(), theirs.end(), [&](const TypePtr& member) { return type.isSubtypeOf(*member); });
    };
    if (takes(*this)) return true;
    // A number fits where each kind of number does.
    return kind_ == TypeKind::NumberType && takes(*IntType::get()) && takes(*FloatType::get()) && takes(*ComplexType::get());
  }
  return fits(other);
}

bool Type::hasFreeVariables() const {
  if (kind_ == TypeKind::VarType) return true;
  if (kind_ == TypeKind::ClassType) return false;
  const ArrayRef<TypePtr> parts = containedTypes();
  return std::any_of(parts.begin(), parts.end(), [](const TypePtr& part) { return part->hasFreeVariables(); });
}

TypePtr Type::withContained(std::vector<TypePtr> contained) const {
  TORCH_CHECK(contained.size() == containedTypes().size(), str(), " has ", containedTypes().size(), " contained types, got ",
              contained.size());
  return contained.empty() ? self() : rebuilt(std::move(contained));
}

TypePtr Type::rebuilt(std::vector<TypePtr>) const {
  TORCH_CHECK(false, "the contained types of ", str(), " are fixed");
  return nullptr;
}

void to_text(std::string& out, const Type& type) { out += type.written(TypeStyle::kSchema); }

namespace detail {

template <class Derived, TypeKind kKind>
std::shared_ptr<Derived> PlainType<Derived, kKind>::get() {
  static Derived& instance = *new Derived;
  return std::shared_ptr<Derived>(std::shared_ptr<void>(), &instance);
}
#define KD_PLAIN_TYPE_(name, text, annotation) template class PlainType<name, TypeKind::name>;
KD_FORALL_PLAIN_TYPES(KD_PLAIN_TYPE_)
#undef KD_PLAIN_TYPE_

TypePtr without_schema_names(const TypePtr& type) {
  switch (type->kind()) {
    case TypeKind::ScalarTypeType:
    case TypeKind::LayoutType:
    case TypeKind::MemoryFormatType:
    case TypeKind::SymIntType: return IntType::get();
    case TypeKind::SymFloatType: return FloatType::get();
    case TypeKind::DimnameType: return StringType::get();
    case TypeKind::ClassType:
    case TypeKind::EnumType: return type;
    default: break;
  }
  const ArrayRef<TypePtr> parts = type->containedTypes();
  std::vector<TypePtr> held;
  bool changed = false;
  for (const TypePtr& part : parts) {
    held.push_back(without_schema_names(part));
    changed = changed || held.back() != part;
  }
  return changed ? type->withContained(std::move(held)) : type;
}

SingleElementType::SingleElementType(TypeKind kind, TypePtr element, const char* what) : Type(kind), element_(std::move(element)) {
  TORCH_CHECK(element_ != nullptr, what, " needs the type of its element");
}

bool SingleElementType::same(const Type& other) const {
  return *element_ == *static_cast<const SingleElementType&>(other).element_;
}

}  // namespace detail

// --- lists and optionals ---

ListTypePtr ListType::create(TypePtr element) { return ListTypePtr(new ListType(std::move(element))); }

#define KD_LIST_OF_(function, element)                                             \
  ListTypePtr ListType::function() {                                               \
    static const ListTypePtr& type = *new ListTypePtr(create(element));            \
    return type;                                                                   \
  }
KD_LIST_OF_(ofTensors, TensorType::get())
KD_LIST_OF_(ofOptionalTensors, OptionalType::ofTensor())
KD_LIST_OF_(ofInts, IntType::get())
KD_LIST_OF_(ofFloats, FloatType::get())
KD_LIST_OF_(ofComplexDoubles, ComplexType::get())
KD_LIST_OF_(ofBools, BoolType::get())
KD_LIST_OF_(ofStrings, StringType::get())
KD_LIST_OF_(ofNumbers, NumberType::get())
#undef KD_LIST_OF_

std::string ListType::written(TypeStyle style) const {
  const std::string element = Type::written(*getElementType(), style);
  return style == TypeStyle::kAnnotation ? c10::str("List[", element, "]") : element + "[]";
}

bool ListType::fits(const Type& other) const { return other.kind() == TypeKind::AnyListType; }

OptionalTypePtr OptionalType::create(TypePtr element) {
  if (element != nullptr && element->kind() == Kind) return std::static_pointer_cast<OptionalType>(element);
  return OptionalTypePtr(new OptionalType(std::move(element)));
}

OptionalTypePtr OptionalType::ofTensor() {
  static const OptionalTypePtr& type = *new OptionalTypePtr(create(TensorType::get()));
  return type;
}

std::string OptionalType::written(TypeStyle style) const {
  const std::string element = Type::written(*getElementType(), style);
  return style == TypeStyle::kAnnotation ? c10::str("Optional[", element, "]") : element + "?";
}

// --- Future, Await, RRef ---

FutureTypePtr FutureType::create(TypePtr element) { return FutureTypePtr(new FutureType(std::move(element))); }

std::string FutureType::written(TypeStyle style) const {
  const std::string element = Type::written(*getElementType(), style);
  return style == TypeStyle::kSchema ? c10::str("Future(", element, ")") : c10::str("Future[", element, "]");
}

bool FutureType::fits(const Type& other) const {
  return other.kind() == Kind && getElementType()->isSubtypeOf(static_cast<const FutureType&>(other).getElementType());
}

AwaitTypePtr AwaitType::create(TypePtr element) { return AwaitTypePtr(new AwaitType(std::move(element))); }

std::string AwaitType::written(TypeStyle style) const {
  const std::string element = Type::written(*getElementType(), style);
  return style == TypeStyle::kAnnotation ? c10::str("Await[", element, "]") : c10::str("Await(", element, ")");
}

bool AwaitType::fits(const Type& other) const {
  return other.kind() == Kind && getElementType()->isSubtypeOf(static_cast<const AwaitType&>(other).getElementType());
}

RRefTypePtr RRefType::create(TypePtr element) { return RRefTypePtr(new RRefType(std::move(element))); }

std::string RRefType::written(TypeStyle style) const {
  const std::string element = Type::written(*getElementType(), style);
  return style == TypeStyle::kSchema ? c10::str("RRef(", element, ")") : c10::str("RRef[", element, "]");
}

bool RRefType::fits(const Type&) const { return false; }

// --- Dict ---

DictType::DictType(TypePtr key, TypePtr value) : Type(Kind), types_{std::move(key), std::move(value)} {}

DictTypePtr DictType::create(TypePtr key, TypePtr value) {
  TORCH_CHECK(key != nullptr && value != nullptr, "a dict needs the types of its keys and of its values");
  switch (key->kind()) {
    case TypeKind::AnyType:
    case TypeKind::VarType:
    case TypeKind::IntType:
    case TypeKind::BoolType:
    case TypeKind::FloatType:
    case TypeKind::ComplexType:
    case TypeKind::StringType:
    case TypeKind::TensorType:
    case TypeKind::DeviceObjType:
    case TypeKind::EnumType:
      break;
    default:
      TORCH_CHECK(false, "Cannot create dict for key type '", key->str(),
                  "', only int, float, complex, Tensor, device and string keys are supported");
  }
  return DictTypePtr(new DictType(std::move(key), std::move(value)));
}

std::string DictType::written(TypeStyle style) const {
  const std::string parts = Type::written(*types_[0], style) + ", " + Type::written(*types_[1], style);
  return style == TypeStyle::kAnnotation ? c10::str("Dict[", parts, "]") : c10::str("Dict(", parts, ")");
}

bool DictType::same(const Type& other) const { return all_equal(types_, static_cast<const DictType&>(other).types_); }

// --- Tuple ---

TupleType::TupleType(std::vector<TypePtr> elements, std::string name, std::vector<std::string> names)
    : Type(Kind), elements_(std::move(elements)), name_(std::move(name)), names_(std::move(names)) {
  for (const TypePtr& element : elements_) TORCH_CHECK(element != nullptr, "a tuple needs the types of its elements");
}

TupleTypePtr TupleType::create(std::vector<TypePtr> elements) { return TupleTypePtr(new TupleType(std::move(elements), "", {})); }

TupleTypePtr TupleType::createNamed(std::string name, std::vector<std::string> fields, std::vector<TypePtr> elements) {
  TORCH_CHECK(!name.empty(), "a named tuple needs a name");
  TORCH_CHECK(fields.size() == elements.size(), "the named tuple ", name, " has ", fields.size(), " fields and ", elements.size(),
              " types");
  return TupleTypePtr(new TupleType(std::move(elements), std::move(name), std::move(fields)));
}

std::string TupleType::written(TypeStyle style) const {
  if (is_named() && style != TypeStyle::kString) return name_;
  const bool annotation = style == TypeStyle::kAnnotation;
  if (annotation && elements_.empty()) return "Tuple[()]";
  std::string text = is_named() ? "NamedTuple(" : annotation ? "Tuple[" : "(";
  for (size_t i = 0; i < elements_.size(); ++i) {
    if (i > 0) text += ", ";
    if (is_named()) text += names_[i] + " : ";
    text += Type::written(*elements_[i], style);
  }
  text += annotation ? ']' : ')';
  return text;
}

bool TupleType::same(const Type& other) const {
  const auto& tuple = static_cast<const TupleType&>(other);
  return name_ == tuple.name_ && names_ == tuple.names_ && all_equal(elements_, tuple.elements_);
}

bool TupleType::fits(const Type& other) const {
  if (other.kind() == TypeKind::AnyTupleType) return true;
  const auto* tuple = other.castRaw<TupleType>();
  if (tuple == nullptr || tuple->elements_.size() != elements_.size()) return false;
  if (tuple->is_named() && (name_ != tuple->name_ || names_ != tuple->names_)) return false;
  return std::equal(elements_.begin(), elements_.end(), tuple->elements_.begin(),
                    [](const TypePtr& a, const TypePtr& b) { return a->isSubtypeOf(b); });
}

TypePtr TupleType::rebuilt(std::vector<TypePtr> contained) const {
  return is_named() ? createNamed(name_, names_, std::move(contained)) : create(std::move(contained));
}

// --- Union ---

UnionType::UnionType(std::vector<TypePtr> members) : Type(Kind), members_(std::move(members)) {}

UnionTypePtr UnionType::create(std::vector<TypePtr> members) {
  std::vector<TypePtr> flat;
  for (const TypePtr& member : members) {
    TORCH_CHECK(member != nullptr, "a union needs the types of its members");
    for (TypePtr& one : alternatives(*member)) flat.push_back(std::move(one));
  }
  const auto has = [&](TypeKind kind) {
    return std::any_of(flat.begin(), flat.end(), [&](const TypePtr& type) { return type->kind() == kind; });
  };
  if (has(TypeKind::IntType) && has(TypeKind::FloatType) && has(TypeKind::ComplexType)) flat.push_back(NumberType::get());
  // What another member takes in goes; the rest is in the order of the kinds.
  std::vector<TypePtr> kept;
  const auto before = [](const TypePtr& a, const TypePtr& b) { return a->kind() < b->kind(); };
  for (size_t i = 0; i < flat.size(); ++i) {
    bool covered = false;
    for (size_t k = 0; k < flat.size() && !covered; ++k) {
      covered = k != i && flat[i]->isSubtypeOf(flat[k]) && (k < i || !flat[k]->isSubtypeOf(flat[i]));
    }
    if (!covered) kept.insert(std::upper_bound(kept.begin(), kept.end(), flat[i], before), flat[i]);
  }
  TORCH_CHECK(!kept.empty(), "a union needs a member");
  return UnionTypePtr(new UnionType(std::move(kept)));
}

bool UnionType::canHoldType(const Type& type) const { return type.isSubtypeOf(*this); }

std::string UnionType::written(TypeStyle style) const {
  std::string text = style == TypeStyle::kAnnotation ? "Union[" : "Union(";
  for (size_t i = 0; i < members_.size(); ++i) text += (i > 0 ? ", " : "") + Type::written(*members_[i], style);
  text += style == TypeStyle::kAnnotation ? ']' : ')';
  return text;
}

bool UnionType::same(const Type& other) const {
  const std::vector<TypePtr>& theirs = static_cast<const UnionType&>(other).members_;
  return members_.size() == theirs.size() && std::all_of(members_.begin(), members_.end(), [&](const TypePtr& mine) {
           return std::any_of(theirs.begin(), theirs.end(), [&](const TypePtr& type) { return *mine == *type; });
         });
}

// --- names ---

VarTypePtr VarType::create(std::string name) { return VarTypePtr(new VarType(std::move(name))); }

std::string_view NamedType::basename() const {
  const std::string_view name = name_;
  const size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

InterfaceTypePtr InterfaceType::create(std::string qualified_name, bool is_module) {
  return InterfaceTypePtr(new InterfaceType(std::move(qualified_name), is_module));
}

std::string InterfaceType::written(TypeStyle style) const {
  return style == TypeStyle::kString ? c10::str("InterfaceType<", basename(), ">") : qualified_name();
}

}  // namespace c10

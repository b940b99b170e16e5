// The types of values: what an operator's schema, a list, a dict or a loaded program says about them.
//
//   c10::TypePtr t = c10::ListType::create(c10::OptionalType::create(c10::TensorType::get()));
//   t->str();                                  // "Tensor?[]"
//   t->annotation_str();                       // "List[Optional[Tensor]]"
//   t->cast<c10::ListType>()->getElementType() // Tensor?
//   *c10::parseType("Dict(str, Tensor[])")     // c10/value/type_parser.h
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "c10/util/array_ref.h"
#include "c10/util/text_stream.h"

namespace c10 {

#define C10_FORALL_TYPES(_) \
  _(AnyType)                \
  _(EnumType)               \
  _(AnyEnumType)            \
  _(TensorType)             \
  _(StorageType)            \
  _(TupleType)              \
  _(ListType)               \
  _(DictType)               \
  _(NumberType)             \
  _(FloatType)              \
  _(ComplexType)            \
  _(FutureType)             \
  _(AwaitType)              \
  _(RRefType)               \
  _(IntType)                \
  _(NoneType)               \
  _(StringType)             \
  _(GeneratorType)          \
  _(QuantizerType)          \
  _(BoolType)               \
  _(OptionalType)           \
  _(VarType)                \
  _(DeviceObjType)          \
  _(StreamObjType)          \
  _(FunctionType)           \
  _(ClassType)              \
  _(PyObjectType)           \
  _(CapsuleType)            \
  _(InterfaceType)          \
  _(QSchemeType)            \
  _(ScalarTypeType)         \
  _(LayoutType)             \
  _(MemoryFormatType)       \
  _(AnyListType)            \
  _(AnyTupleType)           \
  _(AnyClassType)           \
  _(SymIntType)             \
  _(SymFloatType)           \
  _(SymBoolType)            \
  _(UnionType)              \
  _(DimnameType)

enum class TypeKind : uint8_t {
#define KD_KIND_(name) name,
  C10_FORALL_TYPES(KD_KIND_)
#undef KD_KIND_
};

// "TensorType" ...
const char* typeKindToString(TypeKind kind);

class Type;
template <class T>
using SharedTypePtr = std::shared_ptr<T>;
using TypePtr = std::shared_ptr<Type>;
using ConstTypePtr = std::shared_ptr<const Type>;
#define KD_POINTER_(name) \
  class name;             \
  using name##Ptr = std::shared_ptr<name>;
C10_FORALL_TYPES(KD_POINTER_)
#undef KD_POINTER_

namespace detail {
// How types are written: as schemas do ("int[]?"), as annotations do ("Optional[List[int]]"), or as a schema prints a whole
// type ("Future(int)" where str() has "Future[int]").
enum class TypeStyle : uint8_t { kString, kAnnotation, kSchema };
}  // namespace detail

// A type. Types without parts exist once, for the life of the program; others are shared by TypePtr. Immutable but for classes
// and interfaces, which grow while they are defined.
class Type : public std::enable_shared_from_this<Type> {
 public:
  Type(const Type&) = delete;
  Type& operator=(const Type&) = delete;
  virtual ~Type();

  TypeKind kind() const { return kind_; }
  // As in schemas and errors: "Tensor?[]", "Dict(str, int)", "Scalar".
  std::string str() const { return written(detail::TypeStyle::kString); }
  // As a Python annotation: "List[Optional[Tensor]]", "number".
  std::string annotation_str() const { return written(detail::TypeStyle::kAnnotation); }
  // What Python's repr shows, which is the annotation.
  std::string repr_str() const { return annotation_str(); }
  // The types this one is made of, in order.
  virtual ArrayRef<TypePtr> containedTypes() const { return {}; }
  size_t containedTypeSize() const { return containedTypes().size(); }
  TypePtr containedType(size_t i) const { return containedTypes().at(i); }
  // The same kind with other parts. Throws for a type without parts and for another number of them.
  TypePtr withContained(std::vector<TypePtr> contained) const;

  // Whether both say the same. Classes and enums are the same by name.
  bool equals(const Type& other) const;
  // Whether each value of this type may stand where `other` is wanted: T in T?, int in Scalar, (int, int) in (Scalar, Scalar);
  // lists, dicts and RRefs only with equal elements, since they may be written to.
  bool isSubtypeOf(const Type& other) const;
  bool isSubtypeOf(const TypePtr& other) const { return isSubtypeOf(*other); }
  // Whether a type variable is in it.
  bool hasFreeVariables() const;
  virtual bool is_module() const { return false; }

  // This type as a T, or null.
  template <class T>
  std::shared_ptr<T> cast() {
    return kind_ == T::Kind ? std::static_pointer_cast<T>(self()) : nullptr;
  }
  template <class T>
  std::shared_ptr<const T> cast() const {
    return const_cast<Type*>(this)->cast<T>();
  }
  template <class T>
  T* castRaw() {
    return kind_ == T::Kind ? static_cast<T*>(this) : nullptr;
  }
  template <class T>
  const T* castRaw() const {
    return kind_ == T::Kind ? static_cast<const T*>(this) : nullptr;
  }
  // The same; throws where it is another type.
  template <class T>
  std::shared_ptr<T> expect() {
    check_kind(T::Kind);
    return cast<T>();
  }
  template <class T>
  const T& expectRef() const {
    check_kind(T::Kind);
    return static_cast<const T&>(*this);
  }
  TypePtr self() const;

  friend bool operator==(const Type& a, const Type& b) { return a.equals(b); }

 protected:
  explicit Type(TypeKind kind, bool permanent = false) : kind_(kind), permanent_(permanent) {}
  virtual std::string written(detail::TypeStyle style) const = 0;
  static std::string written(const Type& type, detail::TypeStyle style) { return type.written(style); }
  // Of two types of one kind.
  virtual bool same(const Type& other) const;
  virtual bool fits(const Type& other) const;
  virtual TypePtr rebuilt(std::vector<TypePtr> contained) const;

 private:
  friend void to_text(std::string& out, const Type& type);
  void check_kind(TypeKind kind) const;
  TypeKind kind_;
  bool permanent_;
};

namespace detail {
// The type of what holds such values: a schema's ScalarType, Layout, MemoryFormat and SymInt are ints.
TypePtr without_schema_names(const TypePtr& type);
}  // namespace detail

// As schemas write it: "Future(int)", "__torch__.Point".
void to_text(std::string& out, const Type& type);

namespace detail {

// A type without parts. The pointer owns nothing: copying it counts nothing.
template <class Derived, TypeKind kKind>
class PlainType : public Type {
 public:
  static constexpr TypeKind Kind = kKind;
  static std::shared_ptr<Derived> get();

 protected:
  PlainType(const char* text, const char* annotation) : Type(kKind, /*permanent=*/true), text_(text), annotation_(annotation) {}
  std::string written(TypeStyle style) const override { return style == TypeStyle::kAnnotation ? annotation_ : text_; }

 private:
  const char* text_;
  const char* annotation_;
};

// A type of one other.
class SingleElementType : public Type {
 public:
  const TypePtr& getElementType() const { return element_; }
  ArrayRef<TypePtr> containedTypes() const override { return ArrayRef<TypePtr>(&element_, 1); }

 protected:
  SingleElementType(TypeKind kind, TypePtr element, const char* what);
  bool same(const Type& other) const override;

 private:
  TypePtr element_;
};

}  // namespace detail

#define KD_FORALL_PLAIN_TYPES(_)                      \
  _(AnyType, "Any", "Any")                            \
  _(AnyEnumType, "AnyEnumType", "AnyEnumType")        \
  _(TensorType, "Tensor", "Tensor")                   \
  _(StorageType, "Storage", "Storage")                \
  _(NumberType, "Scalar", "number")                   \
  _(FloatType, "float", "float")                      \
  _(ComplexType, "complex", "complex")                \
  _(IntType, "int", "int")                            \
  _(NoneType, "NoneType", "NoneType")                 \
  _(StringType, "str", "str")                         \
  _(GeneratorType, "Generator", "Generator")          \
  _(QuantizerType, "Quantizer", "Quantizer")          \
  _(BoolType, "bool", "bool")                         \
  _(DeviceObjType, "Device", "Device")                \
  _(StreamObjType, "Stream", "Stream")                \
  _(FunctionType, "Function", "Function")             \
  _(PyObjectType, "PyObject", "PyObject")             \
  _(CapsuleType, "Capsule", "Capsule")                \
  _(QSchemeType, "QScheme", "QScheme")                \
  _(ScalarTypeType, "ScalarType", "ScalarType")       \
  _(LayoutType, "Layout", "Layout")                   \
  _(MemoryFormatType, "MemoryFormat", "MemoryFormat") \
  _(AnyListType, "list", "list")                      \
  _(AnyTupleType, "tuple", "tuple")                   \
  _(AnyClassType, "AnyClassType", "AnyClassType")     \
  _(SymIntType, "SymInt", "int")                      \
  _(SymFloatType, "SymFloat", "float")                \
  _(SymBoolType, "SymBool", "bool")                   \
  _(DimnameType, "Dimname", "str")

#define KD_PLAIN_TYPE_(name, text, annotation)                        \
  class name final : public detail::PlainType<name, TypeKind::name> { \
    friend class detail::PlainType<name, TypeKind::name>;             \
    name() : PlainType(text, annotation) {}                           \
  };                                                                  \
  extern template class detail::PlainType<name, TypeKind::name>;
KD_FORALL_PLAIN_TYPES(KD_PLAIN_TYPE_)
#undef KD_PLAIN_TYPE_

// T[]
class ListType final : public detail::SingleElementType {
 public:
  static constexpr TypeKind Kind = TypeKind::ListType;
  static ListTypePtr create(TypePtr element);
  // Lists of what is named; made once.
  static ListTypePtr ofTensors();
  static ListTypePtr ofOptionalTensors();
  static ListTypePtr ofInts();
  static ListTypePtr ofFloats();
  static ListTypePtr ofComplexDoubles();
  static ListTypePtr ofBools();
  static ListTypePtr ofStrings();
  static ListTypePtr ofNumbers();

 private:
  explicit ListType(TypePtr element) : SingleElementType(Kind, std::move(element), "a list") {}
  std::string written(detail::TypeStyle style) const override;
  bool fits(const Type& other) const override;
  TypePtr rebuilt(std::vector<TypePtr> contained) const override { return create(std::move(contained[0])); }
};

// T?; of an optional, that optional.
class OptionalType final : public detail::SingleElementType {
 public:
  static constexpr TypeKind Kind = TypeKind::OptionalType;
  static OptionalTypePtr create(TypePtr element);
  static OptionalTypePtr ofTensor();

 private:
  explicit OptionalType(TypePtr element) : SingleElementType(Kind, std::move(element), "an optional") {}
  std::string written(detail::TypeStyle style) const override;
  TypePtr rebuilt(std::vector<TypePtr> contained) const override { return create(std::move(contained[0])); }
};

#define KD_WRAPPING_TYPE_(name, what)                                                                     \
  class name final : public detail::SingleElementType {                                                   \
   public:                                                                                                \
    static constexpr TypeKind Kind = TypeKind::name;                                                      \
    static name##Ptr create(TypePtr element);                                                             \
                                                                                                          \
   private:                                                                                               \
    explicit name(TypePtr element) : SingleElementType(Kind, std::move(element), what) {}                 \
    std::string written(detail::TypeStyle style) const override;                                          \
    bool fits(const Type& other) const override;                                                          \
    TypePtr rebuilt(std::vector<TypePtr> contained) const override { return create(std::move(contained[0])); } \
  };
KD_WRAPPING_TYPE_(FutureType, "a future")
KD_WRAPPING_TYPE_(AwaitType, "an await")
KD_WRAPPING_TYPE_(RRefType, "an RRef")
#undef KD_WRAPPING_TYPE_

// Dict(K, V). Keys are str, int, bool, float, complex, Tensor, device, enums, or open (Any, a type variable).
class DictType final : public Type {
 public:
  static constexpr TypeKind Kind = TypeKind::DictType;
  // Throws for another key.
  static DictTypePtr create(TypePtr key, TypePtr value);
  const TypePtr& getKeyType() const { return types_[0]; }
  const TypePtr& getValueType() const { return types_[1]; }
  ArrayRef<TypePtr> containedTypes() const override { return types_; }

 private:
  DictType(TypePtr key, TypePtr value);
  std::string written(detail::TypeStyle style) const override;
  bool same(const Type& other) const override;
  TypePtr rebuilt(std::vector<TypePtr> contained) const override { return create(contained[0], contained[1]); }
  std::vector<TypePtr> types_;
};

// (A, B), or a class of named fields.
class TupleType final : public Type {
 public:
  static constexpr TypeKind Kind = TypeKind::TupleType;
  static TupleTypePtr create(std::vector<TypePtr> elements);
  // `name` is the qualified one: "__torch__.Point". Throws unless there is one field a type.
  static TupleTypePtr createNamed(std::string name, std::vector<std::string> fields, std::vector<TypePtr> elements);
  ArrayRef<TypePtr> elements() const { return elements_; }
  ArrayRef<TypePtr> containedTypes() const override { return elements_; }
  // Empty for a plain tuple.
  const std::string& name() const { return name_; }
  const std::vector<std::string>& names() const { return names_; }
  bool is_named() const { return !name_.empty(); }

 private:
  TupleType(std::vector<TypePtr> elements, std::string name, std::vector<std::string> names);
  std::string written(detail::TypeStyle style) const override;
  bool same(const Type& other) const override;
  bool fits(const Type& other) const override;
  TypePtr rebuilt(std::vector<TypePtr> contained) const override;
  std::vector<TypePtr> elements_;
  std::string name_;
  std::vector<std::string> names_;
};

// One of several. Sorted, flat and without doubles: int, float and complex together are Scalar.
class UnionType final : public Type {
 public:
  static constexpr TypeKind Kind = TypeKind::UnionType;
  static UnionTypePtr create(std::vector<TypePtr> members);
  ArrayRef<TypePtr> containedTypes() const override { return members_; }
  bool canHoldType(const Type& type) const;

 private:
  explicit UnionType(std::vector<TypePtr> members);
  std::string written(detail::TypeStyle style) const override;
  bool same(const Type& other) const override;
  TypePtr rebuilt(std::vector<TypePtr> contained) const override { return create(std::move(contained)); }
  std::vector<TypePtr> members_;
};

// A variable of a schema: "t" in `t[] list`.
class VarType final : public Type {
 public:
  static constexpr TypeKind Kind = TypeKind::VarType;
  static VarTypePtr create(std::string name);
  const std::string& name() const { return name_; }

 private:
  explicit VarType(std::string name) : Type(Kind), name_(std::move(name)) {}
  std::string written(detail::TypeStyle) const override { return name_; }
  bool same(const Type& other) const override { return name_ == static_cast<const VarType&>(other).name_; }
  std::string name_;
};

// What has a qualified name: "__torch__.torch.classes.my.Stack".
class NamedType : public Type {
 public:
  const std::string& qualified_name() const { return name_; }
  const std::string& name() const { return name_; }
  // The last part of the name.
  std::string_view basename() const;

 protected:
  NamedType(TypeKind kind, std::string name) : Type(kind), name_(std::move(name)) {}
  bool same(const Type& other) const override { return name_ == static_cast<const NamedType&>(other).name_; }

 private:
  std::string name_;
};

// A type from outside, known by its name, with methods that classes may have: "does it have them" is the subtype relation.
class InterfaceType final : public NamedType {
 public:
  static constexpr TypeKind Kind = TypeKind::InterfaceType;
  static InterfaceTypePtr create(std::string qualified_name, bool is_module = false);
  void addMethod(std::string name) { methods_.push_back(std::move(name)); }
  const std::vector<std::string>& methodNames() const { return methods_; }
  bool is_module() const override { return is_module_; }

 private:
  InterfaceType(std::string name, bool is_module) : NamedType(Kind, std::move(name)), is_module_(is_module) {}
  std::string written(detail::TypeStyle style) const override;
  bool is_module_;
  std::vector<std::string> methods_;
};

template <TextStream Stream, class X>
  requires std::is_base_of_v<Type, X>
Stream& operator<<(Stream& out, const X& type) {
  std::string text;
  to_text(text, type);
  out << text.c_str();
  return out;
}

}  // namespace c10

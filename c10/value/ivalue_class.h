// IValue itself; include c10/value/ivalue.h.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "c10/core/device.h"
#include "c10/core/layout.h"
#include "c10/core/memory_format.h"
#include "c10/core/qscheme.h"
#include "c10/core/scalar.h"
#include "c10/core/scalar_type.h"
#include "c10/core/stream.h"
#include "c10/core/sym_int.h"
#include "c10/util/array_ref.h"
#include "c10/util/exception.h"
#include "c10/util/intrusive_ptr.h"
#include "c10/util/optional_array_ref.h"
#include "c10/util/small_vector.h"
#include "c10/util/text_stream.h"

namespace at {
class Tensor;
struct Generator;
}  // namespace at

namespace torch {
// The base of classes that scripts and operators may hold (torch::class_).
struct CustomClassHolder : c10::intrusive_ptr_target {};
namespace jit {
using torch::CustomClassHolder;
}
}  // namespace torch

namespace c10 {

using torch::CustomClassHolder;

class TensorImpl;
class Storage;
class StorageImpl;
class Type;
class ClassType;
using TypePtr = std::shared_ptr<Type>;
class IValue;
template <class T>
class List;
template <class K, class V>
class Dict;
namespace impl {
using GenericList = List<IValue>;
using GenericDict = Dict<IValue, IValue>;
}  // namespace impl
namespace ivalue {
struct Tuple;
struct Object;
struct Future;
struct Await;
struct EnumHolder;
}  // namespace ivalue

// The arguments of a boxed call, which its results replace.
using Stack = std::vector<IValue>;

namespace detail {

struct ListImpl;
struct DictImpl;

// What holds values. Freed without recursion, however deeply it nests.
class Aggregate : public intrusive_ptr_target {
 public:
  // Moves the values that it holds to `into`, in any order; it is about to go.
  virtual void surrender(std::vector<IValue>& into) = 0;
};

// The type of what holds such values: a schema's ScalarType, Layout, MemoryFormat and SymInt are ints.
TypePtr without_schema_names(const TypePtr& type);

// Throws unless the declared element type of a list or a dict is `wanted`.
void check_element_type(const Type& declared, const Type& wanted);

// Frees `values` and what they alone hold.
void drop_values(std::vector<IValue>&& values) noexcept;

// The type of T's values, c10/value/type_of.h.
template <class T>
struct TypeOf;
// How a T is read, c10/value/ivalue_to.h.
template <class T>
struct IValueTo;

}  // namespace detail

namespace ivalue {

// A string that values share.
struct ConstantString final : intrusive_ptr_target {
  explicit ConstantString(std::string text) : text_(std::move(text)) {}
  static intrusive_ptr<ConstantString> create(std::string text) { return make_intrusive<ConstantString>(std::move(text)); }
  const std::string& string() const { return text_; }
  std::string_view string_view() const { return text_; }
  operator const std::string&() const { return text_; }

 private:
  std::string text_;
};

struct ComplexHolder final : intrusive_ptr_target {
  explicit ComplexHolder(complex<double> value) : val(value) {}
  complex<double> val;
};

}  // namespace ivalue

// 16 bytes. dtypes, layouts and memory formats are integers. An undefined tensor is None. Reading a value as another type than
// it has throws TypeError "Expected Tensor but got Int".
class IValue final {
 public:
  enum class Tag : uint8_t {
    None,
    Tensor,
    Storage,
    Double,
    ComplexDouble,
    Int,
    SymInt,
    SymFloat,
    SymBool,
    Bool,
    Tuple,
    String,
    Blob,
    GenericList,
    GenericDict,
    Future,
    Await,
    Device,
    Stream,
    Object,
    PyObject,
    Uninitialized,
    Capsule,
    RRef,
    Quantizer,
    Generator,
    Enum,
    UInt,
  };

  IValue() = default;
  IValue(std::nullopt_t) {}
  IValue(std::nullptr_t) {}
  IValue(const IValue& other) : payload_(other.payload_), tag_(other.tag_) {
    if (is_counted()) retain();
  }
  IValue(IValue&& other) noexcept : payload_(other.payload_), tag_(std::exchange(other.tag_, Tag::None)) {}
  IValue& operator=(IValue other) noexcept {
    swap(other);
    return *this;
  }
  ~IValue() {
    if (is_counted()) intrusive_ptr<intrusive_ptr_target>::reclaim(payload_.object);
  }
  void swap(IValue& other) noexcept {
    std::swap(payload_, other.payload_);
    std::swap(tag_, other.tag_);
  }

  // --- plain values ---
  IValue(bool value) : tag_(Tag::Bool) { payload_.integer = value; }
  IValue(int value) : IValue(static_cast<int64_t>(value)) {}
  IValue(int64_t value) : tag_(Tag::Int) { payload_.integer = value; }
  IValue(double value) : tag_(Tag::Double) { payload_.number = value; }
  IValue(complex<double> value) : IValue(Tag::ComplexDouble, make_intrusive<ivalue::ComplexHolder>(value)) {}
  IValue(ScalarType value) : IValue(static_cast<int64_t>(value)) {}
  IValue(Layout value) : IValue(static_cast<int64_t>(value)) {}
  IValue(MemoryFormat value) : IValue(static_cast<int64_t>(value)) {}
  IValue(QScheme value) : IValue(static_cast<int64_t>(value)) {}
  IValue(const Scalar& value);
  template <class S>
    requires(std::is_same_v<S, SymInt> || std::is_same_v<S, SymFloat> || std::is_same_v<S, SymBool>)
  IValue(const S& value) : IValue(value.plain()) {}
  IValue(Device value) : tag_(Tag::Device) {
    payload_.integer = (static_cast<int64_t>(value.type()) << 8) | static_cast<uint8_t>(value.index());
  }
  IValue(Stream value) : IValue(stream(value.device(), value.id())) {}
  static IValue stream(Device device, int64_t id);
  IValue(std::string value) : IValue(ivalue::ConstantString::create(std::move(value))) {}
  IValue(std::string_view value) : IValue(std::string(value)) {}
  IValue(const char* value) : IValue(std::string(value)) {}
  IValue(intrusive_ptr<ivalue::ConstantString> value) : IValue(Tag::String, std::move(value)) {}
  static IValue uninitialized();

  // --- handles: tensors, storages, generators ---
  template <class T>
    requires requires(const T& t) {
      t.unsafeGetTensorImpl();
      t.getIntrusivePtr();
    }
  IValue(const T& tensor) {
    if (tensor.defined()) set(Tag::Tensor, tensor.getIntrusivePtr());
  }
  template <class T>
    requires requires(const T& t) { t.unsafeGetGeneratorImpl(); }
  IValue(const T& generator) {
    if (generator.defined()) set(Tag::Generator, generator.getIntrusivePtr());
  }
  template <class T>
    requires requires(const T& t) { t.unsafeGetStorageImpl(); }
  IValue(const T& storage) {
    using Impl = std::remove_pointer_t<decltype(storage.unsafeGetStorageImpl())>;
    if (storage) set(Tag::Storage, intrusive_ptr<Impl>::reclaim_copy(storage.unsafeGetStorageImpl()));
  }

  // --- containers ---
  template <class T>
  IValue(const std::vector<T>& values) : IValue(list_of<T>(values.begin(), values.end())) {}
  template <class T>
  IValue(ArrayRef<T> values) : IValue(list_of<T>(values.begin(), values.end())) {}
  template <class T, size_t N>
  IValue(const std::array<T, N>& values) : IValue(list_of<T>(values.begin(), values.end())) {}
  IValue(std::vector<IValue> values);  // a list of Any
  template <class T>
  IValue(const List<T>& list);
  template <class K, class V>
  IValue(const Dict<K, V>& dict);
  // A map of the standard library.
  template <class M>
    requires requires { typename M::key_type; typename M::mapped_type; typename M::hasher; } ||
             requires { typename M::key_type; typename M::mapped_type; typename M::key_compare; }
  IValue(const M& map);
  template <class... T>
  IValue(const std::tuple<T...>& values) : IValue(tuple_of(std::apply([](const auto&... v) { return Stack{IValue(v)...}; }, values))) {}
  template <class T>
  IValue(const std::optional<T>& value) {
    if (value.has_value()) *this = IValue(*value);
  }
  template <class T>
  IValue(const OptionalArrayRef<T>& value) {
    if (value.has_value()) *this = IValue(*value);
  }
  IValue(intrusive_ptr<ivalue::Tuple> value);
  IValue(intrusive_ptr<ivalue::Object> value);
  IValue(intrusive_ptr<ivalue::Future> value);
  IValue(intrusive_ptr<ivalue::Await> value);
  IValue(intrusive_ptr<ivalue::EnumHolder> value);
  // An object of a class that torch::class_ registered; throws for another.
  template <class T>
    requires std::is_convertible_v<T*, CustomClassHolder*>
  IValue(intrusive_ptr<T> object);
  static IValue make_capsule(intrusive_ptr<intrusive_ptr_target> object) { return IValue(Tag::Capsule, std::move(object)); }
  // Takes the object over; `tag` says what it is.
  template <class T>
  IValue(Tag tag, intrusive_ptr<T> object) {
    set(tag, std::move(object));
  }

  // --- what it is ---
  Tag tag() const { return tag_; }
  // "Int", "GenericList" ...
  std::string tagKind() const { return std::string(tag_name()); }
  std::string_view tag_name() const;
  // The type of the value: of a list, that of its declared elements.
  TypePtr type() const;
  bool isNone() const { return tag_ == Tag::None; }
  bool isTensor() const { return tag_ == Tag::Tensor; }
  bool isStorage() const { return tag_ == Tag::Storage; }
  bool isInt() const { return tag_ == Tag::Int; }
  bool isDouble() const { return tag_ == Tag::Double; }
  bool isBool() const { return tag_ == Tag::Bool; }
  bool isComplexDouble() const { return tag_ == Tag::ComplexDouble; }
  // An integer that is not negative; one beyond int64 is held as UInt and is no Int.
  bool isUnsigned() const { return tag_ == Tag::UInt || (isInt() && payload_.integer >= 0); }
  bool isScalar() const { return isInt() || tag_ == Tag::UInt || isDouble() || isBool() || isComplexDouble(); }
  // Values with a symbol, which this library has none of.
  bool isSymInt() const { return tag_ == Tag::SymInt; }
  bool isSymFloat() const { return tag_ == Tag::SymFloat; }
  bool isSymBool() const { return tag_ == Tag::SymBool; }
  bool isSymbolic() const { return isSymInt() || isSymFloat() || isSymBool(); }
  bool isString() const { return tag_ == Tag::String; }
  bool isDevice() const { return tag_ == Tag::Device; }
  bool isStream() const { return tag_ == Tag::Stream; }
  bool isGenerator() const { return tag_ == Tag::Generator; }
  bool isTuple() const { return tag_ == Tag::Tuple; }
  bool isList() const { return tag_ == Tag::GenericList; }
  bool isGenericDict() const { return tag_ == Tag::GenericDict; }
  bool isObject() const { return tag_ == Tag::Object; }
  bool isModule() const;
  bool isFuture() const { return tag_ == Tag::Future; }
  bool isAwait() const { return tag_ == Tag::Await; }
  bool isEnum() const { return tag_ == Tag::Enum; }
  bool isCapsule() const { return tag_ == Tag::Capsule; }
  bool isBlob() const { return tag_ == Tag::Blob; }
  bool isRRef() const { return tag_ == Tag::RRef; }
  bool isQuantizer() const { return tag_ == Tag::Quantizer; }
  bool isPyObject() const { return tag_ == Tag::PyObject; }
  // An object of a class of torch::class_.
  bool isCustomClass() const;
  // Lists whose declared element is this; of a list of Any, isTensorList asks the elements.
  bool isIntList() const;
  bool isDoubleList() const;
  bool isComplexDoubleList() const;
  bool isBoolList() const;
  bool isTensorList() const;
  bool isOptionalTensorList() const;
  bool isSymIntList() const { return isIntList(); }
  bool isPtrType() const { return is_counted(); }

  // --- plain values ---
  std::string toNone() const {
    check(Tag::None);
    return "None";
  }
  int64_t toInt() const { return check(Tag::Int), payload_.integer; }
  uint64_t toUInt() const { return static_cast<uint64_t>(tag_ == Tag::UInt ? payload_.integer : toInt()); }
  double toDouble() const { return check(Tag::Double), payload_.number; }
  bool toBool() const { return check(Tag::Bool), payload_.integer != 0; }
  complex<double> toComplexDouble() const { return held<ivalue::ComplexHolder>(Tag::ComplexDouble).val; }
  SymInt toSymInt() const { return SymInt(toInt()); }
  SymFloat toSymFloat() const { return SymFloat(toDouble()); }
  SymBool toSymBool() const { return SymBool(toBool()); }
  Scalar toScalar() const;
  intrusive_ptr<ivalue::ConstantString> toString() const;
  const std::string& toStringRef() const { return held<ivalue::ConstantString>(Tag::String).string(); }
  std::string_view toStringView() const { return toStringRef(); }
  std::optional<std::string_view> toOptionalStringRef() const {
    return isNone() ? std::nullopt : std::optional<std::string_view>(toStringRef());
  }
  ScalarType toScalarType() const;
  Layout toLayout() const;
  MemoryFormat toMemoryFormat() const;
  QScheme toQScheme() const;
  // Also from a string.
  Device toDevice() const;
  Stream toStream() const;

  // --- handles. A tensor: undefined for None ---
  at::Tensor toTensor() const&;
  at::Tensor toTensor() &&;
  Storage toStorage() const;
  at::Generator toGenerator() const;
  // The tensor's address, null for None; no reference is taken.
  TensorImpl* unsafe_tensor_impl() const;
  TensorImpl* unsafeToTensorImpl() const { return unsafe_tensor_impl(); }

  // --- containers; the typed ones throw for a list with other elements ---
  List<IValue> toList() const;
  ArrayRef<IValue> toListRef() const;
  List<int64_t> toIntList() const;
  List<double> toDoubleList() const;
  List<complex<double>> toComplexDoubleList() const;
  List<bool> toBoolList() const;
  List<at::Tensor> toTensorList() const;
  List<std::optional<at::Tensor>> toOptionalTensorList() const;
  std::vector<int64_t> toIntVector() const;
  std::vector<SymInt> toSymIntVector() const;
  // Of integers, too.
  DimVector toDimVector() const;
  std::vector<double> toDoubleVector() const;
  std::vector<complex<double>> toComplexDoubleVector() const;
  std::vector<bool> toBoolVector() const;
  std::vector<at::Tensor> toTensorVector() const;
  std::vector<std::optional<at::Tensor>> toOptionalTensorVector() const;
  Dict<IValue, IValue> toGenericDict() const;
  intrusive_ptr<ivalue::Tuple> toTuple() const;
  const ivalue::Tuple& toTupleRef() const;
  intrusive_ptr<ivalue::Object> toObject() const;
  ivalue::Object& toObjectRef() const;
  intrusive_ptr<ivalue::Future> toFuture() const;
  intrusive_ptr<ivalue::Await> toAwait() const;
  intrusive_ptr<ivalue::EnumHolder> toEnumHolder() const;
  intrusive_ptr<intrusive_ptr_target> toCapsule() const { return object(Tag::Capsule); }
  // Throws where it is of another class.
  template <class T>
  intrusive_ptr<T> toCustomClass() const;

  // The value as a T: plain values, std::vector, map, tuple, optional, List, Dict and handles of all these.
  template <class T>
  T to() const {
    return detail::IValueTo<T>::get(*this);
  }
  template <class T>
  std::optional<T> toOptional() const {
    return isNone() ? std::optional<T>() : std::optional<T>(to<T>());
  }
  // What a value of `tag` refers to. Precondition: the tag of a counted object.
  intrusive_ptr<intrusive_ptr_target> object(Tag tag) const {
    check(tag);
    return intrusive_ptr<intrusive_ptr_target>::reclaim_copy(payload_.object);
  }
  const void* internalToPointer() const;

  // --- relations ---
  // The same object, or equal plain values; equal strings count as one.
  bool is(const IValue& other) const;
  bool isSameIdentity(const IValue& other) const { return is(other); }
  // Tensors that share memory; else is().
  bool isAliasOf(const IValue& other) const;
  // Whether parts of both alias.
  bool overlaps(const IValue& other) const;
  size_t use_count() const;
  // Equality as Python has it; of tensors, the tensor of element-wise results.
  IValue equals(const IValue& other) const;
  friend bool operator==(const IValue& a, const IValue& b);
  // Throws for lists, dicts and objects, as Python does.
  static size_t hash(const IValue& value);
  IValue hash() const { return IValue(static_cast<int64_t>(hash(*this))); }
  // This value and everything in it, each once.
  void getSubValues(std::vector<IValue>& values) const;
  // Calls `visitor` on this value and on what it contains, until it returns true for one; that one's parts are skipped.
  template <class F>
  void visit(const F& visitor) const {
    visit(&call_visitor<F>, &visitor);
  }
  // A copy of all of it; what was shared inside stays shared inside the copy. `memo`: pairs of original and copy.
  IValue deepcopy(std::optional<Device> device = std::nullopt) const;
  struct Memo;
  IValue deepcopy(Memo& memo, std::optional<Device> device = std::nullopt) const;
  // As Python's repr would have it: strings in quotes, empty lists with their type. Throws for a tensor or an object.
  std::string repr() const;
  // The same to a stream. `formatter(stream, value)` is asked first, for this value and for each inside of it, and returns
  // true where it has written the value itself.
  template <class Stream, class Formatter>
  Stream& repr(Stream& stream, Formatter formatter) const {
    auto ask = [&](std::string& before, const IValue& value) {
      stream << before;
      before.clear();
      return static_cast<bool>(formatter(stream, value));
    };
    std::string rest;
    append_repr(rest, &call_formatter<decltype(ask)>, &ask);
    stream << rest;
    return stream;
  }
  // Prints with a line end to standard error.
  void dump() const;

 private:
  friend class detail::Aggregate;
  friend void detail::drop_values(std::vector<IValue>&& values) noexcept;

  // Sets of tags: those of plain values, and those of what holds values.
  static constexpr uint32_t kPlain = 1u << 0 | 1u << 3 | 1u << 5 | 1u << 9 | 1u << 17 | 1u << 18 | 1u << 21 | 1u << 27;
  static constexpr uint32_t kAggregates = 1u << 10 | 1u << 13 | 1u << 14 | 1u << 15 | 1u << 16 | 1u << 19;
  static_assert(static_cast<int>(Tag::Double) == 3 && static_cast<int>(Tag::Int) == 5 &&
                static_cast<int>(Tag::Bool) == 9 && static_cast<int>(Tag::Device) == 17 &&
                static_cast<int>(Tag::Stream) == 18 && static_cast<int>(Tag::Uninitialized) == 21 &&
                static_cast<int>(Tag::UInt) == 27);
  static_assert(static_cast<int>(Tag::Tuple) == 10 && static_cast<int>(Tag::GenericList) == 13 &&
                static_cast<int>(Tag::GenericDict) == 14 && static_cast<int>(Tag::Future) == 15 &&
                static_cast<int>(Tag::Await) == 16 && static_cast<int>(Tag::Object) == 19);
  bool is_counted() const { return ((kPlain >> static_cast<int>(tag_)) & 1) == 0; }
  bool is_aggregate() const { return ((kAggregates >> static_cast<int>(tag_)) & 1) != 0; }
  void retain() const { (void)intrusive_ptr<intrusive_ptr_target>::reclaim_copy(payload_.object).release(); }
  [[noreturn]] void wrong_tag(Tag expected) const;
  [[noreturn]] void wrong_list(std::string_view expected) const;
  void check(Tag expected) const {
    if (C10_UNLIKELY(tag_ != expected)) wrong_tag(expected);
  }
  template <class T>
  T& held(Tag expected) const {
    check(expected);
    return *static_cast<T*>(payload_.object);
  }
  template <class T>
  intrusive_ptr<T> shared(Tag expected) const {
    check(expected);
    return intrusive_ptr<T>::reclaim_copy(static_cast<T*>(payload_.object));
  }
  template <class T>
  void set(Tag tag, intrusive_ptr<T> object) {
    payload_.object = object.release();
    tag_ = payload_.object != nullptr ? tag : Tag::None;
  }
  Device device_of_payload() const {
    return Device(static_cast<DeviceType>((payload_.integer >> 8) & 0xff), static_cast<DeviceIndex>(payload_.integer & 0xff));
  }
  static IValue list_from(std::vector<IValue> values, TypePtr element);
  static IValue tuple_of(std::vector<IValue> elements);
  template <class T, class It>
  static IValue list_of(It begin, It end) {
    std::vector<IValue> values;
    values.reserve(static_cast<size_t>(end - begin));
    for (; begin != end; ++begin) values.emplace_back(static_cast<const T&>(*begin));
    return list_from(std::move(values), detail::TypeOf<T>::get());
  }
  void visit(bool (*visitor)(const void*, const IValue&), const void* context) const;
  template <class F>
  static bool call_visitor(const void* context, const IValue& value) {
    return (*static_cast<const F*>(context))(value);
  }
  // Appends to `out`. Before each value `formatter(context, out, value)` may take what is in `out`, and write the value itself.
  void append_repr(std::string& out, bool (*formatter)(void*, std::string&, const IValue&), void* context) const;
  template <class F>
  static bool call_formatter(void* context, std::string& out, const IValue& value) {
    return (*static_cast<F*>(context))(out, value);
  }
  std::vector<IValue> parts() const;
  bool is_list_of(unsigned element_kind) const;
  template <class T>
  friend class List;
  template <class K, class V>
  friend class Dict;

  union {
    int64_t integer;
    double number;
    intrusive_ptr_target* object;
  } payload_{.integer = 0};
  Tag tag_ = Tag::None;
};
static_assert(sizeof(IValue) == 16);

// --- the objects ---

namespace detail {

struct ListImpl final : Aggregate {
  ListImpl(std::vector<IValue> values, TypePtr element) : list(std::move(values)), elementType(std::move(element)) {}
  ~ListImpl() override { drop_values(std::move(list)); }
  void surrender(std::vector<IValue>& into) override;

  std::vector<IValue> list;
  TypePtr elementType;
};

}  // namespace detail

namespace ivalue {

// The elements of a tuple.
class TupleElements {
 public:
  using value_type = IValue;
  TupleElements() = default;
  TupleElements(std::vector<IValue> values) : values_(std::move(values)) {}
  TupleElements(std::initializer_list<IValue> values) : values_(values) {}
  size_t size() const { return values_.size(); }
  bool empty() const { return values_.empty(); }
  const IValue& operator[](size_t i) const { return values_[i]; }
  IValue& operator[](size_t i) { return values_[i]; }
  const IValue& at(size_t i) const {
    TORCH_CHECK_INDEX(i < values_.size(), "tuple index ", i, " is out of range for a tuple of ", values_.size());
    return values_[i];
  }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  auto begin() { return values_.begin(); }
  auto end() { return values_.end(); }
  const IValue& front() const { return values_.front(); }
  const IValue& back() const { return values_.back(); }
  const std::vector<IValue>& vec() const& { return values_; }
  std::vector<IValue> vec() && { return std::move(values_); }
  operator const std::vector<IValue>&() const& { return values_; }
  operator ArrayRef<IValue>() const { return values_; }

 private:
  friend struct Tuple;
  std::vector<IValue> values_;
};

// (a, b, ...): of fixed length, shared by its copies.
struct Tuple final : detail::Aggregate {
  explicit Tuple(TupleElements elements, TypePtr type = nullptr) : elements_(std::move(elements)), type_(std::move(type)) {}
  ~Tuple() override { detail::drop_values(std::move(elements_.values_)); }
  static intrusive_ptr<Tuple> create(std::vector<IValue> elements) { return make_intrusive<Tuple>(std::move(elements)); }
  static intrusive_ptr<Tuple> create(std::initializer_list<IValue> elements) {
    return create(std::vector<IValue>(elements));
  }
  static intrusive_ptr<Tuple> create(ArrayRef<IValue> elements) {
    return create(std::vector<IValue>(elements.begin(), elements.end()));
  }
  template <class... T>
  static intrusive_ptr<Tuple> create(T&&... elements) {
    return create(std::vector<IValue>{IValue(std::forward<T>(elements))...});
  }
  // With a named tuple's type.
  static intrusive_ptr<Tuple> createNamed(std::vector<IValue> elements, TypePtr type) {
    return make_intrusive<Tuple>(std::move(elements), std::move(type));
  }
  const TupleElements& elements() const& { return elements_; }
  TupleElements elements() && { return std::move(elements_); }
  ArrayRef<IValue> elementsArrayRef() const { return elements_; }
  size_t size() const { return elements_.size(); }
  void setElements(std::vector<IValue> elements) { elements_ = std::move(elements); }
  void unsafeSetElement(size_t i, const IValue& element) { elements_.values_.at(i) = element; }
  // A named tuple's, or that of the elements.
  TypePtr type() const;
  static size_t hash(const Tuple& tuple);
  void surrender(std::vector<IValue>& into) override;

 private:
  TupleElements elements_;
  mutable TypePtr type_;
};

// A member of an enumeration (an EnumType).
struct EnumHolder final : intrusive_ptr_target {
  EnumHolder(TypePtr type, std::string name, IValue value)
      : type_(std::move(type)), name_(std::move(name)), value_(std::move(value)) {}
  const TypePtr& type() const { return type_; }
  // The enumeration's: "__torch__.Color", and "Color".
  const std::string& qualifiedClassName() const;
  std::string unqualifiedClassName() const;
  // The member's.
  const std::string& name() const { return name_; }
  const IValue& value() const { return value_; }
  friend bool operator==(const EnumHolder& a, const EnumHolder& b);

 private:
  TypePtr type_;
  std::string name_;
  IValue value_;
};

}  // namespace ivalue

// As PyTorch prints values: 2. True [1, 2] (1, 2.) 1.+2.j {a: 1}. Defined in //aten/core:ivalue_printing.
namespace detail {
void append_value(std::string& out, const IValue& value);
}
template <SameType<IValue> X>
void to_text(std::string& out, const X& value) {
  detail::append_value(out, value);
}
template <TextStream Out, SameType<IValue> X>
Out& operator<<(Out& out, const X& value) {
  std::string text;
  detail::append_value(text, value);
  out << text.c_str();
  return out;
}

inline IValue::IValue(intrusive_ptr<ivalue::Tuple> value) : IValue(Tag::Tuple, std::move(value)) {}
inline IValue::IValue(intrusive_ptr<ivalue::EnumHolder> value) : IValue(Tag::Enum, std::move(value)) {}
inline intrusive_ptr<ivalue::Tuple> IValue::toTuple() const { return shared<ivalue::Tuple>(Tag::Tuple); }
inline const ivalue::Tuple& IValue::toTupleRef() const { return held<ivalue::Tuple>(Tag::Tuple); }
inline intrusive_ptr<ivalue::EnumHolder> IValue::toEnumHolder() const { return shared<ivalue::EnumHolder>(Tag::Enum); }
inline ArrayRef<IValue> IValue::toListRef() const { return held<detail::ListImpl>(Tag::GenericList).list; }

}  // namespace c10

namespace torch::jit {
using c10::IValue;
}

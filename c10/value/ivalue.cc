#include "c10/value/ivalue.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "c10/core/tensor_impl.h"
#include "c10/util/hash.h"
#include "c10/value/class_type.h"
#include "c10/value/future.h"
#include "c10/value/object.h"

namespace c10 {
namespace {

constexpr std::array<std::string_view, 28> kTagNames{
    "None",          "Tensor",  "Storage", "Double",    "ComplexDouble", "Int",    "SymInt",
    "SymFloat",      "SymBool", "Bool",    "Tuple",     "String",        "Blob",   "GenericList",
    "GenericDict",   "Future",  "Await",   "Device",    "Stream",        "Object", "PyObject",
    "Uninitialized", "Capsule", "RRef",    "Quantizer", "Generator",     "Enum",   "UInt"};

// An enumerator's number within [0, count).
template <class E>
E checked_enumerator(const IValue& value, int64_t count, const char* what) {
  const int64_t number = value.toInt();
  TORCH_CHECK_TYPE(number >= 0 && number < count, "expected a ", what, ", got the integer ", number);
  return static_cast<E>(number);
}

}  // namespace

namespace detail {

void check_element_type(const Type& declared, const Type& wanted) {
  if (declared == wanted) return;
  const TypePtr held = without_schema_names(wanted.self());
  TORCH_CHECK_TYPE(declared == *held || (held->kind() == TypeKind::FutureType && declared.kind() == TypeKind::FutureType),
                   "Tried to cast a container of ", declared.str(), " to one of ", held->str());
}

// Elements that nobody else holds hand over theirs before they go, so that the depth of the nesting is not that of the stack.
void drop_values(std::vector<IValue>&& values) noexcept {
  std::vector<IValue> pending = std::move(values);
  while (!pending.empty()) {
    const IValue value = std::move(pending.back());
    pending.pop_back();
    if (value.is_aggregate() && value.use_count() == 1) static_cast<Aggregate*>(value.payload_.object)->surrender(pending);
  }
}

namespace {
void move_to(std::vector<IValue>& from, std::vector<IValue>& into) {
  into.insert(into.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  from.clear();
}
}  // namespace

void ListImpl::surrender(std::vector<IValue>& into) { move_to(list, into); }

}  // namespace detail

namespace ivalue {

void Tuple::surrender(std::vector<IValue>& into) { detail::move_to(elements_.values_, into); }

TypePtr Tuple::type() const {
  if (type_ != nullptr) return type_;
  std::vector<TypePtr> types;
  for (const IValue& element : elements_) types.push_back(element.type());
  return TupleType::create(std::move(types));
}

size_t Tuple::hash(const Tuple& tuple) {
  size_t seed = 0;
  for (const IValue& element : tuple.elements()) seed = hash_combine(seed, IValue::hash(element));
  return seed;
}

const std::string& EnumHolder::qualifiedClassName() const { return type_->expectRef<EnumType>().qualified_name(); }
std::string EnumHolder::unqualifiedClassName() const { return std::string(type_->expectRef<EnumType>().basename()); }
bool operator==(const EnumHolder& a, const EnumHolder& b) { return a.name_ == b.name_ && *a.type_ == *b.type_; }

}  // namespace ivalue

// --- making ---

IValue::IValue(const Scalar& value) {
  switch (value.type()) {
    case ScalarType::Long: *this = IValue(value.toLong()); break;
    case ScalarType::Bool: *this = IValue(value.toBool()); break;
    case ScalarType::ComplexDouble: *this = IValue(value.toComplexDouble()); break;
    case ScalarType::UInt64:
      tag_ = Tag::UInt;
      payload_.integer = static_cast<int64_t>(value.toUInt64());
      break;
    default: *this = IValue(value.toDouble());
  }
}

IValue::IValue(std::vector<IValue> values) : IValue(list_from(std::move(values), AnyType::get())) {}

IValue IValue::list_from(std::vector<IValue> values, TypePtr element) {
  return IValue(Tag::GenericList, make_intrusive<detail::ListImpl>(std::move(values), detail::without_schema_names(element)));
}

IValue IValue::tuple_of(std::vector<IValue> elements) { return IValue(ivalue::Tuple::create(std::move(elements))); }

IValue IValue::stream(Device device, int64_t id) {
  TORCH_CHECK(id >= 0 && id < (int64_t{1} << 40), "stream number ", id, " is out of range");
  IValue value(device);
  value.payload_.integer |= id << 16;
  value.tag_ = Tag::Stream;
  return value;
}

IValue IValue::uninitialized() {
  IValue value;
  value.tag_ = Tag::Uninitialized;
  return value;
}

// --- what it is ---

std::string_view IValue::tag_name() const { return kTagNames[static_cast<size_t>(tag_)]; }

TypePtr IValue::type() const {
  switch (tag_) {
    case Tag::None: return NoneType::get();
    case Tag::Tensor: return TensorType::get();
    case Tag::Storage: return StorageType::get();
    case Tag::Double:
    case Tag::SymFloat: return FloatType::get();
    case Tag::ComplexDouble: return ComplexType::get();
    case Tag::Int:
    case Tag::UInt:
    case Tag::SymInt: return IntType::get();
    case Tag::Bool:
    case Tag::SymBool: return BoolType::get();
    case Tag::String: return StringType::get();
    case Tag::Device: return DeviceObjType::get();
    case Tag::Stream: return StreamObjType::get();
    case Tag::Generator: return GeneratorType::get();
    case Tag::Quantizer: return QuantizerType::get();
    case Tag::Blob: return AnyType::get();
    case Tag::Capsule: return CapsuleType::get();
    case Tag::PyObject: return PyObjectType::get();
    case Tag::Tuple: return toTupleRef().type();
    case Tag::GenericList: return ListType::create(held<detail::ListImpl>(tag_).elementType);
    case Tag::GenericDict: return DictType::create(held<detail::DictImpl>(tag_).keyType, held<detail::DictImpl>(tag_).valueType);
    case Tag::Future: return held<ivalue::Future>(tag_).type();
    case Tag::Await: return held<ivalue::Await>(tag_).type();
    case Tag::RRef: return RRefType::create(AnyType::get());
    case Tag::Object: return held<ivalue::Object>(tag_).type();
    case Tag::Enum: return held<ivalue::EnumHolder>(tag_).type();
    case Tag::Uninitialized: return AnyType::get();
  }
  return nullptr;
}

bool IValue::isModule() const { return isObject() && toObjectRef().type()->is_module(); }

bool IValue::isCustomClass() const {
  return isObject() && toObjectRef().slots().size() == 1 && toObjectRef().getSlot(0).isCapsule();
}

bool IValue::is_list_of(unsigned element_kind) const {
  return isList() && held<detail::ListImpl>(tag_).elementType->kind() == static_cast<TypeKind>(element_kind);
}

bool IValue::isIntList() const { return is_list_of(static_cast<unsigned>(TypeKind::IntType)); }
bool IValue::isDoubleList() const { return is_list_of(static_cast<unsigned>(TypeKind::FloatType)); }
bool IValue::isComplexDoubleList() const { return is_list_of(static_cast<unsigned>(TypeKind::ComplexType)); }
bool IValue::isBoolList() const { return is_list_of(static_cast<unsigned>(TypeKind::BoolType)); }

bool IValue::isTensorList() const {
  if (!is_list_of(static_cast<unsigned>(TypeKind::AnyType))) return is_list_of(static_cast<unsigned>(TypeKind::TensorType));
  const ArrayRef<IValue> values = toListRef();
  return std::all_of(values.begin(), values.end(), [](const IValue& value) { return value.isTensor(); });
}

bool IValue::isOptionalTensorList() const {
  return isList() && *held<detail::ListImpl>(tag_).elementType == *OptionalType::ofTensor();
}

// --- reading ---

void IValue::wrong_tag(Tag expected) const {
  TORCH_CHECK_TYPE(false, "Expected ", kTagNames[static_cast<size_t>(expected)], " but got ", tag_name());
  __builtin_unreachable();
}

void IValue::wrong_list(std::string_view expected) const {
  TORCH_CHECK_TYPE(false, "Expected ", expected, " but got ", isList() ? type()->str() : std::string(tag_name()));
  __builtin_unreachable();
}

Scalar IValue::toScalar() const {
  switch (tag_) {
    case Tag::Int: return Scalar(payload_.integer);
    case Tag::UInt:
      return Scalar(toUInt());
    case Tag::Double: return Scalar(payload_.number);
    case Tag::Bool: return Scalar(payload_.integer != 0);
    case Tag::ComplexDouble: return Scalar(toComplexDouble());
    default: TORCH_CHECK_TYPE(false, "Expected Scalar but got ", tag_name());
  }
}

intrusive_ptr<ivalue::ConstantString> IValue::toString() const { return shared<ivalue::ConstantString>(Tag::String); }

ScalarType IValue::toScalarType() const {
  return checked_enumerator<ScalarType>(*this, static_cast<int64_t>(ScalarType::NumOptions), "dtype");
}
Layout IValue::toLayout() const { return checked_enumerator<Layout>(*this, static_cast<int64_t>(Layout::NumOptions), "layout"); }
MemoryFormat IValue::toMemoryFormat() const {
  return checked_enumerator<MemoryFormat>(*this, static_cast<int64_t>(MemoryFormat::NumOptions), "memory format");
}
QScheme IValue::toQScheme() const {
  return checked_enumerator<QScheme>(*this, static_cast<int64_t>(QScheme::PER_CHANNEL_AFFINE_FLOAT_QPARAMS) + 1, "quantization scheme");
}

Device IValue::toDevice() const {
  if (isString()) return Device(toStringRef());
  check(Tag::Device);
  return device_of_payload();
}

Stream IValue::toStream() const {
  check(Tag::Stream);
  return Stream(Stream::UNSAFE, device_of_payload(), payload_.integer >> 16);
}

TensorImpl* IValue::unsafe_tensor_impl() const {
  if (isNone()) return nullptr;
  check(Tag::Tensor);
  return static_cast<TensorImpl*>(payload_.object);
}

List<IValue> IValue::toList() const { return List<IValue>(shared<detail::ListImpl>(Tag::GenericList)); }

#define KD_TO_LIST_(type, name)                                 \
  List<type> IValue::to##name() const {                         \
    if (!is##name()) wrong_list(#name);                         \
    return List<type>(shared<detail::ListImpl>(Tag::GenericList)); \
  }
KD_TO_LIST_(int64_t, IntList)
KD_TO_LIST_(double, DoubleList)
KD_TO_LIST_(complex<double>, ComplexDoubleList)
KD_TO_LIST_(bool, BoolList)
#undef KD_TO_LIST_

std::vector<int64_t> IValue::toIntVector() const { return to<std::vector<int64_t>>(); }
std::vector<SymInt> IValue::toSymIntVector() const { return to<std::vector<SymInt>>(); }
std::vector<double> IValue::toDoubleVector() const { return to<std::vector<double>>(); }
std::vector<complex<double>> IValue::toComplexDoubleVector() const { return to<std::vector<complex<double>>>(); }
std::vector<bool> IValue::toBoolVector() const { return to<std::vector<bool>>(); }

DimVector IValue::toDimVector() const {
  DimVector result;
  for (const IValue& value : toListRef()) result.push_back(value.toInt());
  return result;
}

Dict<IValue, IValue> IValue::toGenericDict() const { return Dict<IValue, IValue>(shared<detail::DictImpl>(Tag::GenericDict)); }

const void* IValue::internalToPointer() const {
  TORCH_CHECK(is_counted(), "internalToPointer: ", tag_name(), " is a plain value");
  return payload_.object;
}

// --- relations ---

bool IValue::is(const IValue& other) const {
  if (tag_ != other.tag_) return false;
  if (isString()) return toStringRef() == other.toStringRef();
  if (isComplexDouble()) return toComplexDouble() == other.toComplexDouble();
  if (is_counted()) return payload_.object == other.payload_.object;
  if (isDouble()) return payload_.number == other.payload_.number;
  return isNone() || payload_.integer == other.payload_.integer;
}

bool IValue::isAliasOf(const IValue& other) const {
  if (!isTensor() || !other.isTensor()) return is_counted() && is(other) && !isString();
  const TensorImpl& a = *unsafe_tensor_impl();
  const TensorImpl& b = *other.unsafe_tensor_impl();
  if (&a == &b) return true;
  return a.storage().get() != nullptr && a.storage().get() == b.storage().get();
}

bool IValue::overlaps(const IValue& other) const {
  std::vector<IValue> mine, theirs;
  getSubValues(mine);
  other.getSubValues(theirs);
  return std::any_of(mine.begin(), mine.end(), [&](const IValue& a) {
    return std::any_of(theirs.begin(), theirs.end(), [&](const IValue& b) { return a.isAliasOf(b); });
  });
}

size_t IValue::use_count() const {
  if (!is_counted()) return 1;
  const auto held = intrusive_ptr<intrusive_ptr_target>::reclaim_copy(payload_.object);
  return held.use_count() - 1;
}

size_t IValue::hash(const IValue& value) {
  switch (value.tag_) {
    case Tag::None: return 0;
    case Tag::Bool:
    case Tag::Int:
    case Tag::UInt:
    case Tag::Device: return get_hash(value.payload_.integer);
    case Tag::Double: return get_hash(value.payload_.number);
    case Tag::String: return get_hash(value.toStringRef());
    case Tag::Tensor: return get_hash(reinterpret_cast<uintptr_t>(value.payload_.object));
    case Tag::Tuple: return ivalue::Tuple::hash(value.toTupleRef());
    case Tag::Enum: return get_hash(value.toEnumHolder()->qualifiedClassName(), value.toEnumHolder()->name());
    default: TORCH_CHECK(false, "unhashable type: '", value.type()->repr_str(), "'");
  }
}

// What a value holds directly.
std::vector<IValue> IValue::parts() const {
  switch (tag_) {
    case Tag::GenericList: return held<detail::ListImpl>(tag_).list;
    case Tag::Tuple: return toTupleRef().elements().vec();
    case Tag::Object: return toObjectRef().slots();
    case Tag::GenericDict: {
      std::vector<IValue> values;
      for (const auto& entry : held<detail::DictImpl>(tag_).entries) {
        if (!entry.live) continue;
        values.push_back(entry.key);
        values.push_back(entry.value);
      }
      return values;
    }
    case Tag::Future: {
      const auto& future = held<ivalue::Future>(tag_);
      return future.hasValue() ? std::vector<IValue>{future.value()} : std::vector<IValue>();
    }
    default: return {};
  }
}

void IValue::visit(bool (*visitor)(const void*, const IValue&), const void* context) const {
  std::vector<IValue> pending{*this};
  std::unordered_set<const void*> seen;
  while (!pending.empty()) {
    const IValue value = std::move(pending.back());
    pending.pop_back();
    if (value.is_aggregate() && !seen.insert(value.payload_.object).second) continue;
    if (visitor(context, value)) continue;
    std::vector<IValue> inner = value.parts();
    std::move(inner.rbegin(), inner.rend(), std::back_inserter(pending));
  }
}

void IValue::getSubValues(std::vector<IValue>& values) const {
  visit([&](const IValue& value) {
    values.push_back(value);
    return false;
  });
}

}  // namespace c10

#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "c10/core/device.h"
#include "c10/core/scalar.h"
#include "c10/core/scalar_type.h"
#include "c10/util/array_ref.h"
#include "c10/util/exception.h"
#include "c10/util/intrusive_ptr.h"

namespace at {
class Tensor;
}

namespace c10 {

class TensorImpl;
class IValue;

namespace detail {

// A value of an IValue that does not fit into a word.
template <class T>
struct IValueHolder final : intrusive_ptr_target {
  template <class... Args>
  explicit IValueHolder(Args&&... args) : value(std::forward<Args>(args)...) {}
  T value;
};

// A list frees the lists within it one after the other, not one inside the other: they may be nested deeply.
template <>
struct IValueHolder<std::vector<IValue>> final : intrusive_ptr_target {
  explicit IValueHolder(std::vector<IValue>&& v);
  ~IValueHolder() override;
  std::vector<IValue> value;
};

}  // namespace detail

// A value of any type that operators take or give: what a boxed call's stack, a loaded program or a saved context holds.
// 16 bytes. dtypes, layouts and memory formats are integers; lists of tensors, of optional tensors and mixed ones are lists
// of IValues. Reading a value as another type than it has throws TypeError "expected Tensor, got Int".
class IValue {
 public:
  enum class Tag : uint8_t {
    None,
    Tensor,
    Int,
    Double,
    Bool,
    Device,
    Stream,  // a device and the stream's number
    ComplexDouble,
    String,
    IntList,
    DoubleList,
    BoolList,
    List,
    Storage,
    Generator,
    Object,  // anything else derived from intrusive_ptr_target
  };

  IValue() = default;
  IValue(std::nullopt_t) {}
  IValue(std::nullptr_t) {}
  IValue(const IValue& other) : payload_(other.payload_), tag_(other.tag_) {
    if (is_object()) detail_retain();
  }
  IValue(IValue&& other) noexcept : payload_(other.payload_), tag_(std::exchange(other.tag_, Tag::None)) {}
  IValue& operator=(IValue other) noexcept {
    std::swap(payload_, other.payload_);
    std::swap(tag_, other.tag_);
    return *this;
  }
  ~IValue() {
    if (is_object()) intrusive_ptr<intrusive_ptr_target>::reclaim(payload_.object);
  }

  IValue(bool value) : tag_(Tag::Bool) { payload_.integer = value; }
  IValue(int value) : IValue(static_cast<int64_t>(value)) {}
  IValue(int64_t value) : tag_(Tag::Int) { payload_.integer = value; }
  IValue(double value) : tag_(Tag::Double) { payload_.number = value; }
  IValue(ScalarType value) : IValue(static_cast<int64_t>(value)) {}
  IValue(Device value) : tag_(Tag::Device) {
    payload_.integer = (static_cast<int64_t>(value.type()) << 8) | static_cast<uint8_t>(value.index());
  }
  IValue(complex<double> value) : IValue(Tag::ComplexDouble, make_intrusive<detail::IValueHolder<complex<double>>>(value)) {}
  IValue(const Scalar& value);
  IValue(std::string value) : IValue(Tag::String, make_intrusive<detail::IValueHolder<std::string>>(std::move(value))) {}
  IValue(std::string_view value) : IValue(std::string(value)) {}
  IValue(const char* value) : IValue(std::string(value)) {}
  IValue(std::vector<int64_t> value) : IValue(Tag::IntList, make_intrusive<detail::IValueHolder<std::vector<int64_t>>>(std::move(value))) {}
  IValue(ArrayRef<int64_t> value) : IValue(std::vector<int64_t>(value.begin(), value.end())) {}
  IValue(std::vector<double> value) : IValue(Tag::DoubleList, make_intrusive<detail::IValueHolder<std::vector<double>>>(std::move(value))) {}
  IValue(std::vector<bool> value) : IValue(Tag::BoolList, make_intrusive<detail::IValueHolder<std::vector<bool>>>(std::move(value))) {}
  IValue(std::vector<IValue> value) : IValue(Tag::List, make_intrusive<detail::IValueHolder<std::vector<IValue>>>(std::move(value))) {}
  // A tensor; undefined becomes None.
  template <class T>
    requires requires(const T& t) {
      t.unsafeGetTensorImpl();
      t.getIntrusivePtr();
    }
  IValue(const T& tensor) {
    if (tensor.defined()) set(Tag::Tensor, tensor.getIntrusivePtr());
  }
  template <class T>
    requires requires(const T& t) { t.unsafeGetTensorImpl(); }
  IValue(const std::vector<T>& tensors) : IValue(std::vector<IValue>(tensors.begin(), tensors.end())) {}
  template <class T>
    requires requires(const T& t) { t.unsafeGetTensorImpl(); }
  IValue(ArrayRef<T> tensors) : IValue(std::vector<IValue>(tensors.begin(), tensors.end())) {}
  template <class T>
  IValue(const std::optional<T>& value) {
    if (value.has_value()) *this = IValue(*value);
  }
  // Takes the object over; `tag` says what it is.
  template <class T>
  IValue(Tag tag, intrusive_ptr<T> object) {
    set(tag, std::move(object));
  }
  static IValue stream(Device device, int64_t id) {
    TORCH_CHECK(id >= 0 && id < (int64_t{1} << 40), "stream number ", id, " is out of range");
    IValue value(device);
    value.payload_.integer |= id << 16;
    value.tag_ = Tag::Stream;
    return value;
  }

  Tag tag() const { return tag_; }
  std::string_view tag_name() const;
  bool isNone() const { return tag_ == Tag::None; }
  bool isTensor() const { return tag_ == Tag::Tensor; }
  bool isInt() const { return tag_ == Tag::Int; }
  bool isDouble() const { return tag_ == Tag::Double; }
  bool isBool() const { return tag_ == Tag::Bool; }
  bool isComplexDouble() const { return tag_ == Tag::ComplexDouble; }
  bool isScalar() const { return isInt() || isDouble() || isBool() || isComplexDouble(); }
  bool isString() const { return tag_ == Tag::String; }
  bool isDevice() const { return tag_ == Tag::Device; }
  bool isIntList() const { return tag_ == Tag::IntList; }
  bool isDoubleList() const { return tag_ == Tag::DoubleList; }
  bool isBoolList() const { return tag_ == Tag::BoolList; }
  bool isList() const { return tag_ == Tag::List || isIntList() || isDoubleList() || isBoolList(); }
  bool isTensorList() const;

  int64_t toInt() const { return check(Tag::Int), payload_.integer; }
  // Also from an integer.
  double toDouble() const {
    if (isInt()) return static_cast<double>(payload_.integer);
    return check(Tag::Double), payload_.number;
  }
  bool toBool() const { return check(Tag::Bool), payload_.integer != 0; }
  complex<double> toComplexDouble() const { return held<complex<double>>(Tag::ComplexDouble); }
  Scalar toScalar() const;
  const std::string& toStringRef() const { return held<std::string>(Tag::String); }
  std::string_view toStringView() const { return toStringRef(); }
  ScalarType toScalarType() const {
    const int64_t value = toInt();
    TORCH_CHECK_TYPE(value >= 0 && value < static_cast<int64_t>(ScalarType::NumOptions), "expected a dtype, got the integer ", value);
    return static_cast<ScalarType>(value);
  }
  Device toDevice() const {
    check(Tag::Device);
    return device_of_payload();
  }
  std::pair<Device, int64_t> toStream() const {
    check(Tag::Stream);
    return {device_of_payload(), payload_.integer >> 16};
  }
  const std::vector<int64_t>& toIntList() const { return held<std::vector<int64_t>>(Tag::IntList); }
  const std::vector<int64_t>& toIntVector() const { return toIntList(); }
  const std::vector<double>& toDoubleList() const { return held<std::vector<double>>(Tag::DoubleList); }
  const std::vector<bool>& toBoolList() const { return held<std::vector<bool>>(Tag::BoolList); }
  // A list of tensors, of optional tensors or of mixed values.
  const std::vector<IValue>& toListRef() const { return held<std::vector<IValue>>(Tag::List); }
  // The tensor; undefined for None. Defined in //aten/core:boxing, like every tensor conversion.
  at::Tensor toTensor() const&;
  at::Tensor toTensor() &&;
  std::vector<at::Tensor> toTensorVector() const;
  // What a value of `tag` refers to. Precondition: an object's tag.
  intrusive_ptr<intrusive_ptr_target> object(Tag tag) const {
    check(tag);
    return intrusive_ptr<intrusive_ptr_target>::reclaim_copy(payload_.object);
  }
  // The tensor's address, null for None; no reference is taken.
  TensorImpl* unsafe_tensor_impl() const;

 private:
  [[noreturn]] void wrong_tag(Tag expected) const;
  void check(Tag expected) const {
    if (C10_UNLIKELY(tag_ != expected)) wrong_tag(expected);
  }
  template <class T>
  const T& held(Tag expected) const {
    check(expected);
    return static_cast<const detail::IValueHolder<T>*>(payload_.object)->value;
  }
  bool is_object() const { return tag_ == Tag::Tensor || tag_ >= Tag::ComplexDouble; }
  void detail_retain() const { (void)intrusive_ptr<intrusive_ptr_target>::reclaim_copy(payload_.object).release(); }
  template <class T>
  void set(Tag tag, intrusive_ptr<T> object) {
    payload_.object = object.release();
    tag_ = payload_.object != nullptr ? tag : Tag::None;
  }
  Device device_of_payload() const {
    return Device(static_cast<DeviceType>((payload_.integer >> 8) & 0xff), static_cast<DeviceIndex>(payload_.integer & 0xff));
  }

  union {
    int64_t integer;
    double number;
    intrusive_ptr_target* object;
  } payload_{.integer = 0};
  Tag tag_ = Tag::None;
};

// The arguments of a boxed call, which its results replace.
using Stack = std::vector<IValue>;

}  // namespace c10

// caffe2::TypeMeta: what Tensor::dtype() returns; a thin form of ScalarType that also names its C++ type.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "c10/core/scalar_type.h"
#include "c10/util/text_stream.h"

namespace caffe2 {

using c10::SameType;
using c10::TextStream;

class TypeMeta final {
 public:
  constexpr TypeMeta() noexcept = default;
  constexpr TypeMeta(c10::ScalarType type) noexcept : type_(type) {}
  constexpr TypeMeta& operator=(c10::ScalarType type) noexcept {
    type_ = type;
    return *this;
  }

  template <typename X>
  static constexpr TypeMeta Make() {
    return TypeMeta(c10::CppTypeToScalarType<X>::value);
  }
  template <typename X>
  constexpr bool Match() const noexcept {
    return type_ == c10::CppTypeToScalarType<X>::value;
  }

  constexpr int8_t id() const noexcept { return static_cast<int8_t>(type_); }
  // Bytes an element; 0 if undefined.
  constexpr size_t itemsize() const noexcept { return c10::detail::info_of(type_).size; }
  // "float", "long int", "c10::Half" ...
  std::string_view name() const noexcept;
  constexpr c10::ScalarType toScalarType() const noexcept { return type_; }
  static constexpr TypeMeta fromScalarType(c10::ScalarType type) noexcept { return TypeMeta(type); }
  constexpr bool isScalarType() const noexcept { return type_ != c10::ScalarType::Undefined; }

  friend constexpr bool operator==(TypeMeta a, TypeMeta b) noexcept { return a.type_ == b.type_; }
  friend constexpr bool operator==(TypeMeta a, c10::ScalarType b) noexcept { return a.type_ == b; }

 private:
  c10::ScalarType type_ = c10::ScalarType::Undefined;
};

inline void to_text(std::string& out, TypeMeta type) {
  out += type.name();
}

template <TextStream Stream, SameType<TypeMeta> X>
Stream& operator<<(Stream& out, X type) {
  out << type.name();
  return out;
}

}  // namespace caffe2

namespace c10 {
using caffe2::TypeMeta;
constexpr TypeMeta scalarTypeToTypeMeta(ScalarType type) {
  return TypeMeta(type);
}
constexpr ScalarType typeMetaToScalarType(TypeMeta type) {
  return type.toScalarType();
}
inline std::optional<ScalarType> optTypeMetaToScalarType(std::optional<TypeMeta> type) {
  if (!type.has_value()) return std::nullopt;
  return type->toScalarType();
}
}  // namespace c10

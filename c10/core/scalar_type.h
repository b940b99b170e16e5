// ScalarType: the element type of a tensor, with its sizes, categories and promotion lattice.
//
//   promoteTypes(kInt, kHalf) == kHalf;  canCast(kFloat, kLong) == false;  elementSize(kComplexDouble) == 16
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "c10/macros/macros.h"
#include "c10/util/bfloat16.h"
#include "c10/util/complex.h"
#include "c10/util/half.h"
#include "c10/util/qint.h"
#include "c10/util/text_stream.h"

namespace c10 {

// X(C++ type, name) for every element type, in enum order.
#define AT_FORALL_SCALAR_TYPES_WITH_COMPLEX_AND_QINTS(_) \
  _(uint8_t, Byte)                                       \
  _(int8_t, Char)                                        \
  _(int16_t, Short)                                      \
  _(int, Int)                                            \
  _(int64_t, Long)                                       \
  _(c10::Half, Half)                                     \
  _(float, Float)                                        \
  _(double, Double)                                      \
  _(c10::complex<c10::Half>, ComplexHalf)                \
  _(c10::complex<float>, ComplexFloat)                   \
  _(c10::complex<double>, ComplexDouble)                 \
  _(bool, Bool)                                          \
  _(c10::qint8, QInt8)                                   \
  _(c10::quint8, QUInt8)                                 \
  _(c10::qint32, QInt32)                                 \
  _(c10::BFloat16, BFloat16)                             \
  _(c10::quint4x2, QUInt4x2)                             \
  _(c10::quint2x4, QUInt2x4)

#define AT_FORALL_SCALAR_TYPES_WITH_COMPLEX(_) \
  _(uint8_t, Byte)                             \
  _(int8_t, Char)                              \
  _(int16_t, Short)                            \
  _(int, Int)                                  \
  _(int64_t, Long)                             \
  _(c10::Half, Half)                           \
  _(float, Float)                              \
  _(double, Double)                            \
  _(c10::complex<c10::Half>, ComplexHalf)      \
  _(c10::complex<float>, ComplexFloat)         \
  _(c10::complex<double>, ComplexDouble)       \
  _(bool, Bool)                                \
  _(c10::BFloat16, BFloat16)

#define AT_FORALL_SCALAR_TYPES(_) \
  _(uint8_t, Byte)                \
  _(int8_t, Char)                 \
  _(int16_t, Short)               \
  _(int, Int)                     \
  _(int64_t, Long)                \
  _(float, Float)                 \
  _(double, Double)

#define AT_FORALL_INT_TYPES(_) \
  _(uint8_t, Byte)             \
  _(int8_t, Char)              \
  _(int16_t, Short)            \
  _(int, Int)                  \
  _(int64_t, Long)

#define AT_FORALL_COMPLEX_TYPES(_)     \
  _(c10::complex<float>, ComplexFloat) \
  _(c10::complex<double>, ComplexDouble)

#define AT_FORALL_QINT_TYPES(_) \
  _(c10::qint8, QInt8)          \
  _(c10::quint8, QUInt8)        \
  _(c10::qint32, QInt32)        \
  _(c10::quint4x2, QUInt4x2)    \
  _(c10::quint2x4, QUInt2x4)

enum class ScalarType : int8_t {
#define KD_NAME_(type, name) name,
  AT_FORALL_SCALAR_TYPES_WITH_COMPLEX_AND_QINTS(KD_NAME_)
#undef KD_NAME_
      Undefined,
  NumOptions
};

inline constexpr int NumScalarTypes = static_cast<int>(ScalarType::NumOptions);

#define KD_CONSTANT_(type, name) inline constexpr ScalarType k##name = ScalarType::name;
AT_FORALL_SCALAR_TYPES_WITH_COMPLEX_AND_QINTS(KD_CONSTANT_)
#undef KD_CONSTANT_

inline constexpr ScalarType kUInt8 = kByte, kInt8 = kChar, kInt16 = kShort, kInt32 = kInt, kInt64 = kLong;
inline constexpr ScalarType kFloat16 = kHalf, kFloat32 = kFloat, kFloat64 = kDouble;
inline constexpr ScalarType kU8 = kByte, kI8 = kChar, kI16 = kShort, kI32 = kInt, kI64 = kLong;
inline constexpr ScalarType kF16 = kHalf, kF32 = kFloat, kF64 = kDouble;

// The ScalarType of a C++ type, and back.
template <typename X>
struct CppTypeToScalarType;
namespace impl {
template <ScalarType S>
struct ScalarTypeToCPPType;
template <ScalarType S>
using ScalarTypeToCPPTypeT = typename ScalarTypeToCPPType<S>::type;
}  // namespace impl

#define KD_MAP_(cpp, name)                                                                   \
  template <>                                                                                \
  struct CppTypeToScalarType<cpp> : std::integral_constant<ScalarType, ScalarType::name> {}; \
  template <>                                                                                \
  struct impl::ScalarTypeToCPPType<ScalarType::name> {                                       \
    using type = cpp;                                                                        \
  };
AT_FORALL_SCALAR_TYPES_WITH_COMPLEX_AND_QINTS(KD_MAP_)
#undef KD_MAP_

namespace detail {
enum : uint8_t { kIntegral = 1, kFloating = 2, kComplexKind = 4, kQuantized = 8, kSignedKind = 16, kBoolKind = 32 };
struct ScalarTypeInfo {
  uint8_t size;
  uint8_t kinds;
};
inline constexpr ScalarTypeInfo kScalarTypeInfo[NumScalarTypes] = {
    {1, kIntegral},                    // Byte
    {1, kIntegral | kSignedKind},      // Char
    {2, kIntegral | kSignedKind},      // Short
    {4, kIntegral | kSignedKind},      // Int
    {8, kIntegral | kSignedKind},      // Long
    {2, kFloating | kSignedKind},      // Half
    {4, kFloating | kSignedKind},      // Float
    {8, kFloating | kSignedKind},      // Double
    {4, kComplexKind | kSignedKind},   // ComplexHalf
    {8, kComplexKind | kSignedKind},   // ComplexFloat
    {16, kComplexKind | kSignedKind},  // ComplexDouble
    {1, kBoolKind},                    // Bool
    {1, kQuantized | kSignedKind},     // QInt8
    {1, kQuantized},                   // QUInt8
    {4, kQuantized | kSignedKind},     // QInt32
    {2, kFloating | kSignedKind},      // BFloat16
    {1, kQuantized},                   // QUInt4x2
    {1, kQuantized},                   // QUInt2x4
    {0, 0},                            // Undefined
};
// A number outside the enumeration is like Undefined.
constexpr ScalarTypeInfo info_of(ScalarType t) {
  const auto i = static_cast<uint8_t>(t);
  return i < NumScalarTypes ? kScalarTypeInfo[i] : ScalarTypeInfo{0, 0};
}
constexpr bool has_kind(ScalarType t, unsigned kinds) {
  return (info_of(t).kinds & kinds) != 0;
}
[[noreturn]] C10_COLD void unknown_scalar_type(int value);
[[noreturn]] C10_COLD void undefined_element_size();
}  // namespace detail

// "Float", "Long" ...
constexpr const char* toString(ScalarType t) {
  switch (t) {
#define KD_CASE_(type, name) \
  case ScalarType::name:     \
    return #name;
    AT_FORALL_SCALAR_TYPES_WITH_COMPLEX_AND_QINTS(KD_CASE_)
#undef KD_CASE_
    case ScalarType::Undefined:
      return "Undefined";
    default:
      return "UNKNOWN_SCALAR";
  }
}
void to_text(std::string& out, ScalarType t);

// Bytes an element; throws for Undefined.
inline size_t elementSize(ScalarType t) {
  const size_t size = detail::info_of(t).size;
  if (C10_UNLIKELY(size == 0)) detail::undefined_element_size();
  return size;
}

constexpr bool isIntegralType(ScalarType t, bool includeBool) {
  return detail::has_kind(t, detail::kIntegral | (includeBool ? unsigned{detail::kBoolKind} : 0u));
}
constexpr bool isIntegralType(ScalarType t) {
  return isIntegralType(t, false);
}
constexpr bool isFloatingType(ScalarType t) {
  return detail::has_kind(t, detail::kFloating);
}
constexpr bool isReducedFloatingType(ScalarType t) {
  return t == kHalf || t == kBFloat16;
}
constexpr bool isComplexType(ScalarType t) {
  return detail::has_kind(t, detail::kComplexKind);
}
constexpr bool isQIntType(ScalarType t) {
  return detail::has_kind(t, detail::kQuantized);
}
// Whether values can be negative; throws for quantized and undefined types.
bool isSignedType(ScalarType t);

constexpr ScalarType toUnderlying(ScalarType t) {
  switch (t) {
    case kQUInt8:
    case kQUInt4x2:
    case kQUInt2x4:
      return kByte;
    case kQInt8:
      return kChar;
    case kQInt32:
      return kInt;
    default:
      return t;
  }
}
constexpr ScalarType toQIntType(ScalarType t) {
  switch (t) {
    case kByte:
      return kQUInt8;
    case kChar:
      return kQInt8;
    case kInt:
      return kQInt32;
    default:
      return t;
  }
}
// ComplexFloat -> Float ...; other types unchanged.
constexpr ScalarType toRealValueType(ScalarType t) {
  switch (t) {
    case kComplexHalf:
      return kHalf;
    case kComplexFloat:
      return kFloat;
    case kComplexDouble:
      return kDouble;
    default:
      return t;
  }
}
// Float -> ComplexFloat, BFloat16 -> ComplexFloat ...; throws for other than floating-point and complex types.
ScalarType toComplexType(ScalarType t);

// Whether a result of type `from` may be written into a tensor of type `to`: not complex to real, floating-point to
// integral, or anything but bool to bool.
constexpr bool canCast(ScalarType from, ScalarType to) {
  if (isComplexType(from) && !isComplexType(to)) return false;
  if (isFloatingType(from) && isIntegralType(to, false)) return false;
  return from == kBool || to != kBool;
}

// The smallest type that holds both categories and their values' range; throws for quantized types that differ, gives
// Undefined if either is.
ScalarType promoteTypes(ScalarType a, ScalarType b);

template <TextStream Stream, SameType<ScalarType> X>
Stream& operator<<(Stream& out, X t) {
  out << toString(t);
  return out;
}

}  // namespace c10

namespace at {
using c10::ScalarType;
}

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

// Defined in c10/util/float8.h.
struct Float8_e5m2;
struct Float8_e4m3fn;
struct Float8_e5m2fnuz;
struct Float8_e4m3fnuz;
struct Float8_e8m0fnu;
struct Float4_e2m1fn_x2;
struct bits1x8;
struct bits2x4;
struct bits4x2;
struct bits8;
struct bits16;
// Integers of one to seven bits, one a byte: names only, no operator computes with them.
template <unsigned bits>
struct dummy_uint1_7_t {};
template <unsigned bits>
struct dummy_int1_7_t {};

// X(C++ type, name) for every element type, in enum order. What else is known of them: detail::kScalarTypeInfo.
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
  _(c10::quint2x4, QUInt2x4)                             \
  _(c10::bits1x8, Bits1x8)                               \
  _(c10::bits2x4, Bits2x4)                               \
  _(c10::bits4x2, Bits4x2)                               \
  _(c10::bits8, Bits8)                                   \
  _(c10::bits16, Bits16)                                 \
  _(c10::Float8_e5m2, Float8_e5m2)                       \
  _(c10::Float8_e4m3fn, Float8_e4m3fn)                   \
  _(c10::Float8_e5m2fnuz, Float8_e5m2fnuz)               \
  _(c10::Float8_e4m3fnuz, Float8_e4m3fnuz)               \
  _(uint16_t, UInt16)                                    \
  _(uint32_t, UInt32)                                    \
  _(uint64_t, UInt64)                                    \
  _(c10::dummy_uint1_7_t<1>, UInt1)                      \
  _(c10::dummy_uint1_7_t<2>, UInt2)                      \
  _(c10::dummy_uint1_7_t<3>, UInt3)                      \
  _(c10::dummy_uint1_7_t<4>, UInt4)                      \
  _(c10::dummy_uint1_7_t<5>, UInt5)                      \
  _(c10::dummy_uint1_7_t<6>, UInt6)                      \
  _(c10::dummy_uint1_7_t<7>, UInt7)                      \
  _(c10::dummy_int1_7_t<1>, Int1)                        \
  _(c10::dummy_int1_7_t<2>, Int2)                        \
  _(c10::dummy_int1_7_t<3>, Int3)                        \
  _(c10::dummy_int1_7_t<4>, Int4)                        \
  _(c10::dummy_int1_7_t<5>, Int5)                        \
  _(c10::dummy_int1_7_t<6>, Int6)                        \
  _(c10::dummy_int1_7_t<7>, Int7)                        \
  _(c10::Float8_e8m0fnu, Float8_e8m0fnu)                 \
  _(c10::Float4_e2m1fn_x2, Float4_e2m1fn_x2)             \
  _(c10::complex<c10::BFloat16>, BComplex32)

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
  _(c10::BFloat16, BFloat16)                   \
  _(c10::Float8_e5m2, Float8_e5m2)             \
  _(c10::Float8_e4m3fn, Float8_e4m3fn)         \
  _(c10::Float8_e5m2fnuz, Float8_e5m2fnuz)     \
  _(c10::Float8_e4m3fnuz, Float8_e4m3fnuz)     \
  _(c10::Float8_e8m0fnu, Float8_e8m0fnu)

#define AT_FORALL_SCALAR_TYPES(_) \
  _(uint8_t, Byte)                \
  _(int8_t, Char)                 \
  _(int16_t, Short)               \
  _(int, Int)                     \
  _(int64_t, Long)                \
  _(float, Float)                 \
  _(double, Double)

// The same and further ScalarTypes, by name: AT_FORALL_SCALAR_TYPES_AND(Bool, _).
#define AT_FORALL_SCALAR_TYPES_AND(A, _) \
  AT_FORALL_SCALAR_TYPES(_)              \
  KD_FORALL_ONE_(A, _)
#define AT_FORALL_SCALAR_TYPES_AND2(A, B, _) \
  AT_FORALL_SCALAR_TYPES_AND(A, _)           \
  KD_FORALL_ONE_(B, _)
#define AT_FORALL_SCALAR_TYPES_AND3(A, B, C, _) \
  AT_FORALL_SCALAR_TYPES_AND2(A, B, _)          \
  KD_FORALL_ONE_(C, _)
#define AT_FORALL_SCALAR_TYPES_AND7(A, B, C, D, E, F, G, _) \
  AT_FORALL_SCALAR_TYPES_AND3(A, B, C, _)                   \
  KD_FORALL_ONE_(D, _)                                      \
  KD_FORALL_ONE_(E, _)                                      \
  KD_FORALL_ONE_(F, _)                                      \
  KD_FORALL_ONE_(G, _)
#define KD_FORALL_ONE_(name, _) _(::c10::impl::ScalarTypeToCPPTypeT<::c10::ScalarType::name>, name)

#define AT_FORALL_INT_TYPES(_) \
  _(uint8_t, Byte)             \
  _(int8_t, Char)              \
  _(int16_t, Short)            \
  _(int, Int)                  \
  _(int64_t, Long)

#define AT_FORALL_COMPLEX_TYPES(_)     \
  _(c10::complex<float>, ComplexFloat) \
  _(c10::complex<double>, ComplexDouble)

#define AT_FORALL_FLOAT8_TYPES(_)          \
  _(c10::Float8_e5m2, Float8_e5m2)         \
  _(c10::Float8_e4m3fn, Float8_e4m3fn)     \
  _(c10::Float8_e5m2fnuz, Float8_e5m2fnuz) \
  _(c10::Float8_e4m3fnuz, Float8_e4m3fnuz) \
  _(c10::Float8_e8m0fnu, Float8_e8m0fnu)

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
inline constexpr ScalarType kU16 = kUInt16, kU32 = kUInt32, kU64 = kUInt64;
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
enum : uint16_t {
  kIntegral = 1,
  kFloating = 2,
  kComplexKind = 4,
  kQuantized = 8,
  kSignedKind = 16,
  kBoolKind = 32,
  kReduced = 64,
  kFloat8 = 128,
  kBits = 256,
  kBarebones = 512,
  kSubByte = 1024,
};
struct ScalarTypeInfo {
  uint16_t size;
  uint16_t kinds;
};
inline constexpr ScalarTypeInfo kScalarTypeInfo[] = {
    {1, kIntegral},                                     // Byte
    {1, kIntegral | kSignedKind},                       // Char
    {2, kIntegral | kSignedKind},                       // Short
    {4, kIntegral | kSignedKind},                       // Int
    {8, kIntegral | kSignedKind},                       // Long
    {2, kFloating | kReduced | kSignedKind},            // Half
    {4, kFloating | kSignedKind},                       // Float
    {8, kFloating | kSignedKind},                       // Double
    {4, kComplexKind | kSignedKind},                    // ComplexHalf
    {8, kComplexKind | kSignedKind},                    // ComplexFloat
    {16, kComplexKind | kSignedKind},                   // ComplexDouble
    {1, kBoolKind},                                     // Bool
    {1, kQuantized | kSignedKind},                      // QInt8
    {1, kQuantized},                                    // QUInt8
    {4, kQuantized | kSignedKind},                      // QInt32
    {2, kFloating | kReduced | kSignedKind},            // BFloat16
    {1, kQuantized},                                    // QUInt4x2
    {1, kQuantized},                                    // QUInt2x4
    {1, kBits},                                         // Bits1x8
    {1, kBits},                                         // Bits2x4
    {1, kBits},                                         // Bits4x2
    {1, kBits},                                         // Bits8
    {2, kBits},                                         // Bits16
    {1, kFloating | kReduced | kFloat8 | kSignedKind},  // Float8_e5m2
    {1, kFloating | kReduced | kFloat8 | kSignedKind},  // Float8_e4m3fn
    {1, kFloating | kReduced | kFloat8 | kSignedKind},  // Float8_e5m2fnuz
    {1, kFloating | kReduced | kFloat8 | kSignedKind},  // Float8_e4m3fnuz
    {2, kIntegral | kBarebones},                        // UInt16
    {4, kIntegral | kBarebones},                        // UInt32
    {8, kIntegral | kBarebones},                        // UInt64
    {1, kBarebones},                                    // UInt1
    {1, kBarebones},                                    // UInt2
    {1, kBarebones},                                    // UInt3
    {1, kBarebones},                                    // UInt4
    {1, kBarebones},                                    // UInt5
    {1, kBarebones},                                    // UInt6
    {1, kBarebones},                                    // UInt7
    {1, kSubByte | kSignedKind},                        // Int1
    {1, kSubByte | kSignedKind},                        // Int2
    {1, kSubByte | kSignedKind},                        // Int3
    {1, kSubByte | kSignedKind},                        // Int4
    {1, kSubByte | kSignedKind},                        // Int5
    {1, kSubByte | kSignedKind},                        // Int6
    {1, kSubByte | kSignedKind},                        // Int7
    {1, kFloating | kReduced | kFloat8},                // Float8_e8m0fnu
    {1, kFloating | kReduced | kSignedKind},            // Float4_e2m1fn_x2
    {4, kComplexKind | kSignedKind},                    // BComplex32
    {0, 0},                                             // Undefined
};
static_assert(sizeof(kScalarTypeInfo) == NumScalarTypes * sizeof(ScalarTypeInfo));
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
// Those that arithmetic widens to float: of sixteen bits and fewer.
constexpr bool isReducedFloatingType(ScalarType t) {
  return detail::has_kind(t, detail::kReduced);
}
constexpr bool isFloat8Type(ScalarType t) {
  return detail::has_kind(t, detail::kFloat8);
}
constexpr bool isComplexType(ScalarType t) {
  return detail::has_kind(t, detail::kComplexKind);
}
constexpr bool isQIntType(ScalarType t) {
  return detail::has_kind(t, detail::kQuantized);
}
constexpr bool isBitsType(ScalarType t) {
  return detail::has_kind(t, detail::kBits);
}
// The unsigned types other than Byte: few operators know them, and they promote with floating-point types only.
constexpr bool isBarebonesUnsignedType(ScalarType t) {
  return detail::has_kind(t, detail::kBarebones);
}
// Whether values can be negative; throws for quantized, bits and undefined types.
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
    case kBComplex32:
      return kBFloat16;
    default:
      return t;
  }
}
// Float -> ComplexFloat, BFloat16 -> BComplex32 ...; throws for other than floating-point and complex types.
ScalarType toComplexType(ScalarType t);

// Whether a result of type `from` may be written into a tensor of type `to`: not complex to real, floating-point to
// integral, or anything but bool to bool.
constexpr bool canCast(ScalarType from, ScalarType to) {
  if (isComplexType(from) && !isComplexType(to)) return false;
  if (isFloatingType(from) && isIntegralType(to, false)) return false;
  return from == kBool || to != kBool;
}

// The smallest type that holds both categories and their values' range. Types that differ do not promote if one is
// quantized, bits, of eight bits and floating-point, or unsigned beyond Byte (but with a floating-point type: to that): throws.
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

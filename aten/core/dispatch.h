// libtorch's AT_DISPATCH macros: run a lambda with `scalar_t` set to the C++ type of a dtype.
//
//   AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "scale", [&] { scale(x.data_ptr<scalar_t>(), x.numel()); });
//
// Groups: INTEGRAL_TYPES, FLOATING_TYPES, REDUCED_FLOATING_TYPES, COMPLEX_TYPES, ALL_TYPES (integral and floating),
// FLOATING_AND_COMPLEX_TYPES, ALL_TYPES_AND_COMPLEX, QINT_TYPES, BIT_TYPES; with further types by _AND(t, ..) and
// _AND2(t, u, ..) up to the 8 of ALL_TYPES_AND_COMPLEX. AT_DISPATCH_SWITCH takes any AT_DISPATCH_CASE_<group>, each
// with its own lambda. Any set of types in one list: aten/core/dispatch_v2.h.
//
// A dtype outside the group throws NotImplementedError: "scale" not implemented for 'Long'. Macros because the lambda
// must see a type whose name the caller does not spell; the library's own kernels use templates
// (aten/cpu/support/visit_dtype.h).
#pragma once

#include "c10/core/scalar_type.h"
#include "c10/core/type_meta.h"
#include "c10/util/bfloat16.h"
#include "c10/util/complex.h"
#include "c10/util/exception.h"
#include "c10/util/half.h"

namespace at::detail {
inline c10::ScalarType dispatch_type(c10::ScalarType type) { return type; }
inline c10::ScalarType dispatch_type(const caffe2::TypeMeta& meta) { return meta.toScalarType(); }
// What older programs pass: x.type().
template <class Properties>
  requires requires(const Properties& properties) { properties.scalarType(); }
c10::ScalarType dispatch_type(const Properties& properties) {
  return properties.scalarType();
}
}  // namespace at::detail

// HINT names the type: `scalar_t`, or `index_t` for a type that subscripts have.
#define AT_PRIVATE_CASE_TYPE_USING_HINT(TYPE, HINT, ...)                 \
  case TYPE: {                                                           \
    using HINT [[maybe_unused]] = c10::impl::ScalarTypeToCPPTypeT<TYPE>; \
    return __VA_ARGS__();                                                \
  }
#define AT_PRIVATE_CASE_TYPE(NAME, TYPE, ...) AT_PRIVATE_CASE_TYPE_USING_HINT(TYPE, scalar_t, __VA_ARGS__)
#define AT_DISPATCH_CASE(TYPE, ...) AT_PRIVATE_CASE_TYPE_USING_HINT(TYPE, scalar_t, __VA_ARGS__)
// Quantized types: `scalar_t` is c10::qint8, `underlying_t` int8_t; the last form also has the bits that an element
// takes and the numbers it holds.
#define AT_DISPATCH_CASE_QINT(TYPE, scalar_type, ...)                                     \
  case TYPE: {                                                                            \
    using scalar_t [[maybe_unused]] = scalar_type;                                        \
    using underlying_t [[maybe_unused]] = typename scalar_t::underlying;                  \
    [[maybe_unused]] constexpr c10::ScalarType SCALAR_TYPE = TYPE;                        \
    [[maybe_unused]] constexpr c10::ScalarType UNDERLYING_TYPE = c10::toUnderlying(TYPE); \
    return __VA_ARGS__();                                                                 \
  }
#define AT_QINT_SUB_BYTE_PRIVATE_CASE_TYPE(TYPE, scalar_type, bitwidth, qmin, qmax, ...)  \
  case TYPE: {                                                                            \
    using scalar_t [[maybe_unused]] = scalar_type;                                        \
    using underlying_t [[maybe_unused]] = typename scalar_t::underlying;                  \
    [[maybe_unused]] constexpr c10::ScalarType SCALAR_TYPE = TYPE;                        \
    [[maybe_unused]] constexpr c10::ScalarType UNDERLYING_TYPE = c10::toUnderlying(TYPE); \
    [[maybe_unused]] const int bit_width = bitwidth;                                      \
    [[maybe_unused]] const int64_t quant_min = qmin;                                      \
    [[maybe_unused]] const int64_t quant_max = qmax;                                      \
    return __VA_ARGS__();                                                                 \
  }

#define AT_DISPATCH_SWITCH(TYPE, NAME, ...)                                                     \
  [&] {                                                                                         \
    const c10::ScalarType dispatched_type = ::at::detail::dispatch_type(TYPE);                  \
    switch (dispatched_type) {                                                                  \
      __VA_ARGS__                                                                               \
      default:                                                                                  \
        TORCH_CHECK_NOT_IMPLEMENTED(                                                            \
            false, '"', NAME, "\" not implemented for '", c10::toString(dispatched_type), "'"); \
    }                                                                                           \
  }()

#define AT_DISPATCH_CASE_FLOATING_TYPES(...)             \
  AT_DISPATCH_CASE(c10::ScalarType::Double, __VA_ARGS__) \
  AT_DISPATCH_CASE(c10::ScalarType::Float, __VA_ARGS__)
#define AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(...)   \
  AT_DISPATCH_CASE(c10::ScalarType::Half, __VA_ARGS__) \
  AT_DISPATCH_CASE(c10::ScalarType::BFloat16, __VA_ARGS__)
#define AT_DISPATCH_CASE_COMPLEX_TYPES(...)                     \
  AT_DISPATCH_CASE(c10::ScalarType::ComplexDouble, __VA_ARGS__) \
  AT_DISPATCH_CASE(c10::ScalarType::ComplexFloat, __VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...)           \
  AT_DISPATCH_CASE(c10::ScalarType::Byte, __VA_ARGS__) \
  AT_DISPATCH_CASE(c10::ScalarType::Char, __VA_ARGS__) \
  AT_DISPATCH_CASE(c10::ScalarType::Int, __VA_ARGS__)  \
  AT_DISPATCH_CASE(c10::ScalarType::Long, __VA_ARGS__) \
  AT_DISPATCH_CASE(c10::ScalarType::Short, __VA_ARGS__)
#define AT_DISPATCH_CASE_BIT_TYPES(...)                   \
  AT_DISPATCH_CASE(c10::ScalarType::Bits1x8, __VA_ARGS__) \
  AT_DISPATCH_CASE(c10::ScalarType::Bits2x4, __VA_ARGS__) \
  AT_DISPATCH_CASE(c10::ScalarType::Bits4x2, __VA_ARGS__) \
  AT_DISPATCH_CASE(c10::ScalarType::Bits8, __VA_ARGS__)   \
  AT_DISPATCH_CASE(c10::ScalarType::Bits16, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES(...)        \
  AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) \
  AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(...) \
  AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)           \
  AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(...) \
  AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__)           \
  AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_QINT_BYTE_TYPES(...)                            \
  AT_DISPATCH_CASE_QINT(c10::ScalarType::QInt8, c10::qint8, __VA_ARGS__) \
  AT_DISPATCH_CASE_QINT(c10::ScalarType::QUInt8, c10::quint8, __VA_ARGS__)
#define AT_DISPATCH_CASE_QINT_TYPES(...)                                   \
  AT_DISPATCH_CASE_QINT(c10::ScalarType::QInt8, c10::qint8, __VA_ARGS__)   \
  AT_DISPATCH_CASE_QINT(c10::ScalarType::QUInt8, c10::quint8, __VA_ARGS__) \
  AT_DISPATCH_CASE_QINT(c10::ScalarType::QInt32, c10::qint32, __VA_ARGS__)
#define AT_DISPATCH_CASE_QINT_AND_SUB_BYTE_TYPES(...)                                                             \
  AT_QINT_SUB_BYTE_PRIVATE_CASE_TYPE(c10::ScalarType::QInt8, c10::qint8, 8, INT8_MIN, INT8_MAX, __VA_ARGS__)      \
  AT_QINT_SUB_BYTE_PRIVATE_CASE_TYPE(c10::ScalarType::QUInt8, c10::quint8, 8, 0, UINT8_MAX, __VA_ARGS__)          \
  AT_QINT_SUB_BYTE_PRIVATE_CASE_TYPE(c10::ScalarType::QInt32, c10::qint32, 32, INT32_MIN, INT32_MAX, __VA_ARGS__) \
  AT_QINT_SUB_BYTE_PRIVATE_CASE_TYPE(c10::ScalarType::QUInt4x2, c10::quint4x2, 4, 0, 15, __VA_ARGS__)             \
  AT_QINT_SUB_BYTE_PRIVATE_CASE_TYPE(c10::ScalarType::QUInt2x4, c10::quint2x4, 2, 0, 3, __VA_ARGS__)

#define AT_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_REDUCED_FLOATING_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_COMPLEX_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_BIT_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_BIT_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__))
#define AT_DISPATCH_QINT_BYTE_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_QINT_BYTE_TYPES(__VA_ARGS__))
#define AT_DISPATCH_QINT_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_QINT_TYPES(__VA_ARGS__))
#define AT_DISPATCH_QINT_AND_SUB_BYTE_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_QINT_AND_SUB_BYTE_TYPES(__VA_ARGS__))

// Further types: the cases of one type fewer, and one.
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND(T1, ...) \
  AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(T1, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND(T1, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES_AND(T1, __VA_ARGS__))
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND2(T1, T2, ...) \
  AT_DISPATCH_CASE_FLOATING_TYPES_AND(T1, __VA_ARGS__) AT_DISPATCH_CASE(T2, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND2(T1, T2, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES_AND2(T1, T2, __VA_ARGS__))
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND3(T1, T2, T3, ...) \
  AT_DISPATCH_CASE_FLOATING_TYPES_AND2(T1, T2, __VA_ARGS__) AT_DISPATCH_CASE(T3, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND3(T1, T2, T3, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES_AND3(T1, T2, T3, __VA_ARGS__))
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND4(T1, T2, T3, T4, ...) \
  AT_DISPATCH_CASE_FLOATING_TYPES_AND3(T1, T2, T3, __VA_ARGS__) AT_DISPATCH_CASE(T4, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND4(T1, T2, T3, T4, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES_AND4(T1, T2, T3, T4, __VA_ARGS__))
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND5(T1, T2, T3, T4, T5, ...) \
  AT_DISPATCH_CASE_FLOATING_TYPES_AND4(T1, T2, T3, T4, __VA_ARGS__) AT_DISPATCH_CASE(T5, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND5(T1, T2, T3, T4, T5, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES_AND5(T1, T2, T3, T4, T5, __VA_ARGS__))
#define AT_DISPATCH_CASE_COMPLEX_TYPES_AND(T1, ...) \
  AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(T1, __VA_ARGS__)
#define AT_DISPATCH_COMPLEX_TYPES_AND(T1, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_COMPLEX_TYPES_AND(T1, __VA_ARGS__))
#define AT_DISPATCH_CASE_COMPLEX_TYPES_AND2(T1, T2, ...) \
  AT_DISPATCH_CASE_COMPLEX_TYPES_AND(T1, __VA_ARGS__) AT_DISPATCH_CASE(T2, __VA_ARGS__)
#define AT_DISPATCH_COMPLEX_TYPES_AND2(T1, T2, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_COMPLEX_TYPES_AND2(T1, T2, __VA_ARGS__))
#define AT_DISPATCH_CASE_INTEGRAL_TYPES_AND(T1, ...) \
  AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(T1, __VA_ARGS__)
#define AT_DISPATCH_INTEGRAL_TYPES_AND(T1, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_INTEGRAL_TYPES_AND(T1, __VA_ARGS__))
#define AT_DISPATCH_CASE_ALL_TYPES_AND(T1, ...) \
  AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(T1, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND(T1, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND(T1, __VA_ARGS__))
#define AT_DISPATCH_CASE_ALL_TYPES_AND2(T1, T2, ...) \
  AT_DISPATCH_CASE_ALL_TYPES_AND(T1, __VA_ARGS__) AT_DISPATCH_CASE(T2, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND2(T1, T2, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND2(T1, T2, __VA_ARGS__))
#define AT_DISPATCH_CASE_ALL_TYPES_AND3(T1, T2, T3, ...) \
  AT_DISPATCH_CASE_ALL_TYPES_AND2(T1, T2, __VA_ARGS__) AT_DISPATCH_CASE(T3, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND3(T1, T2, T3, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND3(T1, T2, T3, __VA_ARGS__))
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND(T1, ...) \
  AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(T1, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND(T1, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND(T1, __VA_ARGS__))
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND2(T1, T2, ...) \
  AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND(T1, __VA_ARGS__) AT_DISPATCH_CASE(T2, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND2(T1, T2, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND2(T1, T2, __VA_ARGS__))
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND3(T1, T2, T3, ...) \
  AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND2(T1, T2, __VA_ARGS__) AT_DISPATCH_CASE(T3, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND3(T1, T2, T3, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND3(T1, T2, T3, __VA_ARGS__))
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND4(T1, T2, T3, T4, ...) \
  AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND3(T1, T2, T3, __VA_ARGS__) AT_DISPATCH_CASE(T4, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND4(T1, T2, T3, T4, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND4(T1, T2, T3, T4, __VA_ARGS__))
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND5(T1, T2, T3, T4, T5, ...) \
  AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND4(T1, T2, T3, T4, __VA_ARGS__) AT_DISPATCH_CASE(T5, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND5(T1, T2, T3, T4, T5, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND5(T1, T2, T3, T4, T5, __VA_ARGS__))
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND6(T1, T2, T3, T4, T5, T6, ...) \
  AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND5(T1, T2, T3, T4, T5, __VA_ARGS__) AT_DISPATCH_CASE(T6, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND6(T1, T2, T3, T4, T5, T6, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND6(T1, T2, T3, T4, T5, T6, __VA_ARGS__))
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND(T1, ...) \
  AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) AT_DISPATCH_CASE(T1, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND(T1, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND(T1, __VA_ARGS__))
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND2(T1, T2, ...) \
  AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND(T1, __VA_ARGS__) AT_DISPATCH_CASE(T2, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND2(T1, T2, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND2(T1, T2, __VA_ARGS__))
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND3(T1, T2, T3, ...) \
  AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND2(T1, T2, __VA_ARGS__) AT_DISPATCH_CASE(T3, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND3(T1, T2, T3, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND3(T1, T2, T3, __VA_ARGS__))
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND4(T1, T2, T3, T4, ...) \
  AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND3(T1, T2, T3, __VA_ARGS__) AT_DISPATCH_CASE(T4, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND4(T1, T2, T3, T4, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND4(T1, T2, T3, T4, __VA_ARGS__))
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND5(T1, T2, T3, T4, T5, ...) \
  AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND4(T1, T2, T3, T4, __VA_ARGS__) AT_DISPATCH_CASE(T5, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND5(T1, T2, T3, T4, T5, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND5(T1, T2, T3, T4, T5, __VA_ARGS__))
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND6(T1, T2, T3, T4, T5, T6, ...) \
  AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND5(T1, T2, T3, T4, T5, __VA_ARGS__) AT_DISPATCH_CASE(T6, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND6(T1, T2, T3, T4, T5, T6, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND6(T1, T2, T3, T4, T5, T6, __VA_ARGS__))
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND7(T1, T2, T3, T4, T5, T6, T7, ...) \
  AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND6(T1, T2, T3, T4, T5, T6, __VA_ARGS__) AT_DISPATCH_CASE(T7, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND7(T1, T2, T3, T4, T5, T6, T7, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND7(T1, T2, T3, T4, T5, T6, T7, __VA_ARGS__))
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND8(T1, T2, T3, T4, T5, T6, T7, T8, ...) \
  AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND7(T1, T2, T3, T4, T5, T6, T7, __VA_ARGS__) AT_DISPATCH_CASE(T8, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND8(T1, T2, T3, T4, T5, T6, T7, T8, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                                                \
                     AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND8(T1, T2, T3, T4, T5, T6, T7, T8, __VA_ARGS__))
#define AT_DISPATCH_CASE_QINT_TYPES_AND(T1, ...) \
  AT_DISPATCH_CASE_QINT_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(T1, __VA_ARGS__)
#define AT_DISPATCH_QINT_TYPES_AND(T1, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_QINT_TYPES_AND(T1, __VA_ARGS__))

// Other names of some of them.
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND_HALF(...) \
  AT_DISPATCH_CASE_FLOATING_TYPES_AND(c10::ScalarType::Half, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(TYPE, NAME, ...) \
  AT_DISPATCH_FLOATING_TYPES_AND(c10::ScalarType::Half, TYPE, NAME, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_HALF(...) \
  AT_DISPATCH_CASE_ALL_TYPES_AND(c10::ScalarType::Half, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_HALF(TYPE, NAME, ...) \
  AT_DISPATCH_ALL_TYPES_AND(c10::ScalarType::Half, TYPE, NAME, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND1(T1, ...) \
  AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND(T1, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND1(T1, TYPE, NAME, ...) \
  AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND(T1, TYPE, NAME, __VA_ARGS__)

// Int and Long, as `index_t`.
#define AT_DISPATCH_INDEX_TYPES(TYPE, NAME, ...)                                                 \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                                                 \
                     AT_PRIVATE_CASE_TYPE_USING_HINT(c10::ScalarType::Int, index_t, __VA_ARGS__) \
                     AT_PRIVATE_CASE_TYPE_USING_HINT(c10::ScalarType::Long, index_t, __VA_ARGS__))

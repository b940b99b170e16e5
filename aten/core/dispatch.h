// libtorch's AT_DISPATCH macros: run a lambda with `scalar_t` set to the C++ type of a dtype.
//
//   AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "scale", [&] { scale(x.data_ptr<scalar_t>(), x.numel()); });
//
// A dtype outside the group throws Error: "scale" not implemented for 'Long'. Macros because the lambda must see a type
// whose name the caller does not spell; the library's own kernels use templates (aten/cpu/support/visit_dtype.h).
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

#define AT_DISPATCH_CASE(TYPE, ...)                                             \
  case TYPE: {                                                                  \
    using scalar_t [[maybe_unused]] = c10::impl::ScalarTypeToCPPTypeT<TYPE>;    \
    return __VA_ARGS__();                                                       \
  }

#define AT_DISPATCH_SWITCH(TYPE, NAME, ...)                                                                  \
  [&] {                                                                                                      \
    const c10::ScalarType dispatched_type = ::at::detail::dispatch_type(TYPE);                               \
    switch (dispatched_type) {                                                                               \
      __VA_ARGS__                                                                                            \
      default:                                                                                               \
        TORCH_CHECK(false, '"', NAME, "\" not implemented for '", c10::toString(dispatched_type), "'");      \
    }                                                                                                        \
  }()

#define AT_DISPATCH_CASE_FLOATING_TYPES(...)             \
  AT_DISPATCH_CASE(c10::ScalarType::Double, __VA_ARGS__) \
  AT_DISPATCH_CASE(c10::ScalarType::Float, __VA_ARGS__)
#define AT_DISPATCH_CASE_COMPLEX_TYPES(...)                     \
  AT_DISPATCH_CASE(c10::ScalarType::ComplexDouble, __VA_ARGS__) \
  AT_DISPATCH_CASE(c10::ScalarType::ComplexFloat, __VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...)            \
  AT_DISPATCH_CASE(c10::ScalarType::Byte, __VA_ARGS__)  \
  AT_DISPATCH_CASE(c10::ScalarType::Char, __VA_ARGS__)  \
  AT_DISPATCH_CASE(c10::ScalarType::Int, __VA_ARGS__)   \
  AT_DISPATCH_CASE(c10::ScalarType::Long, __VA_ARGS__)  \
  AT_DISPATCH_CASE(c10::ScalarType::Short, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES(...)        \
  AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) \
  AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(...) \
  AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)           \
  AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(...) \
  AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__)           \
  AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__)

#define AT_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_COMPLEX_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(TYPE, NAME, ...) \
  AT_DISPATCH_FLOATING_TYPES_AND(c10::ScalarType::Half, TYPE, NAME, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_HALF(TYPE, NAME, ...) \
  AT_DISPATCH_ALL_TYPES_AND(c10::ScalarType::Half, TYPE, NAME, __VA_ARGS__)
#define AT_DISPATCH_INDEX_TYPES(TYPE, NAME, ...)                                                               \
  [&] {                                                                                                        \
    const c10::ScalarType dispatched_type = ::at::detail::dispatch_type(TYPE);                                 \
    if (dispatched_type == c10::ScalarType::Int) {                                                             \
      using index_t [[maybe_unused]] = int32_t;                                                                \
      return __VA_ARGS__();                                                                                    \
    }                                                                                                          \
    TORCH_CHECK(dispatched_type == c10::ScalarType::Long, '"', NAME, "\" not implemented for '",               \
                c10::toString(dispatched_type), "'");                                                          \
    using index_t [[maybe_unused]] = int64_t;                                                                  \
    return __VA_ARGS__();                                                                                      \
  }()
#define AT_DISPATCH_FLOATING_TYPES_AND(T1, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(T1, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND2(T1, T2, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(T1, __VA_ARGS__) AT_DISPATCH_CASE(T2, __VA_ARGS__))
#define AT_DISPATCH_COMPLEX_TYPES_AND(T1, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(T1, __VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES_AND(T1, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(T1, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND(T1, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(T1, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND(T1, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(T1, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND2(T1, T2, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(T1, __VA_ARGS__) AT_DISPATCH_CASE(T2, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND2(T1, T2, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(T1, __VA_ARGS__) AT_DISPATCH_CASE(T2, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND3(T1, T2, T3, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(T1, __VA_ARGS__) AT_DISPATCH_CASE(T2, __VA_ARGS__) AT_DISPATCH_CASE(T3, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND3(T1, T2, T3, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(T1, __VA_ARGS__) AT_DISPATCH_CASE(T2, __VA_ARGS__) AT_DISPATCH_CASE(T3, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND(T1, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) AT_DISPATCH_CASE(T1, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND2(T1, T2, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) AT_DISPATCH_CASE(T1, __VA_ARGS__) AT_DISPATCH_CASE(T2, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND3(T1, T2, T3, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) AT_DISPATCH_CASE(T1, __VA_ARGS__) AT_DISPATCH_CASE(T2, __VA_ARGS__) AT_DISPATCH_CASE(T3, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND4(T1, T2, T3, T4, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) AT_DISPATCH_CASE(T1, __VA_ARGS__) AT_DISPATCH_CASE(T2, __VA_ARGS__) AT_DISPATCH_CASE(T3, __VA_ARGS__) AT_DISPATCH_CASE(T4, __VA_ARGS__))

// Single elements in memory of a dtype that is known at run time only.
#pragma once

#include <type_traits>

#include "c10/core/scalar.h"
#include "c10/core/scalar_type.h"
#include "c10/util/exception.h"
#include "c10/util/type_cast.h"

namespace c10 {

namespace detail {
// complex<Half> is made of no number but complex<float>.
template <class To, class From>
To element(From value) {
  if constexpr (std::is_same_v<To, complex<Half>> && !std::is_same_v<From, To>) {
    return To(convert<complex<float>>(value));
  } else {
    return convert<To>(value);
  }
}
}  // namespace detail

/// The element at `ptr`, which is a `src_type`, as a T.
template <class T>
inline T fetch_and_cast(ScalarType src_type, const void* ptr) {
  switch (src_type) {
#define KINDLING_CASE(type, name) \
  case ScalarType::name:          \
    return detail::element<T>(*static_cast<const type*>(ptr));
    AT_FORALL_SCALAR_TYPES_WITH_COMPLEX(KINDLING_CASE)
#undef KINDLING_CASE
    default:
      TORCH_CHECK(false, "Unexpected scalar type: ", src_type);
  }
}

/// Writes `value` to `ptr` as a `dest_type`.
template <class T>
inline void cast_and_store(ScalarType dest_type, void* ptr, T value) {
  switch (dest_type) {
#define KINDLING_CASE(type, name)                            \
  case ScalarType::name:                                     \
    *static_cast<type*>(ptr) = detail::element<type>(value); \
    return;
    AT_FORALL_SCALAR_TYPES_WITH_COMPLEX(KINDLING_CASE)
#undef KINDLING_CASE
    default:
      TORCH_CHECK(false, "Unexpected scalar type: ", dest_type);
  }
}

}  // namespace c10

// The process-wide default floating-point type: what factories use where no dtype is given.
#pragma once

#include "c10/core/type_meta.h"

namespace c10 {

namespace detail {
extern int8_t default_dtype;
}

// Float at start. Meant for floating-point types; of others, factories make tensors of these, as libtorch's do.
void set_default_dtype(TypeMeta dtype);
inline ScalarType get_default_dtype_as_scalartype() {
  return static_cast<ScalarType>(__atomic_load_n(&detail::default_dtype, __ATOMIC_RELAXED));
}
inline TypeMeta get_default_dtype() {
  return get_default_dtype_as_scalartype();
}
// The complex type whose parts have the default type; ComplexFloat where that is none of floating point.
TypeMeta get_default_complex_dtype();

}  // namespace c10

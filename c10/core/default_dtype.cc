#include "c10/core/default_dtype.h"

namespace c10 {

namespace detail {
constinit int8_t default_dtype = static_cast<int8_t>(ScalarType::Float);
}

void set_default_dtype(TypeMeta dtype) {
  __atomic_store_n(&detail::default_dtype, static_cast<int8_t>(dtype.toScalarType()), __ATOMIC_RELAXED);
}

TypeMeta get_default_complex_dtype() {
  const ScalarType type = get_default_dtype_as_scalartype();
  return isFloatingType(type) ? toComplexType(type) : ScalarType::ComplexFloat;
}

}  // namespace c10

#include "c10/core/default_dtype.h"

#include "c10/util/exception.h"

namespace c10 {

namespace detail {
constinit int8_t default_dtype = static_cast<int8_t>(ScalarType::Float);
}

void set_default_dtype(TypeMeta dtype) {
  TORCH_CHECK_TYPE(isFloatingType(dtype.toScalarType()),
                   "only floating-point types are supported as the default type, but got ", dtype.toScalarType());
  __atomic_store_n(&detail::default_dtype, static_cast<int8_t>(dtype.toScalarType()), __ATOMIC_RELAXED);
}

TypeMeta get_default_complex_dtype() {
  return toComplexType(get_default_dtype_as_scalartype());
}

}  // namespace c10

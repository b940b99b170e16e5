#pragma once
// Calls a function template with the C++ type of a dtype:
//   visit_floating(type, [&](auto tag) { using T = typename decltype(tag)::type; ... });
// Each returns what f returns and throws for a dtype outside its group (the caller names the operator).

#include "aten/cpu/support/boolean.h"
#include "c10/core/scalar_type.h"
#include "c10/util/bfloat16.h"
#include "c10/util/complex.h"
#include "c10/util/exception.h"
#include "c10/util/half.h"

namespace at::cpu {

template <class T>
struct TypeTag {
  using type = T;
};

// float, double
template <class F>
auto visit_float_double(c10::ScalarType type, const char* op, F&& f) {
  switch (type) {
    case c10::ScalarType::Float: return f(TypeTag<float>{});
    case c10::ScalarType::Double: return f(TypeTag<double>{});
    default: TORCH_CHECK_NOT_IMPLEMENTED(false, "\"", op, "\" not implemented for '", c10::toString(type), "'");
  }
}

// float, double, half, bfloat16
template <class F>
auto visit_floating(c10::ScalarType type, const char* op, F&& f) {
  switch (type) {
    case c10::ScalarType::Float: return f(TypeTag<float>{});
    case c10::ScalarType::Double: return f(TypeTag<double>{});
    case c10::ScalarType::Half: return f(TypeTag<c10::Half>{});
    case c10::ScalarType::BFloat16: return f(TypeTag<c10::BFloat16>{});
    default: TORCH_CHECK_NOT_IMPLEMENTED(false, "\"", op, "\" not implemented for '", c10::toString(type), "'");
  }
}

// Floating and integer types and bool (as Boolean).
template <class F>
auto visit_real(c10::ScalarType type, const char* op, F&& f) {
  switch (type) {
    case c10::ScalarType::Byte: return f(TypeTag<uint8_t>{});
    case c10::ScalarType::Char: return f(TypeTag<int8_t>{});
    case c10::ScalarType::Short: return f(TypeTag<int16_t>{});
    case c10::ScalarType::Int: return f(TypeTag<int32_t>{});
    case c10::ScalarType::Long: return f(TypeTag<int64_t>{});
    case c10::ScalarType::Bool: return f(TypeTag<Boolean>{});
    default: return visit_floating(type, op, f);
  }
}

// visit_real and the complex types.
template <class F>
auto visit_all(c10::ScalarType type, const char* op, F&& f) {
  switch (type) {
    case c10::ScalarType::ComplexFloat: return f(TypeTag<c10::complex<float>>{});
    case c10::ScalarType::ComplexDouble: return f(TypeTag<c10::complex<double>>{});
    default: return visit_real(type, op, f);
  }
}

// Types by size only, for kernels that move elements without looking at them.
struct Bytes16 {
  alignas(8) unsigned char bytes[16];
};
template <class F>
auto visit_item_size(int64_t size, F&& f) {
  switch (size) {
    case 1: return f(TypeTag<uint8_t>{});
    case 2: return f(TypeTag<uint16_t>{});
    case 4: return f(TypeTag<uint32_t>{});
    case 8: return f(TypeTag<uint64_t>{});
    case 16: return f(TypeTag<Bytes16>{});
    default: TORCH_CHECK(false, "unexpected element size ", size);
  }
}

}  // namespace at::cpu

#pragma once

#include "aten/cpu/elementwise.h"

// Loops of functions of one or two doubles: float by way of double. F has `static double run(double...)`.

namespace at::cpu::special {

template <class F, class T>
void unary_loop(char* const* data, int64_t n, const void*) {
  T* out = reinterpret_cast<T*>(data[0]);
  const T* a = reinterpret_cast<const T*>(data[1]);
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(F::run(static_cast<double>(a[i])));
}
template <class F, class T>
void binary_loop(char* const* data, int64_t n, const void*) {
  T* out = reinterpret_cast<T*>(data[0]);
  const T* a = reinterpret_cast<const T*>(data[1]);
  const T* b = reinterpret_cast<const T*>(data[2]);
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(F::run(static_cast<double>(a[i]), static_cast<double>(b[i])));
}
/// With an int64 as the context: F::run(int64_t, double).
template <class F, class T>
void integer_loop(char* const* data, int64_t n, const void* context) {
  const int64_t number = *static_cast<const int64_t*>(context);
  T* out = reinterpret_cast<T*>(data[0]);
  const T* a = reinterpret_cast<const T*>(data[1]);
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(F::run(number, static_cast<double>(a[i])));
}

constexpr ElementOp floating_op(ElementLoop of_float, ElementLoop of_double) {
  return {baseline_table<ElementLoop>(of_float), baseline_table<ElementLoop>(of_double), {}, {}, {}, {}};
}
template <class F>
constexpr ElementOp unary_op() {
  return floating_op(unary_loop<F, float>, unary_loop<F, double>);
}
template <class F>
constexpr ElementOp binary_op() {
  return floating_op(binary_loop<F, float>, binary_loop<F, double>);
}
template <class F>
constexpr ElementOp integer_op() {
  return floating_op(integer_loop<F, float>, integer_loop<F, double>);
}

}  // namespace at::cpu::special

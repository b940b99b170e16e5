#pragma once

#include "aten/cpu/elementwise.h"
#include "aten/cpu/loops/loop_tags.h"

// Complex elementary functions, through the C library; defined in complex.cc for the tags used in the other files.

namespace at::cpu {

template <class Tag, class T>
struct ComplexFn {
  static void loop(char* const* data, int64_t n, const void* context);
};

template <class Tag, class T>
constexpr ElementTable complex_table() {
  return baseline_table<ElementLoop>(&ComplexFn<Tag, T>::loop);
}

// Complex in, real (or bool) out.
namespace loops {
extern const ElementOp complex_abs;
extern const ElementOp complex_angle;
extern const ElementOp complex_is_real;
}  // namespace loops
void complex_angle_float(char* const* data, int64_t n, const void*);

// Two outputs: mantissa, int32 exponent.
void frexp_float(char* const* data, int64_t n, const void*);
void frexp_double(char* const* data, int64_t n, const void*);

}  // namespace at::cpu

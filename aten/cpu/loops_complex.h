#pragma once

#include "aten/cpu/elementwise.h"
#include "aten/cpu/loop_tags.h"

// Complex elementary functions, through the C library; defined in loops_complex.cc for the tags used in loops_*.cc.

namespace at::cpu {

template <class Tag, class T>
struct ComplexFn {
  static void loop(char* const* data, int64_t n, const void* context);
};

template <class Tag, class T>
constexpr ElementTable complex_table() {
  return baseline_table<ElementLoop>(&ComplexFn<Tag, T>::loop);
}

}  // namespace at::cpu

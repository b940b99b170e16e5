// Copies between tensors of any strides and dtypes.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "aten/cpu/copy.h"

namespace torch::aot {

struct View {
  const char* data;
  c10::ScalarType dtype;
  std::initializer_list<int64_t> sizes, strides;  // in elements
};

/// to = from, converted, where `from` broadcasts.
inline void copy(View to, View from) {
  const auto operand = [](const View& v) {
    return at::cpu::Operand{const_cast<char*>(v.data), v.sizes.begin(), v.strides.begin(),
                            static_cast<int64_t>(v.sizes.size()), static_cast<int64_t>(c10::elementSize(v.dtype))};
  };
  at::cpu::copy(operand(to), to.dtype, operand(from), from.dtype);
}

}  // namespace torch::aot

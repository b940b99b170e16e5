// Loops over dense tensors.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "aten/cpu/elementwise.h"
#include "aten/cpu/loops/activation.h"
#include "aten/cpu/loops/loops.h"

namespace torch::aot {

/// out[i] = f(in[i]...) of n elements of T, on several threads where it is worth it. `out` may be one of the inputs.
template <class T, class... Inputs>
void loop(const at::cpu::ElementTable& table, std::initializer_list<T> params, int64_t n, char* out, Inputs... in) {
  constexpr int count = 1 + static_cast<int>(sizeof...(Inputs));
  char* const data[] = {out, const_cast<char*>(in)...};
  if (n <= at::cpu::kPointwiseGrain) {
    if (n > 0) table.get()(data, n, params.begin());
    return;
  }
  int64_t sizes[count];
  for (int64_t& size : sizes) size = sizeof(T);
  at::cpu::elementwise_contiguous(table.get(), params.begin(), data, sizes, 1, count, n);
}

}  // namespace torch::aot

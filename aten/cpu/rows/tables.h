#pragma once
// The kernels of one instruction set, a Table<T> of function pointers for each dtype they are made for.

#include <type_traits>

#include "c10/util/bfloat16.h"
#include "c10/util/half.h"

namespace at::cpu {

template <template <class> class Table>
struct RealTables {
  Table<float> f;
  Table<double> d;

  template <class T>
  constexpr const Table<T>& get() const {
    if constexpr (std::is_same_v<T, float>) {
      return f;
    } else {
      static_assert(std::is_same_v<T, double>);
      return d;
    }
  }
};

template <template <class> class Table>
struct FloatingTables {
  RealTables<Table> real;
  Table<c10::Half> h;
  Table<c10::BFloat16> b;

  template <class T>
  constexpr const Table<T>& get() const {
    if constexpr (std::is_same_v<T, c10::Half>) {
      return h;
    } else if constexpr (std::is_same_v<T, c10::BFloat16>) {
      return b;
    } else {
      return real.template get<T>();
    }
  }
};

}  // namespace at::cpu

// c10::ForcedUnroll<4>{}([&](auto i) { .. }): a loop of a number of passes known at compile time, without the loop.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "c10/macros/macros.h"

namespace c10 {

template <int n>
struct ForcedUnroll {
  template <class Func, class... Args>
  C10_ALWAYS_INLINE void operator()(const Func& f, Args... args) const {
    [&]<int... i>(std::integer_sequence<int, i...>) {
      (f(std::integral_constant<int, i>{}, args...), ...);
    }(std::make_integer_sequence<int, n>());
  }
};

}  // namespace c10

// Several lambdas as one, for std::visit.
//
//   std::visit(c10::overloaded([](int i) { .. }, [](const std::string& s) { .. }), variant);
#pragma once

#include <utility>

namespace c10 {
namespace detail {
template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
}  // namespace detail

template <class... Functions>
constexpr detail::Overloaded<Functions...> overloaded(Functions... functions) {
  return {std::move(functions)...};
}

}  // namespace c10

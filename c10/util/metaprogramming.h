// Helpers of templates: c10::guts.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "c10/util/string_utils.h"
#include "c10/util/type_list.h"
#include "c10/util/type_traits.h"

namespace c10::guts {

template <class Base, class Child>
using is_base_of_t = std::is_base_of<Base, Child>;

using std::apply;
using std::conjunction;
using std::disjunction;
using std::enable_if_t;
using std::invoke_result_t;
using std::make_unique;
using std::negation;
using std::void_t;

template <class F, class... Args>
constexpr decltype(auto) invoke(F&& f, Args&&... args) {
  return std::forward<F>(f)(std::forward<Args>(args)...);
}

/// The elements from a tuple's i-th on, and a part of them.
template <class Tuple, size_t... I>
constexpr auto tuple_elements(Tuple t, std::index_sequence<I...>) {
  return std::tuple<std::tuple_element_t<I, Tuple>...>(std::get<I>(t)...);
}
template <class Tuple, size_t N>
constexpr auto tuple_take(Tuple t) {
  return tuple_elements(std::move(t), std::make_index_sequence<N>());
}
/// f of each element, as a tuple.
template <class F, class... Types>
constexpr auto tuple_map(std::tuple<Types...>&& t, const F& f) {
  return std::apply(
      [&](Types&&... values) {
        return std::tuple<decltype(f(std::forward<Types>(values)))...>(f(std::forward<Types>(values))...);
      },
      std::move(t));
}

/// What `if constexpr` does, for code that was written before it: branches get a function that returns its argument.
template <bool Condition, class Then, class Else>
decltype(auto) if_constexpr(Then&& then, Else&& otherwise) {
  constexpr auto kIdentity = [](auto&& x) -> decltype(x) { return static_cast<decltype(x)>(x); };
  if constexpr (Condition) {
    if constexpr (std::is_invocable_v<Then, decltype(kIdentity)>) return std::forward<Then>(then)(kIdentity);
    else return std::forward<Then>(then)();
  } else {
    if constexpr (std::is_invocable_v<Else, decltype(kIdentity)>) return std::forward<Else>(otherwise)(kIdentity);
    else return std::forward<Else>(otherwise)();
  }
}
template <bool Condition, class Then>
void if_constexpr(Then&& then) {
  if_constexpr<Condition>(std::forward<Then>(then), [](auto) {});
}

}  // namespace c10::guts

namespace torch {
using std::make_unique;
}

// Questions about module classes at compile time.
#pragma once

#include <type_traits>
#include <utility>

#include "nn/module/module.h"

namespace torch {

namespace detail {

/// Whether none of the types is an lvalue reference.
template <class... Ts>
constexpr bool check_not_lvalue_references() {
  return (!std::is_lvalue_reference_v<Ts> && ...);
}

template <class T>
struct is_module : std::is_base_of<nn::Module, std::decay_t<T>> {};
template <class T, class U = void>
using enable_if_module_t = std::enable_if_t<is_module<T>::value, U>;

/// Whether a class has a member `forward`.
template <class T>
struct has_forward : std::bool_constant<requires { &T::forward; }> {};

/// What M::forward gives for such arguments; void where there is none.
template <class M, class... Args>
struct return_type_of_forward {
  using type = void;
};
template <class M, class... Args>
  requires requires(M& module, Args&&... args) { module.forward(std::forward<Args>(args)...); }
struct return_type_of_forward<M, Args...> {
  using type = decltype(std::declval<M&>().forward(std::declval<Args>()...));
};
template <class M, class... Args>
using return_type_of_forward_t = typename return_type_of_forward<M, Args...>::type;

}  // namespace detail
}  // namespace torch

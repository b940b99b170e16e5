// Questions about types: c10::guts.
#pragma once

#include <type_traits>

namespace c10::guts {

/// R(Args...) of a function, a pointer to one, or a class with one operator().
template <class F>
struct function_traits;
template <class Result, class... Args>
struct function_traits<Result(Args...)> {
  using func_type = Result(Args...);
  using return_type = Result;
  static constexpr auto number_of_parameters = sizeof...(Args);
};

namespace detail {
template <class F>
struct Stripped : Stripped<decltype(&F::operator())> {};
template <class R, class... A>
struct Stripped<R(A...)> {
  using type = R(A...);
};
template <class R, class... A>
struct Stripped<R (*)(A...)> {
  using type = R(A...);
};
template <class C, class R, class... A>
struct Stripped<R (C::*)(A...)> {
  using type = R(A...);
};
template <class C, class R, class... A>
struct Stripped<R (C::*)(A...) const> {
  using type = R(A...);
};
}  // namespace detail

template <class F>
using infer_function_traits = function_traits<typename detail::Stripped<std::remove_cvref_t<F>>::type>;
template <class F>
using infer_function_traits_t = infer_function_traits<F>;

template <class T>
struct is_functor : std::bool_constant<requires { &std::remove_cvref_t<T>::operator(); }> {};
template <class T>
struct is_function_type : std::is_function<T> {};
template <class T>
using is_function_type_t = typename is_function_type<T>::type;

template <template <class...> class Template, class T>
struct is_instantiation_of : std::false_type {};
template <template <class...> class Template, class... Args>
struct is_instantiation_of<Template, Template<Args...>> : std::true_type {};

template <class T>
struct is_equality_comparable : std::bool_constant<requires(const T& a, const T& b) { a == b; }> {};

}  // namespace c10::guts

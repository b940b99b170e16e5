// Lists of types at compile time: c10::guts::typelist.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>

namespace c10::guts::typelist {

template <class... Items>
struct typelist final {
  typelist() = delete;
};

template <class List>
struct size;
template <class... Types>
struct size<typelist<Types...>> {
  static constexpr size_t value = sizeof...(Types);
};

template <class Tuple>
struct from_tuple;
template <class... Types>
struct from_tuple<std::tuple<Types...>> {
  using type = typelist<Types...>;
};
template <class Tuple>
using from_tuple_t = typename from_tuple<Tuple>::type;
template <class List>
struct to_tuple;
template <class... Types>
struct to_tuple<typelist<Types...>> {
  using type = std::tuple<Types...>;
};
template <class List>
using to_tuple_t = typename to_tuple<List>::type;

template <class... Lists>
struct concat;
template <>
struct concat<> {
  using type = typelist<>;
};
template <class... A>
struct concat<typelist<A...>> {
  using type = typelist<A...>;
};
template <class... A, class... B, class... Rest>
struct concat<typelist<A...>, typelist<B...>, Rest...> {
  using type = typename concat<typelist<A..., B...>, Rest...>::type;
};
template <class... Lists>
using concat_t = typename concat<Lists...>::type;

/// The types for which Condition<T>::value holds.
template <template <class> class Condition, class List>
struct filter;
template <template <class> class Condition, class... Types>
struct filter<Condition, typelist<Types...>> {
  using type = concat_t<std::conditional_t<Condition<Types>::value, typelist<Types>, typelist<>>...>;
};
template <template <class> class Condition, class List>
using filter_t = typename filter<Condition, List>::type;

template <template <class> class Condition, class List>
struct all;
template <template <class> class Condition, class... Types>
struct all<Condition, typelist<Types...>> : std::bool_constant<(Condition<Types>::value && ...)> {};
template <template <class> class Condition, class List>
struct true_for_any_type;
template <template <class> class Condition, class... Types>
struct true_for_any_type<Condition, typelist<Types...>> : std::bool_constant<(Condition<Types>::value || ...)> {};

template <template <class> class Mapper, class List>
struct map;
template <template <class> class Mapper, class... Types>
struct map<Mapper, typelist<Types...>> {
  using type = typelist<Mapper<Types>...>;
};
template <template <class> class Mapper, class List>
using map_t = typename map<Mapper, List>::type;

template <class List>
struct head;
template <class Head, class... Tail>
struct head<typelist<Head, Tail...>> {
  using type = Head;
};
template <class List>
using head_t = typename head<List>::type;

template <size_t I, class List>
using element_t = std::tuple_element_t<I, to_tuple_t<List>>;

template <class List, class T>
struct contains;
template <class T, class... Types>
struct contains<typelist<Types...>, T> : std::bool_constant<(std::is_same_v<T, Types> || ...)> {};

}  // namespace c10::guts::typelist

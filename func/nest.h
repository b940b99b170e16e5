#pragma once

#include <array>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"

namespace torch::func::detail {

/// A structure of the kind of `value` with make() in the place of each of its tensors, called in order.
template <typename T, typename Make>
struct Nest {
  static auto of(T&, Make& make) {
    static_assert(std::is_same_v<T, at::Tensor>,
                  "a Jacobian is nested in the outputs of the function, which can be tensors, and tuples, pairs, arrays, "
                  "vectors, optionals and maps of them");
    return make();
  }
};

template <typename T, typename Make>
auto nest(T& value, Make& make) {
  return Nest<T, Make>::of(value, make);
}
template <typename T, typename Make>
using Nested = decltype(nest(std::declval<T&>(), std::declval<Make&>()));

template <typename... T, typename Make>
struct Nest<std::tuple<T...>, Make> {
  static auto of(std::tuple<T...>& value, Make& make) {
    return std::apply([&](T&... part) { return std::tuple<Nested<T, Make>...>{nest(part, make)...}; }, value);
  }
};
template <typename A, typename B, typename Make>
struct Nest<std::pair<A, B>, Make> {
  static auto of(std::pair<A, B>& value, Make& make) {
    return std::pair<Nested<A, Make>, Nested<B, Make>>{nest(value.first, make), nest(value.second, make)};
  }
};
template <typename T, size_t N, typename Make>
struct Nest<std::array<T, N>, Make> {
  static auto of(std::array<T, N>& value, Make& make) {
    std::array<Nested<T, Make>, N> result;
    for (size_t i = 0; i < N; ++i) result[i] = nest(value[i], make);
    return result;
  }
};
template <typename T, typename Make>
struct Nest<std::vector<T>, Make> {
  static auto of(std::vector<T>& value, Make& make) {
    std::vector<Nested<T, Make>> result;
    for (T& part : value) result.push_back(nest(part, make));
    return result;
  }
};
template <typename T, typename Make>
struct Nest<std::optional<T>, Make> {
  static auto of(std::optional<T>& value, Make& make) {
    std::optional<Nested<T, Make>> result;
    if (value.has_value()) result.emplace(nest(*value, make));
    return result;
  }
};
// std::map and its like, OrderedDict.
template <template <typename...> typename Map, typename Key, typename T, typename... Rest, typename Make>
requires requires(Map<Key, T, Rest...>& map) { map.begin()->first; } || requires(Map<Key, T, Rest...>& map) { map.begin()->key(); }
struct Nest<Map<Key, T, Rest...>, Make> {
  static auto of(Map<Key, T, Rest...>& value, Make& make) {
    Map<Key, Nested<T, Make>> result;
    for (auto& entry : value) {
      if constexpr (requires { entry.key(); }) {
        result.insert(entry.key(), nest(entry.value(), make));
      } else {
        result.emplace(entry.first, nest(entry.second, make));
      }
    }
    return result;
  }
};

}  // namespace torch::func::detail

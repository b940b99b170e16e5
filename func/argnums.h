// Which arguments of a function derivatives are taken by.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "c10/util/exception.h"

namespace torch::func {

/// Positions of arguments, from the end where they are negative. With one position a transform returns what stands for that
/// argument, with several a tuple of these. Positions known at run time, an integer or a std::vector<int64_t> of them, do as
/// well where all arguments have one type; several then return a vector.
///
///   grad(f, argnums<0, 2>)(x, y, z)     // std::tuple of two gradients
///   grad(f, 1)(x, y)                    // one gradient, of y's type
template <int64_t... Position>
struct Argnums {};
template <int64_t... Position>
inline constexpr Argnums<Position...> argnums{};

namespace detail {

/// Position counted from 0. Throws Error for one that `count` arguments do not have.
size_t checked_argnum(int64_t position, size_t count);
/// The same of several. Throws Error where there is none, or one is there twice.
std::vector<size_t> checked_argnums(const std::vector<int64_t>& positions, size_t count);

template <int64_t Position, size_t Count>
constexpr size_t argnum_place() {
  constexpr int64_t from_start = Position < 0 ? Position + static_cast<int64_t>(Count) : Position;
  static_assert(from_start >= 0 && from_start < static_cast<int64_t>(Count), "argnums: the function is not called with so many arguments");
  return static_cast<size_t>(from_start);
}

/// get() copies the chosen arguments out of all, put() writes them back.
template <typename A>
struct Selection;

template <int64_t Position>
struct Selection<Argnums<Position>> {
  template <typename... T>
  static auto get(const Argnums<Position>&, const std::tuple<T...>& args) {
    return std::get<argnum_place<Position, sizeof...(T)>()>(args);
  }
  template <typename S, typename... T>
  static void put(const Argnums<Position>&, const S& chosen, std::tuple<T...>& args) {
    std::get<argnum_place<Position, sizeof...(T)>()>(args) = chosen;
  }
};

template <int64_t First, int64_t Second, int64_t... Rest>
struct Selection<Argnums<First, Second, Rest...>> {
  using Chosen = Argnums<First, Second, Rest...>;
  template <typename... T>
  static auto get(const Chosen&, const std::tuple<T...>& args) {
    constexpr std::array places{argnum_place<First, sizeof...(T)>(), argnum_place<Second, sizeof...(T)>(),
                                argnum_place<Rest, sizeof...(T)>()...};
    static_assert(distinct(places), "argnums elements must be unique");
    return std::make_tuple(std::get<argnum_place<First, sizeof...(T)>()>(args),
                           std::get<argnum_place<Second, sizeof...(T)>()>(args),
                           std::get<argnum_place<Rest, sizeof...(T)>()>(args)...);
  }
  template <typename S, typename... T>
  static void put(const Chosen&, const S& chosen, std::tuple<T...>& args) {
    std::tie(std::get<argnum_place<First, sizeof...(T)>()>(args), std::get<argnum_place<Second, sizeof...(T)>()>(args),
             std::get<argnum_place<Rest, sizeof...(T)>()>(args)...) = chosen;
  }

 private:
  template <size_t N>
  static constexpr bool distinct(const std::array<size_t, N>& places) {
    for (size_t i = 0; i < N; ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (places[i] == places[j]) return false;
      }
    }
    return true;
  }
};

template <typename First, typename... T>
std::array<First*, 1 + sizeof...(T)> addresses(std::tuple<First, T...>& args) {
  static_assert((std::is_same_v<First, T> && ...),
                "argnums that are known at run time need arguments of one type; write argnums<0, 1> for others");
  return std::apply([](auto&... element) { return std::array<First*, 1 + sizeof...(T)>{&element...}; }, args);
}

template <std::integral Position>
struct Selection<Position> {
  template <typename... T>
  static auto get(Position position, std::tuple<T...>& args) {
    return *addresses(args)[checked_argnum(position, sizeof...(T))];
  }
  template <typename S, typename... T>
  static void put(Position position, const S& chosen, std::tuple<T...>& args) {
    *addresses(args)[checked_argnum(position, sizeof...(T))] = chosen;
  }
};

template <>
struct Selection<std::vector<int64_t>> {
  template <typename First, typename... T>
  static auto get(const std::vector<int64_t>& positions, std::tuple<First, T...>& args) {
    const auto all = addresses(args);
    std::vector<First> chosen;
    for (const size_t place : checked_argnums(positions, all.size())) chosen.push_back(*all[place]);
    return chosen;
  }
  template <typename S, typename... T>
  static void put(const std::vector<int64_t>& positions, const S& chosen, std::tuple<T...>& args) {
    const auto all = addresses(args);
    const std::vector<size_t> places = checked_argnums(positions, all.size());
    for (size_t i = 0; i < places.size(); ++i) *all[places[i]] = chosen[i];
  }
};

}  // namespace detail
}  // namespace torch::func

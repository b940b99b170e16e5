// `for (auto i : c10::irange(n))` and `irange(begin, end)`: the values in [begin, end); a reversed range is empty.
#pragma once

#include <type_traits>

namespace c10 {

template <typename I>
struct integer_range {
  struct iterator {
    I value;
    constexpr I operator*() const { return value; }
    constexpr iterator& operator++() {
      ++value;
      return *this;
    }
    constexpr bool operator==(const iterator&) const = default;
  };
  I first;
  I last;
  constexpr iterator begin() const { return {first}; }
  constexpr iterator end() const { return {last}; }
};

template <typename I>
requires std::is_integral_v<I>
constexpr integer_range<I> irange(I end) {
  return {I(0), end > I(0) ? end : I(0)};
}

template <typename B, typename E>
requires(std::is_integral_v<B>&& std::is_integral_v<E>) constexpr integer_range<E> irange(B begin, E end) {
  const E first = static_cast<E>(begin);
  return {first, end > first ? end : first};
}

}  // namespace c10

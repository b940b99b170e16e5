// One of two values, as libtorch 1.13 has it.
//
//   c10::either<int, std::string> e = c10::make_left<int, std::string>(3);
//   e.is_left();                                                                    // true
//   e.fold<size_t>([](int x) { return size_t(x); }, [](auto& s) { return s.size(); });  // 3
#pragma once

#include <utility>
#include <variant>

#include "c10/util/exception.h"

namespace c10 {

template <class Left, class Right>
class either final {
 public:
  template <class T>
  requires(std::is_convertible_v<T, Left> && !std::is_convertible_v<T, Right>) either(T&& left)
      : value_(std::in_place_index<0>, std::forward<T>(left)) {}
  template <class T>
  requires(std::is_convertible_v<T, Right> && !std::is_convertible_v<T, Left>) either(T&& right)
      : value_(std::in_place_index<1>, std::forward<T>(right)) {}

  bool is_left() const noexcept { return value_.index() == 0; }
  bool is_right() const noexcept { return value_.index() == 1; }

  /// Throw c10::Error where it is the other one.
  const Left& left() const& { return get<0>("left"); }
  Left& left() & { return const_cast<Left&>(get<0>("left")); }
  Left&& left() && { return std::move(const_cast<Left&>(get<0>("left"))); }
  const Right& right() const& { return get<1>("right"); }
  Right& right() & { return const_cast<Right&>(get<1>("right")); }
  Right&& right() && { return std::move(const_cast<Right&>(get<1>("right"))); }

  template <class Result, class OfLeft, class OfRight>
  Result fold(OfLeft&& of_left, OfRight&& of_right) const {
    return is_left() ? std::forward<OfLeft>(of_left)(left()) : std::forward<OfRight>(of_right)(right());
  }

  bool operator==(const either&) const = default;

 private:
  template <class L, class R, class... Args>
  friend either<L, R> make_left(Args&&... args);
  template <class L, class R, class... Args>
  friend either<L, R> make_right(Args&&... args);
  explicit either(std::variant<Left, Right> value) : value_(std::move(value)) {}

  template <size_t i>
  const auto& get(const char* which) const {
    TORCH_CHECK(value_.index() == i, "Tried to get ", which, " value of an either which is ",
                i == 0 ? "right" : "left");
    return std::get<i>(value_);
  }

  std::variant<Left, Right> value_;
};

template <class Left, class Right, class... Args>
either<Left, Right> make_left(Args&&... args) {
  return either<Left, Right>(std::variant<Left, Right>(std::in_place_index<0>, std::forward<Args>(args)...));
}
template <class Left, class Right, class... Args>
either<Left, Right> make_right(Args&&... args) {
  return either<Left, Right>(std::variant<Left, Right>(std::in_place_index<1>, std::forward<Args>(args)...));
}

}  // namespace c10

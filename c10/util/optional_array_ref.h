// OptionalArrayRef<X>: an ArrayRef or nothing, for arguments such as `OptionalIntArrayRef dim`.
#pragma once

#include <initializer_list>
#include <type_traits>

#include "c10/util/array_ref.h"
#include "c10/util/optional.h"

namespace c10 {

template <typename X>
class OptionalArrayRef final {
 public:
  constexpr OptionalArrayRef() noexcept = default;
  constexpr OptionalArrayRef(std::nullopt_t) noexcept {}
  OptionalArrayRef(const OptionalArrayRef&) = default;
  OptionalArrayRef& operator=(const OptionalArrayRef&) = default;
  OptionalArrayRef(const std::optional<ArrayRef<X>>& other) noexcept : wrapped_(other) {}
  template <typename C>
  OptionalArrayRef(const std::optional<std::vector<C>>& other)
      : wrapped_(other ? std::optional<ArrayRef<X>>(*other) : std::nullopt) {}
  template <typename U = ArrayRef<X>>
  requires(!std::is_same_v<std::decay_t<U>, OptionalArrayRef> && !std::is_same_v<std::decay_t<U>, std::in_place_t> &&
           std::is_constructible_v<ArrayRef<X>, U&&> && std::is_convertible_v<U&&, ArrayRef<X>> &&
           !std::is_convertible_v<U&&, X>) constexpr OptionalArrayRef(U&& value) noexcept
      : wrapped_(std::in_place, std::forward<U>(value)) {}
  // One element. Lives as long as the full expression.
  constexpr OptionalArrayRef(const X& one) noexcept : wrapped_(std::in_place, one) {}
  constexpr OptionalArrayRef(const std::initializer_list<X>& list) noexcept : wrapped_(std::in_place, list) {}
  constexpr OptionalArrayRef(const X* data, size_t length) noexcept : wrapped_(std::in_place, data, length) {}

  constexpr const ArrayRef<X>* operator->() const noexcept { return wrapped_.operator->(); }
  constexpr const ArrayRef<X>& operator*() const noexcept { return *wrapped_; }
  constexpr explicit operator bool() const noexcept { return wrapped_.has_value(); }
  constexpr bool has_value() const noexcept { return wrapped_.has_value(); }
  constexpr const ArrayRef<X>& value() const { return wrapped_.value(); }
  constexpr ArrayRef<X> value_or(ArrayRef<X> otherwise) const { return wrapped_.value_or(otherwise); }
  // Puts an ArrayRef made from the arguments in place and returns it.
  template <typename... Args>
    requires std::is_constructible_v<ArrayRef<X>, Args&&...>
  constexpr ArrayRef<X>& emplace(Args&&... args) noexcept(std::is_nothrow_constructible_v<ArrayRef<X>, Args&&...>) {
    return wrapped_.emplace(std::forward<Args>(args)...);
  }
  // The list has to outlive what is put in place.
  constexpr ArrayRef<X>& emplace(const std::initializer_list<X>& list) noexcept { return wrapped_.emplace(list); }
  void reset() noexcept { wrapped_.reset(); }
  void swap(OptionalArrayRef& other) noexcept { std::swap(wrapped_, other.wrapped_); }

 private:
  std::optional<ArrayRef<X>> wrapped_;
};

using OptionalIntArrayRef = OptionalArrayRef<int64_t>;

template <typename X>
bool operator==(const OptionalArrayRef<X>& a, const ArrayRef<X>& b) noexcept {
  return a.has_value() && *a == b;
}

}  // namespace c10

namespace at {
using c10::OptionalIntArrayRef;
}

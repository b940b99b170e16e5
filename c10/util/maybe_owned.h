// MaybeOwned<T>: a T, or a T that somebody else keeps. What a function returns that may have had nothing to do.
//
//   c10::MaybeOwned<at::Tensor> y = x.expect_contiguous();      // borrowed where x is contiguous
//   read(y->data_ptr<float>());
//
// A borrowed one must not outlive what it borrows.
#pragma once

#include <type_traits>
#include <utility>

#include "c10/util/in_place.h"

namespace c10 {

template <class T>
class MaybeOwned final {
 public:
  /// Owns a default T.
  MaybeOwned() noexcept(std::is_nothrow_default_constructible_v<T>) : own_() {}
  static MaybeOwned borrowed(const T& t) { return MaybeOwned(&t); }
  static MaybeOwned owned(T&& t) noexcept(std::is_nothrow_move_constructible_v<T>) { return MaybeOwned(std::move(t)); }
  /// Owns a T made of the arguments.
  template <class... Args>
  static MaybeOwned owned(in_place_t, Args&&... args) {
    return MaybeOwned(T(std::forward<Args>(args)...));
  }

  /// A copy borrows what is borrowed, and copies what is owned.
  MaybeOwned(const MaybeOwned& other) : borrowed_(other.borrowed_) {
    if (other.is_owned()) own_ = other.own_;
  }
  MaybeOwned(MaybeOwned&& other) noexcept(std::is_nothrow_move_constructible_v<T>)
      : borrowed_(other.borrowed_), own_(std::move(other.own_)) {}
  MaybeOwned& operator=(const MaybeOwned& other) {
    if (this == &other) return *this;
    own_ = other.is_owned() ? other.own_ : T();
    borrowed_ = other.borrowed_;
    return *this;
  }
  MaybeOwned& operator=(MaybeOwned&& other) noexcept(std::is_nothrow_move_assignable_v<T>) {
    if (this == &other) return *this;
    own_ = std::move(other.own_);
    borrowed_ = other.borrowed_;
    return *this;
  }

  const T& operator*() const& { return borrowed_ != nullptr ? *borrowed_ : own_; }
  const T* operator->() const { return &**this; }
  /// The value itself: moved out of an owner, copied from where it is borrowed.
  T operator*() && { return borrowed_ != nullptr ? *borrowed_ : std::move(own_); }
  bool unsafeIsBorrowed() const { return borrowed_ != nullptr; }

 private:
  explicit MaybeOwned(const T* borrowed) : borrowed_(borrowed) {}
  explicit MaybeOwned(T&& own) : own_(std::move(own)) {}
  bool is_owned() const { return borrowed_ == nullptr; }

  const T* borrowed_ = nullptr;
  T own_{};
};

}  // namespace c10

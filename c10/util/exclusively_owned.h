// ExclusivelyOwned<T>: a T that nobody else has.
#pragma once

#include <utility>

#include "c10/util/in_place.h"

namespace c10 {

template <class T>
class ExclusivelyOwned {
 public:
  ExclusivelyOwned() = default;
  explicit ExclusivelyOwned(T&& value) : value_(std::move(value)) {}
  template <class... Args>
  explicit ExclusivelyOwned(in_place_t, Args&&... args) : value_(std::forward<Args>(args)...) {}
  ExclusivelyOwned(const ExclusivelyOwned&) = delete;
  ExclusivelyOwned& operator=(const ExclusivelyOwned&) = delete;
  ExclusivelyOwned(ExclusivelyOwned&&) noexcept = default;
  ExclusivelyOwned& operator=(ExclusivelyOwned&&) noexcept = default;
  ExclusivelyOwned& operator=(T&& value) {
    value_ = std::move(value);
    return *this;
  }
  T& operator*() { return value_; }
  const T& operator*() const { return value_; }
  T* operator->() { return &value_; }
  const T* operator->() const { return &value_; }
  T* get() { return &value_; }
  const T* get() const { return &value_; }
  explicit operator bool() const { return static_cast<bool>(value_); }
  /// Takes the value out.
  T take() && { return std::move(value_); }

 private:
  T value_{};
};

}  // namespace c10

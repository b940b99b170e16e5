#pragma once

#include <utility>

/// An option of an options struct: a member with a fluent setter and a getter.
///
///   struct LinearOptions {
///     TORCH_ARG(int64_t, in_features);
///     TORCH_ARG(bool, bias) = true;
///   };
///   LinearOptions().bias(false).bias()   // false
///
/// Both setters assign by moving: assigning variants and lists by copying would cost each program time to compile.
#define TORCH_ARG(T, name)                          \
 public:                                            \
  inline auto name(const T& new_##name)->decltype(*this) { \
    this->name##_ = static_cast<T>(new_##name);     \
    return *this;                                   \
  }                                                 \
  inline auto name(T&& new_##name)->decltype(*this) { \
    this->name##_ = std::move(new_##name);          \
    return *this;                                   \
  }                                                 \
  inline const T& name() const noexcept { return this->name##_; } \
  inline T& name() noexcept { return this->name##_; } \
                                                    \
 private:                                           \
  T name##_ /* NOLINT */

// SymInt, SymFloat and SymBool: the types of sizes and flags in newer signatures. Here they hold plain numbers; a program is
// captured with dynamic shapes without them.
//
//   c10::SymInt n = 3;
//   n * 2 == 6;  n.is_symbolic();  // true, false
//   int64_t plain = n.guard_int(__FILE__, __LINE__);
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "c10/util/array_ref.h"
#include "c10/util/exception.h"
#include "c10/util/text_stream.h"

namespace c10 {

class SymFloat;

// A truth value.
class SymBool {
 public:
  constexpr SymBool() = default;
  constexpr SymBool(bool value) : value_(value) {}
  constexpr bool plain() const { return value_; }
  constexpr bool is_symbolic() const { return false; }
  constexpr bool is_heap_allocated() const { return false; }
  constexpr bool expect_bool() const { return value_; }
  constexpr bool as_bool_unchecked() const { return value_; }
  constexpr bool guard_bool(const char*, int64_t) const { return value_; }
  constexpr bool expect_true(const char*, int64_t) const { return value_; }
  constexpr bool guard_size_oblivious(const char*, int64_t) const { return value_; }
  constexpr bool guard_or_false(const char*, int64_t) const { return value_; }
  constexpr bool guard_or_true(const char*, int64_t) const { return value_; }
  constexpr std::optional<bool> maybe_as_bool() const { return value_; }
  constexpr bool has_hint() const { return true; }
  constexpr SymBool sym_and(const SymBool& other) const { return value_ && other.value_; }
  constexpr SymBool sym_or(const SymBool& other) const { return value_ || other.value_; }
  constexpr SymBool sym_not() const { return !value_; }
  constexpr SymBool operator&(const SymBool& other) const { return sym_and(other); }
  constexpr SymBool operator|(const SymBool& other) const { return sym_or(other); }
  constexpr SymBool operator~() const { return sym_not(); }
  SymBool operator||(const SymBool& other) const { return sym_or(other); }
  friend constexpr bool operator==(const SymBool& a, const SymBool& b) { return a.value_ == b.value_; }

 private:
  bool value_ = false;
};

// An integer. Arithmetic is that of int64_t, with SymInt and any integer.
class SymInt {
 public:
  constexpr SymInt() = default;
  constexpr SymInt(int64_t value) : value_(value) {}
  constexpr int64_t plain() const { return value_; }
  constexpr bool is_symbolic() const { return false; }
  constexpr bool is_heap_allocated() const { return false; }
  constexpr int64_t expect_int() const { return value_; }
  constexpr int64_t as_int_unchecked() const { return value_; }
  constexpr int64_t guard_int(const char*, int64_t) const { return value_; }
  constexpr bool expect_size(const char*, int64_t) const { return value_ >= 0; }
  constexpr std::optional<int64_t> maybe_as_int() const { return value_; }
  constexpr bool has_hint() const { return true; }
  constexpr SymInt clone() const { return *this; }
  constexpr SymInt min(const SymInt& other) const { return value_ < other.value_ ? *this : other; }
  constexpr SymInt max(const SymInt& other) const { return value_ > other.value_ ? *this : other; }
  constexpr operator SymFloat() const;

  constexpr SymInt operator-() const { return -value_; }
  constexpr SymInt operator+() const { return *this; }
#define KD_ARITHMETIC_(op)                                                                            \
  friend constexpr SymInt operator op(const SymInt& a, const SymInt& b) { return a.value_ op b.value_; } \
  constexpr SymInt& operator op##=(const SymInt& other) { return *this = *this op other; }
  KD_ARITHMETIC_(+)
  KD_ARITHMETIC_(-)
  KD_ARITHMETIC_(*)
#undef KD_ARITHMETIC_
  // Throw ValueError for 0.
  friend constexpr SymInt operator/(const SymInt& a, const SymInt& b) { return a.value_ / b.divisor(); }
  friend constexpr SymInt operator%(const SymInt& a, const SymInt& b) { return a.value_ % b.divisor(); }
  constexpr SymInt& operator/=(const SymInt& other) { return *this = *this / other; }
  constexpr SymInt& operator%=(const SymInt& other) { return *this = *this % other; }
#define KD_COMPARISON_(op, name)                                                                       \
  friend constexpr bool operator op(const SymInt& a, const SymInt& b) { return a.value_ op b.value_; } \
  constexpr SymBool name(const SymInt& other) const { return value_ op other.value_; }
  KD_COMPARISON_(==, sym_eq)
  KD_COMPARISON_(!=, sym_ne)
  KD_COMPARISON_(<, sym_lt)
  KD_COMPARISON_(<=, sym_le)
  KD_COMPARISON_(>, sym_gt)
  KD_COMPARISON_(>=, sym_ge)
#undef KD_COMPARISON_

 private:
  constexpr int64_t divisor() const {
    TORCH_CHECK_VALUE(value_ != 0, "SymInt: division by zero");
    return value_;
  }
  int64_t value_ = 0;
};

// A floating-point number.
class SymFloat {
 public:
  constexpr SymFloat() = default;
  constexpr SymFloat(double value) : value_(value) {}
  constexpr double plain() const { return value_; }
  constexpr bool is_symbolic() const { return false; }
  constexpr double expect_float() const { return value_; }
  constexpr double as_float_unchecked() const { return value_; }
  constexpr double guard_float(const char*, int64_t) const { return value_; }
  constexpr std::optional<double> maybe_as_float() const { return value_; }
  constexpr bool has_hint() const { return true; }
  constexpr SymFloat min(const SymFloat& other) const { return value_ < other.value_ ? *this : other; }
  constexpr SymFloat max(const SymFloat& other) const { return value_ > other.value_ ? *this : other; }
  constexpr SymFloat operator-() const { return -value_; }
#define KD_ARITHMETIC_(op)                                                                                   \
  friend constexpr SymFloat operator op(const SymFloat& a, const SymFloat& b) { return a.value_ op b.value_; } \
  constexpr SymFloat& operator op##=(const SymFloat& other) { return *this = *this op other; }
  KD_ARITHMETIC_(+)
  KD_ARITHMETIC_(-)
  KD_ARITHMETIC_(*)
  KD_ARITHMETIC_(/)
#undef KD_ARITHMETIC_
#define KD_COMPARISON_(op, name)                                                                           \
  friend constexpr bool operator op(const SymFloat& a, const SymFloat& b) { return a.value_ op b.value_; } \
  constexpr SymBool name(const SymFloat& other) const { return value_ op other.value_; }
  KD_COMPARISON_(==, sym_eq)
  KD_COMPARISON_(!=, sym_ne)
  KD_COMPARISON_(<, sym_lt)
  KD_COMPARISON_(<=, sym_le)
  KD_COMPARISON_(>, sym_gt)
  KD_COMPARISON_(>=, sym_ge)
#undef KD_COMPARISON_

 private:
  double value_ = 0;
};

constexpr SymInt::operator SymFloat() const { return SymFloat(static_cast<double>(value_)); }

static_assert(sizeof(SymInt) == sizeof(int64_t) && std::is_trivially_copyable_v<SymInt>);

using SymIntArrayRef = ArrayRef<SymInt>;

// Sizes as plain integers. A SymInt is one int64_t, so nothing is copied.
inline ArrayRef<int64_t> asIntArrayRefUnchecked(SymIntArrayRef sizes) {
  return {reinterpret_cast<const int64_t*>(sizes.data()), sizes.size()};
}
inline ArrayRef<int64_t> asIntArrayRefSlow(SymIntArrayRef sizes, const char*, int64_t) { return asIntArrayRefUnchecked(sizes); }
#define C10_AS_INTARRAYREF_SLOW(sizes) ::c10::asIntArrayRefSlow(sizes, __FILE__, __LINE__)
#define C10_AS_INTARRAYREF_SLOW_ALLOC(sizes) ::c10::asIntArrayRefSlow(sizes, __FILE__, __LINE__)
inline std::optional<ArrayRef<int64_t>> asIntArrayRefSlowOpt(SymIntArrayRef sizes) { return asIntArrayRefUnchecked(sizes); }
inline SymIntArrayRef fromIntArrayRefUnchecked(ArrayRef<int64_t> sizes) {
  return {reinterpret_cast<const SymInt*>(sizes.data()), sizes.size()};
}
inline SymIntArrayRef fromIntArrayRefKnownNonNegative(ArrayRef<int64_t> sizes) { return fromIntArrayRefUnchecked(sizes); }
// Throws for a negative size.
inline SymIntArrayRef fromIntArrayRefSlow(ArrayRef<int64_t> sizes) {
  for (const int64_t size : sizes) TORCH_CHECK(size >= 0, "IntArrayRef contains a negative size ", size);
  return fromIntArrayRefUnchecked(sizes);
}

template <TextStream Stream, SameType<SymInt> X>
Stream& operator<<(Stream& out, const X& value) {
  out << value.plain();
  return out;
}
template <TextStream Stream, SameType<SymFloat> X>
Stream& operator<<(Stream& out, const X& value) {
  out << value.plain();
  return out;
}
template <TextStream Stream, SameType<SymBool> X>
Stream& operator<<(Stream& out, const X& value) {
  out << value.plain();
  return out;
}

}  // namespace c10

namespace at {
using c10::SymBool;
using c10::SymFloat;
using c10::SymInt;
using c10::SymIntArrayRef;
}  // namespace at

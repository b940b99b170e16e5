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

namespace detail {

// What all three are: one plain value.
template <class Value>
class SymValue {
 public:
  constexpr SymValue() = default;
  constexpr SymValue(Value value) : value_(value) {}
  constexpr Value plain() const { return value_; }
  constexpr bool is_symbolic() const { return false; }
  constexpr bool is_heap_allocated() const { return false; }
  constexpr bool has_hint() const { return true; }

 protected:
  constexpr std::optional<Value> maybe() const { return value_; }
  Value value_{};
};

}  // namespace detail

// A truth value.
class SymBool : public detail::SymValue<bool> {
 public:
  using SymValue::SymValue;
  constexpr bool expect_bool() const { return value_; }
  constexpr bool as_bool_unchecked() const { return value_; }
  constexpr bool guard_bool(const char*, int64_t) const { return value_; }
  constexpr bool expect_true(const char*, int64_t) const { return value_; }
  constexpr bool guard_size_oblivious(const char*, int64_t) const { return value_; }
  constexpr bool guard_or_false(const char*, int64_t) const { return value_; }
  constexpr bool guard_or_true(const char*, int64_t) const { return value_; }
  constexpr std::optional<bool> maybe_as_bool() const { return maybe(); }
  constexpr SymBool sym_and(const SymBool& other) const { return value_ && other.value_; }
  constexpr SymBool sym_or(const SymBool& other) const { return value_ || other.value_; }
  constexpr SymBool sym_not() const { return !value_; }
  constexpr SymBool operator&(const SymBool& other) const { return sym_and(other); }
  constexpr SymBool operator|(const SymBool& other) const { return sym_or(other); }
  constexpr SymBool operator~() const { return sym_not(); }
  SymBool operator||(const SymBool& other) const { return sym_or(other); }
  friend constexpr bool operator==(const SymBool& a, const SymBool& b) { return a.value_ == b.value_; }
};

namespace detail {

// The operators of numbers, between two of them and whatever converts to one.
template <class Sym, class Value>
class SymNumber : public SymValue<Value> {
 public:
  using SymValue<Value>::SymValue;
  constexpr Sym min(const Sym& other) const { return *this < other ? self() : other; }
  constexpr Sym max(const Sym& other) const { return *this > other ? self() : other; }
  constexpr Sym operator-() const { return -this->value_; }
  constexpr Sym operator+() const { return self(); }
#define KD_ARITHMETIC_(op, right)                                                                       \
  friend constexpr Sym operator op(const Sym& a, const Sym& b) { return a.plain() op right(b.plain()); } \
  constexpr Sym& operator op##=(const Sym& other) { return static_cast<Sym&>(*this) = self() op other; }
  KD_ARITHMETIC_(+, )
  KD_ARITHMETIC_(-, )
  KD_ARITHMETIC_(*, )
  KD_ARITHMETIC_(/, divisor)
#undef KD_ARITHMETIC_
#define KD_COMPARISON_(op, name)                                                                   \
  friend constexpr bool operator op(const Sym& a, const Sym& b) { return a.plain() op b.plain(); } \
  constexpr SymBool name(const Sym& other) const { return self() op other; }
  KD_COMPARISON_(==, sym_eq)
  KD_COMPARISON_(!=, sym_ne)
  KD_COMPARISON_(<, sym_lt)
  KD_COMPARISON_(<=, sym_le)
  KD_COMPARISON_(>, sym_gt)
  KD_COMPARISON_(>=, sym_ge)
#undef KD_COMPARISON_

 protected:
  // Throws ValueError for the integer 0.
  static constexpr Value divisor(Value value) {
    if constexpr (std::is_integral_v<Value>) TORCH_CHECK_VALUE(value != 0, "SymInt: division by zero");
    return value;
  }

 private:
  constexpr const Sym& self() const { return static_cast<const Sym&>(*this); }
};

}  // namespace detail

// An integer. Arithmetic is that of int64_t, with SymInt and any integer; division by 0 throws ValueError.
class SymInt : public detail::SymNumber<SymInt, int64_t> {
 public:
  using SymNumber::SymNumber;
  constexpr int64_t expect_int() const { return value_; }
  constexpr int64_t as_int_unchecked() const { return value_; }
  constexpr int64_t guard_int(const char*, int64_t) const { return value_; }
  constexpr bool expect_size(const char*, int64_t) const { return value_ >= 0; }
  constexpr std::optional<int64_t> maybe_as_int() const { return maybe(); }
  constexpr SymInt clone() const { return *this; }
  constexpr operator SymFloat() const;
  friend constexpr SymInt operator%(const SymInt& a, const SymInt& b) { return a.value_ % divisor(b.value_); }
  constexpr SymInt& operator%=(const SymInt& other) { return *this = *this % other; }
};

// A floating-point number.
class SymFloat : public detail::SymNumber<SymFloat, double> {
 public:
  using SymNumber::SymNumber;
  constexpr double expect_float() const { return value_; }
  constexpr double as_float_unchecked() const { return value_; }
  constexpr double guard_float(const char*, int64_t) const { return value_; }
  constexpr std::optional<double> maybe_as_float() const { return maybe(); }
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

template <TextStream Stream, class X>
  requires(SameType<X, SymInt> || SameType<X, SymFloat> || SameType<X, SymBool>)
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

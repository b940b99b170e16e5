// Text building without streams: `c10::str(parts...)` and friends.
//
// A part may be text, a character, a bool, a number, an enum or class with a `to_text(std::string&, const X&)` overload
// found by argument-dependent lookup, or a range-like ArrayRef/vector ("[1, 2]"). Numbers print as a C++ stream prints
// them: floating-point values with six significant digits (%g), bool as 0 or 1.
//
// Any other type is written by its operator<< for std::ostream.
//
//   std::string s = c10::str("expected ", 2, " but got ", sizes);
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "c10/macros/macros.h"

namespace c10 {

namespace detail {
void append_i64(std::string& out, int64_t value);
void append_u64(std::string& out, uint64_t value);
void append_double(std::string& out, double value);
void append_pointer(std::string& out, const void* value);
// What `print` writes. In a source file of its own: only programs with such types link streams.
void append_streamed(std::string& out, void (*print)(std::ostream& stream, const void* value), const void* value);

template <typename X>
void append_part(std::string& out, const X& value);

template <typename It>
void append_range(std::string& out, It first, It last) {
  out += '[';
  for (bool start = true; first != last; ++first, start = false) {
    if (!start) out += ", ";
    append_part(out, *first);
  }
  out += ']';
}

template <typename X>
void append_part(std::string& out, const X& value) {
  using D = std::decay_t<X>;
  // Only classes and enums have a to_text of their own: what numbers and texts convert to implicitly must not capture
  // them.
  constexpr bool kText = std::is_convertible_v<const X&, std::string_view>;
  if constexpr ((std::is_class_v<D> || std::is_enum_v<D>)&&!kText && requires { to_text(out, value); }) {
    to_text(out, value);
  } else if constexpr (std::is_same_v<D, char>) {
    out += value;
  } else if constexpr (std::is_same_v<D, signed char> || std::is_same_v<D, unsigned char>) {
    out += static_cast<char>(value);
  } else if constexpr (kText) {
    if constexpr (std::is_pointer_v<std::remove_reference_t<X>>) {
      out += value == nullptr ? std::string_view("(null)") : std::string_view(value);
    } else {
      out += std::string_view(value);
    }
  } else if constexpr (std::is_floating_point_v<D>) {
    append_double(out, static_cast<double>(value));
  } else if constexpr (std::is_enum_v<D>) {
    append_i64(out, static_cast<int64_t>(value));
  } else if constexpr (std::is_integral_v<D> && std::is_unsigned_v<D>) {
    append_u64(out, value);
  } else if constexpr (std::is_integral_v<D>) {
    append_i64(out, value);
  } else if constexpr (std::is_pointer_v<D>) {
    append_pointer(out, value);
  } else if constexpr (requires { value.begin() != value.end(); }) {
    append_range(out, value.begin(), value.end());
  } else if constexpr (requires {
                         static_cast<bool>(value);
                         *value;
                       }) {
    if (value) {
      append_part(out, *value);
    } else {
      out += "nullopt";
    }
  } else if constexpr (requires { static_cast<float>(value); }) {
    append_double(out, static_cast<double>(static_cast<float>(value)));
  } else {
    append_streamed(out, [](std::ostream& stream, const void* v) { stream << *static_cast<const X*>(v); }, &value);
  }
}

// Parts travel as 64-bit words to one function, so that building a text costs its caller little more than storing them: a
// letter for each says how to read it back. (Not as C's variable arguments: clang merges the ends of blocks that push
// different numbers of them, and its unwind tables then lead an exception astray.)
//   s const char*   t const std::string*   v begin, size   c char   i int64_t   u uint64_t   x value, its append function
template <typename X>
void append_erased(std::string& out, const void* value) {
  append_part(out, *static_cast<const X*>(value));
}

template <typename X>
constexpr char part_letter() {
  using D = std::decay_t<X>;
  constexpr bool kOwnText = (std::is_class_v<D> || std::is_enum_v<D>)&&requires(std::string& out, const X& x) { to_text(out, x); };
  if constexpr (std::is_same_v<D, char*> || std::is_same_v<D, const char*>) {
    return 's';
  } else if constexpr (std::is_same_v<D, std::string>) {
    return 't';
  } else if constexpr (std::is_same_v<D, std::string_view>) {
    return 'v';
  } else if constexpr (std::is_same_v<D, char> || std::is_same_v<D, signed char> || std::is_same_v<D, unsigned char>) {
    return 'c';
  } else if constexpr (std::is_same_v<D, bool> || (std::is_integral_v<D> && std::is_unsigned_v<D>)) {
    return 'u';
  } else if constexpr (std::is_integral_v<D> || (std::is_enum_v<D> && !kOwnText)) {
    return 'i';
  } else {
    return 'x';
  }
}

template <typename X>
inline constexpr size_t kPartWords = part_letter<X>() == 'v' || part_letter<X>() == 'x' ? 2 : 1;

template <typename X>
C10_ALWAYS_INLINE void store_part(uint64_t*& words, const X& part) {
  constexpr char letter = part_letter<X>();
  if constexpr (letter == 's') {
    *words++ = reinterpret_cast<uintptr_t>(static_cast<const char*>(part));
  } else if constexpr (letter == 't') {
    *words++ = reinterpret_cast<uintptr_t>(&part);
  } else if constexpr (letter == 'v') {
    *words++ = reinterpret_cast<uintptr_t>(part.data());
    *words++ = part.size();
  } else if constexpr (letter == 'x') {
    *words++ = reinterpret_cast<uintptr_t>(__builtin_addressof(part));
    *words++ = reinterpret_cast<uintptr_t>(&append_erased<X>);
  } else {
    *words++ = static_cast<uint64_t>(part);
  }
}

template <typename... Parts>
struct StoredParts {
  uint64_t words[sizeof...(Parts) == 0 ? 1 : (kPartWords<Parts> + ... + 0)];
  C10_ALWAYS_INLINE explicit StoredParts(const Parts&... parts) {
    [[maybe_unused]] uint64_t* next = words;
    (store_part(next, parts), ...);
  }
};

template <typename... Parts>
inline constexpr char kPartLetters[] = {part_letter<Parts>()..., '\0'};

std::string concatenate(const char* letters, const uint64_t* words);
}  // namespace detail

// Concatenates the texts of all parts.
inline std::string str() {
  return {};
}
inline std::string str(std::string s) {
  return s;
}
inline std::string str(const char* s) {
  return s == nullptr ? "(null)" : s;
}
template <typename... Parts>
C10_ALWAYS_INLINE std::string str(const Parts&... parts) {
  return detail::concatenate(detail::kPartLetters<Parts...>, detail::StoredParts<Parts...>(parts...).words);
}

// The elements' texts with `delimiter` between them.
template <typename Container>
std::string Join(std::string_view delimiter, const Container& values) {
  std::string out;
  bool first = true;
  for (const auto& v : values) {
    if (!first) out += delimiter;
    first = false;
    detail::append_part(out, v);
  }
  return out;
}

// Replaces every occurrence of `from` (not empty) in `text` in place and returns how many there were.
size_t ReplaceAll(std::string& text, std::string_view from, std::string_view to);

// The part of a path after its last '/'.
std::string StripBasename(const std::string& full_path);

// Demangled form of a C++ ABI symbol or type name; the input itself where it cannot be demangled.
std::string demangle(const char* name);

// A place in the source.
struct SourceLocation {
  const char* function;
  const char* file;
  uint32_t line;
};
void to_text(std::string& out, const SourceLocation& location);

}  // namespace c10

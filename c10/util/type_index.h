// Types as values: an index that hashes and compares, and the type's name.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <type_traits>

namespace c10::util {

namespace detail {
template <class T>
constexpr std::string_view type_text() {
  constexpr std::string_view kText = __PRETTY_FUNCTION__;
  // "... type_text() [T = int]" (clang) and "... [with T = int; std::string_view = ...]" (gcc).
  constexpr size_t kStart = kText.find("T = ") + 4;
  constexpr size_t kSemicolon = kText.find(';', kStart);
  constexpr size_t kEnd = kSemicolon == std::string_view::npos ? kText.rfind(']') : kSemicolon;
  return kText.substr(kStart, kEnd - kStart);
}
constexpr uint64_t text_hash(std::string_view text) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}
}  // namespace detail

/// Equal for one type only.
struct type_index {
  constexpr explicit type_index(uint64_t checksum) : checksum_(checksum) {}
  constexpr uint64_t underlyingId() const { return checksum_; }
  constexpr auto operator<=>(const type_index&) const = default;

 private:
  uint64_t checksum_;
};

template <class T>
constexpr type_index get_type_index() {
  return type_index(detail::text_hash(detail::type_text<std::remove_cvref_t<T>>()));
}
/// "int", "std::vector<float>": as the compiler writes it.
template <class T>
constexpr std::string_view get_fully_qualified_type_name() noexcept {
  return detail::type_text<T>();
}

}  // namespace c10::util

namespace std {
template <>
struct hash<c10::util::type_index> {
  size_t operator()(c10::util::type_index index) const noexcept { return static_cast<size_t>(index.underlyingId()); }
};
}  // namespace std

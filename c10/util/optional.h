// libtorch's names for std::optional.
#pragma once

#include <optional>
#include <utility>

namespace c10 {
using std::bad_optional_access;
using std::in_place;
using std::make_optional;
using std::nullopt;
using std::nullopt_t;
using std::optional;

template <typename X, typename F>
constexpr X value_or_else(const std::optional<X>& value, F&& otherwise) {
  return value.has_value() ? *value : std::forward<F>(otherwise)();
}
}  // namespace c10

// The environment of the process.
#pragma once

#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "c10/util/exception.h"

namespace c10::utils {

/// The value of a variable; nothing where it is not set.
inline std::optional<std::string> get_env(const char* name) noexcept {
  const char* text = std::getenv(name);
  return text == nullptr ? std::nullopt : std::optional<std::string>(text);
}
inline bool has_env(const char* name) noexcept { return std::getenv(name) != nullptr; }
inline void set_env(const char* name, const char* value, bool overwrite = true) { ::setenv(name, value, overwrite); }
/// "1" and "0" as true and false; warns of another value and gives nothing, as where it is not set.
inline std::optional<bool> check_env(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  if (std::strcmp(text, "0") == 0) return false;
  if (std::strcmp(text, "1") == 0) return true;
  TORCH_WARN("Ignoring invalid value for boolean flag ", name, ": ", text, "valid values are 0 or 1.");
  return std::nullopt;
}

}  // namespace c10::utils

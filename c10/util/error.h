// The text of an errno.
#pragma once

#include <string>
#include <system_error>

namespace c10::utils {
inline std::string str_error(int errnum) { return std::generic_category().message(errnum); }
}  // namespace c10::utils

#include "utils/serialize/file_error.h"

#include <cerrno>
#include <cstring>
#include <utility>

namespace torch::serialize {

void throw_format_error(std::string message) {
  throw FormatError(c10::SourceLocation{__func__, __FILE__, __LINE__}, std::move(message));
}

void throw_open_error(const std::string& path) {
  const int number = errno;
  throw IoError(c10::SourceLocation{__func__, __FILE__, __LINE__},
                c10::str("open file failed because of errno ", number, " on fopen: ", std::strerror(number), ", file path: ",
                         path));
}

void throw_missing_folder(const std::string& folder) {
  throw IoError(c10::SourceLocation{__func__, __FILE__, __LINE__},
                c10::str("Parent directory ", folder, " does not exist."));
}

void throw_io_error(const char* action, const std::string& path) {
  const int number = errno;
  throw IoError(c10::SourceLocation{__func__, __FILE__, __LINE__},
                c10::str(action, " failed for ", path, ": ", std::strerror(number), " (errno ", number, ")"));
}

void check_path(const std::string& path) {
  const size_t end = path.find('\0');
  if (end == std::string::npos) return;
  throw IoError(c10::SourceLocation{__func__, __FILE__, __LINE__},
                c10::str("a path may not contain a NUL, but there is one behind \"", path.substr(0, end), "\""));
}

}  // namespace torch::serialize

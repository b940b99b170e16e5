// What goes wrong with files: IoError is the operating system's no, FormatError is a file that is not what it claims.
#pragma once

#include <string>

#include "c10/util/exception.h"

namespace torch::serialize {

// A file's bytes break the rules of its format: damaged, truncated or hostile.
class FormatError : public c10::Error {
  using Error::Error;
};

// The operating system refused: the message holds what was done, the path and the reason.
class IoError : public c10::Error {
  using Error::Error;
};

[[noreturn]] void throw_format_error(std::string message);
// Builds the message from `errno`: "open failed for /a/b: No such file or directory (errno 2)".
[[noreturn]] void throw_io_error(const char* action, const std::string& path);
// The same for a file that is to be read, in libtorch's words: "open file failed because of errno 2 on fopen: No such file or
// directory, file path: /a/b".
[[noreturn]] void throw_open_error(const std::string& path);
// "Parent directory /a does not exist.", of a file that is to be written.
[[noreturn]] void throw_missing_folder(const std::string& folder);
// Throws IoError for a path that the operating system would take for a shorter one: it ends paths at a NUL.
void check_path(const std::string& path);

}  // namespace torch::serialize

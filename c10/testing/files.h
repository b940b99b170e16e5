#pragma once

#include <string>
#include <string_view>

namespace c10::testing {

// A new empty folder below TEST_TMPDIR, else below /tmp. Throws std::system_error where it cannot be made.
std::string fresh_folder();

// The whole file; empty where it cannot be read.
std::string read_file(const std::string& path);

// Replaces the file. Throws std::system_error where it cannot be written.
void write_file(const std::string& path, std::string_view bytes);

}  // namespace c10::testing

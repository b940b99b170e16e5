// Command lines of the example programs: Abseil's flags, with every mistake said in one line before anything happens.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace examples {

struct CommandLine {
  std::set<std::string> given;       // names of the flags that were given
  std::vector<std::string> repeated;  // the values of the repeatable flag, in order
};

// Parses argv into the ABSL_FLAGs. `repeatable` names a flag that may come several times (its ABSL_FLAG is there for --help
// only). An unknown flag, a missing or bad value or a stray argument prints one line to stderr and exits with 1; --help (-h)
// prints `usage` and the flags of the program and exits with 0.
CommandLine parse_command_line(int argc, char** argv, const std::string& usage, const std::string& repeatable = "");

// Prints "PROGRAM: MESSAGE" as one line to stderr and exits with 1.
[[noreturn]] void fail(const std::string& message);

// What main returns: `status`, or 1 with one line to stderr where standard output could not be written (a full disk).
int finish(int status);

// A path as the user means it: relative ones count from where `bazel run` was called (BUILD_WORKING_DIRECTORY).
std::string user_path(const std::string& path);

// A data file of the program's target, found through Bazel's runfiles; empty where it is not there.
std::string runfile(const std::string& path_in_repository);

}  // namespace examples

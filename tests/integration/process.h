// Runs a program as a user would, for tests: arguments, what it prints, how it ends, signals at chosen moments.
#pragma once

#include <string>
#include <vector>

namespace integration {

struct Outcome {
  int exit_code = -1;  // -1: ended by `signal`
  int signal = 0;
  std::string out, err;
};

struct RunOptions {
  std::string folder{};         // BUILD_WORKING_DIRECTORY of the program, if not empty
  int signal = 0;               // sent after `after_ms`, unless it has ended by then
  int after_ms = 0;
  bool terminal = false;        // standard output is a terminal
  std::string output{};         // a file that is standard output instead of Outcome::out
  std::string signal_after{};   // the signal is sent when this was seen on standard output, instead of after a time
};

Outcome run(const std::vector<std::string>& command, const RunOptions& options = {});

// A program or file of the test's `data`, by its path in the repository.
std::string data_file(const std::string& path);
bool exists(const std::string& path);
int lines(const std::string& text);

}  // namespace integration

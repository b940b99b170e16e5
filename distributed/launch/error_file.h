// The file in which a worker says why it fails, in PyTorch's form.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace c10d::launch {

/// {"message": {"message": "std::runtime_error: no data", "extraInfo": {"timestamp": "1700000000", "py_callstack":
/// ""}}}
struct WorkerError {
  std::string message;
  std::string callstack;
  int64_t unix_seconds = 0;
};

/// Runs a worker's body and returns what it returns. An exception is written to the file that TORCHELASTIC_ERROR_FILE
/// names and to stderr, and makes 1; SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT are written there, too, and then end
/// the process as they do. Nothing else changes where the variable is not set.
///
///   int main(int argc, char** argv) { return c10d::launch::record([&] { return train(argc, argv); }); }
int record(const std::function<int()>& body);

/// Throws c10::Error where the file cannot be written.
void write_error_file(const std::string& path, const WorkerError& error);

/// None where there is no such file. What is not of the form is the message as it stands, its first 4,096 bytes.
std::optional<WorkerError> read_error_file(const std::string& path);

}  // namespace c10d::launch

#include "distributed/launch/error_file.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "c10/util/exception.h"

namespace c10d::launch {
namespace {

using nlohmann::json;

constexpr size_t kLongestMessage = 4096;
constexpr int kCrashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

// For the handler of signals, which allocates nothing.
char crash_path[4096];

void write_crash(int signal) {
  const char* const name = signal == SIGSEGV  ? "SIGSEGV"
                           : signal == SIGBUS ? "SIGBUS"
                           : signal == SIGFPE ? "SIGFPE"
                           : signal == SIGILL ? "SIGILL"
                                              : "SIGABRT";
  char text[256];
  const int size =
      std::snprintf(text, sizeof text,
                    "{\"message\": {\"message\": \"the program ended by %s\", \"extraInfo\": {\"timestamp\": "
                    "\"%lld\", \"py_callstack\": \"the program ended by %s\"}}}",
                    name, static_cast<long long>(::time(nullptr)), name);
  // What an exception that nobody caught left there says more.
  const int file = ::open(crash_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file >= 0 && ::write(file, text, static_cast<size_t>(size)) == size) ::close(file);
  // SA_RESETHAND has put back what ends the process.
  ::raise(signal);
}

std::string string_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

int record(const std::function<int()>& body) {
  const char* const path = std::getenv("TORCHELASTIC_ERROR_FILE");
  if (path != nullptr && std::strlen(path) < sizeof crash_path) {
    std::strcpy(crash_path, path);
    struct sigaction action{};
    action.sa_handler = write_crash;
    action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_NODEFER;
    for (const int signal : kCrashes) ::sigaction(signal, &action, nullptr);
  }
  std::string text;
  try {
    return body();
  } catch (const std::exception& error) {
    text = c10::GetExceptionString(error);
  } catch (...) {
    text = "an exception that is no std::exception";
  }
  std::fprintf(stderr, "%s\n", text.c_str());
  if (path != nullptr) {
    try {
      // As the call stack, too: it is what PyTorch's torchrun shows.
      write_error_file(path, {text, text, static_cast<int64_t>(::time(nullptr))});
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
  }
  return 1;
}

void write_error_file(const std::string& path, const WorkerError& error) {
  const json text = {
      {"message",
       {{"message", error.message},
        {"extraInfo", {{"py_callstack", error.callstack}, {"timestamp", std::to_string(error.unix_seconds)}}}}}};
  std::ofstream file(path, std::ios::trunc);
  file << text.dump(-1, ' ', false, json::error_handler_t::replace) << std::flush;
  TORCH_CHECK(file.good(), "write_error_file: cannot write ", path);
}

std::optional<WorkerError> read_error_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (text.empty()) return std::nullopt;
  WorkerError error;
  error.message = text.substr(0, kLongestMessage);
  const json read = json::parse(text, nullptr, false);
  if (!read.is_object() || !read.contains("message")) return error;
  const json& outer = read["message"];
  if (!outer.is_object() || !outer.contains("message")) {
    error.message = string_of(outer).substr(0, kLongestMessage);
    return error;
  }
  error.message = string_of(outer["message"]).substr(0, kLongestMessage);
  const json info = outer.value("extraInfo", json::object());
  if (!info.is_object()) return error;
  if (info.contains("py_callstack")) error.callstack = string_of(info["py_callstack"]);
  if (info.contains("timestamp")) error.unix_seconds = std::atoll(string_of(info["timestamp"]).c_str());
  return error;
}

}  // namespace c10d::launch

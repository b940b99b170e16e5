#include "c10/util/logging.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace c10 {
namespace {

constexpr const char* kNames[] = {"INFO", "WARNING", "ERROR", "FATAL"};
constexpr int kUnset = -1000;
int level = kUnset;
void (*usage_logger)(const std::string&) = nullptr;

int level_of_environment() {
  const char* text = std::getenv("TORCH_CPP_LOG_LEVEL");
  if (text == nullptr) return WARNING;
  for (int i = 0; i < 4; ++i) {
    if (std::strcmp(text, kNames[i]) == 0) return i;
  }
  char* end = nullptr;
  const long number = std::strtol(text, &end, 10);
  return end != text && *end == '\0' ? static_cast<int>(number) : WARNING;
}

}  // namespace

int log_level() {
  int current = __atomic_load_n(&level, __ATOMIC_RELAXED);
  if (current == kUnset) {
    current = level_of_environment();
    __atomic_store_n(&level, current, __ATOMIC_RELAXED);
  }
  return current;
}
void set_log_level(int new_level) { __atomic_store_n(&level, new_level, __ATOMIC_RELAXED); }

bool InitCaffeLogging(int*, char**) { return true; }
void initLogging() {}
void UpdateLoggingLevelsFromFlags() {}
void ShowLogInfoToStderr() { set_log_level(INFO); }

void SetAPIUsageLogger(void (*logger)(const std::string&)) {
  __atomic_store_n(&usage_logger, logger, __ATOMIC_RELEASE);
}
void LogAPIUsage(const std::string& event) {
  if (auto* logger = __atomic_load_n(&usage_logger, __ATOMIC_ACQUIRE)) logger(event);
}

namespace detail {

bool LogAPIUsageFakeReturn(const std::string& event) {
  LogAPIUsage(event);
  return true;
}

bool LogGate::every_ms(int64_t ms) {
  const auto since_start = std::chrono::steady_clock::now().time_since_epoch();
  const int64_t now = std::chrono::duration_cast<std::chrono::milliseconds>(since_start).count();
  int64_t next = next_.load();
  return now >= next && next_.compare_exchange(next, now + ms);
}

LogMessage::LogMessage(const char* file, int line, int severity) : severity_(severity) {
  const char letter = severity < 0 ? 'V' : kNames[severity][0];
  stream_ << '[' << letter << ' ' << StripBasename(file) << ':' << line << "] ";
}
LogMessage::~LogMessage() {
  stream_ << '\n';
  const std::string text = stream_.str();
  std::fwrite(text.data(), 1, text.size(), stderr);
  if (severity_ >= FATAL) std::abort();
}

CheckMessage::CheckMessage(const char* func, const char* file, int line, const char* condition)
    : location_{func, file, static_cast<uint32_t>(line)} {
  stream_ << condition;
}
CheckMessage::~CheckMessage() noexcept(false) { throw Error(location_, stream_.str()); }

}  // namespace detail
}  // namespace c10

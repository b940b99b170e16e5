// Messages to the standard error stream, by the names of glog: LOG(INFO) << "epoch " << i; VLOG(1), DLOG, LOG_IF,
// LOG_EVERY_N, and CHECK(x > 0) << "why", whose failure throws c10::Error. What is below caffe2_log_level is not
// written: INFO needs 0 or less, WARNING (the default) 1, ERROR 2; LOG(FATAL) writes and ends the program.
#pragma once

#include <cstdint>
#include <sstream>
#include <string>

#include "c10/util/atomic.h"
#include "c10/util/exception.h"

namespace c10 {

enum LogSeverity : int { INFO = 0, WARNING = 1, ERROR = 2, FATAL = 3 };

/// What is written at least, as TORCH_CPP_LOG_LEVEL in the environment says ("INFO", "WARNING", "ERROR", "FATAL", or a
/// number).
int log_level();
void set_log_level(int level);
/// For programs that ask for it; there is nothing to initialise.
bool InitCaffeLogging(int* argc, char** argv);
void initLogging();
void ShowLogInfoToStderr();
void UpdateLoggingLevelsFromFlags();

/// Calls that tell which interfaces are used, once a place; `event` goes to what SetAPIUsageLogger set.
void SetAPIUsageLogger(void (*logger)(const std::string& event));
void LogAPIUsage(const std::string& event);
namespace detail {
bool LogAPIUsageFakeReturn(const std::string& event);

// One message; written, or thrown, at its end.
class LogMessage {
 public:
  LogMessage(const char* file, int line, int severity);
  ~LogMessage();
  LogMessage(const LogMessage&) = delete;
  LogMessage& operator=(const LogMessage&) = delete;
  std::ostream& stream() { return stream_; }

 private:
  std::ostringstream stream_;
  int severity_;
};
// A failed check: throws at its end.
class CheckMessage {
 public:
  CheckMessage(const char* func, const char* file, int line, const char* condition);
  ~CheckMessage() noexcept(false);
  CheckMessage(const CheckMessage&) = delete;
  CheckMessage& operator=(const CheckMessage&) = delete;
  std::ostream& stream() { return stream_; }

 private:
  std::ostringstream stream_;
  SourceLocation location_;
};
// Which messages of one place are written; any number of threads may ask.
class LogGate {
 public:
  constexpr LogGate() = default;
  bool every(int64_t count) { return times_.fetch_add(1) % count == 0; }
  bool first(int64_t count) { return times_.fetch_add(1) < count; }
  // By the steady clock, from the first message on.
  bool every_ms(int64_t ms);

 private:
  Atomic<int64_t> times_{0};
  Atomic<int64_t> next_{INT64_MIN};
};
// Makes both branches of ?: void.
struct Voidify {
  void operator&(std::ostream&) {}
};
}  // namespace detail

}  // namespace c10

#define KD_LOG_SEVERITY_INFO 0
#define KD_LOG_SEVERITY_WARNING 1
#define KD_LOG_SEVERITY_ERROR 2
#define KD_LOG_SEVERITY_FATAL 3
#define KD_LOG_AT_(severity)                                \
  (severity) < ::c10::log_level() ? static_cast<void>(0)    \
                                  : ::c10::detail::Voidify() & \
                                        ::c10::detail::LogMessage(__FILE__, __LINE__, severity).stream()
#define KD_CHECK_STREAM_(condition, text)   \
  (condition) ? static_cast<void>(0)        \
              : ::c10::detail::Voidify() &  \
                    ::c10::detail::CheckMessage(__func__, __FILE__, __LINE__, text).stream()

// Every `count`th message of a place, the first ones, or at most one in `ms` milliseconds.
#define KD_LOG_GATED_(n, passes)                             \
  !([]() -> ::c10::detail::LogGate& {                        \
    static ::c10::detail::LogGate kd_gate_;                  \
    return kd_gate_;                                         \
  }()                                                        \
        .passes)                                             \
      ? static_cast<void>(0)                                 \
      : KD_LOG_AT_(KD_LOG_SEVERITY_##n)
#define C10_LOG_EVERY_N(n, count) KD_LOG_GATED_(n, every(count))
#define C10_LOG_FIRST_N(n, count) KD_LOG_GATED_(n, first(count))
#define C10_LOG_EVERY_MS(n, ms) KD_LOG_GATED_(n, every_ms(ms))

#ifndef LOG
#define LOG(n) KD_LOG_AT_(KD_LOG_SEVERITY_##n)
#define VLOG(n) KD_LOG_AT_(-(n))
#define LOG_IF(n, condition) !(condition) ? static_cast<void>(0) : LOG(n)
#define VLOG_IF(n, condition) !(condition) ? static_cast<void>(0) : VLOG(n)
#define VLOG_IS_ON(n) (-(n) >= ::c10::log_level())
#define LOG_EVERY_N(n, count) C10_LOG_EVERY_N(n, count)
#define LOG_FIRST_N(n, count) C10_LOG_FIRST_N(n, count)
#ifdef NDEBUG
#define DLOG(n) true ? static_cast<void>(0) : LOG(n)
#else
#define DLOG(n) LOG(n)
#endif
#endif  // LOG

#ifndef CHECK
#define CHECK(condition) KD_CHECK_STREAM_(condition, "Check failed: " #condition " ")
#define CHECK_EQ(a, b) KD_CHECK_STREAM_((a) == (b), "Check failed: " #a " == " #b " ")
#define CHECK_NE(a, b) KD_CHECK_STREAM_((a) != (b), "Check failed: " #a " != " #b " ")
#define CHECK_LT(a, b) KD_CHECK_STREAM_((a) < (b), "Check failed: " #a " < " #b " ")
#define CHECK_LE(a, b) KD_CHECK_STREAM_((a) <= (b), "Check failed: " #a " <= " #b " ")
#define CHECK_GT(a, b) KD_CHECK_STREAM_((a) > (b), "Check failed: " #a " > " #b " ")
#define CHECK_GE(a, b) KD_CHECK_STREAM_((a) >= (b), "Check failed: " #a " >= " #b " ")
#define CHECK_NOTNULL(val) TORCH_CHECK_NOTNULL(val)
#ifdef NDEBUG
#define DCHECK(condition) KD_CHECK_STREAM_(true || (condition), "")
#define DCHECK_EQ(a, b) DCHECK((a) == (b))
#define DCHECK_NE(a, b) DCHECK((a) != (b))
#define DCHECK_LT(a, b) DCHECK((a) < (b))
#define DCHECK_LE(a, b) DCHECK((a) <= (b))
#define DCHECK_GT(a, b) DCHECK((a) > (b))
#define DCHECK_GE(a, b) DCHECK((a) >= (b))
#else
#define DCHECK(condition) CHECK(condition)
#define DCHECK_EQ(a, b) CHECK_EQ(a, b)
#define DCHECK_NE(a, b) CHECK_NE(a, b)
#define DCHECK_LT(a, b) CHECK_LT(a, b)
#define DCHECK_LE(a, b) CHECK_LE(a, b)
#define DCHECK_GT(a, b) CHECK_GT(a, b)
#define DCHECK_GE(a, b) CHECK_GE(a, b)
#endif
#endif  // CHECK

// CAFFE_ENFORCE(x > 0, "why"): c10::Error where it does not hold.
#define CAFFE_ENFORCE(condition, ...) TORCH_CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#define CAFFE_THROW(...) TORCH_CHECK(false __VA_OPT__(, ) __VA_ARGS__)
#define CAFFE_ENFORCE_EQ(x, y, ...) TORCH_CHECK_EQ(x, y __VA_OPT__(, ) __VA_ARGS__)
#define CAFFE_ENFORCE_NE(x, y, ...) TORCH_CHECK_NE(x, y __VA_OPT__(, ) __VA_ARGS__)
#define CAFFE_ENFORCE_LT(x, y, ...) TORCH_CHECK_LT(x, y __VA_OPT__(, ) __VA_ARGS__)
#define CAFFE_ENFORCE_LE(x, y, ...) TORCH_CHECK_LE(x, y __VA_OPT__(, ) __VA_ARGS__)
#define CAFFE_ENFORCE_GT(x, y, ...) TORCH_CHECK_GT(x, y __VA_OPT__(, ) __VA_ARGS__)
#define CAFFE_ENFORCE_GE(x, y, ...) TORCH_CHECK_GE(x, y __VA_OPT__(, ) __VA_ARGS__)

#define C10_LOG_API_USAGE_ONCE(...)                                \
  [[maybe_unused]] static const bool C10_ANONYMOUS_VARIABLE(logged) = \
      ::c10::detail::LogAPIUsageFakeReturn(__VA_ARGS__)

// Errors, internal assertions and warnings.
//
// A user's mistake throws c10::Error or one of its kinds through TORCH_CHECK and its siblings; a bug in this library
// trips TORCH_INTERNAL_ASSERT. Conditions are tested in line; messages are built and thrown out of line.
//
//   TORCH_CHECK(x.dim() == 2, "mm: expected a 2-D tensor, but got ", x.dim(), " dimensions");
//   TORCH_CHECK_INDEX(i < n, "index ", i, " is out of range");
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "c10/macros/macros.h"
#include "c10/util/string_util.h"

namespace c10 {

namespace detail {
// The parts of a message as concatenate() reads them.
struct MessageParts {
  const char* letters;
  const uint64_t* words;
};
}  // namespace detail

// The base of every error. `what()` is the message, its context lines, where it was raised and the stack; `msg()` the
// message alone; `what_without_backtrace()` the message and its context. A std::runtime_error too, because that is what
// libtorch throws for a number that does not fit its type.
class Error : public std::runtime_error {
 public:
  Error(SourceLocation location, std::string msg);
  Error(SourceLocation location, detail::MessageParts parts);
  Error(std::string msg, std::string backtrace, const void* caller = nullptr);
  // Without a stack.
  Error(std::string msg, std::nullptr_t, const void* caller = nullptr) : Error(std::move(msg), std::string(), caller) {}
  Error(const char* file, uint32_t line, const char* condition, const std::string& msg, const std::string& backtrace,
        const void* caller = nullptr);

  // Appends a line of context; shown after the message as " (context)".
  void add_context(std::string context);

  const std::string& msg() const noexcept { return msg_; }
  const std::vector<std::string>& context() const noexcept { return context_; }
  const std::string& backtrace() const noexcept { return backtrace_; }
  const char* what() const noexcept override { return what_.c_str(); }
  const char* what_without_backtrace() const noexcept { return what_without_backtrace_.c_str(); }
  const void* caller() const noexcept { return caller_; }

 private:
  void refresh();

  std::string msg_;
  std::vector<std::string> context_;
  std::string backtrace_;
  std::string what_;
  std::string what_without_backtrace_;
  const void* caller_ = nullptr;
};
using EnforceNotMet = Error;

// An index or dimension is out of range.
class IndexError : public Error {
  using Error::Error;
};
// An argument has the right type but a value that is not allowed.
class ValueError : public Error {
  using Error::Error;
};
// An argument has a type that is not allowed.
class TypeError : public Error {
  using Error::Error;
};
// No kernel, backend or mode does what was asked.
class NotImplementedError : public Error {
  using Error::Error;
};
// A value is not finite where it has to be.
class EnforceFiniteError : public Error {
  using Error::Error;
};
// A decomposition or solver failed numerically.
class LinAlgError : public Error {
  using Error::Error;
};
// Memory of a device or of the host is exhausted.
class OutOfMemoryError : public Error {
  using Error::Error;
};
// A buffer of another library does not fit.
class BufferError : public Error {
  using Error::Error;
};
// A text does not follow its grammar.
class SyntaxError : public Error {
  using Error::Error;
};
// A call of an accelerator's run-time library failed, with its code.
class AcceleratorError : public Error {
 public:
  AcceleratorError(SourceLocation location, int32_t code, const std::string& msg) : Error(location, msg), code_(code) {}
  int32_t get_error_code() const { return code_; }

 private:
  int32_t code_;
};
// Errors of distributed programs: of the backend, of the store, of the network.
class DistError : public Error {
  using Error::Error;
};
class DistBackendError : public DistError {
  using DistError::DistError;
};
class DistStoreError : public DistError {
  using DistError::DistError;
};
// A queue of a store has no element to take.
class DistQueueEmptyError : public DistStoreError {
  using DistStoreError::DistStoreError;
};
class DistNetworkError : public DistError {
  using DistError::DistError;
};

// "type: what()"
std::string GetExceptionString(const std::exception& e);

// Whether errors carry the stack of the raising thread (default: only if KINDLING_SHOW_BACKTRACE=1, because unwinding
// costs milliseconds and errors are also control flow). The place of the throw is always there.
void set_backtraces_enabled(bool enabled);
std::string get_backtrace(size_t frames_to_skip = 0, size_t maximum_number_of_frames = 64);

namespace detail {
// Throws E with the text of the parts. One copy for each kind of error; in it no string is made, which keeps it small.
template <typename E>
[[noreturn]] C10_COLD void throw_text(const char* func, const char* file, uint32_t line, const char* letters, const uint64_t* words);
extern template void throw_text<Error>(const char*, const char*, uint32_t, const char*, const uint64_t*);
extern template void throw_text<IndexError>(const char*, const char*, uint32_t, const char*, const uint64_t*);
extern template void throw_text<ValueError>(const char*, const char*, uint32_t, const char*, const uint64_t*);
extern template void throw_text<TypeError>(const char*, const char*, uint32_t, const char*, const uint64_t*);
extern template void throw_text<NotImplementedError>(const char*, const char*, uint32_t, const char*, const uint64_t*);
extern template void throw_text<EnforceFiniteError>(const char*, const char*, uint32_t, const char*, const uint64_t*);
extern template void throw_text<LinAlgError>(const char*, const char*, uint32_t, const char*, const uint64_t*);
extern template void throw_text<OutOfMemoryError>(const char*, const char*, uint32_t, const char*, const uint64_t*);

template <typename E>
void throw_text(const char* func, const char* file, uint32_t line, const char* letters, const uint64_t* words) {
  throw E(SourceLocation{func, file, line}, MessageParts{letters, words});
}

template <typename E>
[[noreturn]] C10_ALWAYS_INLINE void throw_error(const char* func, const char* file, uint32_t line, const std::string& msg) {
  throw_text<E>(func, file, line, kPartLetters<std::string>, StoredParts<std::string>(msg).words);
}

template <typename Pointer>
Pointer&& check_notnull(const char* func, const char* file, uint32_t line, const char* text, Pointer&& pointer) {
  if (pointer == nullptr) throw_error<Error>(func, file, line, str("Check failed: '", text, "' Must be non NULL. "));
  return std::forward<Pointer>(pointer);
}

[[noreturn]] C10_COLD void throw_internal_assert(const char* func, const char* file, uint32_t line, const char* condition,
                                                 const char* letters, const uint64_t* words);

// The message of a failed check: the parts' text, or a sentence about the condition where there are none.
C10_COLD std::string default_check_message(const char* condition);
inline std::string check_message(const char* condition) {
  return default_check_message(condition);
}
template <typename First, typename... Parts>
std::string check_message(const char*, const First& first, const Parts&... parts) {
  return str(first, parts...);
}

// In line, so that a check with parts does not keep its condition's text in the program.
template <typename E>
[[noreturn]] C10_ALWAYS_INLINE void check_failed(const char* func, const char* file, uint32_t line, const char* condition) {
  throw_error<E>(func, file, line, default_check_message(condition));
}
template <typename E, typename First, typename... Parts>
[[noreturn]] C10_ALWAYS_INLINE void check_failed(const char* func, const char* file, uint32_t line, const char*,
                                                 const First& first, const Parts&... parts) {
  throw_text<E>(func, file, line, kPartLetters<First, Parts...>, StoredParts<First, Parts...>(first, parts...).words);
}
template <typename... Parts>
[[noreturn]] C10_ALWAYS_INLINE void assert_failed(const char* func, const char* file, uint32_t line, const char* condition,
                                                  const Parts&... parts) {
  throw_internal_assert(func, file, line, condition, kPartLetters<Parts...>, StoredParts<Parts...>(parts...).words);
}
}  // namespace detail

// The kinds of warnings: something that is likely not meant, and something that works and is going away. The warnings themselves
// and who receives them: c10/util/warning.h.
class UserWarning {};
class DeprecationWarning {};

namespace detail {
// True the first time it is called for a flag (and always under set_warnAlways).
bool warn_once(unsigned char* flag) noexcept;

// Warns with the text of the parts, stored as concatenate() reads them.
C10_COLD void warn_text(bool deprecation, const char* func, const char* file, uint32_t line, const char* letters,
                        const uint64_t* words);
template <typename Kind, typename... Parts>
C10_ALWAYS_INLINE void warn_with(const char* func, const char* file, uint32_t line, const Parts&... parts) {
  warn_text(std::is_same_v<Kind, DeprecationWarning>, func, file, line, kPartLetters<Parts...>, StoredParts<Parts...>(parts...).words);
}
}  // namespace detail

}  // namespace c10

namespace at {
using c10::Error;
}

#define KD_CHECK_WITH_(error_t, cond, ...)                                                                 \
  do {                                                                                                     \
    if (C10_UNLIKELY(!(cond))) {                                                                           \
      ::c10::detail::check_failed<error_t>(__func__, __FILE__, static_cast<uint32_t>(__LINE__),            \
                                           #cond __VA_OPT__(, ) __VA_ARGS__);                              \
    }                                                                                                      \
  } while (false)

#define TORCH_CHECK(cond, ...) KD_CHECK_WITH_(::c10::Error, cond __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_INDEX(cond, ...) KD_CHECK_WITH_(::c10::IndexError, cond __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_VALUE(cond, ...) KD_CHECK_WITH_(::c10::ValueError, cond __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_TYPE(cond, ...) KD_CHECK_WITH_(::c10::TypeError, cond __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_LINALG(cond, ...) KD_CHECK_WITH_(::c10::LinAlgError, cond __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(cond, ...) \
  KD_CHECK_WITH_(::c10::NotImplementedError, cond __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_WITH(error_t, cond, ...) KD_CHECK_WITH_(::c10::error_t, cond __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_BUFFER(cond, ...) KD_CHECK_WITH_(::c10::BufferError, cond __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_WITH_MSG(error_t, cond, type, ...) KD_CHECK_WITH_(::c10::error_t, cond __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_IF_NOT_ON_CUDA(cond, ...) TORCH_CHECK(cond __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_ALWAYS_SHOW_CPP_STACKTRACE(cond, ...) TORCH_CHECK(cond __VA_OPT__(, ) __VA_ARGS__)
// Throws std::runtime_error, which needs no library.
#define STD_TORCH_CHECK(cond, ...)                                                                    \
  do {                                                                                                \
    if (C10_UNLIKELY(!(cond))) throw std::runtime_error(STD_TORCH_CHECK_MSG(cond, "", __VA_ARGS__)); \
  } while (false)
#define STD_TORCH_CHECK_MSG(cond, type, ...) ::c10::detail::check_message(#cond __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_ARG(cond, argN, ...) TORCH_CHECK(cond, "invalid argument ", argN, ": ", __VA_ARGS__)
#define TORCH_CHECK_MSG(cond, type, ...) ::c10::detail::check_message(#cond __VA_OPT__(, ) __VA_ARGS__)

#define TORCH_INTERNAL_ASSERT(cond, ...)                                                              \
  do {                                                                                                \
    if (C10_UNLIKELY(!(cond))) {                                                                      \
      ::c10::detail::assert_failed(__func__, __FILE__, static_cast<uint32_t>(__LINE__),               \
                                   #cond __VA_OPT__(, ) __VA_ARGS__);                                 \
    }                                                                                                 \
  } while (false)

// TORCH_CHECK_EQ(a, b): an Error "Check failed: a == b (1 vs. 2). " where it does not hold. More text may follow:
// TORCH_CHECK_EQ(a, b, "why").
#define KD_CHECK_OP_(x, y, op, ...)                                                                          \
  do {                                                                                                       \
    const auto& kd_x_ = (x);                                                                                 \
    const auto& kd_y_ = (y);                                                                                 \
    TORCH_CHECK(kd_x_ op kd_y_, "Check failed: " #x " " #op " " #y " (", kd_x_, " vs. ", kd_y_,              \
                "). " __VA_OPT__(, ) __VA_ARGS__);                                                           \
  } while (false)
#define TORCH_CHECK_EQ(x, y, ...) KD_CHECK_OP_(x, y, == __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_NE(x, y, ...) KD_CHECK_OP_(x, y, != __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_LT(x, y, ...) KD_CHECK_OP_(x, y, < __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_LE(x, y, ...) KD_CHECK_OP_(x, y, <= __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_GT(x, y, ...) KD_CHECK_OP_(x, y, > __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_GE(x, y, ...) KD_CHECK_OP_(x, y, >= __VA_OPT__(, ) __VA_ARGS__)
// The value itself; an Error where it is null.
#define TORCH_CHECK_NOTNULL(val, ...) \
  ::c10::detail::check_notnull(__func__, __FILE__, static_cast<uint32_t>(__LINE__), #val, (val))
#ifdef NDEBUG
#define KD_DCHECK_(...) \
  do {                  \
  } while (false)
#else
#define KD_DCHECK_(...) __VA_ARGS__
#endif
#define TORCH_DCHECK_EQ(x, y, ...) KD_DCHECK_(TORCH_CHECK_EQ(x, y __VA_OPT__(, ) __VA_ARGS__))
#define TORCH_DCHECK_NE(x, y, ...) KD_DCHECK_(TORCH_CHECK_NE(x, y __VA_OPT__(, ) __VA_ARGS__))
#define TORCH_DCHECK_LT(x, y, ...) KD_DCHECK_(TORCH_CHECK_LT(x, y __VA_OPT__(, ) __VA_ARGS__))
#define TORCH_DCHECK_LE(x, y, ...) KD_DCHECK_(TORCH_CHECK_LE(x, y __VA_OPT__(, ) __VA_ARGS__))
#define TORCH_DCHECK_GT(x, y, ...) KD_DCHECK_(TORCH_CHECK_GT(x, y __VA_OPT__(, ) __VA_ARGS__))
#define TORCH_DCHECK_GE(x, y, ...) KD_DCHECK_(TORCH_CHECK_GE(x, y __VA_OPT__(, ) __VA_ARGS__))
#define TORCH_DCHECK_NOTNULL(val, ...) KD_DCHECK_(TORCH_CHECK_NOTNULL(val))

#ifdef NDEBUG
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(...) \
  do {                                        \
  } while (false)
#else
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(...) TORCH_INTERNAL_ASSERT(__VA_ARGS__)
#endif

#define C10_THROW_ERROR(err_type, msg) \
  ::c10::detail::throw_error<::c10::err_type>(__func__, __FILE__, static_cast<uint32_t>(__LINE__), msg)
#define AT_ERROR(...) \
  ::c10::detail::throw_error<::c10::Error>(__func__, __FILE__, static_cast<uint32_t>(__LINE__), ::c10::str(__VA_ARGS__))
#define AT_ASSERT(...) TORCH_INTERNAL_ASSERT(__VA_ARGS__)
#define AT_ASSERTM(cond, ...) TORCH_CHECK(cond, __VA_ARGS__)
// The name of before 1.5.
#define AT_CHECK(cond, ...) TORCH_CHECK(cond __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_RETHROW(e, ...)               \
  do {                                      \
    e.add_context(::c10::str(__VA_ARGS__)); \
    throw;                                  \
  } while (false)

#define TORCH_WARN_WITH(warning_t, ...) \
  ::c10::detail::warn_with<warning_t>(__func__, __FILE__, static_cast<uint32_t>(__LINE__) __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_WARN(...) TORCH_WARN_WITH(::c10::UserWarning __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_WARN_DEPRECATION(...) TORCH_WARN_WITH(::c10::DeprecationWarning __VA_OPT__(, ) __VA_ARGS__)
#define KD_WARN_ONCE_WITH_(warning_t, ...)                       \
  do {                                                           \
    static unsigned char kd_warned_ = 0;                         \
    if (C10_UNLIKELY(::c10::detail::warn_once(&kd_warned_))) {   \
      TORCH_WARN_WITH(warning_t __VA_OPT__(, ) __VA_ARGS__);     \
    }                                                            \
  } while (false)
// Warns at the first pass only.
#define TORCH_WARN_ONCE(...) KD_WARN_ONCE_WITH_(::c10::UserWarning __VA_OPT__(, ) __VA_ARGS__)
#define KD_WARN_DEPRECATION_ONCE(...) KD_WARN_ONCE_WITH_(::c10::DeprecationWarning __VA_OPT__(, ) __VA_ARGS__)

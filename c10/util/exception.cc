#include "c10/util/exception.h"

#include <execinfo.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <typeinfo>
#include <vector>

#include "c10/util/warning.h"

namespace c10 {
namespace {

int backtraces = -1;

bool backtraces_enabled() {
  int state = __atomic_load_n(&backtraces, __ATOMIC_RELAXED);
  if (state < 0) {
    const char* env = std::getenv("KINDLING_SHOW_BACKTRACE");
    state = env != nullptr && std::strcmp(env, "1") == 0;
    __atomic_store_n(&backtraces, state, __ATOMIC_RELAXED);
  }
  return state != 0;
}

std::string raised_at(const SourceLocation& location) {
  std::string out = str("Exception raised from ", location, " (most recent call first):\n");
  if (backtraces_enabled()) out += get_backtrace(2);
  return out;
}

bool warn_always = false;
WarningHandler* base_handler() {
  static WarningHandler handler;
  return &handler;
}
thread_local WarningHandler* thread_handler = nullptr;

}  // namespace

std::string GetExceptionString(const std::exception& e) {
  return str(demangle(typeid(e).name()), ": ", e.what());
}

void set_backtraces_enabled(bool enabled) {
  __atomic_store_n(&backtraces, enabled ? 1 : 0, __ATOMIC_RELAXED);
}

// Weak: a program that only throws does not link the reader of symbol tables, and gets what glibc says of its frames.
[[gnu::weak]] std::string describe_frames(const std::vector<void*>& frames);

std::string get_backtrace(size_t frames_to_skip, size_t maximum_number_of_frames) {
  constexpr size_t kMaxFrames = 256;
  void* frames[kMaxFrames];
  const size_t wanted = std::min(kMaxFrames, frames_to_skip + 1 + maximum_number_of_frames);
  const auto count = static_cast<size_t>(::backtrace(frames, static_cast<int>(wanted)));
  const size_t first = std::min(frames_to_skip + 1, count);
  if (describe_frames != nullptr) return describe_frames(std::vector<void*>(frames + first, frames + count));
  char** symbols = ::backtrace_symbols(frames, static_cast<int>(count));
  if (symbols == nullptr) return {};
  std::string out;
  for (size_t i = first; i < count; ++i) out += str("frame #", i - first, ": ", symbols[i], "\n");
  std::free(symbols);
  return out;
}

Error::Error(SourceLocation location, std::string msg) : Error(std::move(msg), raised_at(location)) {}
Error::Error(SourceLocation location, detail::MessageParts parts)
    : std::runtime_error(""), msg_(detail::concatenate(parts.letters, parts.words)), backtrace_(raised_at(location)) {
  refresh();
}

Error::Error(std::string msg, std::string backtrace, const void* caller)
    : std::runtime_error(""), msg_(std::move(msg)), backtrace_(std::move(backtrace)), caller_(caller) {
  refresh();
}

Error::Error(const char* file, uint32_t line, const char* condition, const std::string& msg,
             const std::string& backtrace, const void* caller)
    : Error(str("[enforce fail at ", StripBasename(file), ":", line, "] ", condition, ". ", msg), backtrace, caller) {}

void Error::add_context(std::string context) {
  context_.push_back(std::move(context));
  refresh();
}

void Error::refresh() {
  what_without_backtrace_ = msg_;
  const bool one = context_.size() == 1;
  for (const std::string& line : context_) {
    what_without_backtrace_ += one ? " (" : "\n  ";
    what_without_backtrace_ += line;
    if (one) what_without_backtrace_ += ')';
  }
  what_ = what_without_backtrace_;
  if (backtrace_.empty()) return;
  what_ += '\n';
  what_ += backtrace_;
}

namespace detail {

template void throw_text<Error>(const char*, const char*, uint32_t, const char*, const uint64_t*);
template void throw_text<IndexError>(const char*, const char*, uint32_t, const char*, const uint64_t*);
template void throw_text<ValueError>(const char*, const char*, uint32_t, const char*, const uint64_t*);
template void throw_text<TypeError>(const char*, const char*, uint32_t, const char*, const uint64_t*);
template void throw_text<NotImplementedError>(const char*, const char*, uint32_t, const char*, const uint64_t*);
template void throw_text<EnforceFiniteError>(const char*, const char*, uint32_t, const char*, const uint64_t*);
template void throw_text<LinAlgError>(const char*, const char*, uint32_t, const char*, const uint64_t*);
template void throw_text<OutOfMemoryError>(const char*, const char*, uint32_t, const char*, const uint64_t*);

std::string default_check_message(const char* condition) {
  return str("Expected ", condition,
             " to be true, but got false.  (Could this error message be improved?  If so, please report an enhancement "
             "request.)");
}

void throw_internal_assert(const char* func, const char* file, uint32_t line, const char* condition, const char* letters,
                           const uint64_t* words) {
  throw_error<Error>(func, file, line,
                     str(condition, " INTERNAL ASSERT FAILED at \"", file, "\":", line, ", please report a bug to Kindling. ",
                         concatenate(letters, words)));
}

bool warn_once(unsigned char* flag) noexcept {
  const bool first = __atomic_exchange_n(flag, 1, __ATOMIC_RELAXED) == 0;
  return first || WarningUtils::get_warnAlways();
}

void warn_text(bool deprecation, const char* func, const char* file, uint32_t line, const char* letters, const uint64_t* words) {
  const Warning::warning_variant_t type =
      deprecation ? Warning::warning_variant_t(DeprecationWarning()) : Warning::warning_variant_t(UserWarning());
  warn(Warning(type, SourceLocation{func, file, line}, concatenate(letters, words), false));
}

}  // namespace detail

void WarningHandler::process(const Warning& warning) {
  process(warning.source_location(), warning.msg(), warning.verbatim());
}
void WarningHandler::process(const SourceLocation& place, const std::string& msg, bool) {
  const std::string text = str("[W ", StripBasename(place.file), ":", place.line, "] Warning: ", msg, " (function ",
                               place.function, ")\n");
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void warn(const Warning& warning) {
  WarningUtils::get_warning_handler()->process(warning);
}

namespace WarningUtils {

void set_warning_handler(WarningHandler* handler) noexcept {
  thread_handler = handler;
}

WarningHandler* get_warning_handler() noexcept {
  return thread_handler != nullptr ? thread_handler : base_handler();
}

WarningHandlerGuard::WarningHandlerGuard(WarningHandler* handler) : previous_(thread_handler) {
  set_warning_handler(handler);
}
WarningHandlerGuard::~WarningHandlerGuard() {
  set_warning_handler(previous_);
}

void set_warnAlways(bool setting) noexcept {
  __atomic_store_n(&warn_always, setting, __ATOMIC_RELAXED);
}
bool get_warnAlways() noexcept {
  return __atomic_load_n(&warn_always, __ATOMIC_RELAXED);
}

WarnAlways::WarnAlways(bool setting) : previous_(get_warnAlways()) {
  set_warnAlways(setting);
}
WarnAlways::~WarnAlways() {
  set_warnAlways(previous_);
}

}  // namespace WarningUtils
}  // namespace c10

#include "compile/aot/runtime/checks.h"

#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <new>
#include <stdexcept>

namespace torch::aot {

namespace {

// Texts are written by snprintf, cut at this length: strings of C++ would weigh more than the checks.
constexpr size_t kMostText = 512;

[[noreturn]] [[gnu::format(printf, 1, 2)]] void throw_invalid(const char* format, ...) {
  char text[kMostText];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  throw std::invalid_argument(text);
}

}  // namespace

void refuse(const char* program, const char* what) {
  throw_invalid("%s: %s", program, what);
}

void check_pointer(const char* program, const char* argument, const void* data, size_t alignment) {
  if (data == nullptr) throw_invalid("%s: %s is null", program, argument);
  if (reinterpret_cast<uintptr_t>(data) % alignment != 0) {
    throw_invalid("%s: %s is not aligned to %zu bytes", program, argument, alignment);
  }
}

void check_range(const char* program, const char* argument, int64_t value, int64_t min, int64_t max) {
  if (value >= min && value <= max) return;
  throw_invalid("%s: %s is %" PRId64 ", but must be within [%" PRId64 ", %" PRId64 "]", program, argument, value, min,
                max);
}

Arena::Arena(const char* program, void* data, size_t bytes) : data_(static_cast<char*>(data)), own_(data == nullptr) {
  if (own_) {
    data_ = static_cast<char*>(::operator new (bytes == 0 ? 64 : bytes, std::align_val_t{64}));
  } else {
    check_pointer(program, "the arena", data, 64);
  }
}
Arena::~Arena() {
  if (own_) ::operator delete (data_, std::align_val_t{64});
}

}  // namespace torch::aot

// What compiled programs check of their callers' arguments.
#pragma once

#include <cstddef>
#include <cstdint>

namespace torch::aot {

/// Throws std::invalid_argument "program: what".
[[noreturn]] void refuse(const char* program, const char* what);

/// Throws std::invalid_argument that names the argument where `data` is null or not aligned to `alignment` bytes.
void check_pointer(const char* program, const char* argument, const void* data, size_t alignment);

/// Throws std::invalid_argument where `value` is not within [min, max].
void check_range(const char* program, const char* argument, int64_t value, int64_t min, int64_t max);

/// Rounded down, as sizes in graphs are.
constexpr int64_t floordiv(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return q - (a % b != 0 && (a < 0) != (b < 0));
}
constexpr int64_t mod(int64_t a, int64_t b) {
  return a - floordiv(a, b) * b;
}
constexpr int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}
constexpr int64_t greatest(int64_t a, int64_t b) {
  return a < b ? b : a;
}

/// Where a slice begins, or a place is, of a dimension of `size`: negative ones count from the end.
constexpr int64_t slice_start(int64_t start, int64_t size) {
  return greatest(0, least(start < 0 ? start + size : start, size));
}

/// Memory that a program computes in, 64-byte aligned: the caller's, or its own.
class Arena {
 public:
  /// `data` null: `bytes` are allocated. Throws std::invalid_argument where the caller's are not 64-byte aligned,
  /// std::bad_alloc.
  Arena(const char* program, void* data, size_t bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  char* data() const { return data_; }

 private:
  char* data_;
  bool own_;
};

}  // namespace torch::aot

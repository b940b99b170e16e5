// What the tests and benchmarks of compiled programs share.
#pragma once

#include <cstddef>
#include <cstdint>

namespace torch::aot {

/// Element types that outputs have.
enum class Element : uint8_t {
  kByte,
  kChar,
  kShort,
  kInt,
  kLong,
  kUInt16,
  kUInt32,
  kUInt64,
  kHalf,
  kBFloat16,
  kFloat,
  kDouble,
  kBool,
  kComplexFloat,
  kComplexDouble
};

/// 0 where every number is within `tolerance` times the largest of `expected` (0: has the same bits, or both are NaN);
/// else 1, and a line that says what differs. Prints the largest difference.
int compare(const char* name, const void* got, size_t bytes, Element element, const char* expected, double tolerance);

/// 0 where they are equal, else 1 and a line.
int compare_number(const char* name, double got, double expected);

/// Memory that is filled with what no program expects, with a border behind it.
class Output {
 public:
  explicit Output(size_t bytes);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  /// Other numbers, as many bytes.
  void fill(const char* numbers);
  /// compare() of it; 1 also where something was written behind it.
  int compare(const char* name, Element element, const char* expected, double tolerance) const;

 private:
  void* data_;
  size_t bytes_;
};

/// An arena of which every byte is known.
class TestArena {
 public:
  explicit TestArena(size_t bytes);
  ~TestArena();
  TestArena(const TestArena&) = delete;
  TestArena& operator=(const TestArena&) = delete;
  void* data() const { return data_; }
  /// Fills it with NaN, but the last `kept` bytes.
  void spoil(size_t kept = 0);
  /// 1, and a line, where something was written behind it.
  int overrun() const;

 private:
  char* data_;
  size_t bytes_;
};

/// Runs f for about a second, and prints the least and the median time of a run in nanoseconds.
void print_time(void (*run)(void* context), void* context);
template <class F>
void print_time(const F& f) {
  print_time([](void* context) { (*static_cast<const F*>(context))(); }, const_cast<F*>(&f));
}

}  // namespace torch::aot

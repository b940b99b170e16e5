#include "compile/aot/runtime/testing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

namespace torch::aot {
namespace {

constexpr size_t kBorder = 256;
constexpr unsigned char kSpoiled = 0xff;  // a NaN in every floating type

void* new_memory(size_t bytes) {
  void* data = ::operator new (bytes + kBorder, std::align_val_t{64});
  std::memset(data, kSpoiled, bytes + kBorder);
  return data;
}
bool border_is_whole(const void* data, size_t bytes) {
  const unsigned char* border = static_cast<const unsigned char*>(data) + bytes;
  return std::all_of(border, border + kBorder, [](unsigned char c) { return c == kSpoiled; });
}

double half_value(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return fraction != 0 ? NAN : sign * INFINITY;
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25));
}

size_t size_of(Element element) {
  switch (element) {
    case Element::kByte:
    case Element::kChar:
    case Element::kBool:
      return 1;
    case Element::kShort:
    case Element::kUInt16:
    case Element::kHalf:
    case Element::kBFloat16:
      return 2;
    case Element::kInt:
    case Element::kUInt32:
    case Element::kFloat:
    case Element::kComplexFloat:
      return 4;
    default:
      return 8;
  }
}

template <class T>
T read(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

// Of complex numbers the parts one by one.
double value_at(Element element, const char* at) {
  switch (element) {
    case Element::kByte:
    case Element::kBool:
      return read<uint8_t>(at);
    case Element::kChar:
      return read<int8_t>(at);
    case Element::kShort:
      return read<int16_t>(at);
    case Element::kUInt16:
      return read<uint16_t>(at);
    case Element::kInt:
      return read<int32_t>(at);
    case Element::kUInt32:
      return read<uint32_t>(at);
    case Element::kLong:
      return static_cast<double>(read<int64_t>(at));
    case Element::kUInt64:
      return static_cast<double>(read<uint64_t>(at));
    case Element::kHalf:
      return half_value(read<uint16_t>(at));
    case Element::kBFloat16: {
      const uint32_t bits = static_cast<uint32_t>(read<uint16_t>(at)) << 16;
      float value;
      std::memcpy(&value, &bits, sizeof(value));
      return value;
    }
    case Element::kFloat:
    case Element::kComplexFloat:
      return read<float>(at);
    case Element::kDouble:
    case Element::kComplexDouble:
      return read<double>(at);
  }
  return NAN;
}

bool is_real(Element element) {
  return element >= Element::kHalf && element != Element::kBool;
}

}  // namespace

Output::Output(size_t bytes) : data_(new_memory(bytes)), bytes_(bytes) {}
Output::~Output() {
  ::operator delete (data_, std::align_val_t{64});
}

void Output::fill(const char* numbers) {
  std::memcpy(data_, numbers, bytes_);
}

int compare(const char* name, const void* data, size_t bytes, Element element, const char* expected, double tolerance) {
  const size_t item = size_of(element), count = bytes / item;
  const char* got = static_cast<const char*>(data);
  double largest = 0, worst = 0;
  for (size_t i = 0; i < count; ++i) {
    const double want = std::fabs(value_at(element, expected + i * item));
    if (std::isfinite(want)) largest = std::max(largest, want);
  }
  const double allowed = is_real(element) ? tolerance * std::max(largest, 1e-30) : 0;
  for (size_t i = 0; i < count; ++i) {
    const double a = value_at(element, got + i * item), b = value_at(element, expected + i * item);
    if (std::memcmp(got + i * item, expected + i * item, item) == 0 || (std::isnan(a) && std::isnan(b))) continue;
    const double difference = std::fabs(a - b);
    // Without a tolerance a zero's sign counts, too.
    if (!(difference <= allowed) || tolerance == 0) {
      std::printf("%s: element %zu is %.9g, expected %.9g within %.3g\n", name, i, a, b, allowed);
      return 1;
    }
    worst = std::max(worst, difference);
  }
  std::printf("%s: %zu elements, the largest %.6g, the largest difference %.3g\n", name, count, largest, worst);
  return 0;
}

int compare_number(const char* name, double got, double expected) {
  if (got == expected || (std::isnan(got) && std::isnan(expected))) return 0;
  std::printf("%s: %.17g, expected %.17g\n", name, got, expected);
  return 1;
}

int Output::compare(const char* name, Element element, const char* expected, double tolerance) const {
  if (!border_is_whole(data_, bytes_)) {
    std::printf("%s: written beyond its %zu bytes\n", name, bytes_);
    return 1;
  }
  return aot::compare(name, data_, bytes_, element, expected, tolerance);
}

TestArena::TestArena(size_t bytes) : data_(static_cast<char*>(new_memory(bytes))), bytes_(bytes) {}
TestArena::~TestArena() {
  ::operator delete (data_, std::align_val_t{64});
}
void TestArena::spoil(size_t kept) {
  std::memset(data_, kSpoiled, bytes_ - kept);
}
int TestArena::overrun() const {
  if (border_is_whole(data_, bytes_)) return 0;
  std::printf("the arena: written beyond its %zu bytes\n", bytes_);
  return 1;
}

void print_time(void (*run)(void* context), void* context) {
  using Clock = std::chrono::steady_clock;
  const auto seconds = [](Clock::duration d) { return std::chrono::duration<double>(d).count(); };
  // As many runs a sample as take a millisecond.
  int64_t runs = 1;
  for (;; runs *= 2) {
    const auto start = Clock::now();
    for (int64_t i = 0; i < runs; ++i) run(context);
    if (seconds(Clock::now() - start) > 1e-3) break;
  }
  std::vector<double> samples;
  for (const auto begin = Clock::now(); seconds(Clock::now() - begin) < 1.0 || samples.size() < 5;) {
    const auto start = Clock::now();
    for (int64_t i = 0; i < runs; ++i) run(context);
    samples.push_back(seconds(Clock::now() - start) / static_cast<double>(runs) * 1e9);
  }
  std::sort(samples.begin(), samples.end());
  std::printf("%.1f ns a run at least, %.1f in the median of %zu samples\n", samples.front(),
              samples[samples.size() / 2], samples.size());
}

}  // namespace torch::aot

// Quantities that allocators count.
#pragma once

#include <cstddef>
#include <cstdint>

namespace c10::CachingAllocator {

/// A quantity over time; `peak` since its reset, `allocated` and `freed` summed up since theirs.
struct Stat {
  int64_t current = 0;
  int64_t peak = 0;
  int64_t allocated = 0;
  int64_t freed = 0;

  void increase(size_t amount) {
    current += static_cast<int64_t>(amount);
    if (current > peak) peak = current;
    allocated += static_cast<int64_t>(amount);
  }
  void decrease(size_t amount) {
    current -= static_cast<int64_t>(amount);
    freed += static_cast<int64_t>(amount);
  }
  void reset_accumulated() { allocated = freed = 0; }
  void reset_peak() { peak = current; }
};

/// Times in microseconds.
struct DurationStat {
  int64_t total = 0;
  int64_t max = 0;
  int64_t min = 0;
  int64_t count = 0;

  void increase(int64_t amount) {
    total += amount;
    if (count == 0 || amount > max) max = amount;
    if (count == 0 || amount < min) min = amount;
    ++count;
  }
  void reset_accumulated() { total = count = 0; }
  void reset_peak() { max = min = 0; }
};

}  // namespace c10::CachingAllocator

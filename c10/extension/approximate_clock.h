// Clocks of observers: one that is cheap to read, and what its ticks are in nanoseconds since 1970.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <type_traits>

#if defined(__x86_64__)
#include <x86intrin.h>
#define C10_RDTSC
#endif

namespace c10 {

using time_t = int64_t;
using steady_clock_t = std::chrono::steady_clock;
#if defined(C10_RDTSC)
using approx_time_t = uint64_t;
#else
using approx_time_t = time_t;
#endif

/// Nanoseconds since 1970.
inline time_t getTimeSinceEpoch() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

/// Nanoseconds of a clock that never goes backwards. `allow_monotonic` is libtorch's: this one is monotonic either way.
inline time_t getTime(bool /*allow_monotonic*/ = false) {
  const auto now = steady_clock_t::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

/// The processor's counter of ticks, where it has one; else getTime().
inline approx_time_t getApproximateTime() {
#if defined(C10_RDTSC)
  return static_cast<approx_time_t>(__rdtsc());
#else
  return getTime();
#endif
}

/// Fits a line through the two clocks, read when this is made and again in makeConverter().
///
///   c10::ApproximateClockToUnixTimeConverter clocks;
///   const auto begin = c10::getApproximateTime();
///   ...
///   int64_t nanoseconds_since_1970 = clocks.makeConverter()(begin);
class ApproximateClockToUnixTimeConverter final {
 public:
  struct UnixAndApproximateTimePair {
    time_t t_;
    approx_time_t approx_t_;
  };

  ApproximateClockToUnixTimeConverter() : start_(measurePair()) {}

  std::function<time_t(approx_time_t)> makeConverter() {
    const UnixAndApproximateTimePair begin = start_, end = measurePair();
    const double ticks = static_cast<double>(end.approx_t_ - begin.approx_t_);
    const double scale = ticks > 0 ? static_cast<double>(end.t_ - begin.t_) / ticks : 1.0;
    return [begin, scale](approx_time_t t) {
      // The difference may be negative: ticks of before.
      const auto since = static_cast<int64_t>(t) - static_cast<int64_t>(begin.approx_t_);
      return begin.t_ + static_cast<time_t>(static_cast<double>(since) * scale);
    };
  }

  static UnixAndApproximateTimePair measurePair() {
    // The other clock is read between two readings of this one, so that both mean one moment.
    const approx_time_t before = getApproximateTime();
    const time_t t = getTimeSinceEpoch();
    const approx_time_t after = getApproximateTime();
    return {t, before + (after - before) / 2};
  }

 private:
  UnixAndApproximateTimePair start_;
};

}  // namespace c10

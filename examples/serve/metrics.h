// Counters and histograms, in the text format of Prometheus.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "examples/serve/batcher.h"

namespace serve {

/// Counts observations by upper bounds that rise. From any thread.
class Histogram {
 public:
  explicit Histogram(std::vector<double> bounds);
  void observe(double value);
  uint64_t count() const;
  double sum() const { return sum_.load(std::memory_order_relaxed); }
  /// Appends NAME_bucket{LABELS,le="..."} lines, NAME_sum and NAME_count.
  void write(std::string& out, const std::string& name, const std::string& labels) const;

 private:
  std::vector<double> bounds_;
  std::vector<std::atomic<uint64_t>> counts_;  // one more than bounds
  std::atomic<double> sum_{0};
};

/// 100 µs to 10 s, in steps of 1, 2.5, 5.
std::vector<double> time_bounds();
/// 1, 2, 4 ... 1024.
std::vector<double> row_bounds();

/// By HTTP status.
class StatusCounter {
 public:
  void add(int status);
  /// (status, count), those that occurred.
  std::vector<std::pair<int, uint64_t>> counts() const;

 private:
  std::array<std::atomic<uint64_t>, 600> counts_{};
};

/// The last thousand values, for quantiles of what is going on now.
class Recent {
 public:
  void add(double value);
  /// Sorted.
  std::vector<double> sorted() const;

 private:
  static constexpr size_t kMost = 1000;
  mutable std::mutex mutex_;
  std::vector<double> values_;
  size_t next_ = 0;
};
/// The value that a share of the sorted ones is not above; 0 where there are none.
double quantile(const std::vector<double>& sorted, double share);

/// Of one model. Times are in seconds.
struct ModelMetrics final : BatchListener {
  StatusCounter requests;
  Histogram request_time{time_bounds()}, queue_time{time_bounds()}, run_time{time_bounds()};
  Histogram batch_rows{row_bounds()}, batch_requests{row_bounds()};
  Recent recent;  ///< times of answered requests
  void ran(int64_t rows, size_t requests, std::chrono::nanoseconds time) override;
};

/// Of the server.
struct HttpMetrics {
  StatusCounter responses;
  std::atomic<uint64_t> connections{0};           ///< open now
  std::atomic<uint64_t> accepted{0}, refused{0};  ///< connections so far
};

/// A label's value, with quotes.
std::string label_text(const std::string& value);

}  // namespace serve

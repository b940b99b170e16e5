#include "examples/serve/metrics.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace serve {
namespace {

std::string number(double value) {
  char buffer[32];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof(buffer), value).ptr);
}

}  // namespace

Histogram::Histogram(std::vector<double> bounds) : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}

void Histogram::observe(double value) {
  const auto at = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
  counts_[static_cast<size_t>(at)].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

uint64_t Histogram::count() const {
  uint64_t total = 0;
  for (const auto& one : counts_) total += one.load(std::memory_order_relaxed);
  return total;
}

void Histogram::write(std::string& out, const std::string& name, const std::string& labels) const {
  uint64_t total = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    total += counts_[i].load(std::memory_order_relaxed);
    out += name + "_bucket{" + labels + (labels.empty() ? "" : ",") + "le=\"" +
           (i < bounds_.size() ? number(bounds_[i]) : "+Inf") + "\"} " + std::to_string(total) + "\n";
  }
  out += name + "_sum{" + labels + "} " + number(sum()) + "\n";
  out += name + "_count{" + labels + "} " + std::to_string(total) + "\n";
}

std::vector<double> time_bounds() {
  return {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};
}
std::vector<double> row_bounds() {
  return {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
}

void StatusCounter::add(int status) {
  if (status >= 0 && status < static_cast<int>(counts_.size())) {
    counts_[static_cast<size_t>(status)].fetch_add(1, std::memory_order_relaxed);
  }
}

std::vector<std::pair<int, uint64_t>> StatusCounter::counts() const {
  std::vector<std::pair<int, uint64_t>> out;
  for (size_t i = 0; i < counts_.size(); ++i) {
    const uint64_t count = counts_[i].load(std::memory_order_relaxed);
    if (count > 0) out.emplace_back(static_cast<int>(i), count);
  }
  return out;
}

void Recent::add(double value) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (values_.size() < kMost) {
    values_.push_back(value);
  } else {
    values_[next_] = value;
  }
  next_ = (next_ + 1) % kMost;
}

std::vector<double> Recent::sorted() const {
  std::vector<double> out;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    out = values_;
  }
  std::sort(out.begin(), out.end());
  return out;
}

double quantile(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  const double place = std::ceil(share * static_cast<double>(sorted.size())) - 1;
  return sorted[static_cast<size_t>(std::clamp(place, 0.0, static_cast<double>(sorted.size() - 1)))];
}

void ModelMetrics::ran(int64_t rows, size_t requests, std::chrono::nanoseconds time) {
  batch_rows.observe(static_cast<double>(rows));
  batch_requests.observe(static_cast<double>(requests));
  run_time.observe(std::chrono::duration<double>(time).count());
}

std::string label_text(const std::string& value) {
  std::string out = "\"";
  for (const char c : value) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

}  // namespace serve

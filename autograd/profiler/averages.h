#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "c10/core/device.h"

namespace torch::autograd::profiler {

/// All events of one name. Times are microseconds.
struct FunctionEventAvg {
  std::string key;
  /// The CPU's for ranges and calls; a device's type for what ran there.
  c10::DeviceType device_type = c10::DeviceType::CPU;
  /// Where events are told apart by it; else empty.
  std::vector<std::vector<int64_t>> input_shapes;
  int64_t count = 0;
  double cpu_time_total = 0;
  /// Without the ranges and calls within.
  double self_cpu_time_total = 0;
  /// Of what ran on a device: its time. Of a range: what ran for it and for the ranges within it.
  double device_time_total = 0;
  /// Without the ranges within.
  double self_device_time_total = 0;

  double cpu_time() const { return count == 0 ? 0 : cpu_time_total / static_cast<double>(count); }
  double device_time() const { return count == 0 ? 0 : device_time_total / static_cast<double>(count); }
  double cuda_time() const { return device_time(); }
  double cuda_time_total() const { return device_time_total; }
  double self_cuda_time_total() const { return self_device_time_total; }
};

/// What ProfilerResult::key_averages() gives: one row a name, by when each first began.
class KeyAverages {
 public:
  KeyAverages(std::vector<FunctionEventAvg> rows, c10::DeviceType device_type)
      : rows_(std::move(rows)), device_type_(device_type) {}

  size_t size() const { return rows_.size(); }
  auto begin() const { return rows_.begin(); }
  auto end() const { return rows_.end(); }
  /// Null where there is no such row.
  const FunctionEventAvg* find(const std::string& key) const;

  /// Of all events. The device's is that of what ran there, whoever asked for it.
  double self_cpu_time_total() const;
  double self_device_time_total() const;

  /// The rows as text, the largest first by `sort_by`: "count", or "cpu_time", "cpu_time_total", "self_cpu_time_total"
  /// and the same with device, cuda, xpu or privateuseone for cpu; as they are where it is empty. ValueError for
  /// anything else. At most `row_limit` rows (-1: all), names of at most `max_name_column_width` characters. Columns of
  /// a device stand only where something ran on one.
  std::string table(const std::string& sort_by = "", int64_t row_limit = 100, size_t max_name_column_width = 55) const;

 private:
  std::vector<FunctionEventAvg> rows_;
  c10::DeviceType device_type_;  // of what ran on a device; else the CPU's
};

}  // namespace torch::autograd::profiler

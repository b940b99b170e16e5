#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
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
  /// With profile_memory, bytes: what the ranges took less what they gave back; self: without the ranges within.
  int64_t cpu_memory_usage = 0, self_cpu_memory_usage = 0;
  int64_t device_memory_usage = 0, self_device_memory_usage = 0;
  /// With with_flops, of all calls.
  uint64_t flops = 0;
  /// Where the first one began, the innermost call first; as many calls as group_by_stack_n.
  std::vector<std::string> stack;
  /// Whether the first one was within no other.
  bool is_top_level = true;

  double cpu_time() const { return count == 0 ? 0 : cpu_time_total / static_cast<double>(count); }
  double device_time() const { return count == 0 ? 0 : device_time_total / static_cast<double>(count); }
  double cuda_time() const { return device_time(); }
  double cuda_time_total() const { return device_time_total; }
  double self_cuda_time_total() const { return self_device_time_total; }
};

/// How KeyAverages::table() writes. Columns are as wide as their widest entry, up to these.
struct TableOptions {
  size_t max_src_column_width = 75;
  size_t max_name_column_width = 55;
  size_t max_shapes_column_width = 80;
  /// A line above the table.
  std::optional<std::string> header = std::nullopt;
  /// Leaves out what began within other ranges.
  bool top_level_events_only = false;
  /// "s", "ms" or "us" for all times; each time's own unit where it is empty.
  std::string time_unit = {};
};

/// What ProfilerResult::key_averages() gives: one row a name, by when each first began.
class KeyAverages {
 public:
  KeyAverages(std::vector<FunctionEventAvg> rows, c10::DeviceType device_type, bool profile_memory, bool with_flops)
      : rows_(std::move(rows)), device_type_(device_type), profile_memory_(profile_memory), with_flops_(with_flops) {}

  size_t size() const { return rows_.size(); }
  auto begin() const { return rows_.begin(); }
  auto end() const { return rows_.end(); }
  /// Null where there is no such row.
  const FunctionEventAvg* find(const std::string& key) const;

  /// Of all events. The device's is that of what ran there, whoever asked for it.
  double self_cpu_time_total() const;
  double self_device_time_total() const;
  /// All rows as one, called "Total".
  FunctionEventAvg total_average() const;

  /// The rows as PyTorch's table, the largest first by `sort_by`: "count", "flops", or "cpu_time", "cpu_time_total",
  /// "self_cpu_time_total", "cpu_memory_usage", "self_cpu_memory_usage" and the same with device, cuda, xpu or
  /// privateuseone for cpu; as they are where it is empty. ValueError for anything else. At most `row_limit` rows (-1:
  /// all). Columns of a device, of memory and of FLOPs stand only where there is something of them.
  ///
  ///   std::cout << averages.table("self_cpu_time_total", 10, {.header = "one step"});
  std::string table(const std::string& sort_by = "", int64_t row_limit = 100, const TableOptions& options = {}) const;

 private:
  std::vector<FunctionEventAvg> rows_;
  c10::DeviceType device_type_;  // of what ran on a device; else the CPU's
  bool profile_memory_, with_flops_;
};

}  // namespace torch::autograd::profiler

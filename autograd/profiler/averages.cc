// Sums of a profile's events by name, and their table.
#include "autograd/profiler/averages.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "autograd/profiler/profiler.h"
#include "c10/util/exception.h"

namespace torch::autograd::profiler {
namespace {

constexpr double kNsInUs = 1e3;

// What a range holds besides itself: times in nanoseconds, memory in bytes.
struct Within {
  uint64_t cpu = 0;
  uint64_t own_device = 0, device = 0;
  int64_t own_cpu_memory = 0, cpu_memory = 0;
  int64_t own_device_memory = 0, device_memory = 0;
};

template <class... Values>
std::string printed(const char* format, Values... values) {
  char text[64];
  std::snprintf(text, sizeof(text), format, values...);
  return text;
}

std::string time_text(double us, std::string_view unit = {}) {
  if (unit == "s" || (unit.empty() && us >= 1e6)) return printed("%.3fs", us / 1e6);
  if (unit == "ms" || (unit.empty() && us >= 1e3)) return printed("%.3fms", us / 1e3);
  return printed("%.3fus", us);
}

std::string percent_text(double part, double whole) {
  return whole == 0 ? "NaN" : printed("%.2f%%", 100 * part / whole);
}

std::string memory_text(int64_t bytes) {
  const auto size = static_cast<double>(bytes);
  const double magnitude = std::abs(size);
  if (magnitude >= 1 << 30) return printed("%.2f GB", size / (1 << 30));
  if (magnitude >= 1 << 20) return printed("%.2f MB", size / (1 << 20));
  if (magnitude >= 1 << 10) return printed("%.2f KB", size / (1 << 10));
  return std::to_string(bytes) + " B";
}

using Measure = double (*)(const FunctionEventAvg&);

// Null for a key that there is not.
Measure measure_of(std::string_view key) {
  if (key == "flops") return [](const FunctionEventAvg& row) { return static_cast<double>(row.flops); };
  if (key == "count") return [](const FunctionEventAvg& row) { return static_cast<double>(row.count); };
  const bool self = key.starts_with("self_");
  if (self) key.remove_prefix(5);
  const size_t end = key.find('_');
  if (end == std::string_view::npos) return nullptr;
  const std::string_view whose = key.substr(0, end), what = key.substr(end + 1);
  const bool device = whose == "device" || whose == "cuda" || whose == "xpu" || whose == "privateuseone";
  if (!device && whose != "cpu") return nullptr;
  if (what == "time_total") {
    if (self) {
      return device ? Measure([](const FunctionEventAvg& row) { return row.self_device_time_total; })
                    : Measure([](const FunctionEventAvg& row) { return row.self_cpu_time_total; });
    }
    return device ? Measure([](const FunctionEventAvg& row) { return row.device_time_total; })
                  : Measure([](const FunctionEventAvg& row) { return row.cpu_time_total; });
  }
  if (what == "memory_usage") {
    if (self) {
      return device
                 ? Measure(
                       [](const FunctionEventAvg& row) { return static_cast<double>(row.self_device_memory_usage); })
                 : Measure([](const FunctionEventAvg& row) { return static_cast<double>(row.self_cpu_memory_usage); });
    }
    return device ? Measure([](const FunctionEventAvg& row) { return static_cast<double>(row.device_memory_usage); })
                  : Measure([](const FunctionEventAvg& row) { return static_cast<double>(row.cpu_memory_usage); });
  }
  if (what != "time" || self) return nullptr;
  return device ? Measure([](const FunctionEventAvg& row) { return row.device_time(); })
                : Measure([](const FunctionEventAvg& row) { return row.cpu_time(); });
}

struct Column {
  std::string name;
  std::function<std::string(const FunctionEventAvg&)> text;
  size_t width;
};

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string shapes_text(const std::vector<std::vector<int64_t>>& shapes) {
  std::string text = "[";
  for (const std::vector<int64_t>& shape : shapes) {
    text += text.size() == 1 ? "[" : ", [";
    for (size_t d = 0; d < shape.size(); ++d) text += (d == 0 ? "" : ", ") + std::to_string(shape[d]);
    text += "]";
  }
  return text + "]";
}

}  // namespace

const FunctionEventAvg* KeyAverages::find(const std::string& key) const {
  const auto found =
      std::find_if(rows_.begin(), rows_.end(), [&](const FunctionEventAvg& row) { return row.key == key; });
  return found == rows_.end() ? nullptr : &*found;
}

double KeyAverages::self_cpu_time_total() const {
  double sum = 0;
  for (const FunctionEventAvg& row : rows_) sum += row.self_cpu_time_total;
  return sum;
}

double KeyAverages::self_device_time_total() const {
  double sum = 0;
  for (const FunctionEventAvg& row : rows_)
    sum += row.device_type == c10::DeviceType::CPU ? 0 : row.self_device_time_total;
  return sum;
}

FunctionEventAvg KeyAverages::total_average() const {
  FunctionEventAvg total;
  total.key = "Total";
  for (const FunctionEventAvg& row : rows_) {
    total.count += row.count;
    total.cpu_time_total += row.cpu_time_total;
    total.self_cpu_time_total += row.self_cpu_time_total;
    total.device_time_total += row.device_time_total;
    total.self_device_time_total += row.self_device_time_total;
    total.cpu_memory_usage += row.cpu_memory_usage;
    total.self_cpu_memory_usage += row.self_cpu_memory_usage;
    total.device_memory_usage += row.device_memory_usage;
    total.self_device_memory_usage += row.self_device_memory_usage;
    total.flops += row.flops;
  }
  return total;
}

std::string KeyAverages::table(const std::string& sort_by, int64_t row_limit, const TableOptions& options) const {
  constexpr size_t kColumnWidth = 12;
  const size_t max_name = options.max_name_column_width;
  TORCH_CHECK_VALUE(max_name > 3, "table: names of ", max_name, " characters are too short");
  TORCH_CHECK_VALUE(options.max_src_column_width > 3, "table: source locations of ", options.max_src_column_width,
                    " characters are too short");
  const std::string& unit = options.time_unit;
  TORCH_CHECK_VALUE(unit.empty() || unit == "s" || unit == "ms" || unit == "us",
                    "table: time_unit is \"s\", \"ms\" or \"us\", got \"", unit, "\"");
  std::vector<FunctionEventAvg> rows = rows_;
  if (!sort_by.empty()) {
    const Measure measure = measure_of(sort_by);
    TORCH_CHECK_VALUE(measure != nullptr, "table: there is nothing to sort by that is called ", sort_by);
    std::stable_sort(rows.begin(), rows.end(), [&](const auto& a, const auto& b) { return measure(a) > measure(b); });
  }
  if (rows.empty()) return {};

  // Widths and the scale of FLOPs are those of all rows, also of those that are left out.
  const auto any = [&](const auto& has) { return std::any_of(rows.begin(), rows.end(), has); };
  size_t name_width = 0, shapes_width = 0, source_width = 0;
  uint64_t least_flops = 0;
  for (const FunctionEventAvg& row : rows) {
    name_width = std::max(name_width, row.key.size());
    shapes_width = std::max(shapes_width, shapes_text(row.input_shapes).size());
    for (const std::string& line : row.stack) source_width = std::max(source_width, line.size());
    if (row.flops != 0 && (least_flops == 0 || row.flops < least_flops)) least_flops = row.flops;
  }
  name_width = std::min(name_width + 4, max_name);
  shapes_width = std::min(shapes_width + 4, options.max_shapes_column_width);
  source_width = std::min(source_width + 4, options.max_src_column_width);

  const double cpu = self_cpu_time_total(), device = self_device_time_total();
  const bool with_device = any([](const auto& row) { return row.self_device_time_total > 0; });
  const std::string on = upper(c10::DeviceTypeName(device_type_, /*lower_case=*/true));
  std::vector<Column> columns;
  const auto add = [&](std::string name, std::function<std::string(const FunctionEventAvg&)> text,
                       size_t width = kColumnWidth) {
    columns.push_back({std::move(name), std::move(text), width});
  };
  add("Name", [&](const FunctionEventAvg& row) {
    return row.key.size() >= max_name - 3 ? row.key.substr(0, max_name - 3) + "..." : row.key;
  }, name_width);
  add("Self CPU %", [&](const FunctionEventAvg& row) { return percent_text(row.self_cpu_time_total, cpu); });
  add("Self CPU", [&](const FunctionEventAvg& row) { return time_text(row.self_cpu_time_total, unit); });
  add("CPU total %", [&](const FunctionEventAvg& row) { return percent_text(row.cpu_time_total, cpu); });
  add("CPU total", [&](const FunctionEventAvg& row) { return time_text(row.cpu_time_total, unit); });
  add("CPU time avg", [&](const FunctionEventAvg& row) { return time_text(row.cpu_time(), unit); });
  if (with_device) {
    add("Self " + on, [&](const FunctionEventAvg& row) { return time_text(row.self_device_time_total, unit); });
    add("Self " + on + " %",
        [&](const FunctionEventAvg& row) { return percent_text(row.self_device_time_total, device); });
    add(on + " total", [&](const FunctionEventAvg& row) { return time_text(row.device_time_total, unit); });
    add(on + " time avg", [&](const FunctionEventAvg& row) { return time_text(row.device_time(), unit); });
  }
  if (profile_memory_) {
    add("CPU Mem", [](const FunctionEventAvg& row) { return memory_text(row.cpu_memory_usage); });
    add("Self CPU Mem", [](const FunctionEventAvg& row) { return memory_text(row.self_cpu_memory_usage); });
    if (any([](const auto& row) { return row.self_device_memory_usage > 0; })) {
      add(on + " Mem", [](const FunctionEventAvg& row) { return memory_text(row.device_memory_usage); });
      add("Self " + on + " Mem", [](const FunctionEventAvg& row) { return memory_text(row.self_device_memory_usage); });
    }
  }
  add("# of Calls", [](const FunctionEventAvg& row) { return std::to_string(row.count); });
  if (any([](const auto& row) { return !row.input_shapes.empty(); })) {
    add("Input Shapes", [&](const FunctionEventAvg& row) {
      return shapes_text(row.input_shapes).substr(0, shapes_width);
    }, shapes_width);
  }
  const bool with_stack = any([](const auto& row) { return !row.stack.empty(); });
  const size_t source_place = columns.size();
  const auto source_text = [&](const std::string& line) {
    return line.size() <= source_width ? line : "..." + line.substr(line.size() - source_width + 3);
  };
  if (with_stack) {
    add("Source Location", [&](const FunctionEventAvg& row) {
      return row.stack.empty() ? std::string() : source_text(row.stack.front());
    }, source_width);
  }
  if (with_flops_ && least_flops != 0) {
    constexpr const char* kUnits[] = {"FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs"};
    const double power = std::clamp(std::floor(std::log10(static_cast<double>(least_flops)) / 3), 0.0, 5.0);
    const double scale = std::pow(10, -3 * power);
    add(std::string("Total ") + kUnits[static_cast<size_t>(power)], [scale](const FunctionEventAvg& row) {
      return row.flops == 0 ? "--" : printed("%8.3f", static_cast<double>(row.flops) * scale);
    });
  }

  std::string rule;
  for (const Column& column : columns) rule += std::string(column.width, '-') + "  ";
  const std::string thick(rule.size() - 2, '=');
  rule += "\n";
  const auto padded = [&](size_t i, const std::string& entry) {
    const std::string space(columns[i].width - std::min(columns[i].width, entry.size()), ' ');
    return (with_stack && i == source_place ? entry + space : space + entry) + "  ";
  };
  std::string text;
  if (options.header) text += thick + "\n" + *options.header + "\n";
  if (options.top_level_events_only) text += thick + "\nThis report only display top-level ops statistics\n";
  text += rule;
  for (size_t i = 0; i < columns.size(); ++i) text += padded(i, columns[i].name);
  text += "\n" + rule;
  int64_t left = row_limit;
  for (const FunctionEventAvg& row : rows) {
    if (left == 0) break;
    if (options.top_level_events_only && !row.is_top_level) continue;
    --left;
    for (size_t i = 0; i < columns.size(); ++i) text += padded(i, columns[i].text(row));
    text += "\n";
    if (!with_stack) continue;
    for (size_t n = 1; n <= std::max<size_t>(row.stack.size(), 1); ++n) {
      for (size_t i = 0; i < columns.size(); ++i) {
        text += padded(i, i == source_place && n < row.stack.size() ? source_text(row.stack[n]) : "");
      }
      text += "\n";
    }
  }
  text += rule + "Self CPU time total: " + time_text(cpu, unit) + "\n";
  if (with_device) text += "Self " + on + " time total: " + time_text(device, unit) + "\n";
  return text;
}

namespace {

bool counts(const KinetoEvent& event) {
  if (event.is_range()) return event.deviceType() == c10::DeviceType::CPU;
  return event.activity() != c10::ActivityKind::kWait && event.activity() != c10::ActivityKind::kOverhead;
}

// Sums over the ranges of a profile, and which range is around which.
struct Sums {
  std::map<uint64_t, Within, std::greater<>> within;
  std::unordered_map<uint64_t, uint64_t> around;
  c10::DeviceType device_type = c10::DeviceType::CPU;
};

Sums sums_of(const ProfilerResult& result) {
  // Ranges begin behind those around them and have higher numbers.
  Sums sums;
  for (const KinetoEvent& event : result.events()) {
    if (event.is_range() && counts(event)) {
      sums.within.try_emplace(event.correlationId());
      sums.around[event.correlationId()] = event.linkedCorrelationId();
    }
  }
  for (const KinetoEvent& event : result.events()) {
    if (!counts(event)) continue;
    const bool on_cpu = event.deviceType() == c10::DeviceType::CPU;
    if (!on_cpu) sums.device_type = event.deviceType();
    const auto found = sums.within.find(event.linkedCorrelationId());
    if (found == sums.within.end()) continue;
    (on_cpu ? found->second.cpu : found->second.own_device) += event.durationNs();
  }
  for (const MemoryEvent& event : result.memory_events()) {
    if (!event.device.is_cpu()) sums.device_type = event.device.type();
    const auto found = sums.within.find(event.range);
    if (found == sums.within.end()) continue;
    (event.device.is_cpu() ? found->second.own_cpu_memory : found->second.own_device_memory) += event.bytes;
  }
  for (auto& [number, one] : sums.within) {
    one.device += one.own_device;
    one.cpu_memory += one.own_cpu_memory;
    one.device_memory += one.own_device_memory;
    const auto outer = sums.within.find(sums.around[number]);
    if (outer == sums.within.end()) continue;
    outer->second.device += one.device;
    outer->second.cpu_memory += one.cpu_memory;
    outer->second.device_memory += one.device_memory;
  }
  return sums;
}

}  // namespace

void ProfilerResult::export_stacks(const std::string& path, const std::string& metric) const {
  const bool on_cpu = metric == "self_cpu_time_total";
  TORCH_CHECK_VALUE(on_cpu || (metric.starts_with("self_") && metric.ends_with("_time_total") &&
                               measure_of(metric) != nullptr),
                    "export_stacks: metric should be one of self_cpu_time_total, self_cuda_time_total, "
                    "self_xpu_time_total, self_device_time_total, got ", metric);
  const Sums sums = sums_of(*this);
  std::ofstream file(path);
  for (const KinetoEvent& event : events_) {
    if (!event.hasStack()) continue;
    const auto found = sums.within.find(event.correlationId());
    if (found == sums.within.end()) continue;
    const uint64_t ns = on_cpu ? event.durationNs() - std::min(event.durationNs(), found->second.cpu)
                               : found->second.own_device;
    if (ns < 1000) continue;
    const std::vector<std::string> stack = event.stack();
    for (size_t i = stack.size(); i-- > 0;) {
      std::string line = stack[i];
      for (char& c : line) {
        if (c == ' ' || c == ';' || c == '\t' || c == '\n') c = '_';
      }
      file << line << (i == 0 ? " " : ";");
    }
    file << ns / 1000 << "\n";
  }
  file.close();
  TORCH_CHECK(!file.fail(), "export_stacks: ", path, " could not be written");
}

KeyAverages ProfilerResult::key_averages(bool group_by_input_shape, int64_t group_by_stack_n) const {
  TORCH_CHECK_VALUE(group_by_stack_n >= 0, "key_averages: group_by_stack_n is at least 0, got ", group_by_stack_n);
  const Sums sums = sums_of(*this);
  using Key =
      std::tuple<std::string, c10::DeviceType, std::vector<std::vector<int64_t>>, std::vector<std::string>>;
  std::map<Key, size_t> places;
  std::vector<FunctionEventAvg> rows;
  for (const KinetoEvent& event : events_) {
    if (!counts(event)) continue;
    // Steps are one row.
    Key key{event.name().starts_with("ProfilerStep#") ? "ProfilerStep*" : event.name(), event.deviceType(), {}, {}};
    if (group_by_input_shape) std::get<2>(key) = event.shapes();
    if (group_by_stack_n > 0 && event.hasStack()) {
      std::get<3>(key) = event.stack();
      if (std::get<3>(key).size() > static_cast<size_t>(group_by_stack_n)) {
        std::get<3>(key).resize(static_cast<size_t>(group_by_stack_n));
      }
    }
    const auto [place, is_new] = places.emplace(std::move(key), rows.size());
    if (is_new) {
      rows.emplace_back();
      FunctionEventAvg& row = rows.back();
      std::tie(row.key, row.device_type, row.input_shapes, row.stack) = place->first;
      row.is_top_level = !sums.within.contains(event.linkedCorrelationId());
    }
    FunctionEventAvg& row = rows[place->second];
    ++row.count;
    const uint64_t duration = event.durationNs();
    if (event.deviceType() != c10::DeviceType::CPU) {
      row.device_time_total += static_cast<double>(duration) / kNsInUs;
      row.self_device_time_total += static_cast<double>(duration) / kNsInUs;
      continue;
    }
    row.cpu_time_total += static_cast<double>(duration) / kNsInUs;
    const Within inner = event.is_range() ? sums.within.at(event.correlationId()) : Within();
    // A device's clock and the profiler's agree to some microseconds only.
    row.self_cpu_time_total += static_cast<double>(duration - std::min(duration, inner.cpu)) / kNsInUs;
    row.device_time_total += static_cast<double>(inner.device) / kNsInUs;
    row.self_device_time_total += static_cast<double>(inner.own_device) / kNsInUs;
    row.cpu_memory_usage += inner.cpu_memory;
    row.self_cpu_memory_usage += inner.own_cpu_memory;
    row.device_memory_usage += inner.device_memory;
    row.self_device_memory_usage += inner.own_device_memory;
    row.flops += event.flops();
  }
  // What was taken and given back in no range.
  FunctionEventAvg apart;
  apart.key = "[memory]";
  for (const MemoryEvent& event : memory_) {
    if (sums.within.contains(event.range)) continue;
    ++apart.count;
    const bool on_cpu = event.device.is_cpu();
    (on_cpu ? apart.cpu_memory_usage : apart.device_memory_usage) += event.bytes;
    (on_cpu ? apart.self_cpu_memory_usage : apart.self_device_memory_usage) += event.bytes;
  }
  if (apart.count > 0) rows.push_back(std::move(apart));
  return KeyAverages(std::move(rows), sums.device_type, config_.profile_memory, config_.with_flops);
}

}  // namespace torch::autograd::profiler

// Sums of a profile's events by name, and their table.
#include "autograd/profiler/averages.h"

#include <algorithm>
#include <cstdio>
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

// What a range holds besides itself, in nanoseconds.
struct Within {
  uint64_t cpu = 0;
  uint64_t own_device = 0, device = 0;
};

std::string time_text(double us) {
  char text[32];
  if (us >= 1e6) {
    std::snprintf(text, sizeof(text), "%.3fs", us / 1e6);
  } else if (us >= 1e3) {
    std::snprintf(text, sizeof(text), "%.3fms", us / 1e3);
  } else {
    std::snprintf(text, sizeof(text), "%.3fus", us);
  }
  return text;
}

std::string percent_text(double part, double whole) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f%%", whole == 0 ? 0.0 : 100 * part / whole);
  return text;
}

using Measure = double (*)(const FunctionEventAvg&);

// Null for a key that there is not.
Measure measure_of(std::string_view key) {
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
  if (what != "time" || self) return nullptr;
  return device ? Measure([](const FunctionEventAvg& row) { return row.device_time(); })
                : Measure([](const FunctionEventAvg& row) { return row.cpu_time(); });
}

struct Column {
  std::string name;
  std::function<std::string(const FunctionEventAvg&)> text;
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

std::string KeyAverages::table(const std::string& sort_by, int64_t row_limit, size_t max_name_column_width) const {
  TORCH_CHECK_VALUE(max_name_column_width > 3, "table: names of ", max_name_column_width, " characters are too short");
  std::vector<FunctionEventAvg> rows = rows_;
  if (!sort_by.empty()) {
    const Measure measure = measure_of(sort_by);
    TORCH_CHECK_VALUE(measure != nullptr, "table: there is nothing to sort by that is called ", sort_by);
    std::stable_sort(rows.begin(), rows.end(), [&](const auto& a, const auto& b) { return measure(a) > measure(b); });
  }
  if (row_limit >= 0 && rows.size() > static_cast<size_t>(row_limit)) rows.resize(static_cast<size_t>(row_limit));

  const double cpu = self_cpu_time_total(), device = self_device_time_total();
  const bool with_device = device_type_ != c10::DeviceType::CPU;
  const std::string on = with_device ? upper(c10::DeviceTypeName(device_type_, /*lower_case=*/true)) : "";
  std::vector<Column> columns{
      {"Name",
       [&](const FunctionEventAvg& row) {
         return row.key.size() <= max_name_column_width ? row.key
                                                        : row.key.substr(0, max_name_column_width - 3) + "...";
       }},
      {"Self CPU %", [&](const FunctionEventAvg& row) { return percent_text(row.self_cpu_time_total, cpu); }},
      {"Self CPU", [](const FunctionEventAvg& row) { return time_text(row.self_cpu_time_total); }},
      {"CPU total %", [&](const FunctionEventAvg& row) { return percent_text(row.cpu_time_total, cpu); }},
      {"CPU total", [](const FunctionEventAvg& row) { return time_text(row.cpu_time_total); }},
      {"CPU time avg", [](const FunctionEventAvg& row) { return time_text(row.cpu_time()); }},
  };
  if (with_device) {
    columns.push_back(
        {"Self " + on, [](const FunctionEventAvg& row) { return time_text(row.self_device_time_total); }});
    columns.push_back({"Self " + on + " %",
                       [&](const FunctionEventAvg& row) { return percent_text(row.self_device_time_total, device); }});
    columns.push_back({on + " total", [](const FunctionEventAvg& row) { return time_text(row.device_time_total); }});
    columns.push_back({on + " time avg", [](const FunctionEventAvg& row) { return time_text(row.device_time()); }});
  }
  columns.push_back({"# of Calls", [](const FunctionEventAvg& row) { return std::to_string(row.count); }});
  if (std::any_of(rows.begin(), rows.end(), [](const auto& row) { return !row.input_shapes.empty(); })) {
    columns.push_back({"Input Shapes", [](const FunctionEventAvg& row) { return shapes_text(row.input_shapes); }});
  }

  // Every column is as wide as its widest entry.
  std::vector<std::vector<std::string>> lines{{}};
  for (const Column& column : columns) lines[0].push_back(column.name);
  for (const FunctionEventAvg& row : rows) {
    lines.emplace_back();
    for (const Column& column : columns) lines.back().push_back(column.text(row));
  }
  std::vector<size_t> widths(columns.size());
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string rule;
  for (const size_t width : widths) rule += std::string(width, '-') + "  ";
  rule += "\n";
  std::string text = rule;
  for (size_t n = 0; n < lines.size(); ++n) {
    for (size_t i = 0; i < lines[n].size(); ++i)
      text += std::string(widths[i] - lines[n][i].size(), ' ') + lines[n][i] + "  ";
    text += "\n";
    if (n == 0) text += rule;
  }
  text += rule + "Self CPU time total: " + time_text(cpu) + "\n";
  if (with_device) text += "Self " + on + " time total: " + time_text(device) + "\n";
  return text;
}

KeyAverages ProfilerResult::key_averages(bool group_by_input_shape) const {
  const auto counts = [](const KinetoEvent& event) {
    if (event.is_range()) return event.deviceType() == c10::DeviceType::CPU;
    return event.activity() != c10::ActivityKind::kWait && event.activity() != c10::ActivityKind::kOverhead;
  };
  // Ranges begin behind those around them and have higher numbers.
  std::map<uint64_t, Within, std::greater<>> within;
  std::unordered_map<uint64_t, uint64_t> around;
  for (const KinetoEvent& event : events_) {
    if (event.is_range() && counts(event)) {
      within.try_emplace(event.correlationId());
      around[event.correlationId()] = event.linkedCorrelationId();
    }
  }
  c10::DeviceType device_type = c10::DeviceType::CPU;
  for (const KinetoEvent& event : events_) {
    if (!counts(event)) continue;
    const bool on_cpu = event.deviceType() == c10::DeviceType::CPU;
    if (!on_cpu) device_type = event.deviceType();
    const auto found = within.find(event.linkedCorrelationId());
    if (found == within.end()) continue;
    (on_cpu ? found->second.cpu : found->second.own_device) += event.durationNs();
  }
  for (auto& [number, one] : within) {
    one.device += one.own_device;
    const auto outer = within.find(around[number]);
    if (outer != within.end()) outer->second.device += one.device;
  }

  using Key = std::tuple<std::string, c10::DeviceType, std::vector<std::vector<int64_t>>>;
  std::map<Key, size_t> places;
  std::vector<FunctionEventAvg> rows;
  for (const KinetoEvent& event : events_) {
    if (!counts(event)) continue;
    Key key{event.name(), event.deviceType(), {}};
    if (group_by_input_shape) std::get<2>(key) = event.shapes();
    const auto [place, is_new] = places.emplace(std::move(key), rows.size());
    if (is_new) {
      rows.emplace_back();
      std::tie(rows.back().key, rows.back().device_type, rows.back().input_shapes) = place->first;
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
    const Within inner = event.is_range() ? within.at(event.correlationId()) : Within();
    // A device's clock and the profiler's agree to some microseconds only.
    row.self_cpu_time_total += static_cast<double>(duration - std::min(duration, inner.cpu)) / kNsInUs;
    row.device_time_total += static_cast<double>(inner.device) / kNsInUs;
    row.self_device_time_total += static_cast<double>(inner.own_device) / kNsInUs;
  }
  return KeyAverages(std::move(rows), device_type);
}

}  // namespace torch::autograd::profiler

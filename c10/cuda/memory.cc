#include "c10/cuda/memory.h"

#include <array>
#include <cstdio>
#include <fstream>
#include <initializer_list>

#include "c10/cuda/device.h"
#include "c10/cuda/guard.h"
#include "c10/cuda/stream.h"
#include "c10/util/exception.h"

namespace torch::cuda {
namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;
using allocator::DeviceStats;
using allocator::Stat;
using allocator::StatArray;
using allocator::StatType;
using c10::DeviceIndex;

DeviceIndex or_current(DeviceIndex device) {
  return device == -1 ? c10::cuda::current_device() : device;
}

DeviceStats stats_of(DeviceIndex device) {
  return allocator::getDeviceStats(or_current(device));
}

const Stat& total(const StatArray& stat) {
  return stat[static_cast<size_t>(StatType::AGGREGATE)];
}

struct Named {
  const char* name;
  const StatArray DeviceStats::*stat;
};
constexpr Named kStats[] = {
    {"allocation", &DeviceStats::allocation},
    {"allocated", &DeviceStats::allocation},
    {"segment", &DeviceStats::segment},
    {"active", &DeviceStats::active},
    {"inactive_split", &DeviceStats::inactive_split},
    {"allocated_bytes", &DeviceStats::allocated_bytes},
    {"reserved_bytes", &DeviceStats::reserved_bytes},
    {"active_bytes", &DeviceStats::active_bytes},
    {"inactive_split_bytes", &DeviceStats::inactive_split_bytes},
    {"requested_bytes", &DeviceStats::requested_bytes},
};

// --- the table ---

constexpr int kFirstColumn = 23, kColumn = 12, kWidth = kFirstColumn + 4 * (kColumn + 1);

std::string centered(const std::string& text, int width) {
  const int rest = width - static_cast<int>(text.size());
  if (rest <= 0) return text;
  const int left = rest / 2 + (rest & width & 1);
  return std::string(static_cast<size_t>(left), ' ') + text + std::string(static_cast<size_t>(rest - left), ' ');
}

// The largest unit that keeps the number at five digits.
std::string short_number(int64_t value, bool bytes) {
  const std::array<const char*, 6> units = bytes ? std::array<const char*, 6>{"B  ", "KiB", "MiB", "GiB", "TiB", "PiB"}
                                                 : std::array<const char*, 6>{" ", "K", "M", "G", "T", "P"};
  const int64_t step = bytes ? 1024 : 1000;
  size_t unit = 0;
  const int64_t limit = bytes ? 750 * 1024 : 750 * 1000;
  while (value >= limit && unit + 1 < units.size()) {
    value /= step;
    ++unit;
  }
  std::array<char, 40> text;
  std::snprintf(text.data(), text.size(), "%7lld %s", static_cast<long long>(value), units[unit]);
  return text.data();
}

void add_row(std::string& table, const std::string& name, const Stat& stat, bool bytes) {
  table += "| " + name + std::string(static_cast<size_t>(kFirstColumn - 1) - name.size(), ' ');
  for (const int64_t value : {stat.current, stat.peak, stat.allocated, stat.freed})
    table += "|" + centered(short_number(value, bytes), kColumn);
  table += "|\n";
}

// --- JSON ---

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      std::array<char, 8> escape;
      std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(c));
      out += escape.data();
    } else {
      out += c;
    }
  }
  return out + '"';
}

class JsonWriter {
 public:
  explicit JsonWriter(std::ostream& out) : out_(out) {}
  void open(char bracket) {
    separate();
    out_ << bracket;
    first_ = true;
  }
  void open(const char* key, char bracket) {
    separate();
    out_ << quoted(key) << ": " << bracket;
    first_ = true;
  }
  void close(char bracket) {
    out_ << bracket;
    first_ = false;
  }
  template <class T>
  void number(const char* key, T value) {
    separate();
    out_ << quoted(key) << ": " << +value;
  }
  void boolean(const char* key, bool value) {
    separate();
    out_ << quoted(key) << ": " << (value ? "true" : "false");
  }
  void text(const char* key, std::string_view value) {
    separate();
    out_ << quoted(key) << ": " << quoted(value);
  }
  template <class T>
  void element(T value) {
    separate();
    out_ << +value;
  }

 private:
  void separate() {
    if (!first_) out_ << ", ";
    first_ = false;
  }
  std::ostream& out_;
  bool first_ = true;
};

size_t number_of(cudaStream_t stream) {
  return reinterpret_cast<size_t>(stream);
}

void write_frames(JsonWriter& json, const std::shared_ptr<c10::GatheredContext>& context) {
  json.open("frames", '[');
  if (const auto* stack = dynamic_cast<const allocator::StackContext*>(context.get())) {
    const std::string text = stack->text();
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      json.open('{');
      json.text("filename", "??");
      json.number("line", 0);
      json.text("name", std::string_view(text).substr(begin, end - begin));
      json.close('}');
      begin = end + 1;
    }
  }
  json.close(']');
}

void write_segment(JsonWriter& json, const allocator::SegmentInfo& segment) {
  json.open('{');
  json.number("device", static_cast<int>(segment.device));
  json.number("address", segment.address);
  json.number("total_size", segment.total_size);
  json.number("allocated_size", segment.allocated_size);
  json.number("active_size", segment.active_size);
  json.number("requested_size", segment.requested_size);
  json.number("stream", number_of(segment.stream));
  json.text("segment_type", segment.is_large ? "large" : "small");
  json.open("segment_pool_id", '[');
  json.element(segment.owner_private_pool_id.first);
  json.element(segment.owner_private_pool_id.second);
  json.close(']');
  json.boolean("is_expandable", segment.is_expandable);
  write_frames(json, segment.context_when_allocated);
  json.open("blocks", '[');
  size_t address = segment.address;
  for (const allocator::BlockInfo& block : segment.blocks) {
    json.open('{');
    json.number("address", address);
    json.number("size", block.size);
    json.number("requested_size", block.requested_size);
    json.text("state", block.allocated ? "active_allocated" : block.active ? "active_awaiting_free" : "inactive");
    write_frames(json, block.context_when_allocated);
    json.close('}');
    address += block.size;
  }
  json.close(']');
  json.close('}');
}

void write_trace_entry(JsonWriter& json, const allocator::TraceEntry& entry) {
  json.open('{');
  json.text("action", allocator::action_name(entry.action_));
  json.number(entry.action_ == allocator::TraceEntry::OOM ? "device_free" : "addr", entry.addr_);
  json.number("size", entry.size_);
  json.number("stream", number_of(entry.stream_));
  json.number("time_us", entry.time_.t_);
  json.open("segment_pool_id", '[');
  json.element(entry.mempool_.first);
  json.element(entry.mempool_.second);
  json.close(']');
  if (!entry.compile_context_.empty()) json.text("compile_context", entry.compile_context_);
  if (!entry.user_metadata_.empty()) json.text("user_metadata", entry.user_metadata_);
  write_frames(json, entry.context_);
  json.close('}');
}

void write_snapshot(std::ostream& out, const allocator::SnapshotInfo& snapshot) {
  JsonWriter json(out);
  json.open('{');
  json.open("segments", '[');
  for (const auto& segment : snapshot.segments) write_segment(json, segment);
  json.close(']');
  json.open("device_traces", '[');
  for (const auto& trace : snapshot.device_traces) {
    json.open('[');
    for (const auto& entry : trace) write_trace_entry(json, entry);
    json.close(']');
  }
  json.close(']');
  json.open("external_annotations", '[');
  for (const auto& annotation : snapshot.external_annotations) {
    json.open('{');
    json.number("device", static_cast<int>(annotation.device_));
    json.number("time_us", annotation.time_.t_);
    for (const auto& [key, value] : annotation.metadata_) json.text(key.c_str(), value);
    json.close('}');
  }
  json.close(']');
  const auto& config = snapshot.config_metadata;
  json.open("allocator_settings", '{');
  json.text("PYTORCH_CUDA_ALLOC_CONF", config.last_allocator_settings);
  json.number("max_split_size", static_cast<int64_t>(config.max_split_size));
  json.number("garbage_collection_threshold", config.garbage_collection_threshold);
  json.boolean("expandable_segments", config.expandable_segments);
  json.number("pinned_num_register_threads", config.pinned_num_register_threads);
  json.boolean("release_lock_on_cudamalloc", config.release_lock_on_malloc);
  json.boolean("pinned_use_cuda_host_register", config.pinned_use_host_register);
  json.open("roundup_power2_divisions", '[');
  for (const size_t divisions : config.roundup_power2_divisions) json.element(divisions);
  json.close(']');
  json.close('}');
  json.close('}');
  out << '\n';
}

}  // namespace

std::map<std::string, int64_t> memory_stats(DeviceIndex device) {
  constexpr const char* kPools[] = {"all", "small_pool", "large_pool"};  // in StatType's order
  const DeviceStats stats = stats_of(device);
  std::map<std::string, int64_t> result;
  const auto add = [&](const std::string& name, const Stat& stat) {
    result[name + ".current"] = stat.current;
    result[name + ".peak"] = stat.peak;
    result[name + ".allocated"] = stat.allocated;
    result[name + ".freed"] = stat.freed;
  };
  for (const Named& named : kStats)
    for (size_t pool = 0; pool < std::size(kPools); ++pool)
      add(std::string(named.name) + "." + kPools[pool], (stats.*named.stat)[pool]);
  add("oversize_allocations", stats.oversize_allocations);
  add("oversize_segments", stats.oversize_segments);
  result["num_alloc_retries"] = stats.num_alloc_retries;
  result["num_ooms"] = stats.num_ooms;
  result["num_sync_all_streams"] = stats.num_sync_all_streams;
  result["num_device_alloc"] = stats.num_device_alloc;
  result["num_device_free"] = stats.num_device_free;
  result["max_split_size"] = stats.max_split_size;
  return result;
}

int64_t memory_allocated(DeviceIndex device) {
  return total(stats_of(device).allocated_bytes).current;
}
int64_t max_memory_allocated(DeviceIndex device) {
  return total(stats_of(device).allocated_bytes).peak;
}
int64_t memory_reserved(DeviceIndex device) {
  return total(stats_of(device).reserved_bytes).current;
}
int64_t max_memory_reserved(DeviceIndex device) {
  return total(stats_of(device).reserved_bytes).peak;
}
void reset_peak_memory_stats(DeviceIndex device) {
  allocator::resetPeakStats(or_current(device));
}
void reset_accumulated_memory_stats(DeviceIndex device) {
  allocator::resetAccumulatedStats(or_current(device));
}

std::string memory_summary(DeviceIndex device, bool abbreviated) {
  struct Row {
    const char* name;
    const StatArray DeviceStats::*stat;
    bool bytes;
  };
  constexpr Row kRows[] = {
      {"Allocated memory", &DeviceStats::allocated_bytes, true},
      {"Active memory", &DeviceStats::active_bytes, true},
      {"Requested memory", &DeviceStats::requested_bytes, true},
      {"GPU reserved memory", &DeviceStats::reserved_bytes, true},
      {"Non-releasable memory", &DeviceStats::inactive_split_bytes, true},
      {"Allocations", &DeviceStats::allocation, false},
      {"Active allocs", &DeviceStats::active, false},
      {"GPU reserved segments", &DeviceStats::segment, false},
      {"Non-releasable allocs", &DeviceStats::inactive_split, false},
  };
  const DeviceIndex index = or_current(device);
  const DeviceStats stats = stats_of(index);
  const std::string thick = "|" + std::string(kWidth, '=') + "|\n";
  const std::string thin = "|" + std::string(kWidth, '-') + "|\n";
  std::string table = thick;
  table += "|" + centered("PyTorch CUDA memory summary, device ID " + std::to_string(index), kWidth) + "|\n" + thin;
  table += "|" + centered("CUDA OOMs: " + std::to_string(stats.num_ooms), kFirstColumn + kColumn + 1) + "|" +
           centered("cudaMalloc retries: " + std::to_string(stats.num_alloc_retries), 3 * kColumn + 2) + "|\n" + thick;
  table += "|        Metric         ";
  for (const char* column : {"Cur Usage", "Peak Usage", "Tot Alloc", "Tot Freed"})
    table += "|" + centered(column, kColumn);
  table += "|\n";
  for (const Row& row : kRows) {
    const StatArray& stat = stats.*row.stat;
    table += thin;
    add_row(table, row.name, total(stat), row.bytes);
    if (abbreviated) continue;
    add_row(table, "      from large pool", stat[static_cast<size_t>(StatType::LARGE_POOL)], row.bytes);
    add_row(table, "      from small pool", stat[static_cast<size_t>(StatType::SMALL_POOL)], row.bytes);
  }
  table += thin;
  add_row(table, "Oversize allocations", stats.oversize_allocations, false);
  table += thin;
  add_row(table, "Oversize GPU segments", stats.oversize_segments, false);
  return table + thick;
}

void empty_cache() {
  allocator::emptyCache();
}
void set_per_process_memory_fraction(double fraction, DeviceIndex device) {
  allocator::setMemoryFraction(fraction, or_current(device));
}
double get_per_process_memory_fraction(DeviceIndex device) {
  return allocator::getMemoryFraction(or_current(device));
}
std::vector<allocator::SegmentInfo> memory_snapshot(c10::MempoolId_t mempool_id) {
  return allocator::snapshot(mempool_id).segments;
}
std::string get_allocator_backend() {
  return allocator::name();
}

void* caching_allocator_alloc(size_t size, DeviceIndex device, std::optional<cudaStream_t> stream) {
  const DeviceIndex index = or_current(device);
  const c10::cuda::CUDAGuard guard(index);
  return allocator::raw_alloc_with_stream(size, stream ? *stream : c10::cuda::getCurrentCUDAStream(index).stream());
}
void caching_allocator_delete(void* ptr) {
  allocator::raw_delete(ptr);
}
void caching_allocator_enable(bool value) {
  allocator::enable(value);
}

namespace memory {

void _record_memory_history(std::optional<std::string_view> enabled, std::optional<std::string_view> context,
                            size_t max_entries) {
  if (!enabled) {
    allocator::recordHistory(false, nullptr, 0, allocator::RecordContext::NEVER);
    return;
  }
  TORCH_CHECK_VALUE(*enabled == "state" || *enabled == "all",
                    "_record_memory_history: enabled must be \"state\" or \"all\", got \"", *enabled, "\"");
  TORCH_CHECK_VALUE(!context || *context == "state" || *context == "alloc" || *context == "all",
                    "_record_memory_history: context must be \"state\", \"alloc\" or \"all\", got \"", *context, "\"");
  using allocator::RecordContext;
  const RecordContext when = !context              ? RecordContext::NEVER
                             : *context == "state" ? RecordContext::STATE
                             : *context == "alloc" ? RecordContext::ALLOC
                                                   : RecordContext::ALL;
  allocator::recordHistory(true, &allocator::gather_stack, *enabled == "all" ? max_entries : 0, when);
}

allocator::SnapshotInfo _snapshot() {
  return allocator::snapshot();
}

void _dump_snapshot(const std::string& filename) {
  const allocator::SnapshotInfo snapshot = allocator::snapshot();
  std::ofstream file(filename, std::ios::binary);
  TORCH_CHECK(file.good(), "_dump_snapshot: ", filename, " cannot be opened");
  write_snapshot(file, snapshot);
  file.close();
  TORCH_CHECK(file.good(), "_dump_snapshot: ", filename, " cannot be written");
}

}  // namespace memory
}  // namespace torch::cuda

#include "utils/memory/history.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>

#include "aten/core/record_function.h"
#include "c10/memory/allocation_observer.h"
#include "c10/util/backtrace.h"
#include "c10/util/exception.h"
#include "utils/pickle/bare_pickle.h"

namespace torch::memory {
namespace {

// The names of the ranges that are open in this thread.
thread_local std::vector<std::string> t_ranges;

int64_t now_us() {
  const auto time = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
}

class History final : public c10::AllocationObserver {
 public:
  static History& instance() {
    static History& instance = *new History;
    return instance;
  }

  void start(const HistoryOptions& options) {
    {
      const std::lock_guard lock(mutex_);
      TORCH_CHECK(!is_on_, "record_memory_history: it is on");
      is_on_ = true;
      options_ = options;
      blocks_.clear();
      events_.clear();
      at_peak_.clear();
      totals_.clear();
      total_ = peak_ = 0;
    }
    callback_ = at::addThreadLocalCallback(at::RecordFunctionCallback(&begin_range, &end_range));
    c10::add_allocation_observer(this);
    detail::segment_listener = &on_segment;
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      if (!is_on_) return;
      is_on_ = false;
    }
    detail::segment_listener = nullptr;
    c10::remove_allocation_observer(this);
    at::removeCallback(callback_);
  }

  bool is_on() {
    const std::lock_guard lock(mutex_);
    return is_on_;
  }

  Snapshot snapshot() {
    Snapshot out;
    // The allocator tells this of its blocks under a lock of its own.
    if (detail::segments != nullptr) out.segments = detail::segments();
    const std::lock_guard lock(mutex_);
    for (const auto& [key, block] : blocks_) out.blocks.push_back(block);
    std::sort(out.blocks.begin(), out.blocks.end(),
              [](const Block& a, const Block& b) { return a.address < b.address; });
    out.events.assign(events_.begin(), events_.end());
    out.peak_bytes = peak_;
    note_peak();
    for (const auto& [range, share] : at_peak_) {
      if (share.bytes != 0) out.peak_by_range.push_back(share);
    }
    std::sort(out.peak_by_range.begin(), out.peak_by_range.end(), [](const PeakShare& a, const PeakShare& b) {
      return a.bytes != b.bytes ? a.bytes > b.bytes : a.range < b.range;
    });
    return out;
  }

  void allocated(const void* data, size_t bytes, size_t, c10::Device device) noexcept override {
    auto origin = std::make_shared<Origin>();
    if (!t_ranges.empty()) origin->range = t_ranges.back();
    // This function and the allocator stand above.
    if (options_.stacks) origin->frames = c10::capture_frames(2);
    const std::lock_guard lock(mutex_);
    Block block{reinterpret_cast<uintptr_t>(data), bytes, device, std::move(origin)};
    total_ += bytes;
    peak_is_now_ = peak_is_now_ || total_ > peak_;
    peak_ = std::max(peak_, total_);
    totals_[device] += bytes;
    blocks_[{device, block.address}] = block;
    add({false, std::move(block), now_us(), totals_[device], "", 0});
  }

  void freed(const void* data, size_t, size_t, c10::Device device) noexcept override {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find({device, reinterpret_cast<uintptr_t>(data)});
    if (found == blocks_.end()) return;
    note_peak();
    const Block block = std::move(found->second);
    blocks_.erase(found);
    total_ -= block.bytes;
    totals_[device] -= block.bytes;
    add({true, block, now_us(), totals_[device], "", 0});
  }

 private:
  static void on_segment(const detail::SegmentEvent& event) {
    History& self = instance();
    auto origin = std::make_shared<Origin>();
    if (!t_ranges.empty()) origin->range = t_ranges.back();
    if (self.options_.stacks) origin->frames = c10::capture_frames(2);
    const std::lock_guard lock(self.mutex_);
    self.add({false, {event.address, event.bytes, event.device, std::move(origin)}, now_us(),
              self.totals_[event.device], event.action, event.stream});
  }

  static std::unique_ptr<at::ObserverContext> begin_range(const at::RecordFunction& range) {
    t_ranges.emplace_back(range.name());
    return nullptr;
  }
  static void end_range(const at::RecordFunction&, at::ObserverContext*) {
    // Recording may have begun within the range.
    if (!t_ranges.empty()) t_ranges.pop_back();
  }

  void add(Event event) {
    events_.push_back(std::move(event));
    if (events_.size() > options_.max_entries) events_.pop_front();
  }

  // Who holds what at a moment that was the highest so far: asked for when memory falls again, not with each new block.
  void note_peak() {
    if (!std::exchange(peak_is_now_, false)) return;
    at_peak_.clear();
    for (const auto& [key, block] : blocks_) {
      PeakShare& share = at_peak_[block.origin->range];
      share.range = block.origin->range;
      share.bytes += block.bytes;
      ++share.blocks;
    }
  }

  std::mutex mutex_;
  bool is_on_ = false, peak_is_now_ = false;
  HistoryOptions options_;
  at::CallbackHandle callback_ = at::INVALID_CALLBACK_HANDLE;
  std::map<std::pair<c10::Device, uintptr_t>, Block, bool (*)(const std::pair<c10::Device, uintptr_t>&,
                                                             const std::pair<c10::Device, uintptr_t>&)>
      blocks_{[](const auto& a, const auto& b) {
        if (a.second != b.second) return a.second < b.second;
        return std::pair(a.first.type(), a.first.index()) < std::pair(b.first.type(), b.first.index());
      }};
  std::deque<Event> events_;
  std::map<std::string, PeakShare> at_peak_;
  std::unordered_map<c10::Device, size_t> totals_;
  size_t total_ = 0, peak_ = 0;
};

using Dict = c10::Dict<std::string, c10::IValue>;
using Values = c10::List<c10::IValue>;

Values empty_list() {
  return Values(c10::AnyType::get());
}
Dict empty_dict() {
  return Dict(c10::StringType::get(), c10::AnyType::get());
}

// "train(at::Tensor const&) + 0x1c (bin/train + 0x5a21c)": the function, and the file of the program.
class Frames {
 public:
  Values operator()(const std::vector<void*>& frames) {
    Values out = empty_list();
    for (void* const frame : frames) out.push_back(one(frame));
    return out;
  }

 private:
  c10::IValue one(void* frame) {
    const auto known = known_.find(frame);
    if (known != known_.end()) return known->second;
    std::string text = c10::describe_frames({frame});
    if (text.ends_with('\n')) text.pop_back();
    text = text.substr(std::min(text.size(), text.find(": ") + 2));
    std::string file = "??";
    const size_t bracket = text.rfind(" (");
    if (bracket != std::string::npos && text.ends_with(')')) {
      file = text.substr(bracket + 2, text.size() - bracket - 3);
      file = file.substr(0, file.rfind(" + "));
      text.resize(bracket);
    }
    Dict dict = empty_dict();
    dict.insert("filename", file);
    dict.insert("line", int64_t{0});
    dict.insert("name", text);
    return known_.emplace(frame, dict).first->second;
  }
  std::unordered_map<void*, c10::IValue> known_;
};

size_t number_of(c10::Device device) {
  return device.is_cpu() ? 0 : 1 + static_cast<size_t>(std::max<int>(device.index(), 0));
}

std::string readable(size_t bytes) {
  char text[32];
  if (bytes >= size_t{1} << 20) {
    std::snprintf(text, sizeof(text), "%.2f MB", static_cast<double>(bytes) / (1 << 20));
  } else if (bytes >= 1 << 10) {
    std::snprintf(text, sizeof(text), "%.2f KB", static_cast<double>(bytes) / (1 << 10));
  } else {
    std::snprintf(text, sizeof(text), "%zu B", bytes);
  }
  return text;
}

}  // namespace

std::string Snapshot::peak_table(int64_t row_limit) const {
  size_t width = 12;
  for (const PeakShare& share : peak_by_range) width = std::max(width, share.range.size());
  const auto line = [&](const std::string& name, const std::string& bytes, const std::string& part,
                        const std::string& blocks) {
    const auto right = [](const std::string& text, size_t wide) {
      return std::string(wide - std::min(wide, text.size()), ' ') + text;
    };
    return name + std::string(width - name.size(), ' ') + "  " + right(bytes, 12) + "  " + right(part, 8) + "  " +
           right(blocks, 8) + "\n";
  };
  std::string out = line("Range", "At the peak", "Part", "Blocks");
  for (const PeakShare& share : peak_by_range) {
    if (row_limit-- == 0) break;
    char part[16];
    std::snprintf(part, sizeof(part), "%.1f%%",
                  100 * static_cast<double>(share.bytes) / static_cast<double>(peak_bytes));
    out +=
        line(share.range.empty() ? "(none)" : share.range, readable(share.bytes), part, std::to_string(share.blocks));
  }
  return out + "Peak: " + readable(peak_bytes) + "\n";
}

c10::IValue Snapshot::to_value() const {
  Frames frames;
  Values segments = empty_list();
  const auto number = [](size_t value) { return static_cast<int64_t>(value); };
  // By address, which is no other device's.
  std::map<uintptr_t, const Block*> known;
  for (const Block& block : blocks) known.emplace(block.address, &block);
  std::set<size_t> with_segments;  // their numbers
  for (const Segment& held : this->segments) {
    with_segments.insert(number_of(held.device));
    Values parts = empty_list();
    size_t allocated = 0, active = 0, requested = 0;
    for (const SegmentBlock& block : held.blocks) {
      allocated += block.is_allocated ? block.bytes : 0;
      active += block.is_active ? block.bytes : 0;
      requested += block.is_active ? block.requested_bytes : 0;
      const auto found = known.find(block.address);
      Dict part = empty_dict();
      part.insert("address", number(block.address));
      part.insert("size", number(block.bytes));
      part.insert("requested_size", number(block.requested_bytes));
      part.insert("state", std::string(block.is_allocated ? "active_allocated"
                                       : block.is_active  ? "active_awaiting_free"
                                                          : "inactive"));
      part.insert("frames", found == known.end() || !block.is_allocated ? empty_list()
                                                                        : frames(found->second->origin->frames));
      parts.push_back(part);
    }
    Dict segment = empty_dict();
    segment.insert("device", number(number_of(held.device)));
    segment.insert("address", number(held.address));
    segment.insert("total_size", number(held.bytes));
    segment.insert("allocated_size", number(allocated));
    segment.insert("active_size", number(active));
    segment.insert("requested_size", number(requested));
    segment.insert("stream", held.stream);
    segment.insert("segment_type", std::string(held.is_large ? "large" : "small"));
    segment.insert("segment_pool_id", std::tuple<int64_t, int64_t>(held.pool.first, held.pool.second));
    segment.insert("is_expandable", held.is_expandable);
    segment.insert("frames", empty_list());
    segment.insert("blocks", parts);
    segments.push_back(segment);
  }
  for (const Block& block : blocks) {
    if (with_segments.count(number_of(block.device)) != 0) continue;
    const Values stack = frames(block.origin->frames);
    Dict part = empty_dict();
    part.insert("address", number(block.address));
    part.insert("size", number(block.bytes));
    part.insert("requested_size", number(block.bytes));
    part.insert("state", std::string("active_allocated"));
    part.insert("frames", stack);
    Values parts = empty_list();
    parts.push_back(part);
    Dict segment = empty_dict();
    segment.insert("device", number(number_of(block.device)));
    segment.insert("address", number(block.address));
    segment.insert("total_size", number(block.bytes));
    segment.insert("allocated_size", number(block.bytes));
    segment.insert("active_size", number(block.bytes));
    segment.insert("requested_size", number(block.bytes));
    segment.insert("stream", int64_t{0});
    segment.insert("segment_type", std::string("large"));
    segment.insert("segment_pool_id", std::tuple<int64_t, int64_t>(0, 0));
    segment.insert("is_expandable", false);
    segment.insert("frames", stack);
    segment.insert("blocks", parts);
    segments.push_back(segment);
  }
  std::vector<Values> traces{empty_list()};
  for (const Event& event : events) {
    const size_t device = number_of(event.block.device);
    while (traces.size() <= device) traces.push_back(empty_list());
    // Memory that is freed may be taken again at once.
    for (const char* action : !event.action.empty() ? std::vector<const char*>{event.action.c_str()}
                              : event.is_free ? std::vector<const char*>{"free_requested", "free_completed"}
                                            : std::vector<const char*>{"alloc"}) {
      Dict entry = empty_dict();
      entry.insert("action", std::string(action));
      entry.insert("addr", number(event.block.address));
      entry.insert("size", number(event.block.bytes));
      entry.insert("stream", event.stream);
      entry.insert("time_us", event.time_us);
      entry.insert("compile_context", event.block.origin->range);
      entry.insert("frames", frames(event.block.origin->frames));
      traces[device].push_back(entry);
    }
  }
  Values device_traces = empty_list();
  for (const Values& trace : traces) device_traces.push_back(trace);
  Dict out = empty_dict();
  out.insert("segments", segments);
  out.insert("device_traces", device_traces);
  out.insert("allocator_settings", empty_dict());
  out.insert("external_annotations", empty_list());
  return out;
}

void Snapshot::save(const std::string& path) const {
  const std::vector<char> bytes = jit::pickle(to_value());
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  TORCH_CHECK(!file.fail(), "the snapshot of memory could not be written to ", path);
}

void record_memory_history(const HistoryOptions& options) {
  History::instance().start(options);
}
void stop_memory_history() {
  History::instance().stop();
}
bool is_recording_memory_history() {
  return History::instance().is_on();
}
Snapshot snapshot() {
  return History::instance().snapshot();
}
void dump_snapshot(const std::string& path) {
  snapshot().save(path);
}

}  // namespace torch::memory

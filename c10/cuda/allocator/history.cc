#include "c10/cuda/allocator/history.h"

#include <chrono>

#include "c10/util/backtrace.h"

namespace c10::cuda::CUDACachingAllocator {

std::shared_ptr<GatheredContext> gather_stack() {
  auto context = std::make_shared<StackContext>();
  context->frames = c10::capture_frames(1);
  return context;
}

std::string StackContext::text() const {
  return c10::describe_frames(frames);
}

const char* action_name(TraceEntry::Action action) {
  switch (action) {
    case TraceEntry::ALLOC:
      return "alloc";
    case TraceEntry::FREE_REQUESTED:
      return "free_requested";
    case TraceEntry::FREE_COMPLETED:
      return "free_completed";
    case TraceEntry::SEGMENT_ALLOC:
      return "segment_alloc";
    case TraceEntry::SEGMENT_FREE:
      return "segment_free";
    case TraceEntry::SEGMENT_MAP:
      return "segment_map";
    case TraceEntry::SEGMENT_UNMAP:
      return "segment_unmap";
    case TraceEntry::SNAPSHOT:
      return "snapshot";
    case TraceEntry::OOM:
      return "oom";
    case TraceEntry::USER_DEFINED:
      return "user_defined";
  }
  return "unknown";
}

int64_t microseconds_since_1970() {
  using std::chrono::duration_cast;
  return duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

void History::configure(bool enabled, CreateContextFn recorder, size_t max_entries, RecordContext when, bool clear) {
  std::lock_guard lock(mutex_);
  if (clear) annotations_.clear();
  annotations_.set_limit(max_entries);
  recorder_.store(recorder);
  when_.store(enabled && recorder != nullptr ? when : RecordContext::NEVER);
  enabled_.store(enabled);
  watched_.store(enabled || !trackers_.empty());
}

void History::annotate(c10::DeviceIndex device, std::vector<std::pair<std::string, std::string>> metadata) {
  std::lock_guard lock(mutex_);
  AnnotationEntry entry;
  entry.device_ = device;
  entry.time_.t_ = microseconds_since_1970();
  entry.metadata_ = std::move(metadata);
  annotations_.push(std::move(entry));
}

std::vector<AnnotationEntry> History::annotations() {
  std::lock_guard lock(mutex_);
  return annotations_.in_order();
}

void History::watch(AllocatorTraceTracker tracker) {
  std::lock_guard lock(mutex_);
  trackers_.push_back(std::move(tracker));
  has_trackers_.store(true);
  watched_.store(true);
}

void History::observe_out_of_memory(OutOfMemoryObserver observer) {
  std::lock_guard lock(mutex_);
  observers_.push_back(std::move(observer));
}

void History::notify(const TraceEntry& entry) {
  if (!has_trackers_.load(std::memory_order_relaxed)) return;
  for (const auto& tracker : copy_of(trackers_)) tracker(entry);
}

void History::notify_out_of_memory(int64_t device, size_t allocated, size_t total, size_t free) {
  for (const auto& observer : copy_of(observers_)) observer(device, allocated, total, free);
}

std::string& History::user_metadata() {
  thread_local std::string metadata;
  return metadata;
}

std::vector<std::string>& History::compile_contexts() {
  thread_local std::vector<std::string> contexts;
  return contexts;
}

}  // namespace c10::cuda::CUDACachingAllocator

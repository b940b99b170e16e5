// What CUDA devices do while a profile is taken, as CUPTI tells it. Linking this is enough for the profiler to find it.
#include "c10/cuda/profiler/activity_source.h"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "c10/core/device_activity.h"
#include "c10/cuda/capture_mode.h"
#include "c10/cuda/device.h"
#include "c10/cuda/guard.h"
#include "c10/cuda/profiler/cupti.h"
#include "c10/util/exception.h"

namespace c10::cuda::profiler {
namespace {

constexpr CUpti_ExternalCorrelationKind kOurs = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;

// What threads ask for, and what devices do. The second outlives the first by the work that is still queued.
constexpr CUpti_ActivityKind kCalls[] = {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, CUPTI_ACTIVITY_KIND_RUNTIME,
                                         CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION};
constexpr CUpti_ActivityKind kWork[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                        CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET,
                                        CUPTI_ACTIVITY_KIND_OVERHEAD};

// Calls that ask, and would drown the others.
constexpr std::string_view kIgnoredCalls[] = {"cudaGetDevice",
                                              "cudaSetDevice",
                                              "cudaGetDeviceCount",
                                              "cudaGetLastError",
                                              "cudaPeekAtLastError",
                                              "cudaStreamIsCapturing",
                                              "cudaStreamGetCaptureInfo",
                                              "cudaPointerGetAttributes",
                                              "cudaFuncGetAttributes",
                                              "cudaDeviceGetAttribute",
                                              "cudaThreadExchangeStreamCaptureMode"};

uint64_t steady_ns() {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

// One instant by both clocks.
struct Instant {
  uint64_t ours = 0, cupti = 0;
};

// CUPTI's clock may be set, and may go faster or slower than ours: what was read at both ends of a profile says how.
struct Clock {
  Instant first, last;
  uint64_t ours(uint64_t cupti) const {
    const auto since = static_cast<double>(static_cast<int64_t>(cupti - first.cupti));
    const auto cupti_span = static_cast<double>(static_cast<int64_t>(last.cupti - first.cupti));
    const auto our_span = static_cast<double>(last.ours - first.ours);
    const double rate = cupti_span > 0 && our_span > 0 ? our_span / cupti_span : 1;
    return first.ours + static_cast<uint64_t>(static_cast<int64_t>(since * rate));
  }
};

struct Buffer {
  std::unique_ptr<uint8_t[]> bytes;
  size_t size = 0, valid = 0;
};

// What CUPTI's callbacks see.
struct Buffers {
  std::mutex mutex;
  BufferLimits limits;
  std::unordered_map<uint8_t*, Buffer> lent;  // CUPTI has them
  std::vector<Buffer> full;
  size_t bytes = 0;
  bool collecting = false;
};
Buffers& buffers() {
  static auto* const one = new Buffers;
  return *one;
}

void CUPTIAPI lend(uint8_t** buffer, size_t* size, size_t* records) {
  *buffer = nullptr;
  *size = 0;
  *records = 0;  // as many as fit
  Buffers& all = buffers();
  const std::lock_guard lock(all.mutex);
  if (all.bytes + all.limits.buffer_bytes > all.limits.total_bytes) return;
  try {
    // Memory of operator new is aligned to more than the 8 bytes that CUPTI asks for.
    Buffer made{std::unique_ptr<uint8_t[]>(new uint8_t[all.limits.buffer_bytes]), all.limits.buffer_bytes, 0};
    uint8_t* const bytes = made.bytes.get();
    all.lent.emplace(bytes, std::move(made));
    all.bytes += all.limits.buffer_bytes;
    *buffer = bytes;
    *size = all.limits.buffer_bytes;
  } catch (const std::bad_alloc&) {  // records are dropped, and counted
  }
}

void CUPTIAPI take_back(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  Buffers& all = buffers();
  const std::lock_guard lock(all.mutex);
  const auto found = all.lent.find(buffer);
  if (found == all.lent.end()) return;
  Buffer back = std::move(found->second);
  all.lent.erase(found);
  back.valid = std::min(valid, back.size);
  if (all.collecting && back.valid > 0) {
    try {
      all.full.push_back(std::move(back));
      return;
    } catch (const std::bad_alloc&) {
    }
  }
  all.bytes -= back.size;
}

std::string number(uint64_t value) {
  return std::to_string(value);
}
std::string triple(int64_t x, int64_t y, int64_t z) {
  return c10::str("[", x, ", ", y, ", ", z, "]");
}

std::string kernel_name(const char* name) {
  if (name == nullptr) return "kernel";
  int status = 0;
  char* const readable = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string text = status == 0 && readable != nullptr ? readable : name;
  std::free(readable);
  return text;
}

const char* memory_name(uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE:
      return "Pageable";
    case CUPTI_ACTIVITY_MEMORY_KIND_PINNED:
      return "Pinned";
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE:
      return "Device";
    case CUPTI_ACTIVITY_MEMORY_KIND_ARRAY:
      return "Array";
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED:
      return "Managed";
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC:
      return "Device Static";
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC:
      return "Managed Static";
    default:
      return "Unknown";
  }
}

const char* copy_name(uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
      return "HtoD";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
      return "DtoH";
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
      return "HtoA";
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
      return "AtoH";
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOA:
      return "AtoA";
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOD:
      return "AtoD";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOA:
      return "DtoA";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
      return "DtoD";
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
      return "HtoH";
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
      return "PtoP";
    default:
      return "";
  }
}

const char* wait_name(CUpti_ActivitySynchronizationType type) {
  switch (type) {
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE:
      return "Event Sync";
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT:
      return "Stream Wait Event";
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE:
      return "Stream Sync";
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE:
      return "Context Sync";
    default:
      return "Sync";
  }
}

const char* overhead_name(CUpti_ActivityOverheadKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER:
      return "Driver Compiler";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH:
      return "Buffer Flush";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION:
      return "Instrumentation";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE:
      return "Resource";
    case CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING:
      return "Runtime Triggered Module Loading";
    case CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING:
      return "Lazy Function Loading";
    case CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL:
      return "Command Buffer Full";
    case CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST:
      return "Activity Buffer Request";
    default:
      return "Overhead";
  }
}

// Records of all buffers as activities.
class Reader {
 public:
  Reader(const Cupti& cupti, const Clock& clock) : cupti_(cupti), clock_(clock) {}

  // Whether the buffer could be read to its end.
  bool read(const Buffer& buffer) {
    CUpti_Activity* record = nullptr;
    while (true) {
      const CUptiResult status = cupti_.cuptiActivityGetNextRecord(buffer.bytes.get(), buffer.valid, &record);
      if (status == CUPTI_ERROR_MAX_LIMIT_REACHED || status == CUPTI_ERROR_INVALID_KIND) return true;
      if (status != CUPTI_SUCCESS) return false;
      add(*record);
    }
  }

  // Calls and work in no order, each with its range. Of the driver's functions, those that no function of the runtime
  // stands before and that caused something.
  std::vector<DeviceActivity> finish() {
    std::unordered_set<uint64_t> caused;
    // Waits know their stream's context and not the device; work of that context does.
    for (auto& [wait, context] : waits_) {
      const auto device = devices_.find(context);
      wait.device = Device(kCUDA, device == devices_.end() ? DeviceIndex{0} : device->second);
      found_.push_back(std::move(wait));
    }
    for (const DeviceActivity& one : found_) {
      if (one.kind != ActivityKind::kCall && one.kind != ActivityKind::kOverhead) caused.insert(one.correlation);
    }
    for (DeviceActivity& call : driver_calls_) {
      if (caused.contains(call.correlation) && !runtime_calls_.contains(call.correlation))
        found_.push_back(std::move(call));
    }
    for (DeviceActivity& one : found_) {
      const auto range = ranges_.find(one.correlation);
      if (range != ranges_.end() && one.kind != ActivityKind::kOverhead) one.range = range->second;
    }
    return std::move(found_);
  }

 private:
  void add(const CUpti_Activity& record) {
    switch (record.kind) {
      case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
        const auto& link = reinterpret_cast<const CUpti_ActivityExternalCorrelation&>(record);
        if (link.externalKind == kOurs) ranges_[link.correlationId] = link.externalId;
        break;
      }
      case CUPTI_ACTIVITY_KIND_RUNTIME:
        add_call(reinterpret_cast<const CUpti_ActivityAPI&>(record), CUPTI_CB_DOMAIN_RUNTIME_API);
        break;
      case CUPTI_ACTIVITY_KIND_DRIVER:
        add_call(reinterpret_cast<const CUpti_ActivityAPI&>(record), CUPTI_CB_DOMAIN_DRIVER_API);
        break;
      case CUPTI_ACTIVITY_KIND_KERNEL:
      case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        add_kernel(reinterpret_cast<const CUpti_ActivityKernel10&>(record));
        break;
      case CUPTI_ACTIVITY_KIND_MEMCPY:
        add_copy(reinterpret_cast<const CUpti_ActivityMemcpy6&>(record));
        break;
      case CUPTI_ACTIVITY_KIND_MEMCPY2: {
        const auto& copy = reinterpret_cast<const CUpti_ActivityMemcpyPtoP4&>(record);
        if (DeviceActivity* made = add_copy(copy)) {
          made->details.emplace_back("from device", number(copy.srcDeviceId));
          made->details.emplace_back("to device", number(copy.dstDeviceId));
        }
        break;
      }
      case CUPTI_ACTIVITY_KIND_MEMSET:
        add_set(reinterpret_cast<const CUpti_ActivityMemset4&>(record));
        break;
      case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
        add_wait(reinterpret_cast<const CUpti_ActivitySynchronization2&>(record));
        break;
      case CUPTI_ACTIVITY_KIND_OVERHEAD:
        add_overhead(reinterpret_cast<const CUpti_ActivityOverhead3&>(record));
        break;
      default:
        break;
    }
  }

  DeviceActivity made(ActivityKind kind, std::string name, uint64_t start, uint64_t end) const {
    DeviceActivity activity;
    activity.kind = kind;
    activity.name = std::move(name);
    activity.start_ns = clock_.ours(start);
    activity.end_ns = clock_.ours(end);
    return activity;
  }

  // Null for work whose times are missing: it had not run.
  template <class Record>
  DeviceActivity* add_work(ActivityKind kind, std::string name, const Record& record) {
    if (record.start == 0 || record.end == 0) return nullptr;
    DeviceActivity activity = made(kind, std::move(name), record.start, record.end);
    activity.device = Device(kCUDA, static_cast<DeviceIndex>(record.deviceId));
    activity.resource = record.streamId;
    activity.correlation = record.correlationId;
    devices_[record.contextId] = activity.device.index();
    activity.details.emplace_back("context", number(record.contextId));
    if (record.graphId != 0) {
      activity.details.emplace_back("graph id", number(record.graphId));
      activity.details.emplace_back("graph node id", number(record.graphNodeId));
    }
    return &found_.emplace_back(std::move(activity));
  }

  void add_kernel(const CUpti_ActivityKernel10& kernel) {
    DeviceActivity* const made = add_work(ActivityKind::kKernel, kernel_name(kernel.name), kernel);
    if (made == nullptr) return;
    made->details.emplace_back("grid", triple(kernel.gridX, kernel.gridY, kernel.gridZ));
    made->details.emplace_back("block", triple(kernel.blockX, kernel.blockY, kernel.blockZ));
    made->details.emplace_back("registers per thread", number(kernel.registersPerThread));
    made->details.emplace_back("shared memory",
                               std::to_string(int64_t{kernel.staticSharedMemory} + kernel.dynamicSharedMemory));
  }

  template <class Record>
  DeviceActivity* add_copy(const Record& copy) {
    const std::string name = c10::str("Memcpy ", copy_name(copy.copyKind), " (", memory_name(copy.srcKind), " -> ",
                                      memory_name(copy.dstKind), ")");
    DeviceActivity* const made = add_work(ActivityKind::kCopy, name, copy);
    if (made == nullptr) return nullptr;
    made->bytes = copy.bytes;
    if (copy.end > copy.start) {
      made->details.emplace_back("memory bandwidth (GB/s)", std::to_string(static_cast<double>(copy.bytes) /
                                                                           static_cast<double>(copy.end - copy.start)));
    }
    return made;
  }

  void add_set(const CUpti_ActivityMemset4& set) {
    const std::string name = c10::str("Memset (", memory_name(static_cast<uint8_t>(set.memoryKind)), ")");
    DeviceActivity* const made = add_work(ActivityKind::kSet, name, set);
    if (made != nullptr) made->bytes = set.bytes;
  }

  void add_wait(const CUpti_ActivitySynchronization2& wait) {
    DeviceActivity activity = made(ActivityKind::kWait, wait_name(wait.type), wait.start, wait.end);
    activity.resource = wait.streamId == CUPTI_SYNCHRONIZATION_INVALID_VALUE ? -1 : static_cast<int64_t>(wait.streamId);
    activity.correlation = wait.correlationId;
    if (wait.cudaEventId != CUPTI_SYNCHRONIZATION_INVALID_VALUE)
      activity.details.emplace_back("event", number(wait.cudaEventId));
    waits_.emplace_back(std::move(activity), wait.contextId);
  }

  void add_call(const CUpti_ActivityAPI& call, CUpti_CallbackDomain domain) {
    const std::string& name = call_name(domain, call.cbid);
    const bool runtime = domain == CUPTI_CB_DOMAIN_RUNTIME_API;
    if (runtime) runtime_calls_.insert(call.correlationId);
    if (std::find(std::begin(kIgnoredCalls), std::end(kIgnoredCalls), name) != std::end(kIgnoredCalls)) return;
    DeviceActivity activity = made(ActivityKind::kCall, name, call.start, call.end);
    activity.resource = call.threadId;
    activity.correlation = call.correlationId;
    activity.details.emplace_back("cbid", number(call.cbid));
    if (call.returnValue != 0) activity.details.emplace_back("status", number(call.returnValue));
    (runtime ? found_ : driver_calls_).push_back(std::move(activity));
  }

  void add_overhead(const CUpti_ActivityOverhead3& overhead) {
    if (overhead.start == 0 || overhead.end == 0) return;
    DeviceActivity activity =
        made(ActivityKind::kOverhead, overhead_name(overhead.overheadKind), overhead.start, overhead.end);
    activity.resource = overhead.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD ? overhead.objectId.pt.threadId : 0;
    activity.correlation = overhead.correlationId;
    found_.push_back(std::move(activity));
  }

  // Without what CUPTI appends: the version from which on it is as it is, and the kind of its default stream.
  const std::string& call_name(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
    std::string& known = names_[static_cast<uint64_t>(domain) << 32 | id];
    if (!known.empty()) return known;
    const char* name = nullptr;
    if (cupti_.cuptiGetCallbackName(domain, id, &name) != CUPTI_SUCCESS || name == nullptr) return known = "call";
    std::string_view text = name;
    if (domain == CUPTI_CB_DOMAIN_RUNTIME_API) {
      const size_t version = text.rfind("_v");
      if (version != std::string_view::npos) text = text.substr(0, version);
    }
    return known = std::string(text);
  }

  const Cupti& cupti_;
  const Clock& clock_;
  std::vector<DeviceActivity> found_, driver_calls_;
  std::vector<std::pair<DeviceActivity, uint32_t>> waits_;  // with their contexts
  std::unordered_set<uint64_t> runtime_calls_;
  std::unordered_map<uint64_t, uint64_t> ranges_;      // by correlation
  std::unordered_map<uint64_t, DeviceIndex> devices_;  // by context
  std::unordered_map<uint64_t, std::string> names_;
};

class Source final : public DeviceActivitySource {
 public:
  bool start() override {
    const std::lock_guard lock(mutex_);
    TORCH_CHECK(cupti_ == nullptr,
                "the work of CUDA devices is being profiled already: one profile at a time can have it");
    std::string why;
    const Cupti* const cupti = load_cupti(why);
    if (cupti == nullptr) {
      TORCH_WARN("the profile has no work of CUDA devices, as CUPTI cannot be loaded: ", why);
      return false;
    }
    const auto failed = [&](const char* call, CUptiResult status) {
      TORCH_WARN("the profile has no work of CUDA devices: ", call, " failed: ", text_of(*cupti, status));
      return false;
    };
    CUptiResult status = cupti->cuptiActivityRegisterCallbacks(&lend, &take_back);
    if (status != CUPTI_SUCCESS) return failed("cuptiActivityRegisterCallbacks", status);
    // The numbers that threads have for the operating system.
    status = cupti->cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
    if (status != CUPTI_SUCCESS) return failed("cuptiSetThreadIdType", status);
    std::optional<Instant> first = read_clocks(*cupti, status);
    if (!first) return failed("cuptiGetTimestamp", status);
    set_collecting(true);
    size_t enabled = 0;
    // Work first, so that no call is told whose work is not.
    for (const CUpti_ActivityKind kind : all_kinds()) {
      status = cupti->cuptiActivityEnable(kind);
      if (status != CUPTI_SUCCESS) break;
      ++enabled;
    }
    if (status != CUPTI_SUCCESS) {
      for (size_t i = 0; i < enabled; ++i) cupti->cuptiActivityDisable(all_kinds()[i]);
      cupti->cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
      set_collecting(false);
      return failed("cuptiActivityEnable", status);
    }
    clock_.first = *first;
    start_ns_ = first->ours;
    cupti_ = cupti;
    ranges_on_.store(cupti);
    return true;
  }

  void push_range(uint64_t range) noexcept override {
    const Cupti* const cupti = ranges_on_.load(std::memory_order_relaxed);
    if (cupti == nullptr) return;
    try {
      t_ranges.reserve(t_ranges.size() + 1);
    } catch (const std::bad_alloc&) {
      return;  // its calls count as those of the range around it
    }
    if (cupti->cuptiActivityPushExternalCorrelationId(kOurs, range) == CUPTI_SUCCESS)
      t_ranges.push_back({cupti, range});
  }

  // Also behind stop(), and of a range that was opened in another thread, which then stays there until one around it is
  // closed.
  void pop_range(uint64_t range) noexcept override {
    const auto is_it = [&](const OpenRange& open) { return open.range == range; };
    if (std::none_of(t_ranges.begin(), t_ranges.end(), is_it)) return;
    for (bool last = false; !last; t_ranges.pop_back()) {
      last = is_it(t_ranges.back());
      t_ranges.back().cupti->cuptiActivityPopExternalCorrelationId(kOurs, nullptr);
    }
  }

  std::vector<DeviceActivity> stop() override {
    const std::lock_guard lock(mutex_);
    if (cupti_ == nullptr) return {};
    const Cupti& cupti = *std::exchange(cupti_, nullptr);
    ranges_on_.store(nullptr);
    std::string problems;
    const auto note = [&](const std::string& problem) { problems += problems.empty() ? problem : "; " + problem; };
    const auto check = [&](const char* call, CUptiResult status) {
      if (status != CUPTI_SUCCESS) note(c10::str(call, " failed: ", text_of(cupti, status)));
    };
    for (const CUpti_ActivityKind kind : kCalls) check("cuptiActivityDisable", cupti.cuptiActivityDisable(kind));
    if (const std::string why_not = wait_for_devices(); !why_not.empty()) note(why_not);
    for (const CUpti_ActivityKind kind : kWork) check("cuptiActivityDisable", cupti.cuptiActivityDisable(kind));
    check("cuptiActivityFlushAll", cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
    CUptiResult status = CUPTI_SUCCESS;
    clock_.last = read_clocks(cupti, status).value_or(clock_.first);
    check("cuptiGetTimestamp", status);
    size_t dropped = 0;
    check("cuptiActivityGetNumDroppedRecords", cupti.cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped));

    Reader reader(cupti, clock_);
    for (Buffer& buffer : set_collecting(false)) {
      if (!reader.read(buffer)) note("a buffer cannot be read");
    }
    if (dropped != 0) note(c10::str(dropped, " records were dropped, as no buffer was left for them"));
    if (!problems.empty()) TORCH_WARN("the profile's work of CUDA devices may be incomplete: ", problems);
    std::vector<DeviceActivity> found = reader.finish();
    // What an earlier profile's work left.
    std::erase_if(found, [&](const DeviceActivity& one) { return one.end_ns < start_ns_; });
    return found;
  }

 private:
  static const std::array<CUpti_ActivityKind, std::size(kCalls) + std::size(kWork)>& all_kinds() {
    static const auto kinds = [] {
      std::array<CUpti_ActivityKind, std::size(kCalls) + std::size(kWork)> all{};
      std::copy(std::begin(kCalls), std::end(kCalls), std::copy(std::begin(kWork), std::end(kWork), all.begin()));
      return all;
    }();
    return kinds;
  }

  static std::string text_of(const Cupti& cupti, CUptiResult status) {
    const char* text = nullptr;
    if (cupti.cuptiGetResultString(status, &text) != CUPTI_SUCCESS || text == nullptr) return std::to_string(status);
    return text;
  }

  // The closest of a few readings.
  static std::optional<Instant> read_clocks(const Cupti& cupti, CUptiResult& status) {
    std::optional<Instant> best;
    uint64_t best_span = ~uint64_t{0};
    for (int i = 0; i < 8; ++i) {
      uint64_t theirs = 0;
      const uint64_t before = steady_ns();
      status = cupti.cuptiGetTimestamp(&theirs);
      const uint64_t after = steady_ns();
      if (status != CUPTI_SUCCESS) return std::nullopt;
      if (after - before >= best_span) continue;
      best_span = after - before;
      best = Instant{before + best_span / 2, theirs};
    }
    return best;
  }

  // What is wrong; "" for nothing.
  static std::string wait_for_devices() {
    try {
      const DeviceIndex count = device_count();
      for (DeviceIndex device = 0; device < count; ++device) {
        if (!cuda::hasPrimaryContext(device)) continue;
        const CUDAGuard guard(device);
        // To wait would end the capture.
        if (currentStreamCaptureStatusMayInitCtx() != CaptureStatus::None)
          return c10::str("device ", static_cast<int>(device), " was not waited for, as its stream is captured");
        device_synchronize();
      }
    } catch (const Error& e) {
      return e.what_without_backtrace();
    }
    return "";
  }

  // Returns the buffers that have come back since the last time, and begins or ends to keep those that come.
  static std::vector<Buffer> set_collecting(bool collecting) {
    Buffers& all = buffers();
    const std::lock_guard lock(all.mutex);
    all.collecting = collecting;
    std::vector<Buffer> full = std::exchange(all.full, {});
    for (const Buffer& buffer : full) all.bytes -= buffer.size;
    return full;
  }

  struct OpenRange {
    const Cupti* cupti;
    uint64_t range;
  };
  static inline thread_local std::vector<OpenRange> t_ranges;

  std::mutex mutex_;
  const Cupti* cupti_ = nullptr;  // while it collects
  std::atomic<const Cupti*> ranges_on_{nullptr};
  Clock clock_;
  uint64_t start_ns_ = 0;
};

[[maybe_unused]] const bool g_registered = [] {
  register_device_activity_source(kCUDA, new Source);
  return true;
}();

}  // namespace

void set_buffer_limits(const BufferLimits& limits) {
  TORCH_CHECK_VALUE(limits.buffer_bytes >= 1024 && limits.buffer_bytes <= limits.total_bytes,
                    "a profile's buffers: expected at least 1,024 bytes each, and room for one");
  Buffers& all = buffers();
  const std::lock_guard lock(all.mutex);
  all.limits = limits;
}

size_t buffer_bytes_in_use() {
  Buffers& all = buffers();
  const std::lock_guard lock(all.mutex);
  return all.bytes;
}

}  // namespace c10::cuda::profiler

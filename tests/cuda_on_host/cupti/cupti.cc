#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/cuda_on_host/cupti/standin.h"
#include "tests/cuda_on_host/runtime/observer.h"

namespace cupti_standin {
namespace {

using cuda_standin::ObservedCall;
using cuda_standin::ObservedWait;
using cuda_standin::ObservedWork;
using cuda_standin::ObserverLock;
using cuda_standin::Place;
using cuda_standin::WaitKind;
using cuda_standin::WorkKind;

struct Buffer {
  uint8_t* bytes = nullptr;
  size_t size = 0, used = 0, records = 0, most = 0;
};

// Guarded by the lock of the runtime's stand-in.
struct State {
  Options options;
  std::mt19937_64 random;
  uint64_t calls = 0;
  std::string failed_call, misuse;
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  std::map<CUpti_ActivityKind, uint64_t> enabled;  // and the newest call then: work of earlier ones is not told
  Buffer current;
  std::vector<Buffer> full;  // not handed back yet
  size_t dropped = 0, lent = 0;
  bool system_threads = false;
};
State& state() {
  static auto* const one = new State;
  return *one;
}
thread_local std::map<CUpti_ExternalCorrelationKind, std::vector<uint64_t>> t_ranges;

// Names stay valid, as a module's do, and callback numbers belong to names.
const char* interned(const std::string& text) {
  static auto* const all = new std::set<std::string>;
  return all->insert(text).first->c_str();
}
std::vector<std::string>& call_names() {
  static auto* const all = new std::vector<std::string>;
  return *all;
}
uint32_t call_number(const std::string& name) {
  std::vector<std::string>& all = call_names();
  const auto found = std::find(all.begin(), all.end(), name);
  if (found != all.end()) return static_cast<uint32_t>(found - all.begin()) + 1;
  all.push_back(name);
  return static_cast<uint32_t>(all.size());
}

uint64_t cupti_time(uint64_t steady_ns) {
  const Options& o = state().options;
  return steady_ns +
         static_cast<uint64_t>(o.clock_ahead_ns + static_cast<int64_t>(static_cast<double>(steady_ns) * o.clock_drift));
}

void hand_back(const Buffer& buffer) {
  State& s = state();
  --s.lent;
  s.complete(nullptr, 0, buffer.bytes, buffer.size, buffer.used);
}

void hand_back_some(bool all) {
  State& s = state();
  while (!s.full.empty() && (all || !s.options.shuffle || s.random() % 3 == 0)) {
    const size_t place = s.options.shuffle ? s.random() % s.full.size() : 0;
    const Buffer buffer = s.full[place];
    s.full.erase(s.full.begin() + static_cast<ptrdiff_t>(place));
    hand_back(buffer);
  }
}

void put_away_current() {
  State& s = state();
  if (s.current.bytes != nullptr) s.full.push_back(std::exchange(s.current, {}));
}

void tell_overhead(CUpti_ActivityOverheadKind kind);

template <class Record>
void tell(CUpti_ActivityKind kind, Record record) {
  State& s = state();
  const auto enabled = s.enabled.find(kind);
  if (enabled == s.enabled.end() || (record.correlationId != 0 && record.correlationId <= enabled->second)) return;
  record.kind = kind;
  constexpr size_t kSize = (sizeof(Record) + 7) / 8 * 8;
  const auto fits = [&] {
    return s.current.bytes != nullptr && s.current.used + kSize <= s.current.size &&
           (s.current.most == 0 || s.current.records < s.current.most);
  };
  if (!fits()) {
    put_away_current();
    hand_back_some(false);
    Buffer fresh;
    s.request(&fresh.bytes, &fresh.size, &fresh.most);
    if (fresh.bytes == nullptr) {
      ++s.dropped;
      return;
    }
    ++s.lent;
    if (reinterpret_cast<uintptr_t>(fresh.bytes) % 8 != 0) s.misuse += "a buffer is not aligned to 8 bytes\n";
    std::memset(fresh.bytes, 0xFF, fresh.size);
    s.current = fresh;
    tell_overhead(CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST);
    if (!fits()) {
      ++s.dropped;
      return;
    }
  }
  std::memcpy(s.current.bytes + s.current.used, &record, sizeof record);
  s.current.used += kSize;
  ++s.current.records;
}

void tell_overhead(CUpti_ActivityOverheadKind kind) {
  CUpti_ActivityOverhead3 overhead{};
  overhead.overheadKind = kind;
  overhead.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  overhead.objectId.pt.threadId = static_cast<uint32_t>(::gettid());
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  overhead.end = cupti_time(static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count()));
  overhead.start = overhead.end - 1000;
  tell(CUPTI_ACTIVITY_KIND_OVERHEAD, overhead);
}

uint8_t memory_kind(Place place) {
  switch (place) {
    case Place::kPageable:
      return CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
    case Place::kPinned:
      return CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
    case Place::kDevice:
      return CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  }
  return CUPTI_ACTIVITY_MEMORY_KIND_UNKNOWN;
}

uint32_t context_of(int device) {
  return static_cast<uint32_t>(device) + 1;
}

class Teller final : public cuda_standin::Observer {
 public:
  void called(const ObservedCall& call) override {
    const CUpti_ActivityKind kind = call.driver ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME;
    if (state().enabled.contains(kind)) {
      for (const auto& [external, ids] : t_ranges) {
        if (ids.empty()) continue;
        CUpti_ActivityExternalCorrelation link{};
        link.externalKind = external;
        link.externalId = ids.back();
        link.correlationId = static_cast<uint32_t>(call.correlation);
        tell(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, link);
      }
    }
    CUpti_ActivityAPI record{};
    record.cbid = call_number(call.name);
    record.start = cupti_time(call.start_ns);
    record.end = cupti_time(call.end_ns);
    record.processId = static_cast<uint32_t>(::getpid());
    // Without cuptiSetThreadIdType a number of the threads' library.
    record.threadId = state().system_threads ? static_cast<uint32_t>(::gettid()) : 0xABCDEF;
    record.correlationId = static_cast<uint32_t>(call.correlation);
    record.returnValue = static_cast<uint32_t>(call.status);
    tell(kind, record);
  }

  void waited(const ObservedWait& wait) override {
    CUpti_ActivitySynchronization2 record{};
    record.start = cupti_time(wait.start_ns);
    record.end = cupti_time(wait.end_ns);
    record.correlationId = static_cast<uint32_t>(wait.correlation);
    record.contextId = context_of(wait.device);
    record.streamId = record.cudaEventId = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
    if (wait.kind == WaitKind::kStream || wait.kind == WaitKind::kStreamForEvent)
      record.streamId = static_cast<uint32_t>(wait.stream);
    if (wait.kind == WaitKind::kEvent || wait.kind == WaitKind::kStreamForEvent)
      record.cudaEventId = static_cast<uint32_t>(wait.event);
    switch (wait.kind) {
      case WaitKind::kNone:
        record.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_UNKNOWN;
        break;
      case WaitKind::kEvent:
        record.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE;
        break;
      case WaitKind::kStreamForEvent:
        record.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT;
        break;
      case WaitKind::kStream:
        record.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE;
        break;
      case WaitKind::kDevice:
        record.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE;
        break;
    }
    tell(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, record);
  }

  void ran(const ObservedWork& work) override {
    switch (work.kind) {
      case WorkKind::kKernel:
      case WorkKind::kLibrary:
        ran_kernel(work);
        break;
      case WorkKind::kCopy:
        ran_copy(work);
        break;
      case WorkKind::kSet:
        ran_set(work);
        break;
      default:
        break;
    }
  }

 private:
  template <class Record>
  static void fill(Record& record, const ObservedWork& work) {
    record.start = cupti_time(work.start_ns);
    record.end = cupti_time(work.end_ns);
    record.deviceId = static_cast<uint32_t>(work.device);
    record.contextId = context_of(work.device);
    record.streamId = static_cast<uint32_t>(work.stream);
    record.correlationId = static_cast<uint32_t>(work.correlation);
    record.graphId = work.graph;
    record.graphNodeId = work.node;
  }

  static void ran_kernel(const ObservedWork& work) {
    CUpti_ActivityKernel10 record{};
    fill(record, work);
    record.name = interned(work.name);
    record.gridX = static_cast<int32_t>(work.grid.x);
    record.gridY = static_cast<int32_t>(work.grid.y);
    record.gridZ = static_cast<int32_t>(work.grid.z);
    record.blockX = static_cast<int32_t>(work.block.x);
    record.blockY = static_cast<int32_t>(work.block.y);
    record.blockZ = static_cast<int32_t>(work.block.z);
    record.registersPerThread = 32;
    record.dynamicSharedMemory = static_cast<int32_t>(work.shared_bytes);
    tell(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, record);
  }

  static void ran_copy(const ObservedWork& work) {
    const bool from_device = work.from == Place::kDevice, to_device = work.to == Place::kDevice;
    const auto describe = [&](auto& record, CUpti_ActivityMemcpyKind kind) {
      fill(record, work);
      record.copyKind = static_cast<uint8_t>(kind);
      record.srcKind = memory_kind(work.from);
      record.dstKind = memory_kind(work.to);
      record.bytes = work.bytes;
    };
    if (from_device && to_device && work.from_device != work.to_device) {
      CUpti_ActivityMemcpyPtoP4 record{};
      describe(record, CUPTI_ACTIVITY_MEMCPY_KIND_PTOP);
      record.srcDeviceId = static_cast<uint32_t>(work.from_device);
      record.dstDeviceId = static_cast<uint32_t>(work.to_device);
      return tell(CUPTI_ACTIVITY_KIND_MEMCPY2, record);
    }
    CUpti_ActivityMemcpy6 record{};
    describe(record, from_device ? (to_device ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOD : CUPTI_ACTIVITY_MEMCPY_KIND_DTOH)
                                 : (to_device ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOD : CUPTI_ACTIVITY_MEMCPY_KIND_HTOH));
    tell(CUPTI_ACTIVITY_KIND_MEMCPY, record);
  }

  static void ran_set(const ObservedWork& work) {
    CUpti_ActivityMemset4 record{};
    fill(record, work);
    record.value = static_cast<uint32_t>(work.value);
    record.bytes = work.bytes;
    record.memoryKind = memory_kind(work.to);
    tell(CUPTI_ACTIVITY_KIND_MEMSET, record);
  }
};

// A function of the toolkit. The lock is the runtime's: the same functions are told of there.
template <class Body>
CUptiResult api(const char* name, const Body& body) {
  const ObserverLock lock;
  State& s = state();
  if (static_cast<int64_t>(s.calls++) == s.options.fail_call) {
    s.failed_call = name;
    return s.options.fail_with;
  }
  return body();
}

size_t record_size(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
      return sizeof(CUpti_ActivityExternalCorrelation);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return sizeof(CUpti_ActivitySynchronization2);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return sizeof(CUpti_ActivityOverhead3);
    default:
      return 0;
  }
}

}  // namespace

void reset(const Options& options) {
  const ObserverLock lock;
  State& s = state();
  while (!s.full.empty() || s.current.bytes != nullptr) {
    put_away_current();
    hand_back_some(true);
  }
  s = State();
  s.options = options;
  s.random.seed(options.seed);
  cuda_standin::set_observer(nullptr);
}

uint64_t calls() {
  const ObserverLock lock;
  return state().calls;
}
std::string failed_call() {
  const ObserverLock lock;
  return state().failed_call;
}
std::string misuse() {
  const ObserverLock lock;
  return state().misuse;
}
size_t enabled_kinds() {
  const ObserverLock lock;
  return state().enabled.size();
}
size_t lent_buffers() {
  const ObserverLock lock;
  return state().lent;
}
size_t open_ranges() {
  size_t count = 0;
  for (const auto& [kind, ids] : t_ranges) count += ids.size();
  return count;
}

extern "C" {

CUptiResult cuptiGetVersion(uint32_t* version) {
  return api("cuptiGetVersion", [&] {
    if (!version) return CUPTI_ERROR_INVALID_PARAMETER;
    *version = CUPTI_API_VERSION;
    return CUPTI_SUCCESS;
  });
}

CUptiResult cuptiGetTimestamp(uint64_t* timestamp) {
  return api("cuptiGetTimestamp", [&] {
    if (!timestamp) return CUPTI_ERROR_INVALID_PARAMETER;
    const auto time = std::chrono::steady_clock::now().time_since_epoch();
    *timestamp = cupti_time(static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count()));
    return CUPTI_SUCCESS;
  });
}

CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type) {
  return api("cuptiSetThreadIdType", [&] {
    if (type != CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT && type != CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM)
      return CUPTI_ERROR_NOT_SUPPORTED;
    state().system_threads = type == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM;
    return CUPTI_SUCCESS;
  });
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  return api("cuptiActivityRegisterCallbacks", [&] {
    if (!request || !complete) return CUPTI_ERROR_INVALID_PARAMETER;
    State& s = state();
    if (s.lent != 0 && s.complete != complete) s.misuse += "callbacks change while buffers are lent\n";
    s.request = request;
    s.complete = complete;
    return CUPTI_SUCCESS;
  });
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  return api("cuptiActivityEnable", [&] {
    if (record_size(kind) == 0) return CUPTI_ERROR_INVALID_KIND;
    State& s = state();
    if (!s.request) s.misuse += "an activity is enabled before callbacks are registered\n";
    static Teller* const teller = new Teller;
    cuda_standin::set_observer(teller);
    s.enabled.emplace(kind, cuda_standin::last_correlation());
    return CUPTI_SUCCESS;
  });
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  return api("cuptiActivityDisable", [&] {
    if (record_size(kind) == 0) return CUPTI_ERROR_INVALID_KIND;
    State& s = state();
    s.enabled.erase(kind);
    if (s.enabled.empty()) cuda_standin::set_observer(nullptr);
    return CUPTI_SUCCESS;
  });
}

CUptiResult cuptiActivityFlushAll(uint32_t flag) {
  return api("cuptiActivityFlushAll", [&] {
    State& s = state();
    if (!s.complete) return CUPTI_ERROR_INVALID_OPERATION;
    if (flag != 0 && flag != CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) return CUPTI_ERROR_INVALID_PARAMETER;
    tell_overhead(CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH);
    put_away_current();
    hand_back_some(true);
    return CUPTI_SUCCESS;
  });
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  return api("cuptiActivityGetNumDroppedRecords", [&] {
    if (!dropped) return CUPTI_ERROR_INVALID_PARAMETER;
    *dropped = std::exchange(state().dropped, 0);
    return CUPTI_SUCCESS;
  });
}

CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, CUpti_Activity** record) {
  if (!buffer || !record) return CUPTI_ERROR_INVALID_PARAMETER;
  uint8_t* next = buffer;
  if (*record) {
    const size_t size = record_size((*record)->kind);
    if (size == 0) return CUPTI_ERROR_INVALID_KIND;
    next = reinterpret_cast<uint8_t*>(*record) + (size + 7) / 8 * 8;
  }
  if (next >= buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  auto* const found = reinterpret_cast<CUpti_Activity*>(next);
  if (record_size(found->kind) == 0) return CUPTI_ERROR_INVALID_KIND;
  *record = found;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id) {
  if (kind <= CUPTI_EXTERNAL_CORRELATION_KIND_INVALID || kind >= CUPTI_EXTERNAL_CORRELATION_KIND_SIZE)
    return CUPTI_ERROR_INVALID_PARAMETER;
  t_ranges[kind].push_back(id);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t* last) {
  if (kind <= CUPTI_EXTERNAL_CORRELATION_KIND_INVALID || kind >= CUPTI_EXTERNAL_CORRELATION_KIND_SIZE)
    return CUPTI_ERROR_INVALID_PARAMETER;
  std::vector<uint64_t>& ids = t_ranges[kind];
  if (ids.empty()) return CUPTI_ERROR_QUEUE_EMPTY;
  if (last) *last = ids.back();
  ids.pop_back();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char** name) {
  if (!name) return CUPTI_ERROR_INVALID_PARAMETER;
  const ObserverLock lock;
  if (id == 0 || id > call_names().size()) return CUPTI_ERROR_INVALID_PARAMETER;
  // As CUPTI names the runtime's.
  const std::string& known = call_names()[id - 1];
  *name = interned(domain == CUPTI_CB_DOMAIN_RUNTIME_API ? known + "_v7000" : known);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  if (!text) return CUPTI_ERROR_INVALID_PARAMETER;
  switch (result) {
    case CUPTI_SUCCESS:
      *text = "CUPTI_SUCCESS";
      break;
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
      *text = "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES";
      break;
    default:
      *text = "CUPTI_ERROR_UNKNOWN";
      break;
  }
  return CUPTI_SUCCESS;
}

}  // extern "C"
}  // namespace cupti_standin

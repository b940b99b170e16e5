#include "tests/cuda_on_host/runtime/state.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "tests/cuda_on_host/runtime/fail.h"

namespace cuda_standin {
namespace {

std::mutex& mutex() {
  static auto* one = new std::mutex;
  return *one;
}
std::condition_variable& changed() {
  static auto* one = new std::condition_variable;
  return *one;
}
thread_local int lock_depth = 0;

void start_over(const Options& options) {
  static uint64_t generations = 0;
  State& s = state();
  const uint64_t ids = s.next_id;  // a stream or capture of an earlier generation never looks like one of this
  s = State();
  s.next_id = ids;
  s.options = options;
  s.generation = ++generations;
  s.random.seed(options.seed);
  s.devices.resize(static_cast<size_t>(options.devices));
  for (int i = 0; i < options.devices; ++i) {
    Stream& legacy = device_state(i).legacy;
    legacy.device = i;
    legacy.legacy = true;
    legacy.own = false;
    legacy.id = s.next_id++;
  }
  make_default_pools();
}

}  // namespace

State& state() {
  static State* const one = new State;
  return *one;
}

// Before main(), so that nothing need ask whether it has been done.
[[maybe_unused]] static const bool started = [] {
  Lock lock;
  start_over({});
  return true;
}();

ThreadState& thread_state() {
  thread_local ThreadState one;
  if (one.generation != state().generation) {
    const bool in_host_function = one.in_host_function;
    one = {};
    one.in_host_function = in_host_function;
    one.generation = state().generation;
  }
  return one;
}

Lock::Lock() {
  if (lock_depth++ == 0) mutex().lock();
}
Lock::~Lock() {
  if (--lock_depth == 0) mutex().unlock();
}
void Lock::wait() {
  std::unique_lock<std::mutex> held(mutex(), std::adopt_lock);
  const int depth = std::exchange(lock_depth, 0);
  changed().wait(held);
  lock_depth = depth;
  held.release();
}
void Lock::pause() {
  const int depth = std::exchange(lock_depth, 0);
  mutex().unlock();
  std::this_thread::sleep_for(std::chrono::microseconds(100));
  mutex().lock();
  lock_depth = depth;
}
void Lock::notify() {
  changed().notify_all();
}

void add_misuse(const std::string& text) {
  state().misuse += text + "\n";
}

static uint64_t correlations = 0;

uint64_t last_correlation() {
  Lock lock;
  return correlations;
}

Observer*& observer() {
  static Observer* one = nullptr;
  return one;
}

void set_observer(Observer* one) {
  Lock lock;
  observer() = one;
}

ObserverLock::ObserverLock() {
  if (lock_depth++ == 0) mutex().lock();
}
ObserverLock::~ObserverLock() {
  if (--lock_depth == 0) mutex().unlock();
}

uint64_t clock_ns() {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

void note_wait(WaitKind kind, int device, uint64_t stream, uint64_t event) {
  thread_state().wait = {.kind = kind, .stream = stream, .event = event, .device = device};
}

Call::Call(const char* name, unsigned rules) : name_(name), driver_((rules & kDriver) != 0) {
  State& s = state();
  ThreadState& thread = thread_state();
  thread.correlation = ++correlations;
  thread.wait = {};
  if (observer()) start_ns_ = clock_ns();
  if (thread.in_work || thread.in_host_function) {
    add_misuse(std::string(name) + ": called from " + (thread.in_work ? "work of a stream" : "a host function"));
    status_ = cudaErrorNotPermitted;
    return;
  }
  const bool chosen = static_cast<int64_t>(s.calls++) == s.options.fail_call;
  if (chosen && (s.options.fail_releases || !(rules & kReleases))) {
    s.failed_call = name;
    status_ = s.options.fail_with;
  } else if (!(rules & kAnywhere)) {
    if (s.options.devices == 0) status_ = cudaErrorNoDevice;
    if (status_ == cudaSuccess && s.options.execution == Execution::kRandom) run_some(s.random() % 3);
    if (status_ == cudaSuccess) status_ = s.sticky;
    if (status_ == cudaSuccess && (rules & kUnsafe)) status_ = check_unsafe();
    if (status_ == cudaSuccess && !(rules & kNoContext)) device_state(current_device()).active = true;
  }
  if (status_ != cudaSuccess) end(status_);
}

Call::~Call() {
  close_memory();
}

cudaError_t Call::end(cudaError_t status) {
  ThreadState& thread = thread_state();
  if (status != cudaSuccess && !driver_) thread.last_error = status;
  if (observer() && start_ns_ != 0) {
    const uint64_t now = clock_ns();
    if (thread.wait.kind != WaitKind::kNone) {
      ObservedWait wait = thread.wait;
      wait.correlation = thread.correlation;
      wait.start_ns = start_ns_;
      wait.end_ns = now;
      observer()->waited(wait);
    }
    observer()->called({name_, driver_, thread.correlation, status, start_ns_, now});
  }
  return status;
}

void reset(const Options& options) {
  Lock lock;
  state().user_objects.clear();  // nobody calls their destructors any more
  clear_work();
  clear_graphs();
  clear_memory();
  clear_virtual_memory();
  start_over(options);
}

void fail_call_from_now(int64_t n, cudaError_t with) {
  Lock lock;
  state().options.fail_call = n < 0 ? -1 : static_cast<int64_t>(state().calls) + n;
  state().options.fail_with = with;
  state().failed_call.clear();
}

uint64_t calls() {
  Lock lock;
  return state().calls;
}

std::string failed_call() {
  Lock lock;
  return state().failed_call;
}

std::string misuse() {
  Lock lock;
  return state().misuse;
}

void report_misuse(const std::string& text) {
  Lock lock;
  add_misuse(text);
}

std::vector<Executed> trace() {
  Lock lock;
  return state().trace;
}

void clear_trace() {
  Lock lock;
  state().trace.clear();
}

cudaError_t enqueue(cudaStream_t stream, const char* name, std::function<void()> work, uint64_t bytes) {
  return api(name, [&] {
    Stream* found = find_stream(stream, name);
    if (!found) return cudaErrorInvalidResourceHandle;
    return submit(*found, {.name = name, .kind = WorkKind::kLibrary, .bytes = bytes, .run = std::move(work)},
                  nullptr, cudaGraphNodeTypeKernel);
  });
}

cudaError_t enqueue_together(cudaStream_t stream, const char* name, std::function<bool()> ready,
                             std::function<void()> work, uint64_t bytes) {
  return api(name, [&] {
    Stream* found = find_stream(stream, name);
    if (!found) return cudaErrorInvalidResourceHandle;
    Work piece{.name = name, .kind = WorkKind::kLibrary, .bytes = bytes, .run = std::move(work)};
    for (int device = 0; device < state().options.devices; ++device) piece.reach |= bit(device);
    piece.external = std::move(ready);
    return submit(*found, std::move(piece), nullptr, cudaGraphNodeTypeKernel);
  });
}

bool device_accessible(const void* pointer, size_t bytes) {
  Lock lock;
  return accessible(pointer, bytes, current_device());
}

Live live() {
  Lock lock;
  const State& s = state();
  Live found;
  for (const auto& [start, memory] : s.memory) {
    if (memory.in_graph || memory.releasing) continue;  // goes with the graph, or in its turn
    switch (memory.kind) {
      case MemoryKind::kDevice:
      case MemoryKind::kPool:
        ++found.allocations;
        found.device_bytes += memory.bytes;
        break;
      case MemoryKind::kMapped:
      case MemoryKind::kImported:
        ++found.mappings;
        break;
      case MemoryKind::kHost:
        ++found.pinned;
        break;
      case MemoryKind::kRegistered:
        ++found.registered;
        break;
    }
  }
  for (const auto& [handle, stream] : s.streams) found.streams += stream->own;
  for (const auto& [handle, pool] : s.pools) found.pools += pool->own;
  found.events = s.events.size();
  found.graphs = s.graphs.size();
  found.execs = s.execs.size();
  found.user_objects = s.user_objects.size();
  found.reservations = s.reservations.size();
  for (const auto& [handle, physical] : s.physical) found.physical += physical.references > 0;
  return found;
}

std::string leaks() {
  const Live found = live();
  std::string text;
  const auto add = [&](size_t count, const char* what) {
    if (count != 0) text += std::to_string(count) + " " + what + "\n";
  };
  add(found.allocations, "allocations of device memory");
  add(found.pinned, "allocations of pinned memory");
  add(found.registered, "registered ranges of host memory");
  add(found.streams, "streams");
  add(found.events, "events");
  add(found.graphs, "graphs");
  add(found.execs, "executable graphs");
  add(found.user_objects, "user objects");
  add(found.pools, "memory pools");
  add(found.reservations, "reservations of addresses");
  add(found.physical, "handles of physical memory");
  add(found.mappings, "mappings of physical memory");
  return text;
}

size_t live_allocations() {
  return live().allocations;
}

}  // namespace cuda_standin

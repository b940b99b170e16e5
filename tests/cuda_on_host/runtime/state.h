// What the stand-in knows, for its own sources. One lock guards all of it: every function of the toolkit takes it
// through api().
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/cuda_on_host/runtime/handles.h"
#include "tests/cuda_on_host/runtime/observer.h"
#include "tests/cuda_on_host/runtime/own_time.h"
#include "tests/cuda_on_host/runtime/standin.h"

namespace cuda_standin {

struct Capture;
struct Graph;
struct Node;

// --- memory ---

enum class MemoryKind {
  kDevice,      // cudaMalloc
  kPool,        // cudaMallocAsync
  kMapped,      // cuMemMap
  kHost,        // cudaHostAlloc
  kRegistered,  // cudaHostRegister: the program's own
  kImported,    // cudaIpcOpenMemHandle: another process's
};

// What processes know of an event together. Each record of it is a turn.
struct SharedEvent {
  std::atomic<uint64_t> recorded, happened, wanted;
  std::atomic<int> process;  // that recorded the newest
  std::atomic<int> openers;  // other processes that have the file
};
// A file without a name that other processes may open: memory's pages, and a SharedEvent behind them.
class SharedFile {
 public:
  SharedFile(int file, size_t bytes, bool foreign);
  ~SharedFile();
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;
  int file() const { return file_; }
  uint64_t inode() const { return inode_; }
  size_t bytes() const { return bytes_; }  // of pages
  SharedEvent& event() const { return *event_; }

 private:
  int file_;
  size_t bytes_;
  bool foreign_;
  uint64_t inode_ = 0;
  SharedEvent* event_ = nullptr;
};

struct Allocation {
  uint64_t id = 0;
  MemoryKind kind = MemoryKind::kDevice;
  int device = 0;
  char* start = nullptr;
  size_t bytes = 0;
  char* pages = nullptr;  // what is mapped for it
  size_t page_bytes = 0;
  unsigned flags = 0;                       // of cudaHostAlloc and cudaHostRegister
  bool usable = true;                       // pool memory: between the turns of its allocation and its release
  std::vector<int> accessible_from;         // mapped memory: the devices that cuMemSetAccess named
  cudaMemPool_t pool = nullptr;             // pool memory
  std::weak_ptr<struct GraphMemory> graph;  // memory that a graph allocates
  bool in_graph = false;
  uint64_t physical = 0;   // mapped memory: its handle
  bool releasing = false;  // pool memory: cudaFreeAsync has been called
  int imports = 0;         // how often cudaIpcOpenMemHandle gave it
  std::shared_ptr<SharedFile> shared = {};  // what other processes see of it, or it is of another process
  bool on_host() const { return kind == MemoryKind::kHost || kind == MemoryKind::kRegistered; }
};

using Devices = uint64_t;  // one bit each
inline Devices bit(int device) {
  return Devices{1} << device;
}

// The allocation that `pointer` lies in, or null.
Allocation* find_memory(const void* pointer);
// Whether work of `device` may touch the allocation.
bool accessible_from(const Allocation& memory, int device);
// Whether all of the range lies in memory that work of `device` may touch.
bool accessible(const void* pointer, size_t bytes, int device);
// Whether the address was given once as device or pinned memory, whatever lies there now.
bool was_given(const void* pointer);
// cudaErrorInvalidValue where a range begins in device, pinned or registered memory and does not end there, or begins
// in device memory that was released.
cudaError_t check_range(const void* pointer, size_t bytes, const char* call);

// Address space of whole pages with a closed one behind it; never given twice.
char* reserve_pages(size_t bytes, size_t alignment);
// New memory of 0xFF.
Allocation& new_memory(MemoryKind kind, int device, size_t bytes);
// Takes it back; its addresses stay closed.
void delete_memory(Allocation& memory);
// Moves the allocation's pages to a file, where they stay at their addresses.
void share_memory(Allocation& memory);
// Another process's memory, `bytes` long, which ends with the file's pages.
Allocation& import_memory(std::shared_ptr<SharedFile> file, int device, size_t bytes);
// Makes pages of 0xFF, or closes them for good.
void map_pages(char* pages, size_t bytes, int protection);
void unmap_pages(char* pages, size_t bytes);
// Between these two, what work of these devices may touch is open.
void open_memory(Devices devices);
void close_memory();
// Who is named when memory is touched that is closed; null for host code.
void set_running(const char* name);
// Opens or closes one allocation, after a change to it.
void update_protection(const Allocation& memory);
// Memory that work will use: it throws DeviceError where that was released in the meantime.
struct Held {
  const void* pointer = nullptr;
  uint64_t id = 0;  // 0 where nothing is known of it
};
Held hold(const void* pointer);
void check_held(const Held& held, const std::string& name);
void clear_memory();
size_t free_bytes(int device);

// --- work ---

struct Work {
  std::string name;
  WorkKind kind = WorkKind::kMarker;
  int device = 0;
  cudaStream_t stream = nullptr;
  uint64_t bytes = 0;
  bool in_graph = false;
  Devices reach = 0;  // of whose memory it may touch besides `device`'s
  std::function<void()> run = {};
  ObservedWork observed = {};           // what an observer is told besides
  std::function<bool()> external = {};  // whether what it waits for beyond the queue has happened

  // The queue's.
  std::vector<uint64_t> after = {}, followers = {};
  size_t blockers = 0;
  uint64_t wanted = 0;
};

// What work throws to end with an error that stays.
struct DeviceError {
  cudaError_t status;
  std::string text;
};

uint64_t add_work(Work work, std::vector<uint64_t> after);
bool is_pending(uint64_t work);
// Return when all of `works` are done.
void finish(std::vector<uint64_t> works);
void finish_device(int device);
void finish_everything();
// Runs up to `limit` pieces that are ready.
void run_some(size_t limit);
// For queries: whether `work` is done; asking often enough makes it so.
bool poll(uint64_t work);
// `job` runs on the thread of host functions.
void run_on_host_thread(std::function<void()> job);
// Waits for that thread, and forgets all work.
void clear_work();

// --- streams and events ---

struct Stream {
  cudaStream_t handle = nullptr;
  cudaStream_t name = nullptr;  // what the program calls it
  int device = 0;
  unsigned flags = cudaStreamDefault;
  int priority = 0;
  unsigned long long id = 0;
  bool own = true;  // made by the program
  bool legacy = false;
  uint64_t last = 0;  // its newest work
  Capture* capture = nullptr;
  std::vector<Node*> capture_last;               // what its next node follows
  std::vector<cudaGraphNode_t> capture_handles;  // the same, as cudaStreamGetCaptureInfo gave it
  std::vector<cudaGraphEdgeData> capture_edges;
  bool blocking() const { return !(flags & cudaStreamNonBlocking); }
};

// What an event was last recorded behind. Two processes' events may share one.
struct Record {
  bool done_once = false;
  uint64_t work = 0;
  std::shared_ptr<double> time;  // in ms; work that writes it may outlive the event
  bool captured = false;         // last recorded in a stream that was capturing
  uint64_t capture = 0;          // in this sequence
  std::vector<Node*> nodes;
  std::shared_ptr<SharedFile> shared;  // where other processes may know of it
  uint64_t own_turn = 0;               // the newest of this process
};
struct Event {
  cudaEvent_t handle = nullptr;
  int device = 0;
  unsigned flags = 0;
  uint64_t id = 0;
  std::shared_ptr<Record> record = std::make_shared<Record>();
  bool timing() const { return !(flags & cudaEventDisableTiming); }
};

// `work` is the record's newest, of this process.
void begin_turn(Record& record, uint64_t work);
void tell_happened(SharedEvent& event, uint64_t turn);
// Whether another process recorded it last, and whether that has happened.
bool is_foreign(const Record& record);
bool foreign_has_happened(const Record& record);
// Work that waits for the newest record of another process.
uint64_t add_foreign_wait(const Record& record, int device, cudaStream_t stream, std::vector<uint64_t> after);

// Null, with a report, for what is no stream.
Stream* find_stream(cudaStream_t stream, const char* call);
Event* find_event(cudaEvent_t event, const char* call);
// Puts work behind what the stream has, or into the graph that it captures. `id` becomes 0 in the latter case.
cudaError_t submit(Stream& stream, Work work, uint64_t* id = nullptr, cudaGraphNodeType type = cudaGraphNodeTypeEmpty);
// What a stream's next piece of work must follow.
std::vector<uint64_t> stream_dependencies(Stream& stream);
// Makes `work` the stream's newest.
void set_last(Stream& stream, uint64_t work);

// --- capture and graphs ---

// Memory that a graph allocates: its address is fixed when it is captured. It goes with the last node that names it.
struct GraphMemory {
  char* start = nullptr;
  uint64_t id = 0;
  bool unfreed = false;  // allocated by a launch, and not released since
  GraphMemory() = default;
  ~GraphMemory();
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;
};

// What a node does.
struct Action {
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  Work work = {};
  const void* function = nullptr;            // of kernels
  cudaEvent_t event = nullptr;               // of external event nodes
  std::shared_ptr<GraphMemory> memory = {};  // of allocations and their release
};
struct ExecNode {
  Action action;
  std::vector<size_t> after;  // nodes before it
};

struct Node {
  cudaGraphNode_t handle = nullptr;
  Graph* graph = nullptr;
  Action action;
  std::vector<Node*> after;
  std::vector<ExecNode> child;  // of a graph within the graph
};

struct UserObject {
  cudaUserObject_t handle = nullptr;
  void* pointer = nullptr;
  cudaHostFn_t destroy = nullptr;
  int64_t references = 0;
};

using Objects = std::map<cudaUserObject_t, int64_t>;  // and how many references
// References that are given back with the last that shares them: an executable graph and its launches that have not
// ended.
struct ObjectReferences {
  Objects objects;
  explicit ObjectReferences(const Objects& retained);
  ~ObjectReferences();
  ObjectReferences(const ObjectReferences&) = delete;
  ObjectReferences& operator=(const ObjectReferences&) = delete;
};

struct Graph {
  cudaGraph_t handle = nullptr;
  std::vector<std::unique_ptr<Node>> nodes;
  Objects objects;
  bool capturing = false;  // owned by a capture that has not ended
};

struct Exec {
  cudaGraphExec_t handle = nullptr;
  unsigned long long flags = 0;
  std::vector<ExecNode> nodes;
  std::shared_ptr<ObjectReferences> objects;
  uint64_t last = 0;  // the end of its newest launch
  uint32_t number = 0;
};

struct Capture {
  uint64_t id = 0;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread;
  cudaStream_t origin = nullptr;
  bool broken = false;
  Graph* graph = nullptr;
  std::set<cudaStream_t> streams;
};

// Invalidates a capture and returns `why`.
cudaError_t break_capture(Capture& capture, cudaError_t why);
// What a call that is not safe while a graph is captured says: cudaSuccess, or an error that has invalidated captures.
cudaError_t check_unsafe();
// For a call that waits for the whole device, or asks about it.
cudaError_t check_device_wait(int device);
// For a call that waits for a stream, or asks about it.
cudaError_t check_stream_wait(Stream& stream);
// For work on the legacy stream, which would wait for streams that capture.
cudaError_t check_legacy(Stream& stream);
// Adds to the graph that `stream` captures.
cudaError_t add_node(Stream& stream, Action action, Node** made = nullptr);
Capture* find_capture(uint64_t id);
void leave_capture(Stream& stream);
Graph& new_graph();
void delete_graph(Graph& graph);
void clear_graphs();

// --- pools ---

struct Pool {
  cudaMemPool_t handle = nullptr;
  int device = 0;
  bool own = true;
  size_t used = 0, used_high = 0, reserved = 0, reserved_high = 0;
  uint64_t release_threshold = 0;
  int follow_events = 1, opportunistic = 1, internal_dependencies = 1;
  std::set<int> peers;  // devices that may touch its memory besides its own
};

void make_default_pools();
// Graph memory can be touched between these two calls.
void set_graph_memory(const GraphMemory& memory, bool usable);
// Bytes that pools keep and that no allocation uses.
size_t kept_bytes(int device);
// Gives them back to the device, for an allocation that would not fit.
void drop_kept_bytes(int device);
// At a wait: pools give back what they hold above their thresholds.
void trim_pools(int device);
cudaError_t release_pool_memory(Allocation& memory);

// --- the driver's virtual memory ---

struct Physical {
  int device = 0;
  size_t bytes = 0;
  int file = -1;
  int references = 1;  // of handles
  int mappings = 0;
};
struct Reservation {
  size_t bytes = 0;
};
void clear_virtual_memory();

// --- what a call meets ---

struct Device {
  bool active = false;  // it has a context
  size_t used = 0;
  Stream legacy;
  std::vector<uint64_t> orphans;  // newest work of streams that were destroyed
  std::set<int> peers;            // whose memory its work may touch
  unsigned flags = 0;
  std::map<int, size_t> limits;
  cudaMemPool_t default_pool = nullptr, pool = nullptr;
};

struct State {
  Options options;
  uint64_t generation = 0;
  uint64_t calls = 0;
  std::string failed_call, misuse;
  cudaError_t sticky = cudaSuccess;
  std::mt19937_64 random;
  double now = 0;  // ms
  std::vector<Executed> trace;
  std::vector<Device> devices;
  std::map<char*, Allocation> memory;  // by its start
  Devices open = 0;
  Table<cudaStream_t, Stream> streams;
  Table<cudaEvent_t, Event> events;
  Table<cudaGraph_t, Graph> graphs;
  std::map<cudaGraphNode_t, Node*> nodes;
  Table<cudaGraphExec_t, Exec> execs;
  Table<cudaUserObject_t, UserObject> user_objects;
  Table<cudaMemPool_t, Pool> pools;
  std::vector<std::unique_ptr<Capture>> captures;
  std::map<uint64_t, Physical> physical;  // by handle
  std::map<char*, Reservation> reservations;
  std::map<uint64_t, std::weak_ptr<Record>> exported_events;
  std::vector<std::weak_ptr<Record>> shared_records;
  uint64_t next_id = 1;  // of streams, captures, allocations
  std::map<const void*, int> dynamic_shared_limits;
};
State& state();

// Of the calling thread.
struct ThreadState {
  uint64_t generation = 0;
  int device = 0;
  cudaError_t last_error = cudaSuccess;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::vector<cudaStream_t> own_streams;  // cudaStreamPerThread, by device
  bool in_work = false, in_host_function = false;
  uint64_t correlation = 0;  // of the call that the thread is in
  ObservedWait wait;         // what that does
};
ThreadState& thread_state();

inline Device& device_state(int device) {
  return state().devices[static_cast<size_t>(device)];
}
inline int current_device() {
  return thread_state().device;
}
inline bool is_device(int device) {
  return device >= 0 && device < state().options.devices;
}
void add_misuse(const std::string& text);
// Who is told of calls and work; null for nobody.
Observer*& observer();
// Nanoseconds of the steady clock.
uint64_t clock_ns();
// Says that the call that this thread is in waits.
void note_wait(WaitKind kind, int device, uint64_t stream = 0, uint64_t event = 0);

// Held by a thread any number of times.
class Lock {
 public:
  Lock();
  ~Lock();
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  // Gives the lock up until some work is done; held once only.
  static void wait();
  static void notify();
  // Gives the lock up for a moment, for what no thread of this process tells.
  static void pause();
};

enum CallRules : unsigned {
  kPlain = 0,
  kReleases = 1,   // gives something back
  kUnsafe = 2,     // prohibited while a graph is captured, by the thread's capture mode
  kAnywhere = 4,   // answers without a device, and behind an error that stays
  kNoContext = 8,  // leaves the current device as untouched as it was
  kDriver = 16,    // of the driver: cudaGetLastError knows nothing of it
};

class Call {
 public:
  Call(const char* name, unsigned rules);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  cudaError_t status() const { return status_; }
  cudaError_t end(cudaError_t status);

 private:
  Lock lock_;
  const char* name_;
  cudaError_t status_ = cudaSuccess;
  bool driver_ = false;
  uint64_t start_ns_ = 0;
};

// A function of the toolkit: `body` says what it does where nothing keeps it from being done.
template <class Body>
cudaError_t api(const char* name, Body&& body, unsigned rules = kPlain) {
  const OwnTime own_time;
  Call call(name, rules);
  if (call.status() != cudaSuccess) return call.status();
  return call.end(std::forward<Body>(body)());
}

}  // namespace cuda_standin

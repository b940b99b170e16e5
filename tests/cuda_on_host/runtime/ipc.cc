// Memory and events of other processes. What is exported lies in files without a name, which processes open through
// /proc, so that nothing outlives them. Within a process a handle opens the memory and the event themselves, which no
// device allows.
//
// Work of another process runs there: a process that exports events has a thread that does what others wait for.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string>
#include <thread>

#include "tests/cuda_on_host/runtime/state.h"

namespace cuda_standin {
namespace {

constexpr size_t kPage = 4096;
constexpr auto kPatience = std::chrono::seconds(60);

// What the bytes of both kinds of handles are.
struct Ticket {
  int32_t process, file;
  uint64_t inode;
  uint64_t id;
  char* start;  // in the process that made it
  uint64_t bytes, page_bytes;
  int32_t device;
};
static_assert(sizeof(Ticket) <= sizeof(cudaIpcMemHandle_t) && sizeof(Ticket) <= sizeof(cudaIpcEventHandle_t));

template <class Handle>
Ticket ticket_of(const Handle& handle) {
  Ticket ticket;
  std::memcpy(&ticket, &handle, sizeof ticket);
  return ticket;
}
template <class Handle>
void write_ticket(Handle* handle, const Ticket& ticket) {
  std::memset(handle, 0, sizeof *handle);
  std::memcpy(handle, &ticket, sizeof ticket);
}

// Null where the file is not there any more.
std::shared_ptr<SharedFile> open_file(const Ticket& ticket) {
  const std::string path = "/proc/" + std::to_string(ticket.process) + "/fd/" + std::to_string(ticket.file);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  struct stat found {};
  if (::fstat(file, &found) != 0 || found.st_ino != ticket.inode) {  // another file by now
    ::close(file);
    return nullptr;
  }
  return std::make_shared<SharedFile>(file, ticket.page_bytes, true);
}

Ticket ticket_for(const SharedFile& file, uint64_t id) {
  Ticket ticket{};
  ticket.process = ::getpid();
  ticket.file = file.file();
  ticket.inode = file.inode();
  ticket.page_bytes = file.bytes();
  ticket.id = id;
  return ticket;
}

bool is_own(const Ticket& ticket) {
  return ticket.process == ::getpid();
}

Allocation* opened_before(const Ticket& ticket) {
  for (auto& [start, memory] : state().memory) {
    if (memory.kind == MemoryKind::kImported && memory.shared->inode() == ticket.inode) return &memory;
  }
  return nullptr;
}

cudaError_t get_memory_handle(cudaIpcMemHandle_t* handle, void* pointer) {
  Allocation* memory = find_memory(pointer);
  if (!handle || !memory || memory->kind != MemoryKind::kDevice) return cudaErrorInvalidValue;
  if (!memory->shared) share_memory(*memory);
  Ticket ticket = ticket_for(*memory->shared, memory->id);
  ticket.start = memory->start;
  ticket.bytes = memory->bytes;
  ticket.device = memory->device;
  write_ticket(handle, ticket);
  return cudaSuccess;
}

cudaError_t open_memory_handle(void** result, const Ticket& ticket, unsigned flags) {
  if (!result || flags != cudaIpcMemLazyEnablePeerAccess) return cudaErrorInvalidValue;
  Allocation* memory = nullptr;
  if (is_own(ticket)) {
    memory = find_memory(ticket.start);
    if (memory && memory->id != ticket.id) memory = nullptr;
  } else {
    memory = opened_before(ticket);
    if (!memory) {
      std::shared_ptr<SharedFile> file = open_file(ticket);
      if (file) memory = &import_memory(std::move(file), current_device(), ticket.bytes);
    }
  }
  if (!memory) return cudaErrorInvalidValue;
  ++memory->imports;
  *result = memory->start;
  return cudaSuccess;
}

cudaError_t close_memory_handle(void* pointer) {
  Allocation* memory = find_memory(pointer);
  if (!memory || memory->start != pointer || memory->imports == 0) return cudaErrorInvalidValue;
  if (--memory->imports > 0 || memory->kind != MemoryKind::kImported) return cudaSuccess;
  finish_device(memory->device);
  delete_memory(*memory);
  return cudaSuccess;
}

// Does what other processes wait for, as long as the process lives.
void serve() {
  static const bool started = [] {
    std::thread([] {
      while (true) {
        {
          Lock lock;
          std::erase_if(state().shared_records, [](const auto& weak) { return weak.expired(); });
          for (const auto& weak : std::vector(state().shared_records)) {
            const std::shared_ptr<Record> record = weak.lock();
            if (!record || record->own_turn == 0) continue;
            SharedEvent& event = record->shared->event();
            const uint64_t turn = record->own_turn;
            if (event.wanted < turn || event.happened >= turn) continue;
            finish({record->work});
            if (state().sticky == cudaSuccess) tell_happened(event, turn);
          }
        }
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    }).detach();
    return true;
  }();
  (void)started;
}

cudaError_t get_event_handle(cudaIpcEventHandle_t* handle, cudaEvent_t named) {
  Event* event = find_event(named, "cudaIpcGetEventHandle");
  if (!event) return cudaErrorInvalidResourceHandle;
  if (!handle || !(event->flags & cudaEventInterprocess)) return cudaErrorInvalidValue;
  Record& record = *event->record;
  if (!record.shared) {
    const int file = ::memfd_create("cuda_standin_event", MFD_CLOEXEC);
    if (file < 0) return cudaErrorOperatingSystem;
    record.shared = std::make_shared<SharedFile>(file, 0, false);
    if (record.done_once) begin_turn(record, record.work);
    state().shared_records.push_back(event->record);
    serve();
  }
  write_ticket(handle, ticket_for(*record.shared, event->id));
  state().exported_events[event->id] = event->record;
  return cudaSuccess;
}

cudaError_t open_event_handle(cudaEvent_t* result, const Ticket& ticket) {
  if (!result) return cudaErrorInvalidValue;
  std::shared_ptr<Record> record;
  if (is_own(ticket)) {
    const auto found = state().exported_events.find(ticket.id);
    if (found != state().exported_events.end()) record = found->second.lock();
  } else if (std::shared_ptr<SharedFile> file = open_file(ticket)) {
    record = std::make_shared<Record>();
    record->shared = std::move(file);
    state().shared_records.push_back(record);
    serve();
  }
  if (!record) return cudaErrorInvalidValue;
  auto event = std::make_unique<Event>();
  event->device = current_device();
  event->flags = cudaEventDisableTiming | cudaEventInterprocess;
  event->id = state().next_id++;
  event->record = std::move(record);
  *result = state().events.add(std::move(event));
  return cudaSuccess;
}

}  // namespace

SharedFile::SharedFile(int file, size_t bytes, bool foreign) : file_(file), bytes_(bytes), foreign_(foreign) {
  struct stat found {};
  const size_t all = bytes + kPage;
  if ((!foreign && ::ftruncate(file, static_cast<off_t>(all)) != 0) || ::fstat(file, &found) != 0) {
    std::perror("cuda_standin: shared file");
    std::abort();
  }
  inode_ = found.st_ino;
  void* const mapped = ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(bytes));
  if (mapped == MAP_FAILED) {
    std::perror("cuda_standin: shared file");
    std::abort();
  }
  event_ = static_cast<SharedEvent*>(mapped);
  if (foreign) event_->openers.fetch_add(1);
}

SharedFile::~SharedFile() {
  if (foreign_) event_->openers.fetch_sub(1);
  ::munmap(event_, kPage);
  ::close(file_);
}

void tell_happened(SharedEvent& event, uint64_t turn) {
  uint64_t known = event.happened;
  while (known < turn && !event.happened.compare_exchange_weak(known, turn)) {
  }
}

void begin_turn(Record& record, uint64_t work) {
  SharedEvent& event = record.shared->event();
  event.process = ::getpid();
  record.own_turn = event.recorded.fetch_add(1) + 1;
  if (!is_pending(work)) tell_happened(event, record.own_turn);
}

bool is_foreign(const Record& record) {
  return record.shared && record.shared->event().recorded != record.own_turn;
}

uint64_t add_foreign_wait(const Record& record, int device, cudaStream_t stream, std::vector<uint64_t> after) {
  const std::shared_ptr<SharedFile> file = record.shared;
  const uint64_t turn = file->event().recorded;
  const auto since = std::chrono::steady_clock::now();
  Work work{.name = "event wait", .device = device, .stream = stream};
  work.external = [file, turn, since] {
    SharedEvent& event = file->event();
    if (event.happened >= turn) return true;
    uint64_t wanted = event.wanted;
    while (wanted < turn && !event.wanted.compare_exchange_weak(wanted, turn)) {
    }
    const bool gone = ::kill(event.process, 0) != 0 && errno == ESRCH;
    if (!gone && std::chrono::steady_clock::now() - since < kPatience) return false;
    add_misuse("an event of another process that has not happened when that process ended, or for a minute");
    tell_happened(event, turn);
    return true;
  };
  return add_work(std::move(work), std::move(after));
}

bool foreign_has_happened(const Record& record) {
  SharedEvent& event = record.shared->event();
  const uint64_t turn = event.recorded;
  if (event.happened >= turn) return true;
  uint64_t wanted = event.wanted;
  while (wanted < turn && !event.wanted.compare_exchange_weak(wanted, turn)) {
  }
  return false;
}

extern "C" {

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
  return api("cudaIpcGetMemHandle", [&] { return get_memory_handle(handle, pointer); });
}

cudaError_t cudaIpcOpenMemHandle(void** result, cudaIpcMemHandle_t handle, unsigned int flags) {
  return api("cudaIpcOpenMemHandle", [&] { return open_memory_handle(result, ticket_of(handle), flags); });
}

cudaError_t cudaIpcCloseMemHandle(void* pointer) {
  return api(
      "cudaIpcCloseMemHandle", [&] { return close_memory_handle(pointer); }, kReleases);
}

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t event) {
  return api("cudaIpcGetEventHandle", [&] { return get_event_handle(handle, event); });
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* result, cudaIpcEventHandle_t handle) {
  return api("cudaIpcOpenEventHandle", [&] { return open_event_handle(result, ticket_of(handle)); });
}

}  // extern "C"
}  // namespace cuda_standin

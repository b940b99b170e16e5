#include "utils/profiler/itt.h"

#include <dlfcn.h>
#include <pthread.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "c10/util/exception.h"
#include "utils/profiler/range_text.h"

// The interface between a program and a collector, version 3.0, of 64-bit Linux: github.com/intel/ittapi describes it.
// The program tells of its table of functions and the collector fills it in. What a collector does not know stays null.
namespace {

struct Id {
  uint64_t words[3];
};
struct Domain {
  int flags;  // 0: nothing of it is wanted
};
struct Text;

Domain* (*domain_create)(const char*) = nullptr;
Text* (*string_handle_create)(const char*) = nullptr;
void (*task_begin)(const Domain*, Id task, Id parent, Text* name) = nullptr;
void (*task_end)(const Domain*) = nullptr;

struct Entry {
  const char* name;
  void** function;
  void* first;  // what a function is before, and without, a collector
  void* without;
  uint32_t group;
};
constexpr uint32_t kStructure = 0x1000, kAllGroups = 0xffffffff;

template <class F>
Entry entry(const char* name, F& function) {
  return {name, reinterpret_cast<void**>(&function), nullptr, nullptr, kStructure};
}
Entry entries[] = {entry("__itt_domain_create", domain_create),
                   entry("__itt_string_handle_create", string_handle_create), entry("__itt_task_begin", task_begin),
                   entry("__itt_task_end", task_end), Entry{}};

struct Global {
  unsigned char magic[8] = {0xed, 0xab, 0xab, 0xec, 0x0d, 0xee, 0xda, 0x30};
  unsigned long major = 3, minor = 0, build = 20101001;
  long is_initialized = 0, has_mutex = 0, counter = 0;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  void* library = nullptr;
  void* error_handler = nullptr;
  const char** path = nullptr;
  Entry* entries = ::entries;
  void* next = nullptr;
  void* lists[3] = {};  // of threads, domains and texts
  int state = 0;        // collects
  void* counters = nullptr;
  unsigned int hardware_trace = 0;
  void* histograms = nullptr;
};

// What the collector calls "PyTorch"; null without one.
const Domain* connect() {
  const char* const path = std::getenv("INTEL_LIBITTNOTIFY64");
  if (path == nullptr || *path == '\0') return nullptr;
  void* const library = ::dlopen(path, RTLD_LAZY);
  if (library == nullptr) {
    TORCH_WARN("INTEL_LIBITTNOTIFY64: ", ::dlerror());
    return nullptr;
  }
  const auto start = reinterpret_cast<void (*)(Global*, uint32_t)>(::dlsym(library, "__itt_api_init"));
  if (start == nullptr) {
    TORCH_WARN("INTEL_LIBITTNOTIFY64: ", path, " is no collector of version 3: it has no function __itt_api_init");
    return nullptr;
  }
  // The collector keeps it.
  auto* const global = new Global;
  global->library = library;
  global->is_initialized = global->has_mutex = 1;
  start(global, kAllGroups);
  const bool is_whole = domain_create && string_handle_create && task_begin && task_end;
  return is_whole ? domain_create("PyTorch") : nullptr;
}

const Domain* domain() {
  static const Domain* const it = connect();
  return it;
}

}  // namespace

namespace torch::profiler::itt {

bool is_available() {
  return domain() != nullptr;
}

void range_push(const char* name) {
  const Domain* const to = domain();
  if (to != nullptr && to->flags != 0) task_begin(to, {}, {}, string_handle_create(name));
}
void range_pop() {
  const Domain* const to = domain();
  if (to != nullptr && to->flags != 0) task_end(to);
}
void mark(const char* name) {
  range_push(name);
  range_pop();
}

}  // namespace torch::profiler::itt

namespace torch::autograd::profiler {
namespace {

thread_local bool t_on = false;

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& range) {
  torch::profiler::itt::range_push((std::string(range.name()) + detail::sizes_text(range)).c_str());
  return nullptr;
}
void end(const at::RecordFunction&, at::ObserverContext*) {
  torch::profiler::itt::range_pop();
}

}  // namespace

emit_itt::emit_itt(bool enabled, bool record_shapes) {
  if (!enabled) return;
  TORCH_CHECK(!t_on, "ITT annotation context manager is not reentrant");
  callback_ = at::addThreadLocalCallback(at::RecordFunctionCallback(&begin, &end).needsInputs(record_shapes));
  t_on = true;
}

emit_itt::~emit_itt() {
  if (callback_ == at::INVALID_CALLBACK_HANDLE) return;
  at::removeCallback(callback_);
  t_on = false;
}

}  // namespace torch::autograd::profiler

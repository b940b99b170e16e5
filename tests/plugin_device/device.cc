// Memory, streams, events, generators: what the library asks of a device.
#include <sys/mman.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "c10/core/accelerator.h"
#include "c10/core/cpu_generator.h"
#include "c10/core/device_guard_impl.h"
#include "c10/core/tensor_impl.h"
#include "c10/memory/allocator.h"
#include "tests/plugin_device/shadow.h"

namespace shadow {
namespace {

using c10::Device;
using c10::DeviceIndex;
using c10::Stream;

constexpr DeviceIndex kDevices = 2;
constexpr DeviceIndex kHost = -1;  // where pinned memory is

// What a thread has made current.
thread_local DeviceIndex t_device = 0;
thread_local c10::StreamId t_streams[kDevices] = {};

DeviceIndex checked(DeviceIndex device) {
  TORCH_CHECK(device < kDevices, "there is no device shadow:", static_cast<int>(device));
  return device < 0 ? t_device : device;
}
Device device_at(DeviceIndex index) { return Device(c10::kPrivateUse1, index); }

// --- memory: blocks of pages of their own, closed, with a closed page behind each. All state lasts as long as the process ---
struct Block {
  size_t bytes;
  DeviceIndex device;
  int openers;
};
std::mutex& g_memory = *new std::mutex;
auto& g_blocks = *new std::map<const char*, Block>;

// The block that an address lies in, or null. The caller holds g_memory.
std::pair<const char* const, Block>* find_block(const void* address) {
  auto it = g_blocks.upper_bound(static_cast<const char*>(address));
  if (it == g_blocks.begin()) return nullptr;
  --it;
  return static_cast<const char*>(address) < it->first + it->second.bytes ? &*it : nullptr;
}

void change_openers(const void* address, int by) {
  std::lock_guard lock(g_memory);
  auto* found = find_block(address);
  if (found == nullptr || found->second.device == kHost) return;
  found->second.openers += by;
  if (found->second.openers == (by > 0 ? 1 : 0)) {
    ::mprotect(const_cast<char*>(found->first), found->second.bytes, by > 0 ? PROT_READ | PROT_WRITE : PROT_NONE);
  }
}

void release(void* block) {
  if (block == nullptr) return;
  std::lock_guard lock(g_memory);
  const auto it = g_blocks.find(static_cast<char*>(block));
  ::munmap(block, it->second.bytes + 4096);
  g_blocks.erase(it);
}

c10::DataPtr allocate(size_t n, DeviceIndex index, Device device) {
  if (n == 0) return c10::DataPtr(nullptr, device);
  const size_t bytes = (n + 4095) / 4096 * 4096;
  void* block = bytes < n ? MAP_FAILED
                          : ::mmap(nullptr, bytes + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  TORCH_CHECK_WITH(OutOfMemoryError, block != MAP_FAILED, "shadow: out of memory: ", n, " bytes");
  if (index == kHost) ::mprotect(block, bytes, PROT_READ | PROT_WRITE);
  std::lock_guard lock(g_memory);
  g_blocks[static_cast<char*>(block)] = Block{bytes, index, 0};
  return c10::DataPtr(block, block, &release, device);
}

struct DeviceMemory final : c10::Allocator {
  c10::DataPtr allocate(size_t n) override { return shadow::allocate(n, t_device, device_at(t_device)); }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  // Storages give the old block back at once, so this waits.
  void copy_data(void* dest, const void* src, size_t count) const override {
    const Stream stream = current_stream(t_device);
    push(stream, [=] {
      const Open open({dest, src});
      std::memcpy(dest, src, count);
    });
    wait(stream);
  }
};
struct PinnedMemory final : c10::Allocator {
  c10::DataPtr allocate(size_t n) override { return shadow::allocate(n, kHost, Device(c10::kCPU)); }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
};
PinnedMemory& g_pinned = *new PinnedMemory;

// --- streams: a thread each, which takes its tasks in order, every one a little later than it could ---
std::mutex& g_hold = *new std::mutex;
std::condition_variable& g_released = *new std::condition_variable;
bool g_held = false;

void wait_until_released() {
  std::unique_lock lock(g_hold);
  g_released.wait(lock, [] { return !g_held; });
}

class Queue {
 public:
  Queue() { std::thread([this] { run(); }).detach(); }
  void push(std::function<void()> task) {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    changed_.notify_all();
  }
  bool is_idle() { return std::lock_guard(mutex_), tasks_.empty(); }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return tasks_.empty(); });
    if (std::exception_ptr error = std::exchange(error_, nullptr)) std::rethrow_exception(error);
  }

 private:
  [[noreturn]] void run() {
    for (uint32_t random = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(this) >> 4);;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !tasks_.empty(); });
      std::function<void()> task = std::move(tasks_.front());  // its place is kept until it is done
      lock.unlock();
      wait_until_released();
      random = random * 1664525 + 1013904223;
      if (random >> 29 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random >> 20 & 127));
      std::exception_ptr error;
      try {
        task();
      } catch (...) {
        error = std::current_exception();
      }
      task = nullptr;  // what it holds is given up before anybody hears that it is done
      lock.lock();
      if (error_ == nullptr) error_ = error;
      tasks_.pop_front();
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  std::exception_ptr error_;
};

std::mutex& g_streams = *new std::mutex;
auto& g_queues = *new std::array<std::vector<Queue*>, kDevices>;

// The caller holds g_streams.
std::vector<Queue*>& queues_of(DeviceIndex device) {
  if (g_queues[static_cast<size_t>(device)].empty()) g_queues[static_cast<size_t>(device)].push_back(new Queue);
  return g_queues[static_cast<size_t>(device)];
}
Queue& queue(Stream stream) {
  std::lock_guard lock(g_streams);
  const auto& queues = queues_of(checked(stream.device_index()));
  TORCH_CHECK(stream.id() >= 0 && stream.id() < static_cast<int64_t>(queues.size()), "there is no ", stream);
  return *queues[static_cast<size_t>(stream.id())];
}

// An event lives as long as a stream has it to reach or to wait for.
struct EventState {
  std::mutex mutex;
  std::condition_variable changed;
  bool happened = false;
  std::chrono::steady_clock::time_point time;

  void wait() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return happened; });
  }
};
using EventPtr = std::shared_ptr<EventState>;

EventPtr record_on(Stream stream) {
  auto event = std::make_shared<EventState>();
  push(stream, [event] {
    std::lock_guard lock(event->mutex);
    event->happened = true;
    event->time = std::chrono::steady_clock::now();
    event->changed.notify_all();
  });
  return event;
}

struct GuardImpl final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return c10::kPrivateUse1; }
  Device getDevice() const override { return device_at(t_device); }
  void setDevice(Device device) const override { t_device = checked(device.index()); }
  Device exchangeDevice(Device device) const override { return device_at(std::exchange(t_device, checked(device.index()))); }
  void uncheckedSetDevice(Device device) const noexcept override { t_device = device.index(); }
  DeviceIndex deviceCount() const noexcept override { return kDevices; }
  void synchronizeDevice(DeviceIndex device) const override {
    std::unique_lock lock(g_streams);
    const std::vector<Queue*> queues = queues_of(checked(device));
    lock.unlock();
    for (Queue* q : queues) q->wait();
  }

  Stream getStream(Device device) const override { return current_stream(device.index()); }
  Stream getDefaultStream(Device device) const override { return Stream(Stream::DEFAULT, device); }
  Stream getNewStream(Device device, int) const override {
    std::lock_guard lock(g_streams);
    auto& queues = queues_of(checked(device.index()));
    queues.push_back(new Queue);
    return Stream(Stream::UNSAFE, device_at(checked(device.index())), static_cast<c10::StreamId>(queues.size()) - 1);
  }
  Stream exchangeStream(Stream stream) const override {
    const Stream before = current_stream(stream.device_index());
    queue(stream);
    t_streams[stream.device_index()] = stream.id();
    return before;
  }
  bool queryStream(const Stream& stream) const override { return queue(stream).is_idle(); }
  void synchronizeStream(const Stream& stream) const override { wait(stream); }

  void record(void** event, const Stream& stream, DeviceIndex, c10::EventFlag) const override {
    if (*event == nullptr) *event = new EventPtr;
    of(*event) = record_on(stream);
  }
  void block(void* event, const Stream& stream) const override {
    push(stream, [e = of(event)] { e->wait(); });
  }
  bool queryEvent(void* event) const override { return std::lock_guard(of(event)->mutex), of(event)->happened; }
  void synchronizeEvent(void* event) const override { of(event)->wait(); }
  double elapsedTime(void* first, void* second, DeviceIndex) const override {
    return std::chrono::duration<double, std::milli>(of(second)->time - of(first)->time).count();
  }
  void destroyEvent(void* event, DeviceIndex) const noexcept override { delete static_cast<EventPtr*>(event); }
  static EventPtr& of(void* event) { return *static_cast<EventPtr*>(event); }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, GuardImpl);

// --- generators: the numbers of a CPU generator of the same seed ---
struct GeneratorImpl final : c10::GeneratorImpl {
  explicit GeneratorImpl(DeviceIndex device, at::Generator cpu = at::detail::createCPUGenerator())
      : c10::GeneratorImpl(device_at(device), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)), engine(std::move(cpu)) {}
  void set_current_seed(uint64_t seed) override { engine.set_current_seed(seed); }
  uint64_t current_seed() const override { return engine.current_seed(); }
  uint64_t seed() override { return engine.seed(); }
  void set_offset(uint64_t offset) override { impl().set_offset(offset); }
  uint64_t get_offset() const override { return impl().get_offset(); }
  void set_state(const c10::TensorImpl& state) override { impl().set_state(state); }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override { return impl().get_state(); }
  GeneratorImpl* clone_impl() const override { return new GeneratorImpl(device().index(), engine.clone()); }
  c10::GeneratorImpl& impl() const { return *engine.unsafeGetGeneratorImpl(); }
  at::Generator engine;
};
auto& g_generators = *new std::vector<at::Generator>{at::make_generator<GeneratorImpl>(DeviceIndex{0}),
                                                     at::make_generator<GeneratorImpl>(DeviceIndex{1})};

struct Hooks final : at::PrivateUse1HooksInterface {
  DeviceIndex deviceCount() const override { return kDevices; }
  bool hasPrimaryContext(DeviceIndex) const override { return true; }
  bool isPinnedPtr(const void* data) const override { return is_pinned(data); }
  c10::Allocator* getPinnedMemoryAllocator() const override { return &g_pinned; }
  Device getDeviceFromPtr(void* data) const override {
    std::lock_guard lock(g_memory);
    const auto* found = find_block(data);
    TORCH_CHECK(found != nullptr && found->second.device != kHost, "the pointer is not memory of a shadow device");
    return device_at(found->second.device);
  }
  const at::Generator& getDefaultGenerator(DeviceIndex index) const override { return g_generators[static_cast<size_t>(checked(index))]; }
  at::Generator getNewGenerator(DeviceIndex index) const override { return at::make_generator<GeneratorImpl>(checked(index)); }
};

[[maybe_unused]] const bool g_registered = [] {
  c10::register_privateuse1_backend("shadow");
  c10::SetAllocator(c10::kPrivateUse1, new DeviceMemory);
  at::RegisterPrivateUse1HooksInterface(new Hooks);
  return true;
}();

}  // namespace

Open::Open(std::vector<const void*> addresses) : addresses_(std::move(addresses)) {
  for (const void* address : addresses_) change_openers(address, 1);
}
Open::~Open() {
  for (const void* address : addresses_) change_openers(address, -1);
}
bool is_pinned(const void* address) {
  std::lock_guard lock(g_memory);
  const auto* found = find_block(address);
  return found != nullptr && found->second.device == kHost;
}

Stream current_stream(DeviceIndex device) {
  return Stream(Stream::UNSAFE, device_at(checked(device)), t_streams[checked(device)]);
}
void push(Stream stream, std::function<void()> task) { queue(stream).push(std::move(task)); }
void wait(Stream stream) { queue(stream).wait(); }
void wait_for(Stream first, Stream then) {
  push(then, [done = record_on(first)] { done->wait(); });
}
void hold_streams(bool held) {
  std::lock_guard lock(g_hold);
  g_held = held;
  g_released.notify_all();
}

at::Generator engine_of(const std::optional<at::Generator>& generator, Device device) {
  const bool given = generator.has_value() && generator->defined();
  const at::Generator& used = given ? *generator : g_generators[static_cast<size_t>(checked(device.index()))];
  TORCH_CHECK(used.device().type() == c10::kPrivateUse1, "Expected a 'shadow' device type for generator but found '",
              used.device().type(), "'");
  return static_cast<GeneratorImpl*>(used.unsafeGetGeneratorImpl())->engine;
}

}  // namespace shadow

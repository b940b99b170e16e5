#include "c10/memory/allocator.h"

#include <cstdint>
#include <cstring>

#include "c10/memory/cpu_allocator.h"
#include "c10/util/exception.h"

namespace c10 {

namespace {

// The size stands in front of the data, because a deleter gets only a pointer.
constexpr size_t kHeader = kBlockAlignment;

void delete_cpu_block(void* data) {
  char* const block = static_cast<char*>(data) - kHeader;
  cpu_free(block, *reinterpret_cast<size_t*>(block));
}

class CachingCPUAllocator final : public Allocator {
 public:
  constexpr CachingCPUAllocator() = default;

  DataPtr allocate(size_t n) override {
    TORCH_CHECK_WITH(OutOfMemoryError, n <= SIZE_MAX - kHeader,
                     "DefaultCPUAllocator: can't allocate memory: you tried to allocate ", n, " bytes");
    char* const block = static_cast<char*>(cpu_alloc(n + kHeader));
    *reinterpret_cast<size_t*>(block) = n + kHeader;
    return DataPtr(block + kHeader, block + kHeader, &delete_cpu_block, Device(DeviceType::CPU));
  }
  DeleterFnPtr raw_deleter() const override { return &delete_cpu_block; }
  void copy_data(void* dest, const void* src, size_t count) const override { default_copy_data(dest, src, count); }
};

// Never destroyed: storages in statics may outlive it otherwise.
template <class T>
union Immortal {
  constexpr Immortal() : value() {}
  constexpr ~Immortal() {}
  T value;
};
constinit Immortal<CachingCPUAllocator> g_cpu_allocator;

constexpr int kDeviceTypes = 64;
struct Entry {
  Allocator* allocator;
  unsigned char priority;
};
constinit Entry g_entries[kDeviceTypes] = {};

Entry& entry_of(DeviceType type) {
  const int index = static_cast<int>(type);
  TORCH_CHECK(index >= 0 && index < kDeviceTypes, "device type ", index, " has no allocator");
  return g_entries[index];
}

}  // namespace

constinit size_t detail::g_inline_storage_end = kMaxInlineStorage + 1;

void delete_nothing(void*) noexcept {}

void* Allocator::raw_allocate(size_t n) {
  TORCH_CHECK(raw_deleter() != nullptr, "raw_allocate: this allocator's data is not its context");
  DataPtr p = allocate(n);
  TORCH_INTERNAL_ASSERT(p.get() == p.get_context());
  return p.release_context();
}

void Allocator::raw_deallocate(void* data) {
  DeleterFnPtr deleter = raw_deleter();
  TORCH_CHECK(deleter != nullptr, "raw_deallocate: this allocator's data is not its context");
  if (data != nullptr) deleter(data);
}

void Allocator::copy_data(void*, const void*, size_t) const {
  C10_THROW_ERROR(NotImplementedError, "this allocator does not override c10::Allocator::copy_data");
}

void Allocator::default_copy_data(void* dest, const void* src, size_t count) const {
  if (count != 0) std::memcpy(dest, src, count);
}

DataPtr Allocator::clone(const void* data, size_t n) {
  DataPtr fresh = allocate(n);
  copy_data(fresh.get(), data, n);
  return fresh;
}

void SetAllocator(DeviceType device_type, Allocator* allocator, unsigned char priority) {
  Entry& entry = entry_of(device_type);
  if (priority < entry.priority) return;
  if (device_type == DeviceType::CPU && allocator == GetDefaultCPUAllocator()) allocator = nullptr;
  entry.priority = priority;
  __atomic_store_n(&entry.allocator, allocator, __ATOMIC_RELEASE);
  if (device_type == DeviceType::CPU) {
    const size_t end = allocator == nullptr ? kMaxInlineStorage + 1 : 0;
    __atomic_store_n(&detail::g_inline_storage_end, end, __ATOMIC_RELEASE);
  }
}

Allocator* GetAllocator(DeviceType device_type) {
  Allocator* const allocator = __atomic_load_n(&entry_of(device_type).allocator, __ATOMIC_ACQUIRE);
  if (allocator == nullptr && device_type == DeviceType::CPU) return &g_cpu_allocator.value;
  return allocator;
}

Allocator* GetCPUAllocator() { return GetAllocator(DeviceType::CPU); }
void SetCPUAllocator(Allocator* allocator, unsigned char priority) {
  SetAllocator(DeviceType::CPU, allocator, priority);
}
Allocator* GetDefaultCPUAllocator() { return &g_cpu_allocator.value; }
Allocator* replaced_cpu_allocator() {
  return __atomic_load_n(&g_entries[static_cast<int>(DeviceType::CPU)].allocator, __ATOMIC_ACQUIRE);
}

}  // namespace c10

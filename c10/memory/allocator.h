#pragma once

#include <cstddef>

#include "c10/core/device.h"

// The interface between storages and whoever provides their memory.

namespace c10 {

/// Frees what a context stands for. Must not throw.
using DeleterFnPtr = void (*)(void*);

/// Does nothing: for memory that somebody else owns.
void delete_nothing(void* context) noexcept;

/// A pointer to data, the context that owns the data, how to free it, and the device it is on. Move-only, like
/// std::unique_ptr; the context may differ from the data (a header in front of it, a mapped file, a foreign tensor).
///
///   c10::DataPtr p(floats, owner, [](void* o) { delete static_cast<Owner*>(o); }, c10::Device(c10::kCPU));
class DataPtr {
 public:
  DataPtr() : device_(DeviceType::CPU) {}
  /// Does not own `data`.
  DataPtr(void* data, Device device) : data_(data), device_(device) {}
  DataPtr(void* data, void* context, DeleterFnPtr deleter, Device device)
      : data_(data), context_(context), deleter_(deleter), device_(device) {}
  DataPtr(DataPtr&& other) noexcept
      : data_(other.data_), context_(other.context_), deleter_(other.deleter_), device_(other.device_) {
    other.forget();
  }
  DataPtr& operator=(DataPtr&& other) noexcept {
    if (this != &other) {
      clear();
      data_ = other.data_;
      context_ = other.context_;
      deleter_ = other.deleter_;
      device_ = other.device_;
      other.forget();
    }
    return *this;
  }
  DataPtr(const DataPtr&) = delete;
  DataPtr& operator=(const DataPtr&) = delete;
  ~DataPtr() {
    if (context_ != nullptr && deleter_ != nullptr) deleter_(context_);
  }

  /// Frees the data and becomes null; the device stays.
  void clear() {
    void* context = context_;
    DeleterFnPtr deleter = deleter_;
    forget();
    if (context != nullptr && deleter != nullptr) deleter(context);
  }

  void* get() const { return data_; }
  void* mutable_get() { return data_; }
  void* operator->() const { return data_; }
  explicit operator bool() const { return data_ != nullptr || context_ != nullptr; }
  void* get_context() const { return context_; }
  /// Hands the ownership of the context to the caller; the data pointer stays readable.
  void* release_context() {
    void* context = context_;
    context_ = nullptr;
    return context;
  }
  DeleterFnPtr get_deleter() const { return deleter_; }
  /// The context as a T*, if the deleter is the expected one, else null.
  template <class T>
  T* cast_context(DeleterFnPtr expected_deleter) const {
    return deleter_ == expected_deleter ? static_cast<T*>(context_) : nullptr;
  }
  /// Replaces the deleter if it is `expected_deleter`; says whether it did.
  bool compare_exchange_deleter(DeleterFnPtr expected_deleter, DeleterFnPtr new_deleter) {
    if (deleter_ != expected_deleter) return false;
    deleter_ = new_deleter;
    return true;
  }
  Device device() const { return device_; }
  void unsafe_set_device(Device device) { device_ = device; }

  friend bool operator==(const DataPtr& p, std::nullptr_t) { return !p; }
  friend bool operator!=(const DataPtr& p, std::nullptr_t) { return static_cast<bool>(p); }

 private:
  void forget() {
    data_ = nullptr;
    context_ = nullptr;
  }

  void* data_ = nullptr;
  void* context_ = nullptr;
  DeleterFnPtr deleter_ = nullptr;
  Device device_;
};

/// Provides memory on one device. Implementations live as long as the program.
class Allocator {
 public:
  virtual ~Allocator() = default;

  /// `n` bytes; may be null for zero. Throws c10::OutOfMemoryError.
  virtual DataPtr allocate(size_t n) = 0;

  /// The deleter of every DataPtr of this allocator, where its context is always the data pointer; null otherwise, and
  /// then the raw functions below cannot be used.
  virtual DeleterFnPtr raw_deleter() const { return nullptr; }

  /// Whether a DataPtr of this allocator owns just the memory it points to, which raw_deleter() alone then frees.
  virtual bool is_simple_data_ptr(const DataPtr& data) const { return data.get() == data.get_context(); }

  /// Copies bytes between two blocks of this allocator, in the order of the current stream: storages grow by it. Throws
  /// NotImplementedError unless it is overridden; memory that the CPU reads may call default_copy_data.
  virtual void copy_data(void* dest, const void* src, size_t count) const;

  /// A new block of `n` bytes with the contents of `data`.
  DataPtr clone(const void* data, size_t n);

  /// Memory by its plain pointer; give it back with raw_deallocate.
  void* raw_allocate(size_t n);
  void raw_deallocate(void* data);

 protected:
  /// copy_data for memory that the CPU reads and writes.
  void default_copy_data(void* dest, const void* src, size_t count) const;
};

/// Makes `allocator` the one for `device_type`, if its priority is at least that of the present one. The pointer must stay
/// valid for ever.
void SetAllocator(DeviceType device_type, Allocator* allocator, unsigned char priority = 0);

/// The allocator of a device type; null where none is registered. That of the CPU is the caching one of cpu_allocator.h
/// unless it was replaced.
Allocator* GetAllocator(DeviceType device_type);

/// The same for the CPU.
Allocator* GetCPUAllocator();
void SetCPUAllocator(Allocator* allocator, unsigned char priority = 0);

/// The built-in caching CPU allocator, whatever is set.
Allocator* GetDefaultCPUAllocator();

/// The allocator that was set with SetCPUAllocator, or null while the built-in one is in use: storages then call
/// cpu_alloc and cpu_free without the virtual call.
Allocator* replaced_cpu_allocator();

/// Storages of up to this many bytes keep them behind their own header while the built-in CPU allocator is in use.
inline constexpr size_t kMaxInlineStorage = 4096;

namespace detail {
// kMaxInlineStorage + 1, or 0 while the CPU's allocator is replaced: one comparison on the way of every storage answers both
// questions.
extern size_t g_inline_storage_end;
}  // namespace detail

/// Registers an allocator before main:
///   static c10::AllocatorRegisterer<c10::kCUDA> registerer(&allocator);
template <DeviceType kType>
struct AllocatorRegisterer {
  explicit AllocatorRegisterer(Allocator* allocator) { SetAllocator(kType, allocator); }
};

#define REGISTER_ALLOCATOR(type, allocator) \
  namespace {                               \
  static ::c10::AllocatorRegisterer<type> g_allocator_registerer(allocator); \
  }

}  // namespace c10

namespace at {
using c10::DataPtr;
}

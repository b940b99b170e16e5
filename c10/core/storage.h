#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "c10/core/device.h"
#include "c10/memory/allocator.h"
#include "c10/memory/small_object.h"
#include "c10/util/atomic.h"
#include "c10/util/intrusive_ptr.h"

namespace c10 {

// How often the data behind a tensor was changed in place. Lives in the storage, so that a tensor needs no allocation for
// it; a tensor whose data was taken over with set_data or .data() gets one of its own.
class VersionCounter : public intrusive_ptr_target {
 public:
  explicit VersionCounter(uint32_t version = 0) : version_(version) {}
  uint32_t current() const { return version_.load<MemoryOrder::relaxed>(); }
  // Not a locked add: writing to one tensor from two threads is the caller's to order.
  void bump() { version_.store<MemoryOrder::relaxed>(current() + 1); }

 private:
  Atomic<uint32_t> version_;
};

// Bytes on a device with an owner. A block of up to kMaxInlineStorage lies behind this header in one small allocation, a
// larger one comes from the device's caching allocator, and foreign memory (from_blob, a mapped file, an allocator given to
// SetCPUAllocator) is held by a DataPtr.
class StorageImpl : public intrusive_ptr_target {
 public:
  // `nbytes` of uninitialised CPU memory: from the allocator of SetCPUAllocator where one is set, else of our own, aligned
  // to 64 bytes.
  static intrusive_ptr<StorageImpl> allocate_cpu(size_t nbytes) {
    if (nbytes >= __atomic_load_n(&detail::g_inline_storage_end, __ATOMIC_RELAXED)) [[unlikely]] {
      return allocate_cpu_apart(nbytes);
    }
    const size_t block = header_bytes() + nbytes;
    char* memory = static_cast<char*>(small_alloc(block));
    void* data = nbytes == 0 ? nullptr : memory + header_bytes();
    auto* impl =
        new (memory) StorageImpl(Kind::kInline, data, nbytes, static_cast<uint32_t>(block), Device(DeviceType::CPU));
    detail::RefCount::init(impl);
    return intrusive_ptr<StorageImpl>::reclaim(impl);
  }
  // `nbytes` of uninitialised memory on any device, from the allocator registered for its type (Meta: no memory). A device
  // without an index is the current one. Throws Error where no backend of the device is linked, OutOfMemoryError where the
  // allocator gives nothing.
  static intrusive_ptr<StorageImpl> allocate(size_t nbytes, Device device) {
    return device.type() == DeviceType::CPU ? allocate_cpu(nbytes) : allocate_on(nbytes, device);
  }
  // The same from a given allocator, through which the storage grows, too.
  static intrusive_ptr<StorageImpl> allocate_from(Allocator* allocator, size_t nbytes);
  // No data: for the Meta device.
  static intrusive_ptr<StorageImpl> without_data(size_t nbytes, Device device);
  // Takes over `data`; `resizable` storages grow through `allocator`.
  StorageImpl(size_t nbytes, DataPtr data, Allocator* allocator, bool resizable);
  ~StorageImpl() override {
    if (kind_ != Kind::kInline) free_data();
  }

  void operator delete(StorageImpl* self, std::destroying_delete_t) noexcept {
    const uint32_t block = self->block_bytes_;
    self->~StorageImpl();
    if (block != 0) {
      small_free(self, block);
    } else {
      ::operator delete(self);
    }
  }

  void* data() const { return data_.get(); }
  size_t nbytes() const { return nbytes_; }
  Device device() const { return data_.device(); }
  bool resizable() const { return resizable_; }
  // Where growing takes memory from; null for the built-in allocator of the CPU.
  Allocator* allocator() const { return allocator_; }
  // The data with its device and, where it is not memory of our own, its owner.
  const DataPtr& data_ptr() const { return data_; }
  // Puts `data` in place of what is held and returns the old owner (memory of our own is freed: a null pointer then).
  DataPtr set_data_ptr(DataPtr data);
  void set_nbytes(size_t nbytes) { nbytes_ = nbytes; }
  void set_resizable(bool resizable) { resizable_ = resizable; }

  // Changes the size, keeping the first min(old, new) bytes: memory comes from the storage's allocator, and on devices
  // Allocator::copy_data copies. Throws Error where the storage is not resizable; it is unchanged then.
  void resize(size_t nbytes);
  // What resize does on a device, for hooks that have no way of their own.
  void resize_by_allocator(size_t nbytes);

  uint32_t version() const { return version_.load<MemoryOrder::relaxed>(); }
  void bump_version() { version_.store<MemoryOrder::relaxed>(version() + 1); }
  void set_version(uint32_t version) { version_.store<MemoryOrder::relaxed>(version); }

 private:
  enum class Kind : uint8_t { kInline, kCached, kForeign, kNone };

  StorageImpl(Kind kind, void* data, size_t nbytes, uint32_t block_bytes, Device device) noexcept
      : data_(data, device),
        nbytes_(nbytes),
        cached_bytes_(kind == Kind::kCached ? nbytes : 0),
        kind_(kind),
        block_bytes_(block_bytes) {}
  // The header and what rounds it up to the alignment of the data behind it.
  static constexpr size_t header_bytes() { return (sizeof(StorageImpl) + 63) / 64 * 64; }
  // Data that does not lie behind the header.
  static intrusive_ptr<StorageImpl> allocate_cpu_apart(size_t nbytes);
  static intrusive_ptr<StorageImpl> allocate_on(size_t nbytes, Device device);
  void free_data() noexcept;
  void release_resources() override { free_data(); }

  DataPtr data_;  // owns foreign memory only
  size_t nbytes_;
  size_t cached_bytes_ = 0;
  Kind kind_;
  bool resizable_ = true;
  Atomic<uint32_t> version_;
  uint32_t block_bytes_;
  Allocator* allocator_ = nullptr;
};

// A counted handle to a StorageImpl, as libtorch programs use it.
class Storage {
 public:
  Storage() = default;
  explicit Storage(intrusive_ptr<StorageImpl> impl) : impl_(static_cast<intrusive_ptr<StorageImpl>&&>(impl)) {}
  struct use_byte_size_t {};
  // New memory from `allocator` (null: the CPU's).
  Storage(use_byte_size_t, size_t nbytes, Allocator* allocator = nullptr, bool resizable = false);
  // Takes over `data`.
  Storage(use_byte_size_t, size_t nbytes, DataPtr data, Allocator* allocator = nullptr, bool resizable = false);

  explicit operator bool() const { return impl_.defined(); }
  void* data() const { return impl_->data(); }
  void* mutable_data() const { return impl_->data(); }
  template <class T>
  T* data() const {
    return static_cast<T*>(impl_->data());
  }
  template <class T>
  T* unsafe_data() const {
    return static_cast<T*>(impl_->data());
  }
  size_t nbytes() const { return impl_->nbytes(); }
  Device device() const { return impl_->device(); }
  DeviceType device_type() const { return impl_->device().type(); }
  bool resizable() const { return impl_->resizable(); }
  Allocator* allocator() const { return impl_->allocator(); }
  const DataPtr& data_ptr() const { return impl_->data_ptr(); }
  DataPtr set_data_ptr(DataPtr data) { return impl_->set_data_ptr(static_cast<DataPtr&&>(data)); }
  void set_data_ptr_noswap(DataPtr data) { impl_->set_data_ptr(static_cast<DataPtr&&>(data)); }
  void set_nbytes(size_t nbytes) { impl_->set_nbytes(nbytes); }
  uint32_t use_count() const { return impl_.use_count(); }
  bool unique() const { return impl_.unique(); }
  bool is_alias_of(const Storage& other) const { return impl_ == other.impl_; }
  StorageImpl* unsafeReleaseStorageImpl() { return impl_.release(); }
  StorageImpl* unsafeGetStorageImpl() const { return impl_.get(); }
  const intrusive_ptr<StorageImpl>& impl() const { return impl_; }

 private:
  intrusive_ptr<StorageImpl> impl_;
};

}  // namespace c10

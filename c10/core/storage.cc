#include "c10/core/storage.h"

#include <cstring>
#include <utility>

#include "c10/memory/cpu_allocator.h"
#include "c10/memory/small_object.h"
#include "c10/util/exception.h"

namespace c10 {
namespace {

constexpr size_t kHeaderBytes = (sizeof(StorageImpl) + 63) / 64 * 64;

}  // namespace

intrusive_ptr<StorageImpl> StorageImpl::allocate_cpu(size_t nbytes) {
  const Device cpu(DeviceType::CPU);
  StorageImpl* impl;
  if (nbytes <= kMaxInlineBytes) {
    const size_t block = kHeaderBytes + nbytes;
    char* memory = static_cast<char*>(small_alloc(block));
    void* data = nbytes == 0 ? nullptr : memory + kHeaderBytes;
    impl = new (memory) StorageImpl(Kind::kInline, data, nbytes, static_cast<uint32_t>(block), cpu);
  } else {
    void* data = cpu_alloc(nbytes);
    void* memory;
    try {
      memory = small_alloc(kHeaderBytes);
    } catch (...) {
      cpu_free(data, nbytes);
      throw;
    }
    impl = new (memory) StorageImpl(Kind::kCached, data, nbytes, kHeaderBytes, cpu);
  }
  detail::RefCount::init(impl);
  return intrusive_ptr<StorageImpl>::reclaim(impl);
}

intrusive_ptr<StorageImpl> StorageImpl::without_data(size_t nbytes, Device device) {
  auto* impl = new (small_alloc(kHeaderBytes)) StorageImpl(Kind::kNone, nullptr, nbytes, kHeaderBytes, device);
  detail::RefCount::init(impl);
  return intrusive_ptr<StorageImpl>::reclaim(impl);
}

StorageImpl::StorageImpl(Kind kind, void* data, size_t nbytes, uint32_t block_bytes, Device device)
    : data_(data),
      nbytes_(nbytes),
      cached_bytes_(kind == Kind::kCached ? nbytes : 0),
      kind_(kind),
      device_(device),
      block_bytes_(block_bytes) {}

StorageImpl::StorageImpl(size_t nbytes, DataPtr data, Allocator* allocator, bool resizable)
    : data_(data.get()),
      nbytes_(nbytes),
      kind_(Kind::kForeign),
      resizable_(resizable),
      device_(data.device()),
      block_bytes_(0),
      allocator_(allocator),
      foreign_(std::move(data)) {}

StorageImpl::~StorageImpl() {
  free_data();
}

void StorageImpl::operator delete(StorageImpl* self, std::destroying_delete_t) noexcept {
  const uint32_t block = self->block_bytes_;
  self->~StorageImpl();
  if (block != 0) {
    small_free(self, block);
  } else {
    ::operator delete(self);
  }
}

void StorageImpl::free_data() noexcept {
  if (kind_ == Kind::kCached && data_ != nullptr) cpu_free(data_, cached_bytes_);
  if (kind_ == Kind::kForeign) foreign_.clear();
  data_ = nullptr;
  kind_ = Kind::kNone;
}

DataPtr StorageImpl::set_data_ptr(DataPtr data) {
  DataPtr old = std::move(foreign_);
  free_data();
  data_ = data.get();
  device_ = data.device();
  foreign_ = std::move(data);
  kind_ = Kind::kForeign;
  return old;
}

void StorageImpl::resize(size_t nbytes) {
  if (nbytes == nbytes_) return;
  TORCH_CHECK(resizable_, "Trying to resize storage that is not resizable");
  if (device_.type() != DeviceType::CPU) {
    nbytes_ = nbytes;
    return;
  }
  const size_t kept = nbytes < nbytes_ ? nbytes : nbytes_;
  if (allocator_ != nullptr) {
    DataPtr fresh = allocator_->allocate(nbytes);
    if (kept != 0) std::memcpy(fresh.get(), data_, kept);
    set_data_ptr(std::move(fresh));
  } else {
    void* fresh = nbytes == 0 ? nullptr : cpu_alloc(nbytes);
    if (kept != 0) std::memcpy(fresh, data_, kept);
    free_data();
    data_ = fresh;
    kind_ = Kind::kCached;
    cached_bytes_ = nbytes;
  }
  nbytes_ = nbytes;
}

}  // namespace c10

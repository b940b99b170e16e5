#include "c10/core/storage.h"

#include <cstring>
#include <utility>

#include "c10/core/accelerator.h"
#include "c10/core/device_guard.h"
#include "c10/memory/cpu_allocator.h"
#include "c10/memory/small_object.h"
#include "c10/util/exception.h"

namespace c10 {
namespace {

DataPtr checked_allocate(Allocator& allocator, size_t nbytes) {
  DataPtr data = allocator.allocate(nbytes);
  TORCH_CHECK_WITH(OutOfMemoryError, data.get() != nullptr || nbytes == 0, "the ",
                   DeviceTypeName(data.device().type(), data.device().type() != DeviceType::CPU),
                   " allocator gave no memory for ", nbytes, " bytes");
  return data;
}

}  // namespace

intrusive_ptr<StorageImpl> StorageImpl::allocate_cpu_apart(size_t nbytes) {
  if (Allocator* allocator = replaced_cpu_allocator()) {
    return allocate_from(allocator, nbytes);
  }
  void* data = cpu_alloc(nbytes);
  void* memory;
  try {
    memory = small_alloc(header_bytes());
  } catch (...) {
    cpu_free(data, nbytes);
    throw;
  }
  auto* impl = new (memory) StorageImpl(Kind::kCached, data, nbytes, header_bytes(), Device(DeviceType::CPU));
  detail::RefCount::init(impl);
  return intrusive_ptr<StorageImpl>::reclaim(impl);
}

intrusive_ptr<StorageImpl> StorageImpl::allocate_from(Allocator* allocator, size_t nbytes) {
  return make_intrusive<StorageImpl>(nbytes, checked_allocate(*allocator, nbytes), allocator, true);
}

intrusive_ptr<StorageImpl> StorageImpl::allocate_on(size_t nbytes, Device device) {
  if (device.type() == DeviceType::Meta) return without_data(nbytes, device);
  Allocator* allocator = GetAllocator(device.type());
  TORCH_CHECK(allocator != nullptr, "Cannot allocate on device ", device, ": Kindling is not linked with support for ",
              device.type(), " devices");
  const impl::DeviceGuardImplInterface* const guard_impl = impl::registered_guard_impl(device.type());
  if (guard_impl == nullptr) return allocate_from(allocator, nbytes);
  const DeviceGuard guard(device, guard_impl);
  return allocate_from(allocator, nbytes);
}

intrusive_ptr<StorageImpl> StorageImpl::without_data(size_t nbytes, Device device) {
  auto* impl = new (small_alloc(header_bytes())) StorageImpl(Kind::kNone, nullptr, nbytes, header_bytes(), device);
  detail::RefCount::init(impl);
  return intrusive_ptr<StorageImpl>::reclaim(impl);
}

StorageImpl::StorageImpl(size_t nbytes, DataPtr data, Allocator* allocator, bool resizable)
    : data_(std::move(data)),
      nbytes_(nbytes),
      kind_(Kind::kForeign),
      resizable_(resizable),
      block_bytes_(0),
      allocator_(allocator) {}

void StorageImpl::free_data() noexcept {
  if (kind_ == Kind::kCached && data_.get() != nullptr) cpu_free(data_.get(), cached_bytes_);
  data_.clear();
  kind_ = Kind::kNone;
}

DataPtr StorageImpl::set_data_ptr(DataPtr data) {
  DataPtr old(nullptr, device());
  if (kind_ == Kind::kForeign) old = std::move(data_);
  free_data();
  data_ = std::move(data);
  kind_ = Kind::kForeign;
  return old;
}

void StorageImpl::resize(size_t nbytes) {
  if (nbytes == nbytes_) return;
  TORCH_CHECK(resizable_, "Trying to resize storage that is not resizable");
  const DeviceType type = device().type();
  if (type == DeviceType::Meta) {
    nbytes_ = nbytes;
  } else if (type == DeviceType::PrivateUse1 && at::isPrivateUse1HooksRegistered()) {
    at::detail::getPrivateUse1Hooks().resizePrivateUse1Bytes(Storage(intrusive_ptr<StorageImpl>::reclaim_copy(this)), nbytes);
  } else if (type != DeviceType::CPU || allocator_ != nullptr) {
    resize_by_allocator(nbytes);
  } else {
    const size_t kept = nbytes < nbytes_ ? nbytes : nbytes_;
    void* fresh = nbytes == 0 ? nullptr : cpu_alloc(nbytes);
    if (kept != 0) std::memcpy(fresh, data(), kept);
    free_data();
    data_ = DataPtr(fresh, Device(DeviceType::CPU));
    kind_ = Kind::kCached;
    cached_bytes_ = nbytes;
    nbytes_ = nbytes;
  }
}

void StorageImpl::resize_by_allocator(size_t nbytes) {
  TORCH_CHECK(allocator_ != nullptr, "Trying to resize storage without allocator");
  const DeviceGuard guard(device());
  DataPtr fresh = checked_allocate(*allocator_, nbytes);
  const size_t kept = nbytes < nbytes_ ? nbytes : nbytes_;
  if (kept != 0 && device().type() == DeviceType::CPU) {
    std::memcpy(fresh.get(), data(), kept);
  } else if (kept != 0) {
    allocator_->copy_data(fresh.get(), data(), kept);
  }
  set_data_ptr(std::move(fresh));
  nbytes_ = nbytes;
}

}  // namespace c10

void at::PrivateUse1HooksInterface::resizePrivateUse1Bytes(const c10::Storage& storage, size_t new_bytes) const {
  storage.unsafeGetStorageImpl()->resize_by_allocator(new_bytes);
}

namespace c10 {

Storage::Storage(use_byte_size_t, size_t nbytes, Allocator* allocator, bool resizable) {
  Allocator* from = allocator != nullptr ? allocator : GetCPUAllocator();
  impl_ = make_intrusive<StorageImpl>(nbytes, checked_allocate(*from, nbytes), from, resizable);
}

Storage::Storage(use_byte_size_t, size_t nbytes, DataPtr data, Allocator* allocator, bool resizable)
    : impl_(make_intrusive<StorageImpl>(nbytes, std::move(data), allocator, resizable)) {}

}  // namespace c10

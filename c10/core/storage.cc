#include "c10/core/storage.h"

#include <cstring>
#include <utility>

#include "c10/memory/cpu_allocator.h"
#include "c10/memory/small_object.h"
#include "c10/util/exception.h"

namespace c10 {
namespace {

DataPtr allocate_from(Allocator& allocator, size_t nbytes) {
  DataPtr data = allocator.allocate(nbytes);
  TORCH_CHECK_WITH(OutOfMemoryError, data.get() != nullptr || nbytes == 0,
                   "the CPU allocator gave no memory for ", nbytes, " bytes");
  return data;
}

}  // namespace

intrusive_ptr<StorageImpl> StorageImpl::allocate_cpu_apart(size_t nbytes) {
  if (Allocator* allocator = replaced_cpu_allocator()) {
    return make_intrusive<StorageImpl>(nbytes, allocate_from(*allocator, nbytes), allocator, true);
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

intrusive_ptr<StorageImpl> StorageImpl::without_data(size_t nbytes, Device device) {
  auto* impl = new (small_alloc(header_bytes())) StorageImpl(Kind::kNone, nullptr, nbytes, header_bytes(), device);
  detail::RefCount::init(impl);
  return intrusive_ptr<StorageImpl>::reclaim(impl);
}

StorageImpl::StorageImpl(size_t nbytes, DataPtr data, Allocator* allocator, bool resizable)
    : data_(data.get()),
      nbytes_(nbytes),
      kind_(Kind::kForeign),
      resizable_(resizable),
      device_(data.device()),
      block_bytes_(0),
      allocator_(allocator),
      foreign_(std::move(data)) {}

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
    DataPtr fresh = allocate_from(*allocator_, nbytes);
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

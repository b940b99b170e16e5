#include "aten/extension/map_allocator.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <random>

#include "c10/util/exception.h"
#include "c10/util/string_util.h"

namespace at {
namespace {

void delete_mapping(void* mapping) {
  delete static_cast<MapAllocator*>(mapping);
}

c10::DataPtr owner_of(std::unique_ptr<MapAllocator> mapping, size_t* actual_size_out) {
  if (actual_size_out != nullptr) *actual_size_out = mapping->size();
  void* data = mapping->data();
  return c10::DataPtr(data, mapping.release(), &delete_mapping, c10::Device(c10::kCPU));
}

}  // namespace

MapAllocator::MapAllocator(std::string_view filename, int flags, size_t size) : filename_(filename), flags_(flags) {
  TORCH_CHECK_VALUE((flags & ALLOCATOR_MAPPED_FROMFD) == 0, "MapAllocator: ALLOCATOR_MAPPED_FROMFD without a file");
  TORCH_CHECK_VALUE((flags & ALLOCATOR_MAPPED_EXCLUSIVE) == 0 || (flags & ALLOCATOR_MAPPED_NOCREATE) == 0,
                    "MapAllocator: a file cannot be both ALLOCATOR_MAPPED_EXCLUSIVE and ALLOCATOR_MAPPED_NOCREATE");
  TORCH_CHECK_VALUE((flags & ALLOCATOR_MAPPED_SHAREDMEM) == 0 || (flags & ALLOCATOR_MAPPED_SHARED) != 0,
                    "MapAllocator: ALLOCATOR_MAPPED_SHAREDMEM needs ALLOCATOR_MAPPED_SHARED");
  open_by_name();
  map(size);
}

MapAllocator::MapAllocator(WithFd, std::string_view filename, int fd, int flags, size_t size)
    : filename_(filename), flags_(flags | ALLOCATOR_MAPPED_FROMFD), fd_(fd) {
  map(size);
}

MapAllocator::~MapAllocator() {
  MapAllocator::close();
}

void MapAllocator::open_by_name() {
  int mode = flags_ & ALLOCATOR_MAPPED_SHARED ? O_RDWR : O_RDONLY;
  if (flags_ & ALLOCATOR_MAPPED_EXCLUSIVE) {
    mode |= O_CREAT | O_EXCL;
  } else if (flags_ & ALLOCATOR_MAPPED_SHARED && !(flags_ & ALLOCATOR_MAPPED_NOCREATE)) {
    mode |= O_CREAT;
  }
  fd_ = flags_ & ALLOCATOR_MAPPED_SHAREDMEM ? ::shm_open(filename_.c_str(), mode, 0600)
                                            : ::open(filename_.c_str(), mode | O_CLOEXEC, 0600);
  if (fd_ < 0) fail("open");
}

void MapAllocator::map(size_t size) {
  struct stat status;
  if (::fstat(fd_, &status) != 0) fail("stat");
  const auto present = static_cast<size_t>(status.st_size);
  size_ = size == 0 ? present : size;
  if (size_ > present) {
    if (!(flags_ & ALLOCATOR_MAPPED_SHARED)) {
      close_file();
      TORCH_CHECK(false, "MapAllocator: file <", filename_, "> has ", present, " bytes, ", size_, " are asked for");
    }
    if (::ftruncate(fd_, static_cast<off_t>(size_)) != 0) fail("resize");
  }
  if (size_ > 0) {
    void* mapped = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                          flags_ & ALLOCATOR_MAPPED_SHARED ? MAP_SHARED : MAP_PRIVATE, fd_, 0);
    if (mapped == MAP_FAILED) fail("map");
    data_ = mapped;
  }
  if (!(flags_ & ALLOCATOR_MAPPED_KEEPFD)) close_file();
  if (flags_ & ALLOCATOR_MAPPED_UNLINK) {
    const int gone =
        flags_ & ALLOCATOR_MAPPED_SHAREDMEM ? ::shm_unlink(filename_.c_str()) : ::unlink(filename_.c_str());
    if (gone != 0) fail("unlink");
  }
}

void MapAllocator::fail(const char* what) {
  const int reason = errno;
  MapAllocator::close();
  TORCH_CHECK(false, "MapAllocator: unable to ", what, " file <", filename_, ">: ", std::strerror(reason), " (", reason,
              ")");
}

void MapAllocator::close_file() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void MapAllocator::close() {
  close_file();
  if (data_ != nullptr) ::munmap(data_, size_);
  data_ = nullptr;
}

c10::DataPtr MapAllocator::makeDataPtr(std::string_view filename, int flags, size_t size, size_t* actual_size_out) {
  return owner_of(std::make_unique<MapAllocator>(filename, flags, size), actual_size_out);
}
c10::DataPtr MapAllocator::makeDataPtr(WithFd, const char* filename, int fd, int flags, size_t size,
                                       size_t* actual_size_out) {
  return owner_of(std::make_unique<MapAllocator>(WITH_FD, filename, fd, flags, size), actual_size_out);
}
MapAllocator* MapAllocator::fromDataPtr(const c10::DataPtr& data) {
  return data.cast_context<MapAllocator>(&delete_mapping);
}

std::string NewProcessWideShmHandle() {
  static std::atomic<uint64_t> count{0};
  static const uint32_t random = std::random_device()();
  return c10::str("/torch_", ::getpid(), "_", random, "_", count++);
}

}  // namespace at

#include "aten/extension/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>

#include "aten/extension/map_allocator.h"
#include "c10/util/exception.h"

namespace at {
namespace {

std::atomic<SharingStrategy> g_strategy{SharingStrategy::kFileDescriptor};

constexpr char kPrefix[] = "kindling_";

// In front of the data of a named segment. The system gives the numbers of segments out again; the random numbers tell
// a name's segment from a later one's.
struct alignas(64) Header {
  uint64_t key[2];
  uint64_t size;
};

struct Segment {
  Header* header;
  int number;
};

void detach(void* context) {
  auto* segment = static_cast<Segment*>(context);
  ::shmdt(segment->header);
  delete segment;
}

c10::DataPtr owner_of(std::unique_ptr<Segment> segment) {
  void* data = segment->header + 1;
  return c10::DataPtr(data, segment.release(), &detach, c10::Device(c10::kCPU));
}

c10::DataPtr new_segment(size_t size) {
  static_assert(sizeof(Header) == 64);
  TORCH_CHECK(size <= SIZE_MAX - sizeof(Header), "shared memory: ", size, " bytes are too many");
  auto segment = std::make_unique<Segment>();
  segment->number = ::shmget(IPC_PRIVATE, size + sizeof(Header), IPC_CREAT | 0600);
  TORCH_CHECK(segment->number >= 0, "shared memory: cannot make a segment of ", size, " bytes: ", std::strerror(errno),
              errno == ENOSPC ? " (the system has as many segments as kernel.shmmni and kernel.shmall allow)" : "");
  void* memory = ::shmat(segment->number, nullptr, 0);
  const int reason = errno;
  ::shmctl(segment->number, IPC_RMID, nullptr);
  TORCH_CHECK(memory != reinterpret_cast<void*>(-1), "shared memory: cannot attach a segment of ", size,
              " bytes: ", std::strerror(reason));
  segment->header = static_cast<Header*>(memory);
  std::random_device random;
  for (uint64_t& word : segment->header->key) word = uint64_t{random()} << 32 | random();
  segment->header->size = size;
  return owner_of(std::move(segment));
}

int open_memory(size_t size) {
  const int descriptor = ::memfd_create("kindling", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  TORCH_CHECK(descriptor >= 0, "shared memory: cannot make a descriptor: ", std::strerror(errno),
              errno == EMFILE ? "; torch::multiprocessing::set_sharing_strategy(\"file_system\") needs none" : "");
  if (::ftruncate(descriptor, static_cast<off_t>(size)) != 0) {
    const int reason = errno;
    ::close(descriptor);
    TORCH_CHECK(false, "shared memory: cannot make ", size, " bytes: ", std::strerror(reason));
  }
  // Who maps it need not fear that another process cuts it short.
  ::fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  return descriptor;
}

std::string hexadecimal(uint64_t word) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(word));
  return digits;
}

}  // namespace

SharingStrategy sharing_strategy() {
  return g_strategy.load(std::memory_order_relaxed);
}
void set_sharing_strategy(SharingStrategy strategy) {
  g_strategy.store(strategy, std::memory_order_relaxed);
}

c10::DataPtr new_shared_memory(size_t size, SharingStrategy strategy) {
  return strategy == SharingStrategy::kFileSystem ? new_segment(size) : map_shared_memory(open_memory(size), size);
}

c10::DataPtr map_shared_memory(int descriptor, size_t size) {
  struct stat status {};
  const bool fits = ::fstat(descriptor, &status) == 0 && static_cast<uint64_t>(status.st_size) >= size;
  if (!fits) ::close(descriptor);
  TORCH_CHECK(fits, "shared memory: a descriptor of ", status.st_size, " bytes, where ", size, " are expected");
  return MapAllocator::makeDataPtr(WITH_FD, "", descriptor, ALLOCATOR_MAPPED_SHARED | ALLOCATOR_MAPPED_KEEPFD, size,
                                   nullptr);
}

bool is_shared_memory(const c10::DataPtr& data) {
  if (data.get_deleter() == &detach && data.get_context() != nullptr) return true;
  const MapAllocator* mapping = MapAllocator::fromDataPtr(data);
  return mapping != nullptr && (mapping->flags() & ALLOCATOR_MAPPED_SHARED) != 0;
}

int shared_memory_descriptor(const c10::DataPtr& data) {
  const MapAllocator* mapping = MapAllocator::fromDataPtr(data);
  return mapping != nullptr && (mapping->flags() & ALLOCATOR_MAPPED_SHARED) != 0 ? mapping->fd() : -1;
}

std::string shared_memory_name(const c10::DataPtr& data) {
  const auto* segment = data.cast_context<Segment>(&detach);
  if (segment == nullptr) return "";
  return c10::str(kPrefix, segment->number, "_", hexadecimal(segment->header->key[0]),
                  hexadecimal(segment->header->key[1]));
}

c10::DataPtr attach_shared_memory(const std::string& name, size_t* size) {
  auto segment = std::make_unique<Segment>();
  const char* const end = name.data() + name.size();
  const char* at = name.data() + sizeof kPrefix - 1;
  uint64_t key[2] = {};
  bool is_name = name.rfind(kPrefix, 0) == 0;
  if (is_name) {
    const auto number = std::from_chars(at, end, segment->number);
    at = number.ptr;
    is_name = number.ec == std::errc() && segment->number >= 0 && end - at == 33 && *at == '_';
  }
  for (int i = 0; is_name && i < 2; ++i) {
    const char* word = at + 1 + 16 * i;
    const auto read = std::from_chars(word, word + 16, key[i], 16);
    is_name = read.ec == std::errc() && read.ptr == word + 16;
  }
  TORCH_CHECK_VALUE(is_name, "shared memory: '", name, "' is not a name of shared memory");

  void* memory = ::shmat(segment->number, nullptr, 0);
  TORCH_CHECK(memory != reinterpret_cast<void*>(-1), "shared memory: nobody holds ", name, " any more");
  segment->header = static_cast<Header*>(memory);
  shmid_ds status{};
  const bool is_it = ::shmctl(segment->number, IPC_STAT, &status) == 0 && status.shm_segsz >= sizeof(Header) &&
                     std::memcmp(segment->header->key, key, sizeof key) == 0 &&
                     segment->header->size <= status.shm_segsz - sizeof(Header);
  if (!is_it) ::shmdt(memory);
  TORCH_CHECK(is_it, "shared memory: nobody holds ", name, " any more");
  *size = segment->header->size;
  return owner_of(std::move(segment));
}

}  // namespace at

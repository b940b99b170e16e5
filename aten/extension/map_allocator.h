// Files and shared memory as the memory of a storage.
//
//   size_t mapped;
//   c10::DataPtr data = at::MapAllocator::makeDataPtr("weights.bin", at::ALLOCATOR_MAPPED_NOCREATE, 0, &mapped);
//   c10::Storage storage(c10::Storage::use_byte_size_t(), mapped, std::move(data));
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "c10/memory/allocator.h"

namespace at {

enum MappedAllocatorModes {
  /// Changes reach the file; else they stay with this process. Creates the file where it is missing, and makes it
  /// longer
  /// where it is too short.
  ALLOCATOR_MAPPED_SHARED = 1,
  /// `filename` is an object of shared memory (shm_open). Together with ALLOCATOR_MAPPED_SHARED.
  ALLOCATOR_MAPPED_SHAREDMEM = 2,
  /// The file must not exist before. Not together with ALLOCATOR_MAPPED_NOCREATE.
  ALLOCATOR_MAPPED_EXCLUSIVE = 4,
  /// The file must exist before.
  ALLOCATOR_MAPPED_NOCREATE = 8,
  /// The file stays open (fd()) as long as the mapping.
  ALLOCATOR_MAPPED_KEEPFD = 16,
  /// The open file is given, not opened by name.
  ALLOCATOR_MAPPED_FROMFD = 32,
  /// The name is removed once the file is mapped.
  ALLOCATOR_MAPPED_UNLINK = 64,
};

enum WithFd { WITH_FD };

/// One mapping. Constructors throw c10::ValueError for flags that contradict each other, c10::Error with the system's
/// reason where the file cannot be opened, is shorter than `size` bytes (and not ALLOCATOR_MAPPED_SHARED), or cannot be
/// mapped. A size of 0 is that of the file.
class MapAllocator {
 public:
  MapAllocator(std::string_view filename, int flags, size_t size);
  /// `fd` is taken over.
  MapAllocator(WithFd, std::string_view filename, int fd, int flags, size_t size);
  virtual ~MapAllocator();
  MapAllocator(const MapAllocator&) = delete;
  MapAllocator& operator=(const MapAllocator&) = delete;

  void* data() const { return data_; }
  size_t size() const { return size_; }
  int flags() const { return flags_; }
  const char* filename() const { return filename_.c_str(); }
  /// -1 where the file is not kept open.
  int fd() const { return fd_; }
  /// Unmaps; the destructor does so, too.
  virtual void close();

  /// The mapping as the owner of its own data; `actual_size_out`, where it is not null, becomes the number of bytes.
  static c10::DataPtr makeDataPtr(std::string_view filename, int flags, size_t size, size_t* actual_size_out);
  static c10::DataPtr makeDataPtr(WithFd, const char* filename, int fd, int flags, size_t size,
                                  size_t* actual_size_out);
  /// The mapping behind `data`; null where it is another owner's.
  static MapAllocator* fromDataPtr(const c10::DataPtr& data);

 private:
  void open_by_name();
  void map(size_t size);
  [[noreturn]] void fail(const char* what);
  void close_file();

  std::string filename_;
  int flags_;
  int fd_ = -1;
  size_t size_ = 0;
  void* data_ = nullptr;
};

/// A name for shared memory that no other process uses.
std::string NewProcessWideShmHandle();

}  // namespace at

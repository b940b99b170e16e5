// Memory that processes share, and how one process tells another which memory it means.
//
// There are two handles. A descriptor (memfd_create) has no name anywhere; it is passed through a Unix socket, and each
// holder keeps it open. A name is text, "kindling_3_5f2c...", which any process of the user in the same IPC namespace
// opens; no descriptor is kept. Behind it is a segment of System V, which is marked for removal as soon as it is
// attached: Linux lets processes attach it all the same while somebody holds it, and counts the holders itself. So
// neither kind has a file, an owner or a manager that could outlive it: the kernel frees the memory with its last
// holder, however that ends, and neither counts against the size of /dev/shm. The system has at most kernel.shmmni
// named ones (4096 unless it is set otherwise).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "c10/memory/allocator.h"

namespace at {

enum class SharingStrategy : uint8_t {
  kFileDescriptor,  ///< by descriptor, the default
  kFileSystem,      ///< by name: for many tensors at once, as each descriptor counts against the process's limit
};

/// What tensors are moved to that are shared from now on, in this process. Memory that is shared already stays as it
/// is.
SharingStrategy sharing_strategy();
void set_sharing_strategy(SharingStrategy strategy);

/// `size` bytes of zeros in memory that can be shared. Throws c10::Error with the system's reason where there are none.
c10::DataPtr new_shared_memory(size_t size, SharingStrategy strategy);

/// Whether processes share what is written to this memory.
bool is_shared_memory(const c10::DataPtr& data);

/// The open descriptor of shared memory, which `data` keeps; -1 where it has none.
int shared_memory_descriptor(const c10::DataPtr& data);
/// The memory of a descriptor, which is taken over, also where this throws. Throws c10::Error where it has fewer than
/// `size` bytes.
c10::DataPtr map_shared_memory(int descriptor, size_t size);

/// The name of shared memory; "" where it has none.
std::string shared_memory_name(const c10::DataPtr& data);
/// The memory of a name, of whose bytes `*size` becomes the number. Throws c10::ValueError for what is no such name,
/// and c10::Error where nobody holds that memory any more.
c10::DataPtr attach_shared_memory(const std::string& name, size_t* size);

}  // namespace at

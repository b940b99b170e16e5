// Memory of tensors that a child process shares.
//
//   at::Tensor counts = torch::zeros({4});
//   counts.share_memory_();
//   if (fork() == 0) { counts[0] += 1; _exit(0); }   // the parent sees it
#pragma once

#include <cstddef>

#include "aten/core/tensor_base.h"
#include "c10/core/storage.h"

namespace at {

/// A storage of `size` bytes, all zero, in memory of its own that processes forked later share: a descriptor without a
/// name (aten/extension/shared_memory.h), so that nothing is left behind when the last of them ends. It cannot be
/// resized. Throws c10::Error with the system's reason where there is no such memory.
c10::intrusive_ptr<c10::StorageImpl> new_shm_fd_storage(size_t size);

/// Copies the bytes of `src` to `dst`, which has as many, both on the CPU; `non_blocking` is for other devices. Throws
/// c10::Error otherwise.
void storage_copy(c10::Storage& dst, const c10::Storage& src, bool non_blocking = false);

/// Moves the storage of `t` to shared memory, which at::set_sharing_strategy() chooses, for all tensors that share it;
/// they keep sizes, strides and content.
/// Nothing changes where it is shared already, and for CUDA tensors, which processes share anyhow. Data pointers taken
/// before are no longer valid. Throws c10::Error for tensors on other devices and for those without a storage (sparse
/// ones).
void share_memory_(TensorBase& t);

/// Whether the storage of `t` is in shared memory; true for CUDA tensors.
bool is_shared(const TensorBase& t);

}  // namespace at

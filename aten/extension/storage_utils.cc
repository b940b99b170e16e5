#include "aten/extension/storage_utils.h"

#include <cstring>

#include "aten/extension/shared_memory.h"
#include "c10/util/exception.h"

namespace at {

c10::intrusive_ptr<c10::StorageImpl> new_shm_fd_storage(size_t size) {
  return c10::make_intrusive<c10::StorageImpl>(size, new_shared_memory(size, SharingStrategy::kFileDescriptor), nullptr,
                                               /*resizable=*/false);
}

void storage_copy(c10::Storage& dst, const c10::Storage& src, bool /*non_blocking*/) {
  TORCH_CHECK(dst && src, "storage_copy: expected two storages");
  TORCH_CHECK(dst.device().is_cpu() && src.device().is_cpu(), "storage_copy: expected storages on the CPU, but got ",
              dst.device(), " and ", src.device());
  TORCH_CHECK(dst.nbytes() == src.nbytes(), "storage_copy: expected storages of the same size, but got ", dst.nbytes(),
              " and ", src.nbytes(), " bytes");
  if (dst.nbytes() != 0) std::memmove(dst.mutable_data(), src.data(), src.nbytes());
}

void share_memory_(TensorBase& t) {
  TORCH_CHECK(t.defined(), "share_memory_: expected a defined tensor");
  if (t.is_cuda()) return;
  TORCH_CHECK(t.is_cpu(), "share_memory_: tensors on ", t.device(), " cannot be moved to shared memory");
  TORCH_CHECK(t.has_storage(), "share_memory_: expected a tensor with a storage, but the layout is ", t.layout());
  c10::StorageImpl& storage = *t.storage().unsafeGetStorageImpl();
  if (is_shared_memory(storage.data_ptr())) return;
  c10::DataPtr fresh = new_shared_memory(storage.nbytes(), sharing_strategy());
  if (storage.nbytes() != 0) std::memcpy(fresh.get(), storage.data(), storage.nbytes());
  storage.set_data_ptr(std::move(fresh));
  storage.set_resizable(false);
}

bool is_shared(const TensorBase& t) {
  if (!t.defined() || !t.has_storage()) return false;
  return t.is_cuda() || is_shared_memory(t.storage().data_ptr());
}

void TensorBase::share_memory_() {
  at::share_memory_(*this);
}

}  // namespace at

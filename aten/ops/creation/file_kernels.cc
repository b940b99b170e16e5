#include <string>
#include <utility>

#include "aten/core/tensor.h"
#include "aten/cpu/cast.h"
#include "aten/extension/map_allocator.h"
#include "aten/ops/creation/kernels.h"

namespace at::native {

Tensor from_file(std::string_view filename, std::optional<bool> shared, std::optional<int64_t> size,
                 TensorOptions options) {
  const int64_t count = size.value_or(0);
  TORCH_CHECK(count >= 0, "from_file: expected a size of at least 0, but got ", count);
  TORCH_CHECK(!options.pinned_memory(), "from_file: tensors constructed from a file cannot be pinned");
  TORCH_CHECK(!options.has_layout() || options.layout() == Layout::Strided,
              "from_file: expected the layout Strided, but got ", options.layout());
  // The name ends where the system's would, so that no other file is opened than the one that was asked for.
  TORCH_CHECK(filename.find('\0') == std::string_view::npos, "from_file: the filename holds a zero byte");
  const ScalarType dtype = options.scalar_type();
  cpu::prepare_type(dtype);
  const auto bytes = static_cast<size_t>(checked_storage_nbytes({count}, {1}, 0, elementSize(dtype)));
  DataPtr data =
      MapAllocator::makeDataPtr(filename, shared.value_or(false) ? ALLOCATOR_MAPPED_SHARED : 0, bytes, nullptr);
  auto storage = make_intrusive<StorageImpl>(bytes, std::move(data), nullptr, /*resizable=*/false);
  return Tensor(TensorImpl::contiguous(std::move(storage), dtype, Device(DeviceType::CPU), {count}));
}

}  // namespace at::native

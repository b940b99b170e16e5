#include "data/dataloader/options.h"

#include "c10/core/accelerator.h"
#include "c10/core/device.h"

namespace torch::data::detail {

void check_options(const DataLoaderOptions& options) {
  TORCH_CHECK_VALUE(options.batch_size() > 0, "batch_size should be a positive integer value, but got batch_size=0");
  // A negative number, converted.
  TORCH_CHECK_VALUE(options.workers() <= SIZE_MAX / 2,
                    "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.");
  TORCH_CHECK_VALUE(!options.timeout() || options.timeout()->count() >= 0,
                    "timeout option should be non-negative, got ", options.timeout()->count(), " ms");
  if (!options.pin_memory_device().empty()) {
    const c10::DeviceType type = c10::Device(options.pin_memory_device()).type();
    TORCH_CHECK_VALUE(at::isAccelerator(type), "pin_memory_device option should name an accelerator, but got ", type);
  }
  if (options.workers() == 0) {
    TORCH_CHECK_VALUE(!options.prefetch_factor(), "prefetch_factor option could only be specified with workers. "
                      "Let workers > 0, or leave prefetch_factor out.");
    TORCH_CHECK_VALUE(!options.persistent_workers().value_or(false), "persistent_workers option needs num_workers > 0");
    return;
  }
  TORCH_CHECK_VALUE(options.prefetch_factor().value_or(1) > 0, "prefetch_factor option should be positive, but got 0");
  TORCH_CHECK_VALUE(options.max_jobs().value_or(1) > 0, "DataLoader: expected a positive max_jobs, but got 0");
}

}  // namespace torch::data::detail

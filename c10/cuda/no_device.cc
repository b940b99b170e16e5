#include "c10/cuda/device.h"
#include "c10/util/exception.h"

namespace c10::cuda {
namespace {

[[noreturn]] void no_gpu() { TORCH_CHECK(false, "No CUDA GPUs are available: this program was built without --config=cuda"); }

}  // namespace

DeviceIndex device_count() noexcept { return 0; }
DeviceIndex current_device() { no_gpu(); }
void set_device(DeviceIndex) { no_gpu(); }
void device_synchronize() { no_gpu(); }

}  // namespace c10::cuda

#include "examples/common/device.h"

#include <string>

#include "absl/flags/flag.h"
#include "examples/common/flags.h"

ABSL_FLAG(std::string, device, "cpu", "where to compute: cpu, cuda, cuda:1 and so on, or the name of a device that is linked in");

namespace examples {

torch::Device device_from_flag() {
  const std::string name = absl::GetFlag(FLAGS_device);
  try {
    torch::Device device(name);
    if (!device.is_cuda()) return device;
    const int count = torch::cuda::device_count();
    if (count == 0) fail("--device=" + name + ": there is no CUDA device, or the program was built without --config=cuda");
    if (!device.has_index()) device = torch::Device(torch::kCUDA, 0);
    if (device.index() >= count) fail(c10::str("--device=", name, ": there are only ", count, " CUDA devices"));
    return device;
  } catch (const c10::Error& e) {
    fail("--device: " + e.msg());
  }
}

}  // namespace examples

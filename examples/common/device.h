// The device that a program computes on.
#pragma once

#include <torch/torch.h>

namespace examples {

// The device that --device names: cpu, cuda, cuda:1, or a device that is linked in. One that there is not ends the program with a
// line that says so.
torch::Device device_from_flag();

}  // namespace examples

// States of the default generators of CUDA devices as tensors, wherever a program is built.
#pragma once

#include <vector>

#include "aten/core/tensor.h"
#include "c10/core/device.h"

namespace torch::cuda {

/// A uint8 tensor on the CPU; of the current device where `device` has no index. Throws c10::Error where there is no
/// such device.
at::Tensor get_rng_state(c10::Device device = c10::Device(c10::kCUDA));
void set_rng_state(const at::Tensor& new_state, c10::Device device = c10::Device(c10::kCUDA));
/// Of all devices.
std::vector<at::Tensor> get_rng_state_all();
void set_rng_state_all(const std::vector<at::Tensor>& new_states);

}  // namespace torch::cuda

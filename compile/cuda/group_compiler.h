// Groups of CUDA tensors: what this library registers with compile/group.
#pragma once

#include <cstdint>
#include <memory>

#include "compile/group/group_compiler.h"

namespace torch::compiler::cuda {

/// The most elements of a launch, a multiple of 16.
inline constexpr int64_t kMostElements = int64_t{1} << 30;

/// What the registered compiler gives, with launches of `most` elements.
std::unique_ptr<DeviceGroup> compile_group(const Group& group, c10::Device device, int64_t most = kMostElements);

}  // namespace torch::compiler::cuda

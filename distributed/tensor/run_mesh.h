// Meshes whose ranks are threads of a test.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "distributed/tensor/device_mesh.h"

namespace torch::distributed::tensor::testing {

/// Runs `body` on a thread for each rank of a mesh of that shape, on CPU tensors. Throws what one of them throws.
void run_mesh(const std::vector<int64_t>& shape, const std::function<void(const DeviceMesh& mesh)>& body,
              const std::vector<std::string>& names = {});

}  // namespace torch::distributed::tensor::testing

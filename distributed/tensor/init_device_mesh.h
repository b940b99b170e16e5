// A mesh of the ranks of the default group.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "distributed/tensor/device_mesh.h"

namespace torch::distributed::tensor {

/// All ranks of the default group (c10d::init_process_group) in row-major order, of which there are as many as the
/// shape has places; a call of all of them. Groups along a dimension are made together, with one call a dimension; a
/// mesh of one dimension has the default group.
///
///   const DeviceMesh mesh = init_device_mesh(torch::kCPU, {2, 4}, {"dp", "tp"});
///   mesh.get_group("tp");
DeviceMesh init_device_mesh(c10::DeviceType device_type, const std::vector<int64_t>& mesh_shape,
                            const std::vector<std::string>& mesh_dim_names = {});

}  // namespace torch::distributed::tensor

namespace torch::distributed {
using tensor::init_device_mesh;
}  // namespace torch::distributed

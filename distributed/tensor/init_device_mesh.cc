#include "distributed/tensor/init_device_mesh.h"

#include <numeric>
#include <utility>

#include "c10/util/exception.h"
#include "distributed/process_group/init.h"

namespace torch::distributed::tensor {

DeviceMesh init_device_mesh(c10::DeviceType device_type, const std::vector<int64_t>& mesh_shape,
                            const std::vector<std::string>& mesh_dim_names) {
  const auto world = c10d::get_default_group();
  int64_t places = 1;
  for (const int64_t size : mesh_shape) places *= size;
  TORCH_CHECK_VALUE(!mesh_shape.empty() && places == world->getSize(), "init_device_mesh: the mesh has ", places,
                    " places for the ", world->getSize(), " ranks of the default group");
  std::vector<int64_t> ranks(static_cast<size_t>(places));
  std::iota(ranks.begin(), ranks.end(), 0);
  std::vector<DeviceMesh::Group> groups;
  int64_t stride = places;
  for (size_t d = 0; d < mesh_shape.size(); ++d) {
    stride /= mesh_shape[d];
    if (mesh_shape.size() == 1) {
      groups.push_back(world);
      break;
    }
    // The rows along d: of every place whose coordinate in d is 0.
    std::vector<std::vector<int64_t>> rows;
    for (int64_t first = 0; first < places; ++first) {
      if (first / stride % mesh_shape[d] != 0) continue;
      rows.emplace_back();
      for (int64_t i = 0; i < mesh_shape[d]; ++i) rows.back().push_back(first + i * stride);
    }
    c10d::NewGroupOptions options;
    options.group_desc =
        mesh_dim_names.size() == mesh_shape.size() ? "mesh_" + mesh_dim_names[d] : c10::str("mesh_dim_", d);
    groups.push_back(c10d::split_group(std::nullopt, rows, options));
  }
  return DeviceMesh(device_type, mesh_shape, std::move(ranks), world->getRank(), std::move(groups), mesh_dim_names);
}

}  // namespace torch::distributed::tensor

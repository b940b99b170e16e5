#include "distributed/tensor/device_mesh.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "c10/util/exception.h"

namespace torch::distributed::tensor {

DeviceMesh::DeviceMesh(c10::DeviceType device_type, std::vector<int64_t> shape, std::vector<int64_t> ranks,
                       int64_t rank, std::vector<Group> groups, std::vector<std::string> names)
    : data_(std::make_shared<Data>()) {
  data_->device_type = device_type;
  data_->shape = std::move(shape);
  data_->ranks = std::move(ranks);
  data_->rank = rank;
  data_->groups = std::move(groups);
  data_->names = std::move(names);
  const Data& mesh = *data_;
  TORCH_CHECK_VALUE(!mesh.shape.empty(), "DeviceMesh: a mesh has at least one dimension");
  int64_t places = 1;
  for (const int64_t size : mesh.shape) {
    TORCH_CHECK_VALUE(size > 0, "DeviceMesh: a dimension has ", size, " places, but must have at least one");
    places *= size;
  }
  TORCH_CHECK_VALUE(places == size(), "DeviceMesh: ", size(), " ranks for ", places, " places");
  TORCH_CHECK_VALUE(std::set<int64_t>(mesh.ranks.begin(), mesh.ranks.end()).size() == mesh.ranks.size(),
                    "DeviceMesh: a rank stands in two places");
  TORCH_CHECK_VALUE(mesh.names.empty() || mesh.names.size() == mesh.shape.size(), "DeviceMesh: ", mesh.names.size(),
                    " names for ", mesh.shape.size(), " dimensions");
  TORCH_CHECK_VALUE(mesh.groups.size() == mesh.shape.size(), "DeviceMesh: ", mesh.groups.size(), " groups for ",
                    mesh.shape.size(), " dimensions");
  const auto place = std::find(mesh.ranks.begin(), mesh.ranks.end(), rank);
  if (place == mesh.ranks.end()) return;
  int64_t index = place - mesh.ranks.begin();
  std::vector<int64_t> coordinate(mesh.shape.size());
  for (size_t d = mesh.shape.size(); d-- > 0;) {
    coordinate[d] = index % mesh.shape[d];
    index /= mesh.shape[d];
    const Group& group = mesh.groups[d];
    TORCH_CHECK_VALUE(group.defined() && group->getSize() == mesh.shape[d] && group->getRank() == coordinate[d],
                      "DeviceMesh: the group of dimension ", d, " is not that of rank ", coordinate[d], " of ",
                      mesh.shape[d]);
  }
  data_->coordinate = std::move(coordinate);
}

DeviceMesh DeviceMesh::from_group(const Group& group, c10::DeviceType device_type, std::string name) {
  TORCH_CHECK_VALUE(group.defined(), "DeviceMesh::from_group: no group");
  std::vector<int64_t> ranks(static_cast<size_t>(group->getSize()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return DeviceMesh(device_type, {group->getSize()}, std::move(ranks), group->getRank(), {group},
                    name.empty() ? std::vector<std::string>() : std::vector<std::string>{std::move(name)});
}

size_t DeviceMesh::checked(int64_t dim) const {
  TORCH_CHECK_INDEX(dim >= 0 && dim < ndim(), "DeviceMesh: there is no dimension ", dim, " of ", ndim());
  return static_cast<size_t>(dim);
}

int64_t DeviceMesh::dim_of(std::string_view name) const {
  const auto found = std::find(data_->names.begin(), data_->names.end(), name);
  TORCH_CHECK_VALUE(found != data_->names.end(), "DeviceMesh: no dimension is called '", name, "' in ", str());
  return found - data_->names.begin();
}

int64_t DeviceMesh::get_local_rank(std::optional<int64_t> dim) const {
  TORCH_CHECK(dim || ndim() == 1, "DeviceMesh: say which of the ", ndim(), " dimensions is meant");
  TORCH_CHECK(data_->coordinate, "DeviceMesh: rank ", data_->rank, " has no place in ", str());
  return (*data_->coordinate)[checked(dim.value_or(0))];
}

const DeviceMesh::Group& DeviceMesh::get_group(std::optional<int64_t> dim) const {
  TORCH_CHECK(dim || ndim() == 1, "DeviceMesh: say which of the ", ndim(), " dimensions is meant");
  return data_->groups[checked(dim.value_or(0))];
}

DeviceMesh DeviceMesh::slice(const std::vector<std::string>& names) const {
  TORCH_CHECK_VALUE(!names.empty(), "DeviceMesh: a slice has at least one dimension");
  std::vector<int64_t> shape, dims, strides(data_->shape.size());
  std::vector<Group> groups;
  int64_t stride = 1;
  for (size_t d = data_->shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= data_->shape[d];
  }
  for (const std::string& name : names) {
    const int64_t dim = dim_of(name);
    TORCH_CHECK_VALUE(std::find(dims.begin(), dims.end(), dim) == dims.end(), "DeviceMesh: '", name,
                      "' is named twice");
    dims.push_back(dim);
    shape.push_back(size(dim));
    groups.push_back(get_group(dim));
  }
  TORCH_CHECK(data_->coordinate, "DeviceMesh: rank ", data_->rank, " has no place in ", str());
  int64_t first = 0;
  for (size_t d = 0; d < strides.size(); ++d) {
    const bool kept = std::find(dims.begin(), dims.end(), static_cast<int64_t>(d)) != dims.end();
    if (!kept) first += (*data_->coordinate)[d] * strides[d];
  }
  std::vector<int64_t> places{first};
  for (const int64_t dim : dims) {
    std::vector<int64_t> more;
    for (const int64_t place : places) {
      for (int64_t i = 0; i < size(dim); ++i) more.push_back(place + i * strides[static_cast<size_t>(dim)]);
    }
    places = std::move(more);
  }
  std::vector<int64_t> ranks;
  for (const int64_t place : places) ranks.push_back(data_->ranks[static_cast<size_t>(place)]);
  DeviceMesh part(data_->device_type, std::move(shape), std::move(ranks), data_->rank, std::move(groups), names);
  part.data_->root = root().data_;
  return part;
}

DeviceMesh DeviceMesh::root() const {
  return data_->root != nullptr ? DeviceMesh(data_->root) : *this;
}

std::string DeviceMesh::str() const {
  std::string text = "DeviceMesh((";
  for (size_t d = 0; d < data_->shape.size(); ++d) {
    text += c10::str(d > 0 ? ", " : "", data_->names.empty() ? "" : data_->names[d] + "=", data_->shape[d]);
  }
  text += c10::str("), device: '", c10::DeviceTypeName(data_->device_type, true), "', [");
  for (size_t i = 0; i < data_->ranks.size(); ++i) text += c10::str(i > 0 ? ", " : "", data_->ranks[i]);
  return text + "])";
}

bool DeviceMesh::same_content(const DeviceMesh& other) const {
  const Data &a = *data_, &b = *other.data_;
  return a.device_type == b.device_type && a.shape == b.shape && a.ranks == b.ranks && a.names == b.names &&
         a.rank == b.rank;
}

void* DeviceMesh::cache(std::shared_ptr<void> (*make)()) const {
  std::call_once(data_->made_cache, [&] { data_->cache = make(); });
  return data_->cache.get();
}

}  // namespace torch::distributed::tensor

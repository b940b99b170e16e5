// Ranks in rows and columns.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "c10/core/device.h"
#include "distributed/process_group/process_group.h"

namespace torch::distributed::tensor {

/// An n-dimensional arrangement of ranks, with a process group along each dimension: the ranks that differ from this
/// one in that coordinate only. A cheap handle; copies are the same mesh.
///
///   DeviceMesh mesh(torch::kCPU, {2, 2}, {0, 1, 2, 3}, rank, {across, along}, {"dp", "tp"});
///   mesh.get_group("tp")->getSize();  // 2
class DeviceMesh {
 public:
  using Group = c10::intrusive_ptr<c10d::ProcessGroup>;

  /// `ranks`: row-major, as many as `shape` has places, none twice. `groups`: one for each dimension, whose size is the
  /// dimension's, in the order of the coordinate; null for those of a mesh in which this rank has no place.
  DeviceMesh(c10::DeviceType device_type, std::vector<int64_t> shape, std::vector<int64_t> ranks, int64_t rank,
             std::vector<Group> groups, std::vector<std::string> names = {});
  /// All ranks of a group, in a row.
  static DeviceMesh from_group(const Group& group, c10::DeviceType device_type, std::string name = "");

  c10::DeviceType device_type() const { return data_->device_type; }
  int64_t ndim() const { return static_cast<int64_t>(data_->shape.size()); }
  const std::vector<int64_t>& shape() const { return data_->shape; }
  /// The number of ranks.
  int64_t size() const { return static_cast<int64_t>(data_->ranks.size()); }
  /// Along a dimension.
  int64_t size(int64_t dim) const { return data_->shape[checked(dim)]; }
  /// Row-major.
  const std::vector<int64_t>& mesh() const { return data_->ranks; }
  /// Empty where the dimensions have no names.
  const std::vector<std::string>& mesh_dim_names() const { return data_->names; }
  int64_t get_rank() const { return data_->rank; }
  /// This rank's place; nullopt where it has none in the mesh.
  const std::optional<std::vector<int64_t>>& get_coordinate() const { return data_->coordinate; }
  /// This rank's coordinate in a dimension, of which a mesh of one dimension need not say.
  int64_t get_local_rank(std::optional<int64_t> dim = std::nullopt) const;
  int64_t get_local_rank(std::string_view name) const { return get_local_rank(dim_of(name)); }
  const Group& get_group(std::optional<int64_t> dim = std::nullopt) const;
  const Group& get_group(std::string_view name) const { return get_group(dim_of(name)); }
  std::vector<Group> get_all_groups() const { return data_->groups; }
  /// The part of the mesh along some of its dimensions on which this rank lies, with the same groups.
  DeviceMesh operator[](std::string_view name) const { return slice({std::string(name)}); }
  DeviceMesh slice(const std::vector<std::string>& names) const;
  /// The mesh that this one is a part of; itself, where it was not cut out of another.
  DeviceMesh root() const;
  /// "DeviceMesh((dp=2, tp=2), device: 'cpu', [0, 1, 2, 3])"
  std::string str() const;

  /// The same ranks in the same places on the same kind of device.
  friend bool operator==(const DeviceMesh& a, const DeviceMesh& b) { return a.data_ == b.data_ || a.same_content(b); }

  /// What operators of distributed tensors found out once. It ends with the mesh, of which it must have no share.
  void* cache(std::shared_ptr<void> (*make)()) const;
  /// The same mesh without a share in it, for what lies in its cache: valid as long as the mesh lives.
  DeviceMesh unowned() const { return DeviceMesh(std::shared_ptr<Data>(std::shared_ptr<void>(), data_.get())); }

 private:
  struct Data {
    c10::DeviceType device_type = c10::DeviceType::CPU;
    std::vector<int64_t> shape, ranks;
    int64_t rank = 0;
    std::vector<Group> groups;
    std::vector<std::string> names;
    std::optional<std::vector<int64_t>> coordinate;
    std::shared_ptr<Data> root;
    std::once_flag made_cache;
    std::shared_ptr<void> cache;
  };
  explicit DeviceMesh(std::shared_ptr<Data> data) : data_(std::move(data)) {}
  size_t checked(int64_t dim) const;
  int64_t dim_of(std::string_view name) const;
  bool same_content(const DeviceMesh& other) const;

  std::shared_ptr<Data> data_;
};

}  // namespace torch::distributed::tensor

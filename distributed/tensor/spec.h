// What is known of a distributed tensor without its elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/util/intrusive_ptr.h"
#include "distributed/tensor/device_mesh.h"
#include "distributed/tensor/placement.h"

namespace torch::distributed::tensor {

/// The elements [offset, offset + size) of a dimension.
struct Piece {
  int64_t offset = 0;
  int64_t size = 0;
};

/// What rank `index` of `parts` has of a dimension of `size` elements that is sharded: see Shard.
constexpr Piece piece_of(int64_t size, int64_t parts, int64_t index) {
  const int64_t chunk = (size + parts - 1) / parts;
  const int64_t begin = chunk * index < size ? chunk * index : size;
  const int64_t end = begin + chunk < size ? begin + chunk : size;
  return {begin, end - begin};
}

/// Mesh, placements, and the sizes, strides and dtype of the whole. Immutable and shared.
class Spec final : public c10::intrusive_ptr_target {
 public:
  /// `placements`: one for each dimension of the mesh, with dimensions of the tensor that exist (negative ones count
  /// from the end). Throws ValueError otherwise.
  Spec(DeviceMesh mesh, std::vector<Placement> placements, at::IntArrayRef sizes, at::IntArrayRef strides,
       at::ScalarType dtype);

  const DeviceMesh& mesh() const { return mesh_; }
  const std::vector<Placement>& placements() const { return placements_; }
  at::IntArrayRef sizes() const { return sizes_; }
  at::IntArrayRef strides() const { return strides_; }
  at::ScalarType dtype() const { return dtype_; }
  int64_t dim() const { return static_cast<int64_t>(sizes_.size()); }
  size_t hash() const { return hash_; }
  /// Of this rank's part, and where it begins in the whole. Pieces of a StridedShard have no one beginning: theirs is
  /// that of the first.
  const std::vector<int64_t>& local_sizes() const { return local_sizes_; }
  const std::vector<int64_t>& local_offsets() const { return local_offsets_; }
  /// How many ranks share a dimension of the tensor.
  int64_t shards(int64_t dim) const;
  /// The same for another handle of the mesh.
  c10::intrusive_ptr<Spec> on(DeviceMesh mesh) const;

  friend bool operator==(const Spec& a, const Spec& b);

 private:
  DeviceMesh mesh_;
  std::vector<Placement> placements_;
  std::vector<int64_t> sizes_, strides_, local_sizes_, local_offsets_;
  at::ScalarType dtype_;
  size_t hash_;
};
using SpecPtr = c10::intrusive_ptr<Spec>;

/// The placements with dimensions counted from the front. Throws ValueError where there are not as many as dimensions
/// of the mesh, or where a dimension is none of `ndim`.
std::vector<Placement> normalized(const DeviceMesh& mesh, const std::vector<Placement>& placements, int64_t ndim);

/// The sizes of the part at a place of the mesh.
std::vector<int64_t> sizes_at(const DeviceMesh& mesh, const std::vector<Placement>& placements, at::IntArrayRef sizes,
                              const std::vector<int64_t>& coordinate, std::vector<int64_t>* offsets = nullptr);

}  // namespace torch::distributed::tensor

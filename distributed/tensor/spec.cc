#include "distributed/tensor/spec.h"

#include <algorithm>
#include <utility>

#include "c10/util/exception.h"

namespace torch::distributed::tensor {
namespace {

void mix(size_t& hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u + (hash >> 29);
}

}  // namespace

std::vector<Placement> normalized(const DeviceMesh& mesh, const std::vector<Placement>& placements, int64_t ndim) {
  TORCH_CHECK_VALUE(static_cast<int64_t>(placements.size()) == mesh.ndim(), "DTensor: ", placements.size(),
                    " placements for the ", mesh.ndim(), " dimensions of ", mesh.str());
  std::vector<Placement> result = placements;
  for (Placement& placement : result) {
    if (!placement.is_shard() && !placement.is_strided_shard()) continue;
    const int64_t dim = placement.dim() < 0 ? placement.dim() + ndim : placement.dim();
    TORCH_CHECK_VALUE(dim >= 0 && dim < ndim, "DTensor: ", placement.str(), " of a tensor with ", ndim, " dimensions");
    placement = placement.is_shard() ? static_cast<Placement>(Shard(dim))
                                     : static_cast<Placement>(StridedShard(dim, placement.split_factor()));
  }
  return result;
}

std::vector<int64_t> sizes_at(const DeviceMesh& mesh, const std::vector<Placement>& placements, at::IntArrayRef sizes,
                              const std::vector<int64_t>& coordinate, std::vector<int64_t>* offsets) {
  std::vector<int64_t> local = sizes.vec();
  if (offsets != nullptr) offsets->assign(sizes.size(), 0);
  for (size_t i = 0; i < placements.size(); ++i) {
    const Placement& placement = placements[i];
    if (!placement.is_shard() && !placement.is_strided_shard()) continue;
    const size_t d = static_cast<size_t>(placement.dim());
    const int64_t parts = mesh.shape()[i], index = coordinate[i];
    if (placement.is_shard()) {
      const Piece piece = piece_of(local[d], parts, index);
      if (offsets != nullptr) (*offsets)[d] += piece.offset;
      local[d] = piece.size;
      continue;
    }
    int64_t size = 0, first = -1;
    for (int64_t k = 0; k < placement.split_factor(); ++k) {
      const Piece outer = piece_of(local[d], placement.split_factor(), k);
      const Piece inner = piece_of(outer.size, parts, index);
      if (first < 0 && inner.size > 0) first = outer.offset + inner.offset;
      size += inner.size;
    }
    if (offsets != nullptr) (*offsets)[d] += std::max<int64_t>(first, 0);
    local[d] = size;
  }
  return local;
}

Spec::Spec(DeviceMesh mesh, std::vector<Placement> placements, at::IntArrayRef sizes, at::IntArrayRef strides,
           at::ScalarType dtype)
    : mesh_(std::move(mesh)),
      placements_(normalized(mesh_, placements, static_cast<int64_t>(sizes.size()))),
      sizes_(sizes.vec()),
      strides_(strides.vec()),
      dtype_(dtype) {
  const std::vector<int64_t> nowhere(placements_.size(), 0);
  const auto& coordinate = mesh_.get_coordinate();
  local_sizes_ = sizes_at(mesh_, placements_, sizes_, coordinate ? *coordinate : nowhere, &local_offsets_);
  if (!coordinate) local_sizes_.assign(sizes_.size(), 0);
  hash_ = static_cast<size_t>(dtype_);
  for (const Placement& placement : placements_) {
    mix(hash_, static_cast<uint64_t>(placement.kind()) | static_cast<uint64_t>(placement.reduce_op()) << 8 |
                   static_cast<uint64_t>(placement.dim()) << 16 |
                   static_cast<uint64_t>(placement.split_factor()) << 32);
  }
  for (const int64_t size : sizes_) mix(hash_, static_cast<uint64_t>(size));
  for (const int64_t stride : strides_) mix(hash_, static_cast<uint64_t>(stride) + 1);
}

c10::intrusive_ptr<Spec> Spec::on(DeviceMesh mesh) const {
  auto copy = c10::make_intrusive<Spec>(*this);
  copy->mesh_ = std::move(mesh);
  return copy;
}

int64_t Spec::shards(int64_t dim) const {
  int64_t shards = 1;
  for (size_t i = 0; i < placements_.size(); ++i) {
    const Placement& placement = placements_[i];
    if ((placement.is_shard() || placement.is_strided_shard()) && placement.dim() == dim) shards *= mesh_.shape()[i];
  }
  return shards;
}

bool operator==(const Spec& a, const Spec& b) {
  return &a == &b || (a.hash_ == b.hash_ && a.dtype_ == b.dtype_ && a.placements_ == b.placements_ &&
                      a.sizes_ == b.sizes_ && a.strides_ == b.strides_ && a.mesh_ == b.mesh_);
}

}  // namespace torch::distributed::tensor

// Where the parts of a distributed tensor lie.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "distributed/process_group/types.h"

namespace torch::distributed {

/// What the ranks along one dimension of a mesh hold of a tensor: all of it (Replicate), a piece of one of its
/// dimensions (Shard, StridedShard), or something of its sizes that has to be reduced to give it (Partial). A small
/// value.
///
///   std::vector<Placement> placements{Replicate(), Shard(0)};
class Placement {
 public:
  enum class Kind : uint8_t { kReplicate, kShard, kStridedShard, kPartial };

  /// Replicate().
  constexpr Placement() = default;

  constexpr Kind kind() const { return kind_; }
  constexpr bool is_replicate() const { return kind_ == Kind::kReplicate; }
  /// A Shard, of that dimension where one is given.
  constexpr bool is_shard(std::optional<int64_t> dim = std::nullopt) const {
    return kind_ == Kind::kShard && (!dim || *dim == dim_);
  }
  constexpr bool is_strided_shard() const { return kind_ == Kind::kStridedShard; }
  /// A Partial, of that reduction where one is given: "sum", "avg", "min", "max", "product", "band", "bor", "bxor".
  bool is_partial(std::optional<std::string_view> reduce_op = std::nullopt) const;

  /// Of a Shard or StridedShard: the tensor's dimension, negative where it counts from the end.
  constexpr int64_t dim() const { return dim_; }
  /// Of a StridedShard.
  constexpr int64_t split_factor() const { return split_factor_; }
  /// Of a Partial.
  constexpr c10d::ReduceOp::RedOpType reduce_op() const { return reduce_op_; }

  /// "Replicate()", "Shard(dim=0)", "StridedShard(dim=0, sf=2)", "Partial(sum)".
  std::string str() const;

  friend constexpr bool operator==(const Placement&, const Placement&) = default;

 protected:
  constexpr Placement(Kind kind, int64_t dim, int64_t split_factor, c10d::ReduceOp::RedOpType op)
      : kind_(kind),
        reduce_op_(op),
        dim_(static_cast<int16_t>(dim)),
        split_factor_(static_cast<int32_t>(split_factor)) {}

 private:
  Kind kind_ = Kind::kReplicate;
  c10d::ReduceOp::RedOpType reduce_op_ = c10d::ReduceOp::UNUSED;
  int16_t dim_ = 0;
  int32_t split_factor_ = 1;
};

/// Every rank has the whole.
struct Replicate : Placement {
  constexpr Replicate() = default;
};

/// Rank r of P has the elements [r c, (r + 1) c) of dimension `dim`, where c = ceil(size / P): the last ranks may have
/// fewer, or none.
struct Shard : Placement {
  constexpr explicit Shard(int64_t dim) : Placement(Kind::kShard, dim, 1, c10d::ReduceOp::UNUSED) {}
};

/// Dimension `dim` is cut into `split_factor` pieces, and each of these among the ranks; a rank has its part of each
/// piece. It is what a Shard becomes when its dimension was sharded by a later dimension of the mesh before.
struct StridedShard : Placement {
  StridedShard(int64_t dim, int64_t split_factor);
};

/// The tensor is the sum (or another reduction) of what the ranks have.
struct Partial : Placement {
  explicit Partial(std::string_view reduce_op = "sum");
  constexpr explicit Partial(c10d::ReduceOp::RedOpType op) : Placement(Kind::kPartial, 0, 1, op) {}
};

/// "[Replicate(), Shard(dim=0)]"
std::string str(const std::vector<Placement>& placements);

}  // namespace torch::distributed

namespace torch::distributed::tensor {
using torch::distributed::Partial;
using torch::distributed::Placement;
using torch::distributed::Replicate;
using torch::distributed::Shard;
using torch::distributed::StridedShard;
}  // namespace torch::distributed::tensor

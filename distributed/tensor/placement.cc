#include "distributed/tensor/placement.h"

#include <utility>

#include "c10/util/exception.h"

namespace torch::distributed {
namespace {

using c10d::ReduceOp;

constexpr std::pair<std::string_view, ReduceOp::RedOpType> kReductions[] = {
    {"sum", ReduceOp::SUM},         {"avg", ReduceOp::AVG},   {"min", ReduceOp::MIN}, {"max", ReduceOp::MAX},
    {"product", ReduceOp::PRODUCT}, {"band", ReduceOp::BAND}, {"bor", ReduceOp::BOR}, {"bxor", ReduceOp::BXOR}};

ReduceOp::RedOpType reduction_of(std::string_view name) {
  for (const auto& [known, op] : kReductions) {
    if (known == name) return op;
  }
  TORCH_CHECK_VALUE(false, "Partial: no reduction '", name,
                    "'; there are sum, avg, min, max, product, band, bor, bxor");
}

std::string_view reduction_name(ReduceOp::RedOpType op) {
  for (const auto& [name, known] : kReductions) {
    if (known == op) return name;
  }
  return "?";
}

}  // namespace

StridedShard::StridedShard(int64_t dim, int64_t split_factor)
    : Placement(Kind::kStridedShard, dim, split_factor, ReduceOp::UNUSED) {
  TORCH_CHECK_VALUE(split_factor > 0, "StridedShard: split_factor is ", split_factor, ", but must be positive");
}

Partial::Partial(std::string_view reduce_op) : Partial(reduction_of(reduce_op)) {}

bool Placement::is_partial(std::optional<std::string_view> reduce_op) const {
  return kind_ == Kind::kPartial && (!reduce_op || *reduce_op == reduction_name(reduce_op_));
}

std::string Placement::str() const {
  switch (kind_) {
    case Kind::kReplicate:
      return "Replicate()";
    case Kind::kShard:
      return c10::str("Shard(dim=", dim_, ")");
    case Kind::kStridedShard:
      return c10::str("StridedShard(dim=", dim_, ", sf=", split_factor_, ")");
    case Kind::kPartial:
      return c10::str("Partial(", reduction_name(reduce_op_), ")");
  }
  return "";
}

std::string str(const std::vector<Placement>& placements) {
  std::string text = "[";
  for (const Placement& placement : placements) text += (text.size() > 1 ? ", " : "") + placement.str();
  return text + "]";
}

}  // namespace torch::distributed

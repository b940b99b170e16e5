#pragma once

namespace at {

// What the tables say under `sharding` (aten/codegen/ops.proto) of every form of an operator.
struct ShardingEntry {
  const char* name;        // "add_.Tensor"
  const char* words;
  const char* functional;  // of a form with out=: "aten::add.Tensor"; else empty
};

inline constexpr ShardingEntry kShardingTable[] = {
#include "aten/codegen/sharding_table.inc"
};

}  // namespace at

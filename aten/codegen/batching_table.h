#pragma once

namespace at {

// What the tables say of batches (`batch` in aten/codegen/ops.proto, or what follows from the other fields), of every
// form of an operator that has words or a functional form.
struct BatchingEntry {
  const char* name;        // "add_.Tensor"
  const char* words;       // may be empty
  const char* functional;  // of a form that writes: "aten::add.Tensor"; else empty
};

inline constexpr BatchingEntry kBatchingTable[] = {
#include "aten/codegen/batching_table.inc"
};

}  // namespace at

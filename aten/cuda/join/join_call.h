#pragma once

#include "aten/cuda/elementwise_call.h"

namespace at::cuda {

inline constexpr int kMaxJoined = 64;

/// Blocks of several dense tensors, [outer][width] each, side by side in rows of `pitch`; in chunks of `chunk` bytes.
struct JoinCall {
  struct Part {
    const char* from;
    int64_t at;  // in a row
    FastDivisor width;
  };

  const char* name;
  char* to;
  int64_t pitch;
  int chunk;  // 1, 2, 4, 8 or 16
  uint32_t outer;
  uint32_t largest;  // chunks of a part; fewer than 2^31
  int parts;
  Part part[kMaxJoined];
};
void launch_join(const JoinCall& call);

}  // namespace at::cuda

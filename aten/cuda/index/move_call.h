// A call of move.h as its kernels get it.
#pragma once

#include "aten/cuda/elementwise_call.h"

namespace at::cuda {

struct MoveCall {
  enum class Kind { kTake, kPut, kPlaces };

  const char* name;
  Kind kind;
  int item_size;
  uint32_t numel;
  int dims;
  FastDivisor sizes[kMaxElementwiseDims];
  // `from` is null where there is one value for all. Of kPlaces it is no address but the sum of the base strides.
  char* to;
  char* from;
  char* index;  // null: none
  int64_t to_strides[kMaxElementwiseDims], from_strides[kMaxElementwiseDims],
      index_strides[kMaxElementwiseDims];  // in bytes
  bool index_is_long;
  bool wraps;
  bool adds;  // of kPlaces
  int64_t size;
  int64_t step;  // in bytes; of kPlaces in elements
  alignas(16) char value[16];
};

void launch_move(const MoveCall& call);

}  // namespace at::cuda

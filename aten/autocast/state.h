#pragma once

#include "aten/core/tensor.h"

// What a thread has set for autocast, beside the keys that c10::ThreadState includes.
namespace at::autocast::detail {

struct State {
  ScalarType dtypes[3] = {kBFloat16, kHalf, kHalf};  // CPU, CUDA, PrivateUse1
  int nesting = 0;
  bool cache_enabled = true;
};

State& state();

}  // namespace at::autocast::detail

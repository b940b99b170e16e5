// What a kernel that draws random numbers gets from a generator.
#pragma once

#include <cstdint>
#include <tuple>

#include "c10/cuda/macros.h"

namespace at {

/// A seed, and how many words each thread has drawn before. In a graph both stand in device memory and change between
/// replays; offset_intragraph_ is what the graph itself has drawn in front of the kernel. cuda::philox::unpack reads
/// either form.
struct PhiloxCudaState {
  union Payload {
    uint64_t val;
    int64_t* ptr;
  };

  PhiloxCudaState() = default;
  PhiloxCudaState(uint64_t seed, uint64_t offset) : seed_{.val = seed}, offset_{.val = offset} {}
  PhiloxCudaState(int64_t* seed, int64_t* offset_extragraph, uint64_t offset_intragraph)
      : seed_{.ptr = seed}, offset_{.ptr = offset_extragraph}, offset_intragraph_(offset_intragraph), captured_(true) {}

  Payload seed_{};
  Payload offset_{};
  uint64_t offset_intragraph_ = 0;
  bool captured_ = false;
};

namespace cuda::philox {

/// {seed, offset} for PhiloxStream and cuRAND's generators; in a kernel.
KD_DEVICE std::tuple<uint64_t, uint64_t> unpack(const PhiloxCudaState& state) {
  if (state.captured_) {
    return {static_cast<uint64_t>(*state.seed_.ptr),
            static_cast<uint64_t>(*state.offset_.ptr) + state.offset_intragraph_};
  }
  return {state.seed_.val, state.offset_.val};
}

}  // namespace cuda::philox
}  // namespace at

// Random integers.
#include "aten/cuda/random/fill.cuh"

namespace at::cuda::random {
namespace {

struct Integers {
  using Number = int64_t;
  static constexpr uint32_t kEach = kNumbersPerDraw;
  uint32_t range;
  uint64_t base;

  __device__ void operator()(const RandomWords& w, int64_t* out) const {
    const uint32_t words[kEach] = {w.x, w.y, w.z, w.w};
#pragma unroll
    for (uint32_t k = 0; k < kEach; ++k) {
      out[k] = static_cast<int64_t>((range == 0 ? words[k] : words[k] % range) + base);
    }
  }
};

struct WideIntegers {
  using Number = int64_t;
  static constexpr uint32_t kEach = kWideNumbersPerDraw;
  uint64_t range, base;

  __device__ void operator()(const RandomWords& w, int64_t* out) const {
    const uint64_t words[kEach] = {uint64_t{w.x} << 32 | w.y, uint64_t{w.z} << 32 | w.w};
#pragma unroll
    for (uint32_t k = 0; k < kEach; ++k)
      out[k] = static_cast<int64_t>((range == 0 ? words[k] : words[k] % range) + base);
  }
};

}  // namespace

void fill_integers(const Target& target, const Launch& launch, uint64_t range, int64_t base, bool wide) {
  const auto from = static_cast<uint64_t>(base);
  if (wide) {
    fill("random_", target, launch, WideIntegers{range, from});
  } else {
    // A range of 2^32 and more is all that 32 bits give.
    fill("random_", target, launch, Integers{range > 0xffffffffu ? 0 : static_cast<uint32_t>(range), from});
  }
}

}  // namespace at::cuda::random

// Random words of kernels: Philox4x32-10 (Salmon et al. 2011), whose words are a function of a seed, of who draws, and
// of how much was drawn. The functions run on the host too, with the same bits.
//
//   c10::cuda::PhiloxStream random(seed, thread, offset);
//   const c10::cuda::RandomWords words = random.next();
//   const float u = c10::cuda::uniform(words.x);
#pragma once

#include <cmath>
#include <cstdint>

#include "c10/cuda/macros.h"

namespace c10::cuda {

struct RandomWords {
  uint32_t x, y, z, w;
};

/// The four words number `count` of `subsequence`.
KD_DEVICE RandomWords philox(uint64_t seed, uint64_t subsequence, uint64_t count) {
  uint32_t low = static_cast<uint32_t>(seed), high = static_cast<uint32_t>(seed >> 32);
  RandomWords c{static_cast<uint32_t>(count), static_cast<uint32_t>(count >> 32), static_cast<uint32_t>(subsequence),
                static_cast<uint32_t>(subsequence >> 32)};
#ifdef __CUDACC__
#pragma unroll
#endif
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * c.x, b = uint64_t{0xCD9E8D57} * c.z;
    c = {static_cast<uint32_t>(b >> 32) ^ c.y ^ low, static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ c.w ^ high, static_cast<uint32_t>(a)};
    low += 0x9E3779B9;
    high += 0xBB67AE85;
  }
  return c;
}

/// The words of one subsequence from `offset` on, a number of words that is a multiple of 4.
class PhiloxStream {
 public:
  KD_DEVICE PhiloxStream(uint64_t seed, uint64_t subsequence, uint64_t offset)
      : seed_(seed), subsequence_(subsequence), count_(offset / 4) {}
  KD_DEVICE RandomWords next() { return philox(seed_, subsequence_, count_++); }

 private:
  uint64_t seed_, subsequence_, count_;
};

/// Numbers in (0, 1]: the middles of 2^32 equal parts, rounded; of 2^53.
KD_DEVICE float uniform(uint32_t word) {
  return ::fmaf(static_cast<float>(word), 0x1p-32f, 0x1p-33f);
}
KD_DEVICE double uniform(uint32_t low, uint32_t high) {
  return ::fma(static_cast<double>(low ^ static_cast<uint64_t>(high) << 21), 0x1p-53, 0x1p-54);
}

}  // namespace c10::cuda

// Philox4x32-10 (Salmon et al. 2011) as an object on the host, which gives the words of one subsequence one by one.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "c10/core/generator.h"

namespace at {

/// The words of `subsequence` of a seed, from word 4 * offset on.
class philox_engine {
 public:
  explicit philox_engine(uint64_t seed = c10::default_rng_seed_val, uint64_t subsequence = 0, uint64_t offset = 0) {
    reset_state(seed, subsequence);
    incr_n(offset);
  }

  void reset_state(uint64_t seed = c10::default_rng_seed_val, uint64_t subsequence = 0) {
    key_ = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
    counter_ = {0, 0, static_cast<uint32_t>(subsequence), static_cast<uint32_t>(subsequence >> 32)};
    used_ = 4;
  }
  void set_offset(uint64_t offset) {
    counter_[0] = static_cast<uint32_t>(offset);
    counter_[1] = static_cast<uint32_t>(offset >> 32);
  }
  uint64_t get_offset() const { return uint64_t{counter_[1]} << 32 | counter_[0]; }

  /// The next word; all four of a block are made with the number of rounds that its first one was asked for with.
  uint32_t operator()(int32_t n_rounds = 10) {
    if (used_ == 4) {
      block_ = words(counter_, key_, n_rounds);
      incr();
      used_ = 0;
    }
    return block_[used_++];
  }

  /// A standard normal number from the first two words of the next block.
  float randn(uint32_t n_rounds) {
    const std::array<uint32_t, 4> drawn = words(counter_, key_, static_cast<int32_t>(n_rounds));
    incr();
    used_ = 4;
    const float u = 1 - uniform(drawn[0]), v = 1 - uniform(drawn[1]);
    return std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586f * v);
  }

  /// Skips n blocks of four words.
  void incr_n(uint64_t n) {
    const uint64_t low = get_offset() + n;
    const bool carries = low < n;
    set_offset(low);
    if (carries && ++counter_[2] == 0) ++counter_[3];
  }
  void incr() { incr_n(1); }

 private:
  static float uniform(uint32_t word) { return static_cast<float>(word & 0x7fffffff) * 4.6566127342e-10f; }

  static std::array<uint32_t, 4> words(std::array<uint32_t, 4> c, std::array<uint32_t, 2> key, int32_t rounds) {
    for (int32_t round = 0; round < rounds; ++round) {
      const uint64_t a = uint64_t{0xD2511F53} * c[0], b = uint64_t{0xCD9E8D57} * c[2];
      c = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ key[0], static_cast<uint32_t>(b),
           static_cast<uint32_t>(a >> 32) ^ c[3] ^ key[1], static_cast<uint32_t>(a)};
      key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
    }
    return c;
  }

  std::array<uint32_t, 4> counter_{}, block_{};
  std::array<uint32_t, 2> key_{};
  uint32_t used_ = 4;
};

using Philox4_32 = philox_engine;

}  // namespace at

// The CPU's generator: Mersenne Twister MT19937 (Matsumoto and Nishimura, 1998) with the seeding, the draws and the
// 5056-byte state of torch.Generator, so that equal seeds give PyTorch's numbers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "c10/core/generator.h"

namespace at {

// The engine. A block of 624 words is made at once; outputs are tempered on the way out.
class mt19937 {
 public:
  static constexpr int kWords = 624;

  explicit mt19937(uint64_t seed = 5489) { reseed(seed); }

  // The stream depends on the low 32 bits of the seed; all 64 are kept.
  void reseed(uint64_t seed);
  uint64_t seed() const { return seed_; }

  // The next output, uniform on 32 bits.
  uint32_t operator()() {
    if (--left_ == 0) next_block();
    return temper(state_[next_++]);
  }
  // The next n outputs, as n calls give them; several times faster than these.
  void fill(uint32_t* out, size_t n);

  // Position and untempered block, as the state's bytes hold them: after k outputs of a block next = k, left = 625 - k.
  int32_t left() const { return left_; }
  uint32_t next() const { return next_; }
  const std::array<uint32_t, kWords>& words() const { return state_; }
  // False, and no change, where no run of the engine gives such a state.
  bool restore(uint64_t seed, int32_t left, uint64_t next, const std::array<uint32_t, kWords>& words);

 private:
  static constexpr uint32_t temper(uint32_t y) {
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
  }
  void next_block();

  uint64_t seed_ = 0;
  int32_t left_ = 1;
  uint32_t next_ = 0;
  std::array<uint32_t, kWords> state_;
};

struct CPUGeneratorImpl : public c10::GeneratorImpl {
  explicit CPUGeneratorImpl(uint64_t seed = c10::default_rng_seed_val);
  ~CPUGeneratorImpl() override = default;

  void set_current_seed(uint64_t seed) override;
  uint64_t current_seed() const override { return engine_.seed(); }
  uint64_t seed() override;
  // Throw: this generator does not count its draws.
  void set_offset(uint64_t offset) override;
  uint64_t get_offset() const override;
  // A tensor of 5056 bytes; an older one of 5048 is taken too. Throws c10::TypeError for another kind of tensor.
  void set_state(const c10::TensorImpl& new_state) override;
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override;
  static c10::DeviceType device_type() { return c10::DeviceType::CPU; }

  // Draws; the caller holds mutex(). random64 is two outputs, the first one high.
  uint32_t random() { return engine_(); }
  uint64_t random64() {
    const uint64_t high = engine_();
    return high << 32 | engine_();
  }
  void random_fill(uint32_t* out, size_t n) { engine_.fill(out, n); }

  // The second of a pair of normal draws, kept for the next call. Seeding drops it.
  std::optional<double> next_double_normal_sample() const { return next_double_normal_; }
  void set_next_double_normal_sample(std::optional<double> value) { next_double_normal_ = value; }
  std::optional<float> next_float_normal_sample() const { return next_float_normal_; }
  void set_next_float_normal_sample(std::optional<float> value) { next_float_normal_ = value; }

  mt19937 engine() const { return engine_; }
  void set_engine(const mt19937& engine) { engine_ = engine; }

 private:
  CPUGeneratorImpl* clone_impl() const override;
  void restore(const uint8_t* data, size_t size);

  mt19937 engine_;
  std::optional<double> next_double_normal_;
  std::optional<float> next_float_normal_;
};

namespace detail {
// The generator that operators use where none is given; seeded by the operating system at first use.
const Generator& getDefaultCPUGenerator();
Generator createCPUGenerator(uint64_t seed = c10::default_rng_seed_val);
}  // namespace detail

// Seeds the default generators of the CPU and of all devices of linked accelerators (accelerator.cc).
void manual_seed(uint64_t seed);

}  // namespace at

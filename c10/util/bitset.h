// 64 bits.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace c10::utils {

struct bitset final {
 private:
  uint64_t bits_ = 0;

 public:
  static constexpr size_t NUM_BITS() { return 64; }
  constexpr bitset() noexcept = default;
  constexpr void set(size_t index) noexcept { bits_ |= uint64_t{1} << index; }
  constexpr void unset(size_t index) noexcept { bits_ &= ~(uint64_t{1} << index); }
  constexpr bool get(size_t index) const noexcept { return (bits_ >> index & 1) != 0; }
  constexpr bool is_entirely_unset() const noexcept { return bits_ == 0; }
  /// func(index) for every bit that is set, from the lowest on.
  template <class Func>
  void for_each_set_bit(Func&& func) const {
    for (uint64_t rest = bits_; rest != 0; rest &= rest - 1) func(static_cast<size_t>(std::countr_zero(rest)));
  }
  constexpr bool operator==(const bitset&) const noexcept = default;
};

}  // namespace c10::utils

#pragma once

#include <cstdint>

namespace c10 {

enum class MemoryOrder : int {
  relaxed = __ATOMIC_RELAXED,
  acquire = __ATOMIC_ACQUIRE,
  release = __ATOMIC_RELEASE,
  acq_rel = __ATOMIC_ACQ_REL,
};

// An atomic integer or pointer. Does what std::atomic does for the few operations the core needs: <atomic> alone costs
// 23,800 preprocessed lines in every file that sees a tensor.
template <class T>
class Atomic {
 public:
  constexpr Atomic() noexcept = default;
  constexpr Atomic(T value) noexcept : value_(value) {}
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  template <MemoryOrder order = MemoryOrder::acquire>
  T load() const noexcept {
    return __atomic_load_n(&value_, static_cast<int>(order));
  }
  template <MemoryOrder order = MemoryOrder::release>
  void store(T value) noexcept {
    __atomic_store_n(&value_, value, static_cast<int>(order));
  }
  // Returns the value before the addition.
  template <MemoryOrder order = MemoryOrder::acq_rel>
  T fetch_add(T delta) noexcept {
    return __atomic_fetch_add(&value_, delta, static_cast<int>(order));
  }
  template <MemoryOrder order = MemoryOrder::acq_rel>
  T fetch_sub(T delta) noexcept {
    return __atomic_fetch_sub(&value_, delta, static_cast<int>(order));
  }
  template <MemoryOrder order = MemoryOrder::acq_rel>
  T exchange(T value) noexcept {
    return __atomic_exchange_n(&value_, value, static_cast<int>(order));
  }
  // On failure `expected` becomes the value found.
  bool compare_exchange(T& expected, T desired) noexcept {
    return __atomic_compare_exchange_n(
        &value_, &expected, desired, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  }

 private:
  T value_{};
};

}  // namespace c10

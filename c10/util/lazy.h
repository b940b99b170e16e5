// Values that are computed when somebody first asks.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

namespace c10 {

/// ensure(factory) gives the value and makes it at the first call. Of several threads that come first each may call its
/// factory; one result stays.
template <class T>
class OptimisticLazy {
 public:
  OptimisticLazy() = default;
  OptimisticLazy(const OptimisticLazy& other) {
    if (const T* value = other.value_.load(std::memory_order_acquire)) value_ = new T(*value);
  }
  OptimisticLazy(OptimisticLazy&& other) noexcept : value_(other.value_.exchange(nullptr)) {}
  OptimisticLazy& operator=(OptimisticLazy other) noexcept {
    delete value_.exchange(other.value_.exchange(nullptr));
    return *this;
  }
  ~OptimisticLazy() { reset(); }
  template <class Factory>
  T& ensure(const Factory& factory) {
    if (T* value = value_.load(std::memory_order_acquire)) return *value;
    auto made = std::make_unique<T>(factory());
    T* expected = nullptr;
    if (value_.compare_exchange_strong(expected, made.get(), std::memory_order_acq_rel)) return *made.release();
    return *expected;
  }
  /// Only while no other thread uses it.
  void reset() { delete value_.exchange(nullptr); }

 private:
  std::atomic<T*> value_{nullptr};
};

/// The interface of a value that may have to be computed.
template <class T>
class LazyValue {
 public:
  virtual ~LazyValue() = default;
  virtual const T& get() const = 0;
};
template <class T>
class PrecomputedLazyValue : public LazyValue<T> {
 public:
  PrecomputedLazyValue(T value) : value_(std::move(value)) {}
  const T& get() const override { return value_; }

 private:
  T value_;
};
template <class T>
class OptimisticLazyValue : public LazyValue<T> {
 public:
  const T& get() const override {
    return value_.ensure([this] { return compute(); });
  }

 private:
  virtual T compute() const = 0;
  mutable OptimisticLazy<T> value_;
};

}  // namespace c10

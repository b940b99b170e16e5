#pragma once

#include <sys/single_threaded.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "c10/util/atomic.h"

namespace c10 {

class intrusive_ptr_target;

namespace detail {
// Strong count in the low half, weak count in the high half. All strong references together hold one weak reference.
inline constexpr uint64_t kStrongOne = 1;
inline constexpr uint64_t kWeakOne = uint64_t{1} << 32;
inline constexpr uint64_t kSoleOwner = kStrongOne + kWeakOne;
inline constexpr uint64_t kStrongMask = kWeakOne - 1;
struct RefCount;
}  // namespace detail

namespace raw {
struct intrusive_ptr;
struct weak_intrusive_ptr;
}  // namespace raw

// Base of everything that intrusive_ptr counts. A fresh object has no owner until make_intrusive or reclaim gives it one.
class intrusive_ptr_target {
 public:
  intrusive_ptr_target(const intrusive_ptr_target&) noexcept : intrusive_ptr_target() {}
  intrusive_ptr_target(intrusive_ptr_target&&) noexcept : intrusive_ptr_target() {}
  intrusive_ptr_target& operator=(const intrusive_ptr_target&) noexcept { return *this; }
  intrusive_ptr_target& operator=(intrusive_ptr_target&&) noexcept { return *this; }

 protected:
  constexpr intrusive_ptr_target() noexcept = default;
  virtual ~intrusive_ptr_target() = default;

 private:
  friend struct detail::RefCount;

  // Called when the last strong reference goes while weak ones remain: gives back what the object holds.
  virtual void release_resources() {}

  Atomic<uint64_t> refcount_{0};
};

namespace detail {

struct RefCount {
  // A locked read-modify-write costs more than the rest of a small call. A process that has never had a second thread (the C
  // library knows) adds without the lock.
  static uint64_t add(Atomic<uint64_t>& count, uint64_t delta) noexcept {
    if (__libc_single_threaded) {
      const uint64_t before = count.load<MemoryOrder::relaxed>();
      count.store<MemoryOrder::relaxed>(before + delta);
      return before;
    }
    return count.fetch_add(delta);
  }
  static void init(intrusive_ptr_target* p) noexcept {
    p->refcount_.store<MemoryOrder::relaxed>(kSoleOwner);
  }
  static void retain(intrusive_ptr_target* p) noexcept {
    add(p->refcount_, kStrongOne);
  }
  static void retain_weak(intrusive_ptr_target* p) noexcept {
    add(p->refcount_, kWeakOne);
  }
  // A sole owner needs no atomic read-modify-write: nobody else can reach the object.
  static void release(intrusive_ptr_target* p) noexcept {
    if (p->refcount_.load() == kSoleOwner) {
      delete p;
    } else {
      release_shared(p);
    }
  }
  [[gnu::noinline]] static void release_shared(intrusive_ptr_target* p) noexcept {
    const uint64_t before = add(p->refcount_, -kStrongOne);
    if ((before & kStrongMask) != 1) return;
    if (before == kSoleOwner) {
      delete p;
      return;
    }
    p->release_resources();
    release_weak(p);
  }
  static void release_weak(intrusive_ptr_target* p) noexcept {
    if (p->refcount_.load() == kWeakOne || add(p->refcount_, -kWeakOne) == kWeakOne) delete p;
  }
  // Takes a strong reference unless none is left.
  static bool lock(intrusive_ptr_target* p) noexcept {
    uint64_t now = p->refcount_.load();
    if (__libc_single_threaded) {
      const bool alive = (now & kStrongMask) != 0;
      if (alive) p->refcount_.store<MemoryOrder::relaxed>(now + kStrongOne);
      return alive;
    }
    while ((now & kStrongMask) != 0) {
      if (p->refcount_.compare_exchange(now, now + kStrongOne)) return true;
    }
    return false;
  }
  static uint32_t strong(const intrusive_ptr_target* p) noexcept {
    return static_cast<uint32_t>(p->refcount_.load() & kStrongMask);
  }
  static uint32_t weak(const intrusive_ptr_target* p) noexcept {
    return static_cast<uint32_t>(p->refcount_.load() >> 32);
  }
};

}  // namespace detail

template <class T>
class weak_intrusive_ptr;

// A counted pointer of eight bytes to a T that derives from intrusive_ptr_target. Copies share; distinct copies may be used
// from distinct threads.
//
//   auto p = c10::make_intrusive<StorageImpl>(...);
template <class T>
class intrusive_ptr final {
 public:
  using element_type = T;

  constexpr intrusive_ptr() noexcept = default;
  constexpr intrusive_ptr(std::nullptr_t) noexcept {}
  intrusive_ptr(const intrusive_ptr& other) noexcept : target_(other.target_) { retain(); }
  intrusive_ptr(intrusive_ptr&& other) noexcept : target_(other.target_) { other.target_ = nullptr; }
  template <class From>
    requires std::is_convertible_v<From*, T*>
  intrusive_ptr(const intrusive_ptr<From>& other) noexcept : target_(other.get()) {
    retain();
  }
  template <class From>
    requires std::is_convertible_v<From*, T*>
  intrusive_ptr(intrusive_ptr<From>&& other) noexcept : target_(other.release()) {}
  ~intrusive_ptr() { reset(); }

  intrusive_ptr& operator=(const intrusive_ptr& other) noexcept {
    intrusive_ptr(other).swap(*this);
    return *this;
  }
  intrusive_ptr& operator=(intrusive_ptr&& other) noexcept {
    intrusive_ptr(std::move(other)).swap(*this);
    return *this;
  }

  T* get() const noexcept { return target_; }
  T& operator*() const noexcept { return *target_; }
  T* operator->() const noexcept { return target_; }
  explicit operator bool() const noexcept { return target_ != nullptr; }
  bool defined() const noexcept { return target_ != nullptr; }
  void reset() noexcept {
    if (T* p = std::exchange(target_, nullptr)) detail::RefCount::release(p);
  }
  void swap(intrusive_ptr& other) noexcept { std::swap(target_, other.target_); }
  uint32_t use_count() const noexcept { return target_ ? detail::RefCount::strong(target_) : 0; }
  uint32_t weak_use_count() const noexcept { return target_ ? detail::RefCount::weak(target_) : 0; }
  bool unique() const noexcept { return use_count() == 1; }

  // A std::shared_ptr<T> that keeps a reference of its own: what programs from before PyTorch 2 hold graph nodes in.
  template <class Shared>
    requires requires(T* p) {
      typename Shared::weak_type;
      requires std::is_same_v<typename Shared::element_type, T>;
      Shared(p, [](T*) {});
    }
  operator Shared() const {
    return target_ == nullptr ? Shared() : Shared(target_, [kept = *this](T*) mutable { kept.reset(); });
  }

  // Gives up the reference without releasing it; reclaim takes it back.
  [[nodiscard]] T* release() noexcept { return std::exchange(target_, nullptr); }
  static intrusive_ptr reclaim(T* owned) noexcept {
    intrusive_ptr result;
    result.target_ = owned;
    return result;
  }
  static intrusive_ptr reclaim_copy(T* shared) noexcept {
    intrusive_ptr result = reclaim(shared);
    result.retain();
    return result;
  }
  static intrusive_ptr unsafe_reclaim_from_nonowning(T* shared) noexcept { return reclaim_copy(shared); }
  template <class... Args>
  static intrusive_ptr make(Args&&... args) {
    T* object = new T(std::forward<Args>(args)...);
    detail::RefCount::init(object);
    return reclaim(object);
  }

  friend bool operator==(const intrusive_ptr& a, const intrusive_ptr& b) noexcept {
    return a.target_ == b.target_;
  }
  friend bool operator==(const intrusive_ptr& a, std::nullptr_t) noexcept { return a.target_ == nullptr; }
  friend bool operator<(const intrusive_ptr& a, const intrusive_ptr& b) noexcept {
    return a.target_ < b.target_;
  }

 private:
  void retain() noexcept {
    if (target_) detail::RefCount::retain(target_);
  }

  T* target_ = nullptr;
};

template <class T, class... Args>
intrusive_ptr<T> make_intrusive(Args&&... args) {
  return intrusive_ptr<T>::make(std::forward<Args>(args)...);
}

// Refers to an object without keeping it alive; lock() gives a strong reference or an empty one.
template <class T>
class weak_intrusive_ptr final {
 public:
  constexpr weak_intrusive_ptr() noexcept = default;
  explicit weak_intrusive_ptr(const intrusive_ptr<T>& p) noexcept : target_(p.get()) { retain(); }
  weak_intrusive_ptr(const weak_intrusive_ptr& other) noexcept : target_(other.target_) { retain(); }
  weak_intrusive_ptr(weak_intrusive_ptr&& other) noexcept
      : target_(std::exchange(other.target_, nullptr)) {}
  ~weak_intrusive_ptr() { reset(); }
  weak_intrusive_ptr& operator=(weak_intrusive_ptr other) noexcept {
    std::swap(target_, other.target_);
    return *this;
  }

  void reset() noexcept {
    if (T* p = std::exchange(target_, nullptr)) detail::RefCount::release_weak(p);
  }
  intrusive_ptr<T> lock() const noexcept {
    if (target_ && detail::RefCount::lock(target_)) return intrusive_ptr<T>::reclaim(target_);
    return {};
  }
  bool expired() const noexcept { return use_count() == 0; }
  uint32_t use_count() const noexcept { return target_ ? detail::RefCount::strong(target_) : 0; }
  uint32_t weak_use_count() const noexcept { return target_ ? detail::RefCount::weak(target_) : 0; }
  // The object's address, for comparison only.
  T* unsafe_get() const noexcept { return target_; }

  friend bool operator==(const weak_intrusive_ptr& a, const weak_intrusive_ptr& b) noexcept {
    return a.target_ == b.target_;
  }

 private:
  void retain() noexcept {
    if (target_) detail::RefCount::retain_weak(target_);
  }

  T* target_ = nullptr;
};

namespace raw {

// Counting by hand, for tables and C interfaces.
struct intrusive_ptr {
  static void incref(intrusive_ptr_target* p) noexcept {
    if (p) detail::RefCount::retain(p);
  }
  static void decref(intrusive_ptr_target* p) noexcept {
    if (p) detail::RefCount::release(p);
  }
  static uint32_t use_count(const intrusive_ptr_target* p) noexcept { return p ? detail::RefCount::strong(p) : 0; }
};

struct weak_intrusive_ptr {
  static void incref(intrusive_ptr_target* p) noexcept {
    if (p) detail::RefCount::retain_weak(p);
  }
  static void decref(intrusive_ptr_target* p) noexcept {
    if (p) detail::RefCount::release_weak(p);
  }
};

}  // namespace raw
}  // namespace c10

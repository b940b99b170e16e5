// Stacks that take turns on one thread of the host, and what the sanitizers have to know of them.
#pragma once

#include <cstddef>

namespace simt {

// ASan keeps locals elsewhere than on the stack, and TSan looks for races itself.
#if defined(SIMT_TSAN) || defined(__SANITIZE_ADDRESS__)
#define SIMT_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIMT_SANITIZED 1
#endif
#endif
#ifdef SIMT_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// Whether every thread of a block gets a stack that nobody was on: two that were on one would race for TSan.
#ifdef SIMT_TSAN
inline constexpr bool kFreshStacks = true;
#else
inline constexpr bool kFreshStacks = false;
#endif

class Fiber {
 public:
  // The thread that calls adopt_thread().
  Fiber() = default;
  // With a stack of its own, on which `entry`, which never returns, begins at the first switch.
  explicit Fiber(void (*entry)());
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber();

  // The one that runs.
  static Fiber* active();
  // Leaves the active fiber for `to`; returns when somebody switches back.
  static void switch_to(Fiber& to);

  // The calling thread is this fiber from now on.
  void adopt_thread();
  // Forgets what is on the stack, without unwinding it: the entry begins anew at the next switch.
  void restart();

  // Whether `address` is on its stack.
  bool owns(const void* address) const;

  void* work = nullptr;  // of who runs on it

 private:
  void prepare();

  void (*entry_)() = nullptr;
  char* stack_ = nullptr;
  size_t offset_ = 0;
  void* stack_pointer_ = nullptr;
  // The stack as ASan knows it, and where it keeps the fiber's fake frames.
  const void* asan_bottom_ = nullptr;
  size_t asan_size_ = 0;
  void* asan_frames_ = nullptr;

  friend void simt_fiber_begins();
};

// What TSan takes for a thread: one for every thread of a block, whatever stack it runs on. Nothing without TSan.
class RaceContext {
 public:
  void begin();  // the thread's own code starts
  void end();    // and ends
  void leave();  // while others go on
  void enter();
  void abandon();
  void release(const void* what);  // what the thread did is seen by who acquires
  void acquire(const void* what);
  static void publish_block();  // what was done before a block is seen by its threads
  static void collect_block();

  // Accesses in its scope are none of the kernel's.
  class Ignore {
   public:
    Ignore();
    ~Ignore();
  };

 private:
  [[maybe_unused]] void* context_ = nullptr;
};

}  // namespace simt

#pragma once

#include <pthread.h>

#include <cstdint>

#include "c10/parallel/pool.h"

// What becomes of the pool in a forked child, where only the thread that forked lives on. Private to c10/parallel.

namespace at::internal {

/// Has a pool begin anew in every child that is forked from now on. A pool installs it before its first thread starts: a
/// child that is forked earlier has nothing to forget.
class ForkHandler {
 public:
  void install(void (*in_child)()) {
    if (__builtin_expect(__atomic_load_n(&installed_, __ATOMIC_RELAXED) != 0, 1)) return;
    if (__atomic_exchange_n(&installed_, 1, __ATOMIC_RELAXED) != 0) return;
    pthread_atfork(nullptr, nullptr, &forget_helpers);
    pthread_atfork(nullptr, nullptr, in_child);
  }

 private:
  int32_t installed_ = 0;
};

}  // namespace at::internal

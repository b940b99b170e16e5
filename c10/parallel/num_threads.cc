#include "c10/parallel/parallel.h"
#include "c10/parallel/pool.h"
#include "c10/util/exception.h"

// Apart from parallel.cc, so that a minimal program that never asks for threads does not link the pool.

namespace at {

void set_num_threads(int n) {
  TORCH_CHECK(n > 0, "Expected positive number of threads");
  __atomic_store_n(&internal::g_run_team, &internal::run_team, __ATOMIC_RELAXED);
  __atomic_store_n(&internal::g_num_threads, n < internal::kMaxThreads ? n : internal::kMaxThreads, __ATOMIC_RELAXED);
}

}  // namespace at

#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>

#include <atomic>

#include "c10/parallel/parallel.h"

namespace at {
namespace {

// How many threads run at once in a loop of as many pieces; each waits for the others.
int threads_at_once(int pieces) {
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  parallel_for(0, pieces, 1, [&](int64_t, int64_t) {
    const int now = ++inside;
    int seen = most.load();
    while (seen < now && !most.compare_exchange_weak(seen, now)) {
    }
    for (int i = 0; i < 100000 && most.load() < pieces; ++i) sched_yield();
    --inside;
  });
  return most.load();
}

// One test, because the order matters: what a program gets that never asks, and what it gets when it does.
TEST(NumThreads, FromTheEnvironmentThenAsSet) {
  setenv("OMP_NUM_THREADS", "3", 1);
#ifdef C10_POOL_ON_DEMAND
  EXPECT_EQ(get_num_threads(), 1) << "a minimal program has no pool until it asks for threads";
  EXPECT_EQ(threads_at_once(3), 1);
#else
  EXPECT_EQ(get_num_threads(), 3);
#endif
  set_num_threads(2);
  EXPECT_EQ(get_num_threads(), 2);
  EXPECT_EQ(threads_at_once(2), 2);
  set_num_threads(1);
  EXPECT_EQ(threads_at_once(2), 1);
}

}  // namespace
}  // namespace at

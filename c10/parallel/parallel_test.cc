#include "c10/parallel/parallel.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "c10/util/exception.h"

namespace at {
namespace {

// Restores the width of the pool.
class Width {
 public:
  explicit Width(int n) : before_(get_num_threads()) { set_num_threads(n); }
  ~Width() { set_num_threads(before_); }

 private:
  int before_;
};

TEST(ParallelFor, VisitsEachIndexOnce) {
  for (int width : {1, 2, 3, 8}) {
    Width w(width);
    for (int64_t n : {0, 1, 2, 3, 7, 100, 1001}) {
      for (int64_t grain : {0, 1, 3, 64, 5000}) {
        std::vector<std::atomic<int>> seen(static_cast<size_t>(n) + 20);
        parallel_for(10, 10 + n, grain, [&](int64_t b, int64_t e) {
          ASSERT_LT(b, e);
          if (grain > 0 && e - b < grain) {
            EXPECT_TRUE(e == 10 + n || n <= grain);
          }
          for (int64_t i = b; i < e; ++i) seen[static_cast<size_t>(i)]++;
        });
        for (int64_t i = 0; i < n + 20; ++i) ASSERT_EQ(seen[static_cast<size_t>(i)], i >= 10 && i < 10 + n ? 1 : 0);
      }
    }
  }
}

TEST(ParallelFor, EmptyAndReversedRangesCallNothing) {
  int calls = 0;
  parallel_for(5, 5, 1, [&](int64_t, int64_t) { ++calls; });
  parallel_for(5, 2, 1, [&](int64_t, int64_t) { ++calls; });
  EXPECT_EQ(calls, 0);
}

TEST(ParallelFor, ExtremeRanges) {
  Width w(4);
  std::atomic<int64_t> total{0};
  parallel_for(0, INT64_MAX, 1, [&](int64_t b, int64_t e) { total += e - b; });
  EXPECT_EQ(total, INT64_MAX);
  total = 0;
  parallel_for(INT64_MAX - 5, INT64_MAX, 1, [&](int64_t b, int64_t e) { total += e - b; });
  EXPECT_EQ(total, 5);
}

TEST(ParallelFor, NegativeGrainThrows) {
  EXPECT_THROW(parallel_for(0, 10, -1, [](int64_t, int64_t) {}), c10::Error);
  EXPECT_THROW(parallel_reduce(0, 10, -1, 0, [](int64_t, int64_t, int x) { return x; }, [](int x, int) { return x; }),
               c10::Error);
}

TEST(ParallelFor, ExceptionsReachTheCallerAndThePoolSurvives) {
  Width w(4);
  for (int round = 0; round < 50; ++round) {
    bool caught = false;
    try {
      parallel_for(0, 400, 1, [&](int64_t b, int64_t) {
        if (b >= 100) throw std::runtime_error("piece " + std::to_string(b));
      });
    } catch (const std::runtime_error& e) {
      caught = std::string(e.what()).rfind("piece ", 0) == 0;
    }
    ASSERT_TRUE(caught);
    EXPECT_FALSE(in_parallel_region());
    std::atomic<int> sum{0};
    parallel_for(0, 400, 1, [&](int64_t b, int64_t e) { sum += static_cast<int>(e - b); });
    ASSERT_EQ(sum, 400);
  }
}

TEST(ParallelFor, NestedLoopsRunInTheirOwnThread) {
  Width w(4);
  std::atomic<int> total{0};
  parallel_for(0, 8, 1, [&](int64_t b, int64_t e) {
    EXPECT_TRUE(in_parallel_region());
    EXPECT_GE(get_thread_num(), 0);
    EXPECT_LT(get_thread_num(), 4);
    const std::thread::id self = std::this_thread::get_id();
    for (int64_t i = b; i < e; ++i) {
      parallel_for(0, 100, 1, [&](int64_t b2, int64_t e2) {
        EXPECT_EQ(std::this_thread::get_id(), self);
        total += static_cast<int>(e2 - b2);
      });
    }
  });
  EXPECT_EQ(total, 800);
  EXPECT_FALSE(in_parallel_region());
  EXPECT_EQ(get_thread_num(), 0);
}

TEST(ParallelFor, ThreadNumbersAreDistinctAtEachMoment) {
  Width w(4);
  std::atomic<int> busy[4] = {};
  std::atomic<bool> clash{false};
  for (int round = 0; round < 200; ++round) {
    parallel_for(0, 64, 1, [&](int64_t, int64_t) {
      const int me = get_thread_num();
      if (busy[me].fetch_add(1) != 0) clash = true;
      for (volatile int i = 0; i < 200; i = i + 1) {
      }
      busy[me].fetch_sub(1);
    });
  }
  EXPECT_FALSE(clash);
}

TEST(ParallelFor, ReallyUsesASecondThread) {
  Width w(2);
  // Each piece waits for the other: this ends only if both run at once.
  std::atomic<int> arrived{0};
  parallel_for(0, 2, 1, [&](int64_t, int64_t) {
    arrived++;
    while (arrived.load() < 2) std::this_thread::yield();
  });
  EXPECT_EQ(arrived, 2);
}

TEST(ParallelFor, ManyCallersNeverExceedThePool) {
  Width w(3);
  std::atomic<int> helpers{0};
  std::atomic<int> most{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 8; ++c) {
    callers.emplace_back([&] {
      const std::thread::id self = std::this_thread::get_id();
      for (int round = 0; round < 200; ++round) {
        std::atomic<int64_t> sum{0};
        parallel_for(0, 300, 1, [&](int64_t b, int64_t e) {
          const bool helper = std::this_thread::get_id() != self;
          if (helper) {
            const int now = ++helpers;
            int before = most.load();
            while (before < now && !most.compare_exchange_weak(before, now)) {
            }
          }
          for (int64_t i = b; i < e; ++i) sum += i;
          if (helper) --helpers;
        });
        ASSERT_EQ(sum, 300 * 299 / 2);
      }
    });
  }
  for (std::thread& t : callers) t.join();
  EXPECT_LE(most, 2);
  EXPECT_EQ(helpers, 0);
}

TEST(ParallelFor, WidthMayChangeWhileLoopsRun) {
  Width w(2);
  std::atomic<bool> stop{false};
  std::thread changer([&] {
    for (int i = 0; i < 300; ++i) {
      set_num_threads(1 + i % 5);
      std::this_thread::yield();
    }
    stop = true;
  });
  while (!stop) {
    std::atomic<int> sum{0};
    parallel_for(0, 1000, 10, [&](int64_t b, int64_t e) { sum += static_cast<int>(e - b); });
    ASSERT_EQ(sum, 1000);
  }
  changer.join();
}

TEST(ParallelReduce, SameBitsWithAnyNumberOfThreads) {
  std::vector<float> values(100003);
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i)) * 1e3f;
  auto sum = [&] {
    return parallel_reduce(
        0, static_cast<int64_t>(values.size()), 100, 0.0f,
        [&](int64_t b, int64_t e, float x) {
          for (; b < e; ++b) x += values[static_cast<size_t>(b)];
          return x;
        },
        [](float x, float y) { return x + y; });
  };
  float alone;
  {
    Width w(1);
    alone = sum();
  }
  for (int width : {2, 3, 7}) {
    Width w(width);
    for (int i = 0; i < 20; ++i) ASSERT_EQ(sum(), alone) << width;
  }
}

TEST(ParallelReduce, CombinesInOrder) {
  Width w(4);
  const std::string text = parallel_reduce(
      0, 26, 1, std::string(),
      [](int64_t b, int64_t e, std::string x) {
        for (; b < e; ++b) x += static_cast<char>('a' + b);
        return x;
      },
      [](const std::string& x, const std::string& y) { return x + y; });
  EXPECT_EQ(text, "abcdefghijklmnopqrstuvwxyz");
  EXPECT_EQ(parallel_reduce(3, 3, 1, 42, [](int64_t, int64_t, int) { return 0; }, [](int x, int) { return x; }), 42);
}

TEST(ParallelReduce, ExceptionsReachTheCaller) {
  Width w(4);
  EXPECT_THROW(parallel_reduce(
                   0, 100, 1, 0, [](int64_t, int64_t, int) -> int { throw std::logic_error("no"); },
                   [](int x, int y) { return x + y; }),
               std::logic_error);
}

TEST(NumThreads, MustBePositive) {
  try {
    set_num_threads(0);
    FAIL();
  } catch (const c10::Error& e) {
    EXPECT_EQ(e.msg(), "Expected positive number of threads");
  }
  EXPECT_THROW(set_num_threads(-3), c10::Error);
  EXPECT_GE(get_num_threads(), 1);
}

TEST(ThreadLease, ReservesHelpers) {
  Width w(3);
  internal::ThreadLease lease;
  EXPECT_EQ(lease.num_threads(), 3);
  internal::ThreadLease none;
  EXPECT_EQ(none.num_threads(), 1);
  const std::thread::id self = std::this_thread::get_id();
  parallel_for(0, 100, 1, [&](int64_t, int64_t) { EXPECT_EQ(std::this_thread::get_id(), self); });
}

// In a child process, which must end by itself; 0 is what it says when all is well.
template <class F>
int status_of_child(const F& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(body() ? 0 : 1);
  }
  int status = -1;
  return waitpid(child, &status, 0) == child ? status : -1;
}

// How many threads took part, each waiting for the others, and whether every index was visited.
bool computes_on(int threads) {
  std::atomic<int> arrived{0};
  parallel_for(0, threads, 1, [&](int64_t, int64_t) {
    ++arrived;
    for (int i = 0; i < 2000 && arrived.load() < threads; ++i) usleep(1000);
  });
  std::atomic<int64_t> sum{0};
  for (int round = 0; round < 100; ++round) {
    parallel_for(0, 1000, 10, [&](int64_t b, int64_t e) {
      for (int64_t i = b; i < e; ++i) sum += i;
    });
  }
  return arrived == threads && sum == 100 * 499500;
}

TEST(Fork, AChildHasAPoolOfItsOwn) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "TSan starts no threads in a forked child";
#endif
#endif
  Width w(3);
  ASSERT_TRUE(computes_on(3));
  EXPECT_EQ(status_of_child([] { return computes_on(3) && status_of_child([] { return computes_on(3); }) == 0; }), 0);
  EXPECT_EQ(status_of_child([] {
              internal::ThreadLease lease;  // of libraries whose threads the child lacks, or of its own pool
              return lease.num_threads() == 1 || lease.num_threads() == 3;
            }),
            0);
  EXPECT_TRUE(computes_on(3)) << "the parent goes on as before";
}

TEST(Fork, WhileOtherThreadsCompute) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "TSan starts no threads in a forked child";
#endif
#endif
  Width w(4);
  std::atomic<bool> stop{false};
  std::vector<std::thread> callers;
  for (int c = 0; c < 2; ++c) {
    callers.emplace_back([&] {
      std::atomic<int> sum{0};
      while (!stop) parallel_for(0, 100, 1, [&](int64_t b, int64_t e) { sum += static_cast<int>(e - b); });
    });
  }
  for (int round = 0; round < 20; ++round) EXPECT_EQ(status_of_child([] { return computes_on(4); }), 0) << round;
  stop = true;
  for (std::thread& t : callers) t.join();
}

TEST(Divup, RoundsUpWithoutOverflow) {
  EXPECT_EQ(divup(0, 3), 0);
  EXPECT_EQ(divup(1, 3), 1);
  EXPECT_EQ(divup(6, 3), 2);
  EXPECT_EQ(divup(INT64_MAX, 2), (int64_t{1} << 62));
}

}  // namespace
}  // namespace at

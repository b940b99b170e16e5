#include "c10/memory/cpu_allocator.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "c10/util/exception.h"

namespace c10 {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

bool aligned(const void* p) { return reinterpret_cast<uintptr_t>(p) % kBlockAlignment == 0; }

TEST(SizeClasses, CoverEverySizeWithoutMuchWaste) {
  for (size_t size = 0; size <= kMaxSmallSize; ++size) {
    const unsigned c = memory_internal::small_class(size);
    ASSERT_LT(c, kSmallClasses);
    const size_t block = memory_internal::kClassTable.size[c];
    ASSERT_GE(block, size) << size;
    ASSERT_EQ(block % 64, 0u) << size;
    ASSERT_EQ(memory_internal::small_class(block), c) << size;
    if (c > 0) {
      ASSERT_LT(memory_internal::kClassTable.size[c - 1], std::max<size_t>(size, 1)) << size;
    }
    if (size > 1024) {
      ASSERT_LE(block - size, size / 4) << size;
    } else {
      ASSERT_LE(block - size, 64u) << size;
    }
  }
}

TEST(CpuAllocator, BlocksAreAlignedDistinctAndWritable) {
  std::mt19937 random(7);
  std::vector<size_t> sizes = {0, 1, 63, 64, 65, 1023, 1024, 1025, 8191, 8192, 8193, 1 << 20, (1 << 20) + 1, (2 << 20) - 1, 2 << 20, 5 << 20};
  for (int i = 0; i < 300; ++i) sizes.push_back(random() % (1 << (random() % 18)));
  std::map<char*, size_t> blocks;
  for (size_t size : sizes) {
    char* const p = static_cast<char*>(cpu_alloc(size));
    ASSERT_TRUE(aligned(p)) << size;
    std::memset(p, static_cast<int>(size % 251), size);
    ASSERT_TRUE(blocks.emplace(p, size).second);
  }
  const char* end = nullptr;
  for (const auto& [p, size] : blocks) {
    ASSERT_GE(p, end) << "blocks overlap";
    end = p + size;
    for (size_t i = 0; i < size; ++i) ASSERT_EQ(static_cast<unsigned char>(p[i]), size % 251);
  }
  for (const auto& [p, size] : blocks) cpu_free(p, size);
}

TEST(CpuAllocator, FreeOfNullIsIgnored) {
  cpu_free(nullptr, 8);
  cpu_free(nullptr, 1 << 24);
}

TEST(CpuAllocator, LargeBlocksLieOnHugePageBoundaries) {
  if (C10_SANITIZED_ALLOCATION) GTEST_SKIP() << "nothing is cached";
  void* p = cpu_alloc(64 << 20);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % (2 << 20), 0u);
  cpu_free(p, 64 << 20);
}

TEST(CpuAllocator, FreedBlocksAreUsedAgain) {
  if (C10_SANITIZED_ALLOCATION) GTEST_SKIP() << "nothing is cached";
  for (size_t size : {size_t{100}, size_t{5000}, size_t{100000}, size_t{3 << 20}}) {
    void* first = cpu_alloc(size);
    cpu_free(first, size);
    const CPUMemoryStats before = cpu_memory_stats();
    void* second = cpu_alloc(size);
    EXPECT_EQ(first, second) << size;
    EXPECT_EQ(cpu_memory_stats().system_allocations, before.system_allocations) << size;
    cpu_free(second, size);
  }
}

TEST(CpuAllocator, StatisticsAddUp) {
  empty_cpu_cache();
  const CPUMemoryStats start = cpu_memory_stats();
  std::vector<std::pair<void*, size_t>> blocks;
  int64_t asked = 0;
  for (int i = 0; i < 2000; ++i) {
    const size_t size = i % 100 == 0 ? 3 * kMiB : static_cast<size_t>(i * 7 % 9000);
    blocks.emplace_back(cpu_alloc(size), size);
    asked += static_cast<int64_t>(size);
  }
  const CPUMemoryStats held = cpu_memory_stats();
  EXPECT_EQ(held.allocations - start.allocations, 2000);
  const int64_t got = held.allocated_bytes - start.allocated_bytes;
  EXPECT_GE(got, asked);
  EXPECT_LE(got, asked + asked / 4 + 2000 * 64);
  EXPECT_GE(held.reserved_bytes, held.allocated_bytes);
  EXPECT_GE(held.peak_allocated_bytes, held.allocated_bytes);
  for (auto [p, size] : blocks) cpu_free(p, size);
  const CPUMemoryStats end = cpu_memory_stats();
  EXPECT_EQ(end.allocated_bytes, start.allocated_bytes);
  EXPECT_EQ(end.allocations, held.allocations);
  EXPECT_GE(end.peak_allocated_bytes, held.allocated_bytes);
  reset_peak_cpu_memory_stats();
  EXPECT_EQ(cpu_memory_stats().peak_allocated_bytes, end.allocated_bytes);
}

TEST(CpuAllocator, EmptyCacheGivesLargeBlocksBack) {
  if (C10_SANITIZED_ALLOCATION) GTEST_SKIP() << "nothing is cached";
  empty_cpu_cache();
  const int64_t before = cpu_memory_stats().reserved_bytes;
  void* p = cpu_alloc(32 * kMiB);
  EXPECT_GE(cpu_memory_stats().reserved_bytes, before + 32 * kMiB);
  cpu_free(p, 32 * kMiB);
  EXPECT_GE(cpu_memory_stats().cached_bytes, 32 * kMiB);
  EXPECT_GE(empty_cpu_cache(), 32 * kMiB);
  EXPECT_EQ(cpu_memory_stats().reserved_bytes, before);
}

TEST(CpuAllocator, CacheIsBounded) {
  if (C10_SANITIZED_ALLOCATION) GTEST_SKIP() << "nothing is cached";
  empty_cpu_cache();
  // Untouched pages cost nothing: 20 blocks of about 100 MiB, of different classes.
  for (int64_t i = 0; i < 20; ++i) {
    const size_t size = static_cast<size_t>((100 + 16 * i) * kMiB);
    cpu_free(cpu_alloc(size), size);
    EXPECT_LE(cpu_memory_stats().cached_bytes, 1024 * kMiB + 8 * kMiB);
  }
  empty_cpu_cache();
}

TEST(CpuAllocator, LimitIsKeptAndTheMessageSaysWhy) {
  empty_cpu_cache();
  const int64_t reserved = cpu_memory_stats().reserved_bytes;
  set_cpu_memory_limit(reserved + 64 * kMiB);
  EXPECT_EQ(cpu_memory_limit(), reserved + 64 * kMiB);
  void* held = cpu_alloc(40 * kMiB);
  const CPUMemoryStats before = cpu_memory_stats();
  try {
    cpu_alloc(40 * kMiB);
    FAIL() << "expected an OutOfMemoryError";
  } catch (const OutOfMemoryError& e) {
    const std::string text = e.msg();
    EXPECT_NE(text.find("you tried to allocate 41943040 bytes (40.00 MiB)"), std::string::npos) << text;
    EXPECT_NE(text.find("set_cpu_memory_limit"), std::string::npos) << text;
  }
  const CPUMemoryStats after = cpu_memory_stats();
  EXPECT_EQ(after.allocated_bytes, before.allocated_bytes);
  EXPECT_EQ(after.reserved_bytes, before.reserved_bytes);
  EXPECT_EQ(after.out_of_memory, before.out_of_memory + 1);
  // What is cached does not stand in the way.
  cpu_free(held, 40 * kMiB);
  void* other = cpu_alloc(50 * kMiB);
  EXPECT_LE(cpu_memory_stats().reserved_bytes, cpu_memory_limit());
  cpu_free(other, 50 * kMiB);
  set_cpu_memory_limit(0);
  void* free_again = cpu_alloc(80 * kMiB);
  cpu_free(free_again, 80 * kMiB);
  EXPECT_THROW(set_cpu_memory_limit(-1), ValueError);
}

TEST(CpuAllocator, LimitHoldsForSmallBlocks) {
  empty_cpu_cache();
  set_cpu_memory_limit(cpu_memory_stats().reserved_bytes + 4 * kMiB);
  std::vector<void*> blocks;
  blocks.reserve(100000);
  bool refused = false;
  try {
    while (blocks.size() < 100000) blocks.push_back(cpu_alloc(1000));
  } catch (const OutOfMemoryError&) {
    refused = true;
  }
  EXPECT_TRUE(refused);
  EXPECT_GE(blocks.size(), 2000u);
  EXPECT_LE(cpu_memory_stats().reserved_bytes, cpu_memory_limit());
  set_cpu_memory_limit(0);
  for (void* p : blocks) cpu_free(p, 1000);
}

TEST(CpuAllocator, AbsurdSizesThrow) {
  for (size_t size : {SIZE_MAX, SIZE_MAX - 63, size_t{1} << 63, (size_t{1} << 47) + 1, size_t{1} << 47}) {
    EXPECT_THROW(cpu_alloc(size), OutOfMemoryError) << size;
  }
}

TEST(CpuAllocator, TheNthAllocationFailsOnce) {
  // Counted over all sizes, with warm lists and cold ones.
  const size_t sizes[] = {64, 300, 7000, 100000, 3 << 20};
  for (int warm = 0; warm < 2; ++warm) {
    for (int64_t n = 1; n <= 12; ++n) {
      std::vector<std::pair<void*, size_t>> blocks;
      fail_nth_cpu_allocation(n);
      int64_t failed_at = 0;
      for (int64_t i = 1; i <= 15; ++i) {
        const size_t size = sizes[i % 5];
        try {
          blocks.emplace_back(cpu_alloc(size), size);
        } catch (const OutOfMemoryError& e) {
          EXPECT_EQ(failed_at, 0);
          failed_at = i;
          EXPECT_NE(e.msg().find("fail_nth_cpu_allocation"), std::string::npos);
        }
      }
      EXPECT_EQ(failed_at, n);
      EXPECT_EQ(blocks.size(), 14u);
      for (auto [p, size] : blocks) cpu_free(p, size);
    }
  }
  fail_nth_cpu_allocation(1);
  fail_nth_cpu_allocation(0);
  cpu_free(cpu_alloc(8), 8);
}

TEST(CpuAllocator, InjectionIsTheCallingThreads) {
  fail_nth_cpu_allocation(1);
  std::thread other([] { cpu_free(cpu_alloc(64), 64); });
  other.join();
  EXPECT_THROW(cpu_alloc(64), OutOfMemoryError);
}

TEST(Threads, BlocksMayBeFreedElsewhere) {
  constexpr int kBlocks = 20000;
  const int64_t before = cpu_memory_stats().allocated_bytes;
  int64_t reserved_after_first = 0;
  for (int round = 0; round < 5; ++round) {
    std::vector<std::pair<char*, size_t>> blocks(kBlocks);
    std::thread maker([&] {
      for (int i = 0; i < kBlocks; ++i) {
        const size_t size = static_cast<size_t>(i % 40 == 0 ? 20000 : i % 700);
        blocks[i] = {static_cast<char*>(cpu_alloc(size)), size};
        if (size) blocks[i].first[0] = static_cast<char>(i);
      }
    });
    maker.join();
    std::thread breaker([&] {
      for (int i = 0; i < kBlocks; ++i) {
        if (blocks[i].second) {
          ASSERT_EQ(blocks[i].first[0], static_cast<char>(i));
        }
        cpu_free(blocks[i].first, blocks[i].second);
      }
    });
    breaker.join();
    const CPUMemoryStats stats = cpu_memory_stats();
    EXPECT_EQ(stats.allocated_bytes, before) << "threads that ended gave everything back";
    if (round == 0) reserved_after_first = stats.reserved_bytes;
    EXPECT_EQ(stats.reserved_bytes, reserved_after_first) << "no memory is lost between threads";
  }
}

TEST(Threads, ManyAtOnce) {
  const int64_t before = cpu_memory_stats().allocated_bytes;
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([t] {
      std::mt19937 random(static_cast<unsigned>(t));
      std::vector<std::pair<unsigned char*, size_t>> held;
      for (int i = 0; i < 20000; ++i) {
        if (held.size() > 200 || (!held.empty() && random() % 2)) {
          const size_t k = random() % held.size();
          auto [p, size] = held[k];
          ASSERT_EQ(p[0], static_cast<unsigned char>(size));
          ASSERT_EQ(p[size - 1], static_cast<unsigned char>(size));
          cpu_free(p, size);
          held[k] = held.back();
          held.pop_back();
        } else {
          const size_t size = 1 + random() % (random() % 50 == 0 ? 300000 : 2000);
          unsigned char* const p = static_cast<unsigned char*>(cpu_alloc(size));
          p[0] = p[size - 1] = static_cast<unsigned char>(size);
          held.emplace_back(p, size);
        }
        if (i % 5000 == 0) empty_cpu_cache();
      }
      for (auto [p, size] : held) cpu_free(p, size);
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(cpu_memory_stats().allocated_bytes, before);
}

TEST(Threads, AForkedChildFindsTheListsWhole) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&stop, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      std::vector<std::pair<void*, size_t>> held;
      while (!stop) {
        const size_t size = 1 + random() % (random() % 4 == 0 ? 300000 : 2000);
        held.emplace_back(cpu_alloc(size), size);
        if (held.size() < 300) continue;
        for (auto [p, bytes] : held) cpu_free(p, bytes);
        held.clear();
      }
      for (auto [p, bytes] : held) cpu_free(p, bytes);
    });
  }
  for (int round = 0; round < 12; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      for (size_t size = 1; size < (4 << 20); size += 1 + size / 8) {
        void* p = cpu_alloc(size);
        std::memset(p, 1, size);
        cpu_free(p, size);
      }
      empty_cpu_cache();
      _exit(0);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0) << round;
  }
  stop = true;
  for (std::thread& t : threads) t.join();
}

// Frees and allocates when the thread's lists are gone already: its destructor runs after the exit hook, because it was
// made before the thread's first allocation.
struct Late {
  void* block = nullptr;
  ~Late() {
    if (block == nullptr) return;
    cpu_free(block, 200);
    void* p = cpu_alloc(200);
    std::memset(p, 1, 200);
    cpu_free(p, 200);
  }
};

TEST(Threads, DestructorsOfThreadLocalsMayStillFree) {
  const int64_t before = cpu_memory_stats().allocated_bytes;
  for (int i = 0; i < 50; ++i) {
    std::thread t([] {
      static thread_local Late late;
      Late* const made_first = &late;
      made_first->block = cpu_alloc(200);
    });
    t.join();
  }
  EXPECT_EQ(cpu_memory_stats().allocated_bytes, before);
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
TEST(SanitizedDeathTest, UseAfterFreeAndOverrunAndWrongSizeAreFound) {
  EXPECT_DEATH(
      {
        volatile char* p = static_cast<char*>(cpu_alloc(100));
        cpu_free(const_cast<char*>(p), 100);
        p[5] = 1;
      },
      "heap-use-after-free");
  EXPECT_DEATH(
      {
        volatile char* p = static_cast<char*>(cpu_alloc(100));
        p[100] = 1;
      },
      "heap-buffer-overflow");
  EXPECT_DEATH(cpu_free(cpu_alloc(100), 101), "has 100 bytes, but 101 were given");
}
#endif
#endif

}  // namespace
}  // namespace c10

#include "c10/memory/system_limits.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "c10/memory/cpu_allocator.h"
#include "c10/testing/files.h"
#include "c10/util/exception.h"

namespace c10 {
namespace {

using memory_internal::SystemLimits;

constexpr int64_t kMiB = int64_t{1} << 20;

// The files that a kernel would show.
class FakeSystem {
 public:
  void file(const std::string& path, const std::string& text) {
    const std::string whole = root + path;
    std::filesystem::create_directories(std::filesystem::path(whole).parent_path());
    testing::write_file(whole, text);
  }
  // A group of version 2 with a limit and what is used of it, in MiB.
  void second(const std::string& folder, const std::string& limit, int64_t used, int64_t cached_files = 0) {
    file(folder + "/memory.max", limit + "\n");
    file(folder + "/memory.high", "max\n");
    file(folder + "/memory.current", std::to_string(used * kMiB) + "\n");
    file(folder + "/memory.stat", "anon 1\ninactive_file " + std::to_string(cached_files * kMiB) + "\nactive_file 0\n");
  }
  int64_t limit() const { return SystemLimits(root.c_str()).read().limit; }
  int64_t room() const { return SystemLimits(root.c_str()).read().room; }

  std::string root = testing::fresh_folder();
};

const char kMountsOfVersion2[] =
    "22 1 0:20 / /proc rw - proc proc rw\n30 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 master:1 - cgroup2 cgroup2 "
    "rw,nsdelegate\n";

TEST(SystemLimits, NothingReadableLimitsNothing) {
  FakeSystem system;
  EXPECT_EQ(system.limit(), INT64_MAX);
  EXPECT_EQ(system.room(), INT64_MAX);
  for (const char* text : {"", "\n", ":::", "0::", "0::/x\n", "garbage without colons", "9:memory:/a\n0::/b"}) {
    system.file("/proc/self/cgroup", text);
    for (const char* mounts : {"", "\n", " - ", "1 2 3 - cgroup2", "30 22 0:26 / /sys/fs/cgroup rw - cgroup2 x y\n"}) {
      system.file("/proc/self/mountinfo", mounts);
      EXPECT_EQ(system.limit(), INT64_MAX) << text << mounts;
      EXPECT_EQ(system.room(), INT64_MAX) << text << mounts;
    }
  }
}

TEST(SystemLimits, Version2TakesTheTightestOfAllAncestors) {
  FakeSystem system;
  system.file("/proc/self/cgroup", "0::/pods/one/app\n");
  system.file("/proc/self/mountinfo", kMountsOfVersion2);
  system.second("/sys/fs/cgroup/pods/one/app", "max", 10);
  EXPECT_EQ(system.limit(), INT64_MAX);
  system.second("/sys/fs/cgroup/pods/one", std::to_string(700 * kMiB), 100);
  system.second("/sys/fs/cgroup/pods", std::to_string(900 * kMiB), 600);
  EXPECT_EQ(system.limit(), 700 * kMiB);
  EXPECT_EQ(system.room(), 300 * kMiB) << "the pods' other member uses most of theirs";
  system.file("/sys/fs/cgroup/pods/one/app/memory.high", "104857600\n");
  EXPECT_EQ(system.limit(), 100 * kMiB) << "beyond memory.high a process is slowed down to a crawl";
  system.file("/sys/fs/cgroup/pods/one/app/memory.high", "99999999999999999999999\n");
  EXPECT_EQ(system.limit(), 700 * kMiB);
}

TEST(SystemLimits, PagesOfFilesCountAsFree) {
  FakeSystem system;
  system.file("/proc/self/cgroup", "0::/app\n");
  system.file("/proc/self/mountinfo", kMountsOfVersion2);
  system.second("/sys/fs/cgroup/app", std::to_string(512 * kMiB), 500, 200);
  EXPECT_EQ(system.room(), 212 * kMiB);
  system.second("/sys/fs/cgroup/app", std::to_string(512 * kMiB), 600);
  EXPECT_EQ(system.room(), -88 * kMiB);
}

TEST(SystemLimits, Version1) {
  FakeSystem system;
  system.file("/proc/self/cgroup", "5:cpu,cpuacct:/a\n4:hugetlb,memory:/a/b\n0::/\n");
  system.file("/proc/self/mountinfo",
              "31 30 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
              "32 30 0:28 / /sys/fs/cgroup/my\\040memory rw - cgroup cgroup rw,memory,hugetlb\n"
              "33 30 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  const std::string top = "/sys/fs/cgroup/my memory";
  system.file(top + "/memory.limit_in_bytes", "9223372036854771712\n");
  system.file(top + "/a/memory.limit_in_bytes", std::to_string(600 * kMiB));
  system.file(top + "/a/memory.usage_in_bytes", std::to_string(590 * kMiB));
  system.file(top + "/a/memory.stat", "active_file 7\ntotal_inactive_file 1048576\ntotal_active_file 2097152\n");
  system.file(top + "/a/b/memory.limit_in_bytes", std::to_string(800 * kMiB));
  system.file(top + "/a/b/memory.usage_in_bytes", std::to_string(20 * kMiB));
  system.file("/sys/fs/cgroup/cpu/a/memory.limit_in_bytes", "1");
  EXPECT_EQ(system.limit(), 600 * kMiB);
  EXPECT_EQ(system.room(), 13 * kMiB);
  system.file(top + "/a/b/memory.stat", "hierarchical_memory_limit 419430400\n");
  EXPECT_EQ(system.limit(), 400 * kMiB) << "an ancestor outside the mount";
}

TEST(SystemLimits, MountsThatShowAPartAndOtherNamespaces) {
  FakeSystem system;
  system.file("/proc/self/mountinfo", "30 22 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
  system.second("/sys/fs/cgroup", std::to_string(300 * kMiB), 0);
  system.second("/sys/fs/cgroup/inner", std::to_string(200 * kMiB), 0);
  for (const auto& [path, expected] : std::vector<std::pair<std::string, int64_t>>{{"/docker/abc", 300},
                                                                                   {"/docker/abc/inner", 200},
                                                                                   {"/docker/abcd/inner", 300},
                                                                                   {"/", 300},
                                                                                   {"/../../inner", 300}}) {
    system.file("/proc/self/cgroup", "0::" + path + "\n");
    EXPECT_EQ(system.limit(), expected * kMiB) << path;
  }
}

TEST(SystemLimits, PathsThatAreTooLongLimitNothing) {
  FakeSystem system;
  system.file("/proc/self/cgroup", "0::/" + std::string(5000, 'a') + "\n");
  system.file("/proc/self/mountinfo", kMountsOfVersion2);
  EXPECT_EQ(system.limit(), INT64_MAX);
  system.file("/proc/self/mountinfo", "30 22 0:26 / /" + std::string(5000, 'm') + " rw - cgroup2 cgroup2 rw\n");
  EXPECT_EQ(system.limit(), INT64_MAX);
}

TEST(SystemLimits, TheMachinesMemory) {
  FakeSystem system;
  system.file("/proc/meminfo",
              "MemTotal:       16777216 kB\nMemFree:         1048576 kB\nMemAvailable:    8388608 kB\n");
  EXPECT_EQ(system.limit(), 16384 * kMiB);
  EXPECT_EQ(system.room(), 8192 * kMiB);
}

TEST(SystemLimits, ReadsThisMachine) {
  const SystemLimits::Reading reading = SystemLimits().read();
  EXPECT_GT(reading.limit, 64 * kMiB);
  EXPECT_LT(reading.limit, int64_t{1} << 50);
  EXPECT_LE(reading.room, reading.limit);
}

TEST(ParseBytes, NumbersAndUnits) {
  const std::vector<std::pair<const char*, int64_t>> cases = {{"0", 0},
                                                              {"1", 1},
                                                              {"268435456", 268435456},
                                                              {"3K", 3072},
                                                              {"256M", 256 * kMiB},
                                                              {"256MB", 256 * kMiB},
                                                              {"2 GiB", 2048 * kMiB},
                                                              {"1T", 1024 * 1024 * kMiB},
                                                              {"5B", 5},
                                                              {"", -1},
                                                              {"M", -1},
                                                              {"-1", -1},
                                                              {"1.5G", -1},
                                                              {"1 Q", -1},
                                                              {"1Mx", -1},
                                                              {"1M 2", -1},
                                                              {"9223372036854775808", -1},
                                                              {"9999999999T", -1}};
  for (const auto& [text, bytes] : cases) EXPECT_EQ(memory_internal::parse_bytes(text), bytes) << text;
}

// The allocator in a container of 512 MiB. Pages that nobody touches cost this machine nothing.
class SmallContainer : public ::testing::Test {
 protected:
  void SetUp() override {
    if (C10_SANITIZED_ALLOCATION) GTEST_SKIP() << "nothing is cached";
    empty_cpu_cache();
    small_ = cpu_memory_stats().cached_bytes;
    system_.file("/proc/self/cgroup", "0::/app\n");
    system_.file("/proc/self/mountinfo", kMountsOfVersion2);
    use(0);
    memory_internal::set_system_root(system_.root.c_str());
  }
  void TearDown() override {
    memory_internal::set_system_root("");
    set_cpu_cache_limit(std::nullopt);
  }
  void use(int64_t mebibytes) { system_.second("/sys/fs/cgroup/app", std::to_string(512 * kMiB), mebibytes); }
  static void* take(int64_t mebibytes) { return cpu_alloc(static_cast<size_t>(mebibytes * kMiB)); }
  static void give(void* block, int64_t mebibytes) { cpu_free(block, static_cast<size_t>(mebibytes * kMiB)); }

  int64_t cached() const { return cpu_memory_stats().cached_bytes - small_; }

  FakeSystem system_;
  int64_t small_ = 0;  // blocks of up to 8 KiB, which the bound does not concern
};

TEST_F(SmallContainer, TheCacheTakesAQuarter) {
  EXPECT_EQ(cpu_system_memory_limit(), 512 * kMiB);
  EXPECT_EQ(cpu_cache_limit(), 128 * kMiB);
  for (int64_t size = 20; size < 120; size += 8) {
    give(take(size), size);
    EXPECT_LE(cached(), 128 * kMiB);
  }
}

TEST_F(SmallContainer, UsedAndCachedBlocksTogetherKeepOutOfTheLastQuarter) {
  give(take(100), 100);
  std::vector<void*> held;
  for (int i = 0; i < 8; ++i) {
    held.push_back(take(40));
    EXPECT_LE(cpu_memory_stats().reserved_bytes, 384 * kMiB) << i;
  }
  // Without a limit of the allocator's own, callers may hold more than that.
  for (int i = 0; i < 8; ++i) held.push_back(take(40));
  EXPECT_GE(cpu_memory_stats().allocated_bytes, 640 * kMiB);
  for (void* block : held) give(block, 40);
  EXPECT_LE(cached(), 128 * kMiB);
}

TEST_F(SmallContainer, GivesBackWhereOthersUseTheMemory) {
  give(take(100), 100);
  EXPECT_GE(cached(), 100 * kMiB);
  use(480);
  void* const block = take(16);
  EXPECT_LE(cached(), 20 * kMiB);
  give(block, 16);
}

TEST_F(SmallContainer, ALimitThatChangesIsSeen) {
  give(take(100), 100);
  system_.file("/sys/fs/cgroup/app/memory.max", std::to_string(160 * kMiB));
  give(take(17), 17);
  EXPECT_EQ(cpu_system_memory_limit(), 160 * kMiB);
  EXPECT_LE(cached(), 40 * kMiB);
}

TEST_F(SmallContainer, TheBoundCanBeSet) {
  set_cpu_cache_limit(50 * kMiB);
  EXPECT_EQ(cpu_cache_limit(), 50 * kMiB);
  void* const block = take(40);
  give(take(30), 30);
  const int64_t before = cached();
  give(block, 40);
  EXPECT_LT(cached(), before + 40 * kMiB);
  set_cpu_cache_limit(0);
  give(take(30), 30);
  EXPECT_EQ(cached(), 0);
  set_cpu_cache_limit(std::nullopt);
  EXPECT_EQ(cpu_cache_limit(), 128 * kMiB);
  EXPECT_THROW(set_cpu_cache_limit(-1), ValueError);
}

// The rest needs a process that has not read its environment yet.
TEST(CacheLimitDeathTest, TheEnvironmentSetsIt) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  if (C10_SANITIZED_ALLOCATION) GTEST_SKIP() << "nothing is cached";
  const auto bound_with = [](const char* text) {
    setenv("KINDLING_CPU_CACHE_LIMIT", text, 1);
    cpu_free(cpu_alloc(20 * kMiB), 20 * kMiB);
    std::fprintf(stderr, "bound %lld\n", static_cast<long long>(cpu_cache_limit()));
    std::_Exit(0);
  };
  EXPECT_EXIT(bound_with("48M"), ::testing::ExitedWithCode(0), "bound 50331648");
  EXPECT_EXIT(bound_with("0"), ::testing::ExitedWithCode(0), "bound 0");
  EXPECT_EXIT(
      {
        try {
          bound_with("many");
        } catch (const ValueError& e) {
          std::fputs(e.what(), stderr);
          std::_Exit(0);
        }
      },
      ::testing::ExitedWithCode(0), "KINDLING_CPU_CACHE_LIMIT is 'many', which is no number of bytes");
  const auto set_first = [] {
    setenv("KINDLING_CPU_CACHE_LIMIT", "48M", 1);
    set_cpu_cache_limit(64 * kMiB);
    cpu_free(cpu_alloc(20 * kMiB), 20 * kMiB);
    std::fprintf(stderr, "bound %lld\n", static_cast<long long>(cpu_cache_limit()));
    std::_Exit(0);
  };
  EXPECT_EXIT(set_first(), ::testing::ExitedWithCode(0), "bound 67108864");
}

TEST(CacheLimitDeathTest, ResourceLimitsCount) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  if (C10_SANITIZED_ALLOCATION) GTEST_SKIP() << "sanitizers reserve more";
  // Blocks of ever new sizes, each written, that would fill the cache far beyond the limit; malloc must find memory
  // too.
  const auto run = [](auto resource) {
    const rlimit limit{size_t{512} << 20, size_t{512} << 20};
    if (setrlimit(resource, &limit) != 0) std::_Exit(3);
    for (int64_t size = 9000; size < 120 * kMiB; size += size / 6) {
      char* const block = static_cast<char*>(cpu_alloc(static_cast<size_t>(size)));
      for (int64_t i = 0; i < size; i += 4096) block[i] = 1;
      cpu_free(block, static_cast<size_t>(size));
      void* volatile other = std::malloc(100 * kMiB);  // not to be optimised away
      if (other == nullptr) std::_Exit(4);
      std::free(other);
    }
    std::_Exit(cpu_cache_limit() <= 128 * kMiB ? 0 : 5);
  };
  EXPECT_EXIT(run(RLIMIT_AS), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(run(RLIMIT_DATA), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace c10

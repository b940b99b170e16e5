#include "tests/cuda_on_host/simt/counts.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "c10/cuda/launch.h"
#include "tests/cuda_on_host/simt/watch.h"

namespace {

using simt::KernelCounts;

// Of the kernels here: what stands in the program itself is constants, and is not counted.
struct alignas(64) Memory {
  float v[512];
};
float* const g_from = (new Memory)->v;
float* const g_to = (new Memory)->v;

class Counts : public testing::Test {
 protected:
  void SetUp() override {
#ifndef __clang__
    GTEST_SKIP() << "only Clang reports accesses";
#endif
    if (!simt::options().watch) GTEST_SKIP() << "a sanitizer looks in the executor's stead";
  }

  static KernelCounts of(dim3 blocks, dim3 threads, const std::function<void()>& kernel) {
    simt::start_counting();
    simt::run({blocks, threads, 0, "counted"}, kernel);
    return simt::stop_counting().at("counted");
  }
};

TEST_F(Counts, NeighboursShareSectors) {
  const KernelCounts c = of(2, 128, [] { g_to[blockIdx.x * 128 + threadIdx.x] = g_from[blockIdx.x * 128 + threadIdx.x]; });
  EXPECT_EQ(c.launches, 1);
  EXPECT_EQ(c.blocks, 2);
  EXPECT_EQ(c.threads, 256);
  EXPECT_EQ(c.loads.requests, 8);
  EXPECT_EQ(c.loads.bytes, 1024);
  EXPECT_EQ(c.loads.sectors, 32);
  EXPECT_EQ(c.loads.first_sectors, 32);
  EXPECT_EQ(c.stores.requests, 8);
  EXPECT_EQ(c.stores.sectors, 32);
}

TEST_F(Counts, EveryEighthElementHasASectorOfItsOwn) {
  const KernelCounts c = of(1, 32, [] { g_to[threadIdx.x] = g_from[threadIdx.x * 8]; });
  EXPECT_EQ(c.loads.bytes, 128);
  EXPECT_EQ(c.loads.sectors, 32);
  EXPECT_EQ(c.stores.sectors, 4);
}

TEST_F(Counts, WhatIsReadTwiceCountsOnceAmongFirstSectors) {
  const KernelCounts c = of(3, 32, [] { g_to[blockIdx.x * 32 + threadIdx.x] = g_from[0]; });
  EXPECT_EQ(c.loads.requests, 3);
  EXPECT_EQ(c.loads.bytes, 3 * 128);
  EXPECT_EQ(c.loads.sectors, 3);
  EXPECT_EQ(c.loads.first_sectors, 1);
}

TEST_F(Counts, AVectorIsOneRequest) {
  struct alignas(16) Vector {
    float v[4];
  };
  const KernelCounts c = of(1, 32, [] {
    Vector v = c10::cuda::load_aligned<Vector>(g_from + threadIdx.x * 4);
    for (float& x : v.v) x += 1;
    c10::cuda::store_aligned(g_to + threadIdx.x * 4, v);
  });
  EXPECT_EQ(c.loads.requests, 1);
  EXPECT_EQ(c.loads.bytes, 512);
  EXPECT_EQ(c.loads.sectors, 16);
  EXPECT_EQ(c.stores.requests, 1);
  EXPECT_EQ(c.stores.bytes, 512);
}

TEST_F(Counts, TurnsOfALoopAreRequestsOfTheirOwn) {
  const KernelCounts c = of(1, 32, [] {
    for (volatile unsigned turn = 0; turn < 3; turn = turn + 1) g_to[turn * 32 + threadIdx.x] = 1;
  });
  EXPECT_EQ(c.stores.requests, 3);
  EXPECT_EQ(c.stores.sectors, 12);
}

TEST_F(Counts, LanesThatAreNotThereAskForNothing) {
  const KernelCounts c = of(1, 40, [] {
    if (threadIdx.x % 2 == 0) g_to[threadIdx.x] = 1;
  });
  EXPECT_EQ(c.stores.requests, 2);
  EXPECT_EQ(c.stores.bytes, 80);
}

TEST_F(Counts, BanksThatMeetWait) {
  static unsigned stride;
  const auto wavefronts = [](unsigned apart) {
    stride = apart;
    const KernelCounts c = of(1, 32, [] {
      __shared__ float values[32 * 33];
      values[threadIdx.x * stride] = 1;
      __syncthreads();
      g_to[threadIdx.x] = values[threadIdx.x];
    });
    EXPECT_EQ(c.shared_requests, 2);
    EXPECT_EQ(c.least_shared_wavefronts, 2);
    return c.shared_wavefronts;
  };
  EXPECT_EQ(wavefronts(1), 2);
  EXPECT_EQ(wavefronts(2), 3);
  EXPECT_EQ(wavefronts(32), 33);
  EXPECT_EQ(wavefronts(33), 2);
}

TEST_F(Counts, AtomicsAreCounted) {
  const KernelCounts c = of(2, 32, [] { atomicAdd(g_to, 1.0f); });
  EXPECT_EQ(c.atomics, 64);
  EXPECT_EQ(c.loads.requests + c.stores.requests, 0);
}

TEST_F(Counts, NothingIsCountedBeforeAndAfter) {
  simt::start_counting();
  EXPECT_TRUE(simt::stop_counting().empty());
  simt::run({1, 1, 0, "not_counted"}, [] {});
  EXPECT_TRUE(simt::stop_counting().empty());
}

}  // namespace

// Barriers, collectives, orders, shared memory, intrinsics; and what ends a launch with a fault.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <numeric>
#include <set>
#include <string>
#include <vector>

namespace {

constexpr unsigned kAll = 0xffffffffu;

// Runs under an order; options are those from before afterwards.
class Ordered {
 public:
  explicit Ordered(simt::Order order, uint64_t seed = 0) { simt::options().order = order, simt::options().seed = seed; }
  ~Ordered() { simt::options() = before_; }

 private:
  const simt::Options before_ = simt::options();
};

template <class Check>
void in_all_orders(Check check) {
  for (const auto& [order, seed] : {std::pair(simt::Order::kForward, 0), std::pair(simt::Order::kReverse, 0),
                                    std::pair(simt::Order::kRandom, 1), std::pair(simt::Order::kRandom, 2)}) {
    const Ordered ordered(order, static_cast<uint64_t>(seed));
    SCOPED_TRACE(testing::Message() << "order " << static_cast<int>(order) << " seed " << seed);
    check();
  }
}

// The message of the fault that ends the launch; "" if none does.
template <class Kernel>
std::string fault_of(dim3 blocks, dim3 threads, Kernel kernel) {
  try {
    simt::run({blocks, threads, 0, "planted"}, kernel);
  } catch (const simt::KernelFault& fault) {
    return fault.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Grid, RunsEveryThreadOnce) {
  in_all_orders([] {
    std::vector<int> runs(2 * 3 * 2 * 40 * 2 * 2);
    simt::run({{2, 3, 2}, {40, 2, 2}}, [&] {
      const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
      const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
      ++runs[block * 160 + thread];
    });
    EXPECT_EQ(runs, std::vector<int>(runs.size(), 1));
  });
}

TEST(Grid, OrdersDiffer) {
  std::set<std::vector<int>> seen;
  in_all_orders([&] {
    std::vector<int> order;
    simt::options().watch = false;  // a vector of one thread's
    simt::run({8, 1}, [&] { order.push_back(static_cast<int>(blockIdx.x)); });
    seen.insert(order);
  });
  EXPECT_EQ(seen.size(), 4u);
  EXPECT_TRUE(seen.count({7, 6, 5, 4, 3, 2, 1, 0}));
}

TEST(Barrier, OrdersSharedMemory) {
  in_all_orders([] {
    std::vector<int> sums(3);
    simt::run({3, 100}, [&] {
      __shared__ int values[100];
      values[threadIdx.x] = static_cast<int>(threadIdx.x);
      __syncthreads();
      for (int step = 64; step > 0; step /= 2) {
        if (static_cast<int>(threadIdx.x) < step && static_cast<int>(threadIdx.x) + step < 100) {
          values[threadIdx.x] += values[static_cast<int>(threadIdx.x) + step];
        }
        __syncthreads();
      }
      if (threadIdx.x == 0) sums[blockIdx.x] = values[0];
    });
    EXPECT_EQ(sums, (std::vector<int>{4950, 4950, 4950}));
  });
}

TEST(Barrier, CountsAndsAndOrs) {
  std::vector<std::array<int, 3>> results(70);
  simt::run({1, 70}, [&] {
    const int odd = threadIdx.x % 2 != 0;
    results[threadIdx.x] = {__syncthreads_count(odd), __syncthreads_and(threadIdx.x < 70),
                            __syncthreads_or(threadIdx.x == 69)};
  });
  for (const auto& result : results) EXPECT_EQ(result, (std::array{35, 1, 1}));
}

TEST(Memory, SharedMemoryIsPoisonedForEveryBlock) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "under ASan shared memory lies among the program's statics";
#endif
#endif
  std::vector<unsigned> found(2);
  simt::run({2, 1}, [&] {
    __shared__ unsigned value;
    found[blockIdx.x] = value;
    value = 1;
  });
  EXPECT_EQ(found, (std::vector<unsigned>{kAll, kAll}));
}

TEST(Memory, DynamicSharedMemory) {
  std::vector<float> sums(2);
  simt::run({2, 64, 64 * sizeof(float)}, [&] {
    float* values = static_cast<float*>(simt::dynamic_shared());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(values) % 128, 0u);
    values[threadIdx.x] = 2;
    __syncthreads();
    if (threadIdx.x == 0) sums[blockIdx.x] = std::accumulate(values, values + 64, 0.0f);
  });
  EXPECT_EQ(sums, (std::vector<float>{128, 128}));
}

TEST(Warp, Shuffles) {
  in_all_orders([] {
    std::vector<std::array<int, 5>> got(32);
    simt::run({1, 32}, [&] {
      const int lane = static_cast<int>(threadIdx.x);
      got[threadIdx.x] = {__shfl_sync(kAll, lane, 5), __shfl_up_sync(kAll, lane, 3), __shfl_down_sync(kAll, lane, 3),
                          __shfl_xor_sync(kAll, lane, 16), __shfl_sync(kAll, lane, 3, 8)};
    });
    for (int lane = 0; lane < 32; ++lane) {
      EXPECT_EQ(got[static_cast<size_t>(lane)],
                (std::array{5, lane < 3 ? lane : lane - 3, lane > 28 ? lane : lane + 3, lane ^ 16, lane / 8 * 8 + 3}));
    }
  });
}

TEST(Warp, ShufflesOfParts) {
  std::vector<double> got(32);
  simt::run({1, 32}, [&] {
    const unsigned mask = threadIdx.x < 16 ? 0xffffu : 0xffff0000u;
    got[threadIdx.x] = __shfl_down_sync(mask, static_cast<double>(threadIdx.x), 1, 16);
  });
  for (unsigned lane = 0; lane < 32; ++lane) EXPECT_EQ(got[lane], lane % 16 == 15 ? lane : lane + 1);
}

TEST(Warp, VotesMatchesAndReductions) {
  in_all_orders([] {
    std::vector<std::array<unsigned, 8>> got(32);
    simt::run({1, 32}, [&] {
      const unsigned lane = threadIdx.x;
      int all = 0;
      got[lane] = {__ballot_sync(kAll, lane % 2),
                   static_cast<unsigned>(__any_sync(kAll, lane == 31)),
                   static_cast<unsigned>(__all_sync(kAll, lane != 31)),
                   __match_any_sync(kAll, lane % 3),
                   __match_all_sync(kAll, 7u, &all),
                   __reduce_add_sync(kAll, lane),
                   __reduce_max_sync(kAll, lane ^ 5),
                   __reduce_xor_sync(kAll, 1u << lane)};
    });
    for (unsigned lane = 0; lane < 32; ++lane) {
      unsigned same = 0;
      for (unsigned other = lane % 3; other < 32; other += 3) same |= 1u << other;
      EXPECT_EQ(got[lane], (std::array<unsigned, 8>{0xaaaaaaaau, 1, 0, same, kAll, 496, 31, kAll}));
    }
  });
}

TEST(Warp, TheLastWarpMayBeShort) {
  std::vector<unsigned> got(40);
  simt::run({1, 40}, [&] { got[threadIdx.x] = __ballot_sync(threadIdx.x < 32 ? kAll : 0xffu, 1); });
  EXPECT_EQ(got[0], kAll);
  EXPECT_EQ(got[39], 0xffu);
}

TEST(Atomics, AddUpFromAllThreads) {
  in_all_orders([] {
    int sum = 0;
    float real = 0;
    unsigned largest = 0, turns = 0;
    simt::run({4, 50}, [&] {
      atomicAdd(&sum, 2);
      atomicAdd(&real, 0.5f);
      atomicMax(&largest, blockIdx.x * 50 + threadIdx.x);
      atomicInc(&turns, 7);
    });
    EXPECT_EQ(sum, 400);
    EXPECT_EQ(real, 100.0f);
    EXPECT_EQ(largest, 199u);
    EXPECT_EQ(turns, 200u % 8);
  });
}

TEST(Intrinsics, BitsAndConversions) {
  EXPECT_EQ(__brev(1), 0x80000000u);
  EXPECT_EQ(__clz(0), 32);
  EXPECT_EQ(__ffs(8), 4);
  EXPECT_EQ(__umulhi(0x80000000u, 6), 3u);
  EXPECT_EQ(__umul64hi(1ull << 63, 6), 3ull);
  EXPECT_EQ(__byte_perm(0x33221100u, 0x77665544u, 0x7531), 0x77553311u);
  EXPECT_EQ(__byte_perm(0x00008000u, 0, 0x0009), 0xffu);
  EXPECT_EQ(__funnelshift_l(0x80000000u, 1, 1), 3u);
  EXPECT_EQ(__funnelshift_r(2, 1, 1), 0x80000001u);
  EXPECT_EQ(__float2int_rn(2.5f), 2);
  EXPECT_EQ(__float2int_rz(1e20f), std::numeric_limits<int>::max());
  EXPECT_EQ(__float2int_rz(-1e20f), std::numeric_limits<int>::min());
  EXPECT_EQ(__float2int_rn(NAN), 0);
  EXPECT_EQ(__double2hiint(__hiloint2double(5, 7)), 5);
}

TEST(Fault, ABarrierThatNotAllReach) {
  in_all_orders([] {
    const std::string fault = fault_of(1, 64, [] {
      if (threadIdx.x == 40) return;
      __syncthreads();
    });
    EXPECT_TRUE(contains(fault, "planted: ")) << fault;
    EXPECT_TRUE(contains(fault, "not reached by all threads")) << fault;
    EXPECT_TRUE(contains(fault, "simt_test.cc:")) << fault;
  });
}

TEST(Fault, BarriersOfDifferentKinds) {
  const std::string fault = fault_of(1, 64, [] {
    if (threadIdx.x < 32)
      __syncthreads();
    else
      __syncthreads_count(1);
  });
  EXPECT_TRUE(contains(fault, "different kinds of barrier")) << fault;
}

TEST(Fault, LanesThatHaveEnded) {
  in_all_orders([] {
    const std::string fault = fault_of(1, 32, [] {
      if (threadIdx.x < 5) return;
      __shfl_sync(kAll, 1, 0);
    });
    EXPECT_TRUE(contains(fault, "has ended") || contains(fault, "deadlock")) << fault;
  });
}

TEST(Fault, MasksThatAreWrong) {
  EXPECT_TRUE(contains(fault_of(1, 32, [] { __syncwarp(1); }), "is not in its mask"));
  EXPECT_TRUE(
      contains(fault_of(1, 32, [] { __ballot_sync(threadIdx.x == 31 ? 0x80000001u : kAll, 1); }), "mask differs"));
  EXPECT_TRUE(contains(fault_of(1, 20, [] { __ballot_sync(kAll, 1); }), "is not there"));
}

TEST(Fault, DifferentCollectives) {
  const std::string fault = fault_of(1, 32, [] {
    if (threadIdx.x % 2)
      __syncwarp();
    else
      __ballot_sync(kAll, 1);
  });
  EXPECT_TRUE(contains(fault, "meets")) << fault;
}

TEST(Fault, ADeadlockSaysWhoWaits) {
  const std::string fault = fault_of(1, 64, [] {
    if (threadIdx.x == 3)
      __syncwarp();
    else
      __syncthreads();
  });
  EXPECT_TRUE(contains(fault, "deadlock")) << fault;
  EXPECT_TRUE(contains(fault, "thread (3,0,0) of block (0,0,0) waits in __syncwarp") ||
              contains(fault, "waits in __syncthreads"))
      << fault;
}

TEST(Fault, TrapsAndMisalignedAtomics) {
  EXPECT_TRUE(contains(fault_of(2, 1,
                                [] {
                                  if (blockIdx.x == 1) __trap();
                                }),
                       "__trap at"));
  alignas(8) char bytes[8] = {};
  EXPECT_TRUE(contains(fault_of(1, 1, [&] { atomicAdd(reinterpret_cast<int*>(bytes + 1), 1); }), "misaligned"));
}

TEST(Fault, TheNextLaunchIsWhole) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_NE(fault_of(1, 256,
                       [] {
                         if (threadIdx.x != 7) __syncthreads();
                       }),
              "");
    int sum = 0;
    EXPECT_EQ(fault_of(1, 256,
                       [&] {
                         __shared__ int part[256];
                         part[threadIdx.x] = 1;
                         __syncthreads();
                         if (threadIdx.x == 0) sum = std::accumulate(part, part + 256, 0);
                       }),
              "");
    EXPECT_EQ(sum, 256);
  }
}

}  // namespace

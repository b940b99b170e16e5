// What the executor finds in the use of c10/cuda/ptx.h's instructions, and how it counts them. What they compute is
// //c10/cuda:ptx_test's.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "c10/cuda/ptx.h"
#include "tests/cuda_on_host/simt/counts.h"

namespace {

namespace ptx = c10::cuda::ptx;

constexpr unsigned kLanes = 32;

void in_all_orders(const std::function<void()>& check) {
  const simt::Options before = simt::options();
  for (const auto& [order, seed] : {std::pair(simt::Order::kForward, 0), std::pair(simt::Order::kReverse, 0),
                                    std::pair(simt::Order::kRandom, 1), std::pair(simt::Order::kRandom, 2)}) {
    simt::options().order = order, simt::options().seed = static_cast<uint64_t>(seed);
    SCOPED_TRACE(testing::Message() << "order " << static_cast<int>(order) << " seed " << seed);
    check();
  }
  simt::options() = before;
}

template <class Kernel>
std::string fault_of(dim3 threads, Kernel kernel, size_t shared = 4096) {
  try {
    simt::run({1, threads, shared, "planted"}, kernel);
  } catch (const simt::KernelFault& fault) {
    return fault.what();
  }
  return "";
}

void expect_fault(const std::string& fault, const std::string& part) {
  EXPECT_NE(fault.find(part), std::string::npos) << "'" << fault << "' lacks '" << part << "'";
}

bool sees_accesses() {
#ifdef __clang__
  return simt::options().watch;
#else
  return false;
#endif
}

// --- matrices from shared memory ---

TEST(Instructions, WrongLoadsOfMatricesAreFound) {
  in_all_orders([] {
    expect_fault(fault_of(kLanes,
                          [] {
                            auto* const tile = c10::cuda::dynamic_shared<char>();
                            uint32_t words[4];
                            ptx::ldmatrix(words, tile + 16 * threadIdx.x + (threadIdx.x == 17 ? 8 : 0));
                          }),
                 "ldmatrix: an address is not a multiple of 16");
    expect_fault(fault_of(kLanes,
                          [] {
                            if (threadIdx.x == 5) return;
                            uint32_t words[1];
                            ptx::ldmatrix(words, c10::cuda::dynamic_shared<char>());
                          }),
                 "ldmatrix.x1");
    expect_fault(fault_of(kLanes,
                          [] {
                            uint32_t words[2];
                            char* const tile = c10::cuda::dynamic_shared<char>();
                            threadIdx.x < 16 ? ptx::ldmatrix(words, tile) : ptx::ldmatrix_trans(words, tile);
                          }),
                 "meets ldmatrix.x2");
    if (!sees_accesses()) return;
    alignas(16) static char elsewhere[16];
    expect_fault(fault_of(kLanes,
                          [] {
                            uint32_t words[1];
                            ptx::ldmatrix(words, elsewhere);
                          }),
                 "ldmatrix: an address is not in shared memory");
    expect_fault(fault_of(64,
                          [] {
                            auto* const tile = c10::cuda::dynamic_shared<uint16_t>();
                            for (unsigned i = 0; i < 8; ++i) tile[threadIdx.x * 8 + i] = 1;
                            uint32_t words[4];
                            ptx::ldmatrix(words, tile + (threadIdx.x ^ 32) * 8);
                          }),
                 "race");
  });
}

TEST(Instructions, BanksOfLoadedMatricesAreCounted) {
  if (!sees_accesses()) GTEST_SKIP() << "nobody reports accesses";
  static bool swizzled;
  const auto wavefronts = [](bool spread) {
    swizzled = spread;
    simt::start_counting();
    simt::run({1, kLanes, 32 * 128, "counted"}, [] {
      uint32_t words[4];
      const unsigned row = threadIdx.x, part = swizzled ? row % 8 : 0;
      ptx::ldmatrix(words, c10::cuda::dynamic_shared<char>() + row * 128 + part * 16);
    });
    return simt::stop_counting().at("counted").shared_wavefronts;
  };
  EXPECT_EQ(wavefronts(false), 4 * 8);
  EXPECT_EQ(wavefronts(true), 4);
}

// --- products ---

template <int kWhich>
void multiply() {
  const uint32_t a[4] = {}, b[2] = {};
  float d[4] = {};
  if (kWhich == 0) ptx::mma_m16n8k16_f16(d, a, b);
  if (kWhich == 1) ptx::mma_m16n8k16_bf16(d, a, b);
  if (kWhich == 2) ptx::mma_m16n8k8_tf32(d, a, b);
}

TEST(Instructions, LanesThatMissAProductAreFound) {
  in_all_orders([] {
    expect_fault(fault_of(kLanes,
                          [] {
                            if (threadIdx.x >= 24) return;
                            multiply<0>();
                          }),
                 "mma.m16n8k16.f16");
    expect_fault(fault_of(kLanes, [] { threadIdx.x % 2 == 0 ? multiply<0>() : multiply<1>(); }), "meets mma.m16n8k16");
    expect_fault(fault_of(20, [] { multiply<2>(); }), "mma.m16n8k8.tf32: lane");
  });
}

// --- copies ---

struct alignas(16) Block {
  float v[4];
};
struct alignas(64) Blocks {
  Block block[2 * kLanes];
};
Blocks* const g_from = new Blocks;
Blocks* const g_to = new Blocks;

Block* shared_blocks() {
  return c10::cuda::dynamic_shared<Block>();
}

// A copy of each thread's block to shared memory; then `wait`; then the neighbour's block goes to g_to.
template <class Wait>
std::string copy_and(Wait wait) {
  for (size_t i = 0; i < 2 * kLanes; ++i) {
    for (float& x : g_from->block[i].v) x = static_cast<float>(i);
  }
  return fault_of(2 * kLanes, [wait] {
    ptx::cp_async_16(&shared_blocks()[threadIdx.x], &g_from->block[threadIdx.x]);
    ptx::cp_async_commit_group();
    wait();
    c10::cuda::store_aligned(&g_to->block[threadIdx.x],
                             c10::cuda::load_aligned<Block>(&shared_blocks()[threadIdx.x ^ 33]));
  });
}

TEST(Instructions, WhatIsCopiedIsThereBehindTheWaitAndABarrier) {
  in_all_orders([] {
    EXPECT_EQ(copy_and([] {
                ptx::cp_async_wait_group<0>();
                __syncthreads();
              }),
              "");
    for (unsigned i = 0; i < 2 * kLanes; ++i) EXPECT_EQ(g_to->block[i].v[2], static_cast<float>(i ^ 33));
  });
}

TEST(Instructions, WaitsAndBarriersThatAreMissingAreFound) {
  if (!sees_accesses()) GTEST_SKIP() << "nobody reports accesses";
  in_all_orders([] {
    expect_fault(copy_and([] { __syncthreads(); }), "that cp.async is still to write");
    expect_fault(copy_and([] {
                   ptx::cp_async_wait_group<1>();
                   __syncthreads();
                 }),
                 "that cp.async is still to write");
    expect_fault(copy_and([] { ptx::cp_async_wait_group<0>(); }), "memory at");
    // Its own block, too, is there only when the thread has waited.
    expect_fault(fault_of(kLanes,
                          [] {
                            ptx::cp_async_16(&shared_blocks()[threadIdx.x], &g_from->block[threadIdx.x]);
                            g_to->block[threadIdx.x].v[0] = shared_blocks()[threadIdx.x].v[0];
                          }),
                 "instructions_test.cc:");
    // A tile that others still read is not to be overwritten.
    expect_fault(fault_of(2 * kLanes,
                          [] {
                            shared_blocks()[threadIdx.x].v[0] = 1;
                            __syncthreads();
                            g_to->block[threadIdx.x].v[0] = shared_blocks()[threadIdx.x ^ 33].v[0];
                            ptx::cp_async_16(&shared_blocks()[threadIdx.x], &g_from->block[threadIdx.x]);
                            ptx::cp_async_commit_group();
                            ptx::cp_async_wait_group<0>();
                          }),
                 "race");
    expect_fault(
        fault_of(kLanes, [] { ptx::cp_async_16(&shared_blocks()[threadIdx.x / 2], &g_from->block[threadIdx.x]); }),
        "that cp.async is still to write");
  });
}

TEST(Instructions, GroupsOfCopiesEndInTheirOrder) {
  in_all_orders([] {
    EXPECT_EQ(fault_of(kLanes,
                       [] {
                         const unsigned lane = ptx::laneid();
                         ptx::cp_async_16(&shared_blocks()[lane], &g_from->block[lane]);
                         ptx::cp_async_commit_group();
                         ptx::cp_async_16(&shared_blocks()[kLanes + lane], &g_from->block[kLanes + lane], 8);
                         ptx::cp_async_commit_group();
                         ptx::cp_async_wait_group<1>();
                         g_to->block[lane] = shared_blocks()[lane];
                         ptx::cp_async_wait_group<0>();
                         g_to->block[kLanes + lane] = shared_blocks()[kLanes + lane];
                       }),
              "");
    for (size_t i = 0; i < 2 * kLanes; ++i) {
      for (size_t k = 0; k < 4; ++k) {
        const bool copied = i < kLanes || k < 2;
        EXPECT_EQ(g_to->block[i].v[k], copied ? g_from->block[i].v[k] : 0.0f) << i << ", " << k;
      }
    }
  });
}

TEST(Instructions, MisalignedCopiesAreFound) {
  expect_fault(fault_of(1, [] { ptx::cp_async_16(&shared_blocks()->v[1], g_from); }),
               "cp.async: an address is not a multiple of 16");
  expect_fault(fault_of(1, [] { ptx::cp_async_16(shared_blocks(), &g_from->block[0].v[2]); }),
               "cp.async: an address is not a multiple of 16");
  expect_fault(fault_of(1, [] { ptx::cp_async_16(shared_blocks(), g_from, 17); }), "more than 16 bytes");
  expect_fault(fault_of(1, [] { ptx::cp_async_4(c10::cuda::dynamic_shared<char>() + 2, g_from); }),
               "cp.async: an address is not a multiple of 4");
}

TEST(Instructions, CopiesAreTraffic) {
  if (!sees_accesses()) GTEST_SKIP() << "nobody reports accesses";
  simt::start_counting();
  EXPECT_EQ(copy_and([] {
              ptx::cp_async_wait_group<0>();
              __syncthreads();
            }),
            "");
  const simt::KernelCounts c = simt::stop_counting().at("planted");
  EXPECT_EQ(c.loads.requests, 2);
  EXPECT_EQ(c.loads.bytes, 64 * 16);
  EXPECT_EQ(c.loads.sectors, 64 / 2);
  EXPECT_EQ(c.shared_requests, 4);
  EXPECT_EQ(c.shared_wavefronts, c.least_shared_wavefronts);
}

}  // namespace

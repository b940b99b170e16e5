// The models of c10/cuda/ptx.h against what PTX's documentation says of each instruction, in every order of threads;
// and what ends a launch with a fault.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

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

// What every lane's `body` leaves in its words.
template <class Word, size_t kWords>
using OfLanes = std::array<std::array<Word, kWords>, kLanes>;

// --- matrices from shared memory ---

// Element (row, column) of matrix m of the tile that the kernels below fill.
constexpr uint32_t element(uint32_t m, uint32_t row, uint32_t column) {
  return 1 + m * 64 + row * 8 + column;
}

template <int kCount>
void check_loads() {
  static OfLanes<uint32_t, kCount> plain, turned;
  in_all_orders([] {
    simt::run({1, kLanes, 4 * 64 * 2, "load"}, [] {
      auto* const tile = c10::cuda::dynamic_shared<uint16_t>();
      for (unsigned i = threadIdx.x; i < 256; i += kLanes)
        tile[i] = static_cast<uint16_t>(element(i / 64, i / 8 % 8, i % 8));
      __syncthreads();
      uint32_t words[kCount], others[kCount];
      // The addresses of lanes that have no row do not count.
      const unsigned lane = ptx::laneid();
      const void* const row = lane < 8 * kCount ? &tile[lane * 8] : nullptr;
      ptx::ldmatrix(words, row);
      ptx::ldmatrix_trans(others, row);
      for (int m = 0; m < kCount; ++m) {
        plain[lane][static_cast<size_t>(m)] = words[m];
        turned[lane][static_cast<size_t>(m)] = others[m];
      }
    });
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      const uint32_t group = lane / 4, place = lane % 4;
      for (uint32_t m = 0; m < kCount; ++m) {
        EXPECT_EQ(plain[lane][m], element(m, group, 2 * place) | element(m, group, 2 * place + 1) << 16);
        EXPECT_EQ(turned[lane][m], element(m, 2 * place, group) | element(m, 2 * place + 1, group) << 16);
      }
    }
  });
}

TEST(Instructions, OneTwoAndFourMatricesAreLoaded) {
  check_loads<1>();
  check_loads<2>();
  check_loads<4>();
}

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

// Rows and columns of a lane's elements as the documentation numbers them.
struct At {
  unsigned row, column;
};
At of_a16(unsigned lane, unsigned i) {
  return {i < 2 || (i >= 4 && i < 6) ? lane / 4 : lane / 4 + 8, lane % 4 * 2 + (i & 1) + (i < 4 ? 0 : 8)};
}
At of_b16(unsigned lane, unsigned i) {
  return {lane % 4 * 2 + (i & 1) + (i < 2 ? 0 : 8), lane / 4};
}
At of_a32(unsigned lane, unsigned i) {
  return {i == 0 || i == 2 ? lane / 4 : lane / 4 + 8, i < 2 ? lane % 4 : lane % 4 + 4};
}
At of_b32(unsigned lane, unsigned i) {
  return {i == 0 ? lane % 4 : lane % 4 + 4, lane / 4};
}
At of_c(unsigned lane, unsigned i) {
  return {i < 2 ? lane / 4 : lane / 4 + 8, lane % 4 * 2 + (i & 1)};
}

struct Matrices {
  float a[16][16], b[16][8], c[16][8];
};
Matrices g_of;
float g_result[16][8];

// Small multiples of 1/8: every sum is exact in float.
void fill_matrices(unsigned seed) {
  std::mt19937 random(seed);
  const auto number = [&] { return static_cast<float>(static_cast<int>(random() % 33) - 16) / 8; };
  for (auto& row : g_of.a) std::generate(std::begin(row), std::end(row), number);
  for (auto& row : g_of.b) std::generate(std::begin(row), std::end(row), number);
  for (auto& row : g_of.c) std::generate(std::begin(row), std::end(row), number);
}

enum class Type { kHalf, kBFloat16, kTf32 };

// A warp's product of g_of, whose words `Type`'s conversions make.
template <Type kType>
void multiply() {
  constexpr unsigned kEach = kType == Type::kTf32 ? 1 : 2;
  const unsigned lane = ptx::laneid();
  uint32_t a[4], b[2];
  float d[4];
  for (unsigned r = 0; r < 4; ++r) {
    if constexpr (kType == Type::kTf32) {
      const At at = of_a32(lane, r);
      a[r] = ptx::cvt_rna_tf32(g_of.a[at.row][at.column]);
    } else {
      const At low = of_a16(lane, kEach * r), high = of_a16(lane, kEach * r + 1);
      const float x = g_of.a[low.row][low.column], y = g_of.a[high.row][high.column];
      a[r] = kType == Type::kHalf ? ptx::cvt_rn_f16x2(x, y) : ptx::cvt_rn_bf16x2(x, y);
    }
    const At at = of_c(lane, r);
    d[r] = g_of.c[at.row][at.column];
  }
  for (unsigned r = 0; r < 2; ++r) {
    if constexpr (kType == Type::kTf32) {
      const At at = of_b32(lane, r);
      b[r] = ptx::cvt_rna_tf32(g_of.b[at.row][at.column]);
    } else {
      const At low = of_b16(lane, kEach * r), high = of_b16(lane, kEach * r + 1);
      const float x = g_of.b[low.row][low.column], y = g_of.b[high.row][high.column];
      b[r] = kType == Type::kHalf ? ptx::cvt_rn_f16x2(x, y) : ptx::cvt_rn_bf16x2(x, y);
    }
  }
  if constexpr (kType == Type::kHalf) ptx::mma_m16n8k16_f16(d, a, b);
  if constexpr (kType == Type::kBFloat16) ptx::mma_m16n8k16_bf16(d, a, b);
  if constexpr (kType == Type::kTf32) ptx::mma_m16n8k8_tf32(d, a, b);
  for (unsigned r = 0; r < 4; ++r) {
    const At at = of_c(lane, r);
    g_result[at.row][at.column] = d[r];
  }
}

template <Type kType>
void check_products() {
  constexpr int kDepth = kType == Type::kTf32 ? 8 : 16;
  unsigned seed = 0;
  in_all_orders([&seed] {
    fill_matrices(++seed);
    simt::run({1, kLanes, 0, "multiply"}, [] { multiply<kType>(); });
    for (int i = 0; i < 16; ++i) {
      for (int j = 0; j < 8; ++j) {
        double expected = g_of.c[i][j];
        for (int k = 0; k < kDepth; ++k) expected += static_cast<double>(g_of.a[i][k]) * g_of.b[k][j];
        EXPECT_EQ(g_result[i][j], expected) << i << ", " << j;
      }
    }
  });
}

TEST(Instructions, MatricesAreMultiplied) {
  check_products<Type::kHalf>();
  check_products<Type::kBFloat16>();
  check_products<Type::kTf32>();
}

TEST(Instructions, NumbersWithoutAValueStaySo) {
  fill_matrices(9);
  g_of.a[3][5] = std::numeric_limits<float>::quiet_NaN();
  g_of.b[1][6] = std::numeric_limits<float>::infinity();
  simt::run({1, kLanes, 0, "multiply"}, [] { multiply<Type::kBFloat16>(); });
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 8; ++j) EXPECT_EQ(std::isfinite(g_result[i][j]), i != 3 && j != 6) << i << ", " << j;
  }
}

TEST(Instructions, LanesThatMissAProductAreFound) {
  in_all_orders([] {
    expect_fault(fault_of(kLanes,
                          [] {
                            if (threadIdx.x >= 24) return;
                            multiply<Type::kHalf>();
                          }),
                 "mma.m16n8k16.f16");
    expect_fault(fault_of(kLanes, [] { threadIdx.x % 2 == 0 ? multiply<Type::kHalf>() : multiply<Type::kBFloat16>(); }),
                 "meets mma.m16n8k16");
    expect_fault(fault_of(20, [] { multiply<Type::kTf32>(); }), "mma.m16n8k8.tf32: lane");
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

TEST(Instructions, WordsAreCopied) {
  in_all_orders([] {
    EXPECT_EQ(fault_of(kLanes,
                       [] {
                         const unsigned lane = ptx::laneid();
                         float* const shared = c10::cuda::dynamic_shared<float>();
                         ptx::cp_async_4(&shared[lane], &g_from->block[lane].v[1], lane < 7 ? 4 : 0);
                         ptx::cp_async_commit_group();
                         ptx::cp_async_wait_group<0>();
                         g_to->block[lane].v[0] = shared[lane];
                       }),
              "");
    for (size_t i = 0; i < kLanes; ++i) EXPECT_EQ(g_to->block[i].v[0], i < 7 ? g_from->block[i].v[1] : 0.0f);
  });
  expect_fault(fault_of(1, [] { ptx::cp_async_4(c10::cuda::dynamic_shared<char>() + 2, g_from); }),
               "cp.async: an address is not a multiple of 4");
}

TEST(Instructions, MisalignedCopiesAreFound) {
  expect_fault(fault_of(1, [] { ptx::cp_async_16(&shared_blocks()->v[1], g_from); }),
               "cp.async: an address is not a multiple of 16");
  expect_fault(fault_of(1, [] { ptx::cp_async_16(shared_blocks(), &g_from->block[0].v[2]); }),
               "cp.async: an address is not a multiple of 16");
  expect_fault(fault_of(1, [] { ptx::cp_async_16(shared_blocks(), g_from, 17); }), "more than 16 bytes");
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

// --- numbers ---

TEST(Instructions, NumbersAreRounded) {
  simt::run({1, 1}, [] {
    EXPECT_EQ(ptx::cvt_rn_f16x2(1.0f, -2.0f), 0xc0003c00u);
    EXPECT_EQ(ptx::cvt_rn_bf16x2(1.0f, -2.0f), 0xc0003f80u);
    EXPECT_EQ(ptx::cvt_rn_bf16x2(1.00390625f, 1.01171875f), 0x3f823f80u);  // ties go to the even one
    EXPECT_EQ(ptx::cvt_rna_tf32(1.0f + 0x1p-11f), __builtin_bit_cast(uint32_t, 1.0f + 0x1p-10f));
    EXPECT_EQ(ptx::cvt_rna_tf32(1.0f + 0x1p-12f), __builtin_bit_cast(uint32_t, 1.0f));
    EXPECT_EQ(ptx::ex2_approx(3.0f), 8.0f);
    EXPECT_EQ(ptx::ex2_approx(-std::numeric_limits<float>::infinity()), 0.0f);
    EXPECT_EQ(ptx::ex2_approx(-130.0f), 0.0f);
  });
}

}  // namespace

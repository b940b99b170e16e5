// Accesses that nothing orders end a launch, and those that something orders do not, in any order of threads and
// blocks.
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

constexpr unsigned kAll = 0xffffffffu;

template <class Kernel>
std::string fault_of(dim3 blocks, dim3 threads, Kernel kernel) {
  try {
    simt::run({blocks, threads, 0, "planted"}, kernel);
  } catch (const simt::KernelFault& fault) {
    return fault.what();
  }
  return "";
}

class Races : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
#ifndef __clang__
    GTEST_SKIP() << "only Clang reports accesses";
#endif
    before_ = simt::options();
    if (!before_.watch) GTEST_SKIP() << "a sanitizer looks in the executor's stead";
    simt::options().order = GetParam() == 0   ? simt::Order::kForward
                            : GetParam() == 1 ? simt::Order::kReverse
                                              : simt::Order::kRandom;
    simt::options().seed = static_cast<uint64_t>(GetParam());
  }
  void TearDown() override {
    simt::options() = before_;
  }

  simt::Options before_;
};

TEST_P(Races, AMissingBarrierIsFound) {
  std::vector<int> out(64);
  const std::string fault = fault_of(1, 64, [&] {
    __shared__ int values[64];
    values[threadIdx.x] = 1;
    out[threadIdx.x] = values[63 - threadIdx.x];
  });
  EXPECT_NE(fault.find("race"), std::string::npos) << fault;
  EXPECT_NE(fault.find("shared memory"), std::string::npos) << fault;
  EXPECT_NE(fault.find("race_test.cc:"), std::string::npos) << fault;
}

TEST_P(Races, ABarrierOrders) {
  std::vector<int> out(64);
  EXPECT_EQ(fault_of(4, 64,
                     [&] {
                       __shared__ int values[64];
                       for (int turn = 0; turn < 3; ++turn) {
                         values[threadIdx.x] = turn;
                         __syncthreads();
                         if (blockIdx.x == 0) out[threadIdx.x] = values[63 - threadIdx.x];
                         __syncthreads();
                       }
                     }),
            "");
}

TEST_P(Races, AMissingSecondBarrierIsFound) {
  std::vector<int> out(64);
  EXPECT_NE(fault_of(1, 64,
                     [&] {
                       __shared__ int values[64];
                       for (int turn = 0; turn < 3; ++turn) {
                         values[threadIdx.x] = turn;
                         __syncthreads();
                         out[threadIdx.x] = values[63 - threadIdx.x];
                       }
                     }),
            "");
}

TEST_P(Races, SyncwarpOrdersItsLanes) {
  std::vector<int> out(64);
  EXPECT_EQ(fault_of(1, 64,
                     [&] {
                       __shared__ int values[64];
                       values[threadIdx.x] = 1;
                       __syncwarp();
                       out[threadIdx.x] = values[threadIdx.x ^ 1];
                     }),
            "");
  const std::string fault = fault_of(1, 64, [&] {
    __shared__ int values[64];
    values[threadIdx.x] = 1;
    __syncwarp();
    out[threadIdx.x] = values[threadIdx.x ^ 32];  // of the other warp
  });
  EXPECT_NE(fault.find("race"), std::string::npos) << fault;
}

TEST_P(Races, SyncwarpOrdersThroughAThirdLane) {
  int got = 0;
  EXPECT_EQ(fault_of(1, 32,
                     [&] {
                       __shared__ int value;
                       if (threadIdx.x == 0) value = 5;
                       if (threadIdx.x < 2) __syncwarp(3);
                       if (threadIdx.x == 1 || threadIdx.x == 2) __syncwarp(6);
                       if (threadIdx.x == 2) got = value;
                     }),
            "");
  EXPECT_EQ(got, 5);
}

// Whichever of the lanes comes first.
TEST_P(Races, ALaneMayWaitForOneThatIsElsewhere) {
  for (int turn = 0; turn < 20; ++turn) {
    EXPECT_EQ(fault_of(1, 32,
                       [] {
                         if (threadIdx.x < 2) __syncwarp(3);
                         if (threadIdx.x == 1 || threadIdx.x == 2) __syncwarp(6);
                         if (threadIdx.x == 2 || threadIdx.x == 3) __syncwarp(12);
                       }),
              "");
  }
}

TEST_P(Races, ShufflesOrderNothing) {
  std::vector<int> out(32);
  EXPECT_NE(fault_of(1, 32,
                     [&] {
                       __shared__ int values[32];
                       values[threadIdx.x] = 1;
                       __shfl_sync(kAll, 1, 0);
                       out[threadIdx.x] = values[threadIdx.x ^ 1];
                     }),
            "");
}

TEST_P(Races, BlocksThatAddWithoutAtomicsAreFound) {
  float sum = 0;
  const std::string fault = fault_of(2, 1, [&] { sum += 1; });
  EXPECT_NE(fault.find("race"), std::string::npos) << fault;
  EXPECT_NE(fault.find("of block (1,0,0)"), std::string::npos) << fault;
  EXPECT_EQ(fault_of(2, 64, [&] { atomicAdd(&sum, 1.0f); }), "");
}

TEST_P(Races, APlainReadBesideAtomicsIsFound) {
  int sum = 0;
  std::vector<int> seen(2);
  EXPECT_NE(fault_of(2, 1,
                     [&] {
                       atomicAdd(&sum, 1);
                       seen[blockIdx.x] = sum;
                     }),
            "");
}

TEST_P(Races, TheLastBlockReadsWhatTheOthersPublished) {
  std::vector<int> parts(5);
  int total = 0;
  unsigned counter = 0;
  const auto kernel = [&](bool with_fence) {
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
      parts[blockIdx.x] = static_cast<int>(blockIdx.x);
      if (with_fence) __threadfence();
      is_last = atomicInc(&counter, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (is_last && threadIdx.x == 0) {
      for (unsigned i = 0; i < gridDim.x; ++i) total += parts[i];
    }
  };
  EXPECT_EQ(fault_of(5, 40, [&] { kernel(true); }), "");
  EXPECT_EQ(total, 10);
  EXPECT_NE(fault_of(5, 40, [&] { kernel(false); }), "");
}

TEST_P(Races, NeighbouringBytesAreTheirOwn) {
  alignas(8) char bytes[64] = {};
  EXPECT_EQ(fault_of(1, 64, [&] { bytes[threadIdx.x] = 1; }), "");
  alignas(8) short halves[64] = {};
  EXPECT_EQ(fault_of(2, 32, [&] { halves[blockIdx.x * 32 + threadIdx.x] += 1; }), "");
}

TEST_P(Races, TwoThreadsThatWriteOnePlaceAreFound) {
  int place = 0;
  EXPECT_NE(fault_of(1, 2, [&] { place = static_cast<int>(threadIdx.x); }), "");
  EXPECT_EQ(fault_of(1, 2,
                     [&] {
                       if (threadIdx.x == 0) place = 1;
                     }),
            "");
}

TEST_P(Races, ReadersAreFoundByALaterWrite) {
  std::vector<int> out(64);
  int value = 3;
  EXPECT_NE(fault_of(1, 64,
                     [&] {
                       out[threadIdx.x] = value;
                       if (threadIdx.x == 17) value = 4;
                     }),
            "");
  EXPECT_EQ(fault_of(1, 64,
                     [&] {
                       out[threadIdx.x] = value;
                       __syncthreads();
                       if (threadIdx.x == 17) value = 4;
                     }),
            "");
}

TEST_P(Races, AlignedVectorsAreWatched) {
  struct alignas(16) Four {
    float v[4];
  };
  alignas(16) float data[8] = {};
  EXPECT_NE(fault_of(2, 1, [&] { simt::watch::store(data, sizeof(Four)); }), "");
}

TEST_P(Races, MayBeLeftAlone) {
  simt::options().watch = false;
  int place = 0;
  EXPECT_EQ(fault_of(1, 2, [&] { place = static_cast<int>(threadIdx.x); }), "");
}

INSTANTIATE_TEST_SUITE_P(Orders, Races, testing::Range(0, 5));

}  // namespace

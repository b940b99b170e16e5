// What the stand-in of NCCL computes, how long it waits, and what it reports.
#include "tests/cuda_on_host/nccl/standin.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <barrier>
#include <functional>
#include <thread>
#include <vector>

#include "tests/cuda_on_host/runtime/standin.h"

namespace {

constexpr size_t kCount = 5;

struct Rank {
  int rank = 0, size = 0;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  float *in = nullptr, *out = nullptr;  // of the device; in[i] = 10 * rank + i

  std::vector<float> results(size_t count) const {
    std::vector<float> host(count);
    EXPECT_EQ(cudaMemcpyAsync(host.data(), out, count * sizeof(float), cudaMemcpyDeviceToHost, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    return host;
  }
};

void run(int size, const std::function<void(Rank&)>& body, bool blocking = true) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  std::vector<std::thread> threads;
  for (int r = 0; r < size; ++r) {
    threads.emplace_back([=, &body] {
      Rank rank{.rank = r, .size = size};
      ASSERT_EQ(cudaSetDevice(r), cudaSuccess);
      ASSERT_EQ(cudaStreamCreateWithFlags(&rank.stream, cudaStreamNonBlocking), cudaSuccess);
      ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&rank.in), 1000), cudaSuccess);
      ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&rank.out), 1000), cudaSuccess);
      std::vector<float> values;
      for (size_t i = 0; i < 3 * kCount; ++i) values.push_back(static_cast<float>(10 * r) + static_cast<float>(i));
      ASSERT_EQ(cudaMemcpy(rank.in, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice), cudaSuccess);
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      config.blocking = blocking ? 1 : 0;
      const ncclResult_t made = ncclCommInitRankConfig(&rank.comm, size, id, r, &config);
      ASSERT_EQ(made, blocking ? ncclSuccess : ncclInProgress);
      for (ncclResult_t error = ncclInProgress; error != ncclSuccess;) {
        ASSERT_EQ(ncclCommGetAsyncError(rank.comm, &error), ncclSuccess);
      }
      body(rank);
      ncclCommAbort(rank.comm);
      cudaStreamSynchronize(rank.stream);
      cudaStreamDestroy(rank.stream);
      cudaFree(rank.in);
      cudaFree(rank.out);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

class NcclStandin : public ::testing::TestWithParam<cuda_standin::Execution> {
 public:
  NcclStandin() {
    cuda_standin::reset({.devices = 4, .execution = GetParam()});
    nccl_standin::reset();
  }
  void TearDown() override {
    EXPECT_EQ(nccl_standin::live_communicators(), 0u);
    EXPECT_EQ(cuda_standin::leaks(), "");
  }
};
INSTANTIATE_TEST_SUITE_P(Orders, NcclStandin,
                         ::testing::Values(cuda_standin::Execution::kEager, cuda_standin::Execution::kLazy,
                                           cuda_standin::Execution::kRandom));

TEST_P(NcclStandin, ComputesWhatAllRanksGive) {
  for (const bool blocking : {true, false}) {
    run(
        3,
        [](Rank& r) {
          const ncclResult_t went = ncclAllReduce(r.in, r.out, kCount, ncclFloat, ncclSum, r.comm, r.stream);
          EXPECT_TRUE(went == ncclSuccess || went == ncclInProgress);
          EXPECT_EQ(r.results(2), (std::vector<float>{30, 33}));
          ncclReduce(r.in, r.out, kCount, ncclFloat, ncclMax, 1, r.comm, r.stream);
          if (r.rank == 1) EXPECT_EQ(r.results(2), (std::vector<float>{20, 21}));
          ncclBroadcast(r.in, r.out, kCount, ncclFloat, 2, r.comm, r.stream);
          EXPECT_EQ(r.results(2), (std::vector<float>{20, 21}));
          ncclAllGather(r.in, r.out, 1, ncclFloat, r.comm, r.stream);
          EXPECT_EQ(r.results(3), (std::vector<float>{0, 10, 20}));
          ncclReduceScatter(r.in, r.out, 1, ncclFloat, ncclAvg, r.comm, r.stream);
          EXPECT_EQ(r.results(1), (std::vector<float>{10.f + static_cast<float>(r.rank)}));
          float half = 0.5f;
          ncclRedOp_t scaled;
          ASSERT_EQ(ncclRedOpCreatePreMulSum(&scaled, &half, ncclFloat, ncclScalarHostImmediate, r.comm), ncclSuccess);
          ncclAllReduce(r.in, r.out, 1, ncclFloat, scaled, r.comm, r.stream);
          EXPECT_EQ(r.results(1), std::vector<float>{15});
          EXPECT_EQ(ncclRedOpDestroy(scaled, r.comm), ncclSuccess);
          // Around the ring, both ways at once.
          ASSERT_EQ(ncclGroupStart(), ncclSuccess);
          ncclSend(r.in, 1, ncclFloat, (r.rank + 1) % 3, r.comm, r.stream);
          ncclRecv(r.out, 1, ncclFloat, (r.rank + 2) % 3, r.comm, r.stream);
          ncclGroupEnd();
          EXPECT_EQ(r.results(1), std::vector<float>{static_cast<float>((r.rank + 2) % 3 * 10)});
        },
        blocking);
  }
  EXPECT_EQ(cuda_standin::misuse(), "");
}

TEST_P(NcclStandin, SplitsByColorAndKey) {
  run(4, [](Rank& r) {
    ncclComm_t part = nullptr;
    ASSERT_EQ(ncclCommSplit(r.comm, r.rank == 3 ? NCCL_SPLIT_NOCOLOR : r.rank % 2, -r.rank, &part, nullptr),
              ncclSuccess);
    ASSERT_EQ(part == nullptr, r.rank == 3);
    if (part == nullptr) return;
    ncclAllGather(r.in, r.out, 1, ncclFloat, part, r.stream);
    const auto all = r.results(2);
    if (r.rank != 1) EXPECT_EQ(all, (std::vector<float>{20, 0}));
    EXPECT_EQ(ncclCommDestroy(part), ncclSuccess);
  });
}

TEST_P(NcclStandin, CapturedOperationsRunWithEachLaunch) {
  run(2, [](Rank& r) {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    ASSERT_EQ(cudaStreamBeginCapture(r.stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    ncclAllReduce(r.in, r.out, kCount, ncclFloat, ncclSum, r.comm, r.stream);
    ncclAllReduce(r.out, r.out, kCount, ncclFloat, ncclSum, r.comm, r.stream);
    ASSERT_EQ(cudaStreamEndCapture(r.stream, &graph), cudaSuccess);
    ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
    for (int i = 0; i < 3; ++i) ASSERT_EQ(cudaGraphLaunch(exec, r.stream), cudaSuccess);
    EXPECT_EQ(r.results(2), (std::vector<float>{20, 24}));
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
  });
  EXPECT_EQ(cuda_standin::misuse(), "");
}

TEST_P(NcclStandin, RanksThatDifferWaitUntilTheyAreAborted) {
  std::barrier both_asked(2);
  run(2, [&](Rank& r) {
    ncclAllReduce(r.in, r.out, kCount + static_cast<size_t>(r.rank), ncclFloat, ncclSum, r.comm, r.stream);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(cudaStreamQuery(r.stream), cudaErrorNotReady);
    both_asked.arrive_and_wait();
  });
  EXPECT_NE(cuda_standin::misuse().find("NCCL: ranks that call ncclAllReduce and ncclAllReduce"), std::string::npos);
}

TEST_P(NcclStandin, FailsAsItIsTold) {
  nccl_standin::reset({.fail_call = 1, .fail_with = ncclRemoteError});
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRank(&comm, 1, id, 0), ncclRemoteError);
  EXPECT_EQ(comm, nullptr);
  ASSERT_EQ(ncclCommInitRank(&comm, 1, id, 0), ncclSuccess);
  nccl_standin::fail_later(0, ncclRemoteError);
  ncclResult_t error = ncclSuccess;
  EXPECT_EQ(ncclCommGetAsyncError(comm, &error), ncclSuccess);
  EXPECT_EQ(error, ncclRemoteError);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  EXPECT_EQ(ncclCommDestroy(comm), ncclInvalidArgument);
}

}  // namespace

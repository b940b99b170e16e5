// Process groups on MPI. The program starts itself again by mpirun, with 1 to 4 ranks: what all backends do, and what
// only MPI can get wrong.
#include "distributed/process_group/mpi/process_group_mpi.h"

#include <gtest/gtest.h>
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "aten/ops/creation/ops.h"
#include "c10/testing/message_of.h"
#include "c10/util/string_util.h"
#include "distributed/process_group/collectives.h"
#include "distributed/process_group/conformance.h"
#include "distributed/process_group/init.h"
#include "distributed/process_group/mpi/mpi_engine.h"
#include "distributed/testing/run_ranks.h"

namespace c10d {
namespace {

using c10::testing::message_of;
using std::chrono::milliseconds;
using Tensors = std::vector<at::Tensor>;

bool is_rank() {
  return std::getenv("OMPI_COMM_WORLD_RANK") != nullptr;
}

struct Ended {
  int code = 0;
  std::string output;
  milliseconds after{0};
};

// This program again, as so many ranks that run the test named.
Ended mpirun(int ranks, const std::string& test) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string command = c10::str(
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TMPDIR=/tmp timeout -k 5 120 mpirun -n ", ranks,
      " --oversubscribe --mca mpi_yield_when_idle 0 --mca btl self,vader --mca btl_vader_single_copy_mechanism none "
      "--mca plm isolated --mca oob_tcp_if_include lo ",
      "/proc/", ::getpid(), "/exe --gtest_brief=1 --gtest_filter=Rank.", test, " 2>&1");
  Ended ended;
  FILE* const pipe = ::popen(command.c_str(), "r");
  char buffer[4096];
  for (size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) ended.output.append(buffer, n);
  const int status = ::pclose(pipe);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  ended.after = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin);
  return ended;
}

class Mpi : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (is_rank()) GTEST_SKIP() << "starts mpirun, and is no rank of it";
  }
};

TEST_P(Mpi, Conformance) {
  const Ended ended = mpirun(GetParam(), "Conformance");
  EXPECT_EQ(ended.code, 0) << ended.output;
}
INSTANTIATE_TEST_SUITE_P(Sizes, Mpi, ::testing::Values(1, 2, 3, 4));

using MpiOfFour = Mpi;
TEST_P(MpiOfFour, Errors) {
  const Ended ended = mpirun(4, "Errors");
  EXPECT_EQ(ended.code, 0) << ended.output;
}
TEST_P(MpiOfFour, Groups) {
  const Ended ended = mpirun(4, "Groups");
  EXPECT_EQ(ended.code, 0) << ended.output;
}
TEST_P(MpiOfFour, InitProcessGroup) {
  const Ended ended = mpirun(4, "InitProcessGroup");
  EXPECT_EQ(ended.code, 0) << ended.output;
}
// mpirun says who it was, and nobody is left.
TEST_P(MpiOfFour, AKilledRank) {
  const Ended ended = mpirun(4, "IsKilled");
  EXPECT_NE(ended.code, 0);
  EXPECT_NE(ended.output.find("process rank 1 with PID"), std::string::npos) << ended.output;
  EXPECT_NE(ended.output.find("exited on signal 9 (Killed)"), std::string::npos) << ended.output;
  EXPECT_LT(ended.after, milliseconds(10000));
}
// The others throw at their deadline, and say whom they waited for; the job ends.
TEST_P(MpiOfFour, AStoppedRank) {
  const Ended ended = mpirun(4, "IsStopped");
  EXPECT_NE(ended.code, 0);
  for (const int rank : {0, 2, 3}) {
    const std::string says = c10::str("rank ", rank, " got: process group");
    const size_t at = ended.output.find(says);
    ASSERT_NE(at, std::string::npos) << ended.output;
    const std::string line = ended.output.substr(at, ended.output.find('\n', at) - at);
    EXPECT_NE(line.find("ALLREDUCE number 2 of 3 Float elements (SUM) failed on rank"), std::string::npos) << line;
    EXPECT_NE(line.find("no word from rank 1"), std::string::npos) << line;
  }
  EXPECT_LT(ended.after, milliseconds(15000));
}
INSTANTIATE_TEST_SUITE_P(OfFour, MpiOfFour, ::testing::Values(4));

// --- what the ranks run ---

class Rank : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!is_rank()) GTEST_SKIP() << "is run by mpirun";
    world_ = MpiWorld::get();
    testing::set_own_rank(world_.rank, [size = world_.size](const std::string& own) {
      constexpr int kLongest = 4096;
      std::string mine = own;
      mine.resize(kLongest);
      std::string all(static_cast<size_t>(kLongest * size), '\0');
      MPI_Allgather(mine.data(), kLongest, MPI_BYTE, all.data(), kLongest, MPI_BYTE, MPI_COMM_WORLD);
      std::vector<std::string> texts;
      for (int rank = 0; rank < size; ++rank) texts.emplace_back(all.c_str() + rank * kLongest);
      return texts;
    });
  }
  MpiWorld world_;
};

testing::BackendOfRank group_over_mpi(int size) {
  return [size](int, milliseconds timeout) -> c10::intrusive_ptr<Backend> {
    std::vector<int> ranks(static_cast<size_t>(size));
    std::iota(ranks.begin(), ranks.end(), 0);
    auto made = ProcessGroupMPI::createProcessGroupMPI(ranks, ProcessGroupMPI::Options::create(milliseconds(20000)));
    made->setTimeout(timeout);
    return made;
  };
}

TEST_F(Rank, Conformance) {
  EXPECT_EQ(world_.size, std::atoi(std::getenv("OMPI_COMM_WORLD_SIZE")));
  testing::expect_collectives(group_over_mpi, world_.size);
  if (world_.size > 1) testing::expect_messages(group_over_mpi, world_.size);
  if (world_.size == 1) testing::expect_argument_checks(group_over_mpi);
}

TEST_F(Rank, Errors) {
  testing::expect_errors(group_over_mpi);
  // A message of another size than its place.
  const auto make = group_over_mpi(2);
  const auto errors = testing::errors_of_ranks(2, [&](int rank) {
    const auto group = make(rank, milliseconds(2000));
    Tensors t{at::zeros({rank == 0 ? 3 : 4})};
    rank == 0 ? group->send(t, 1, 0)->wait() : group->recv(t, 0, 0)->wait();
  });
  EXPECT_NE(errors[1].find("rank 0 sent 12 bytes, but rank 1 receives 16"), std::string::npos) << errors[1];
}

TEST_F(Rank, Groups) {
  // Of some ranks, in another order; the rest goes on without it.
  const auto some = ProcessGroupMPI::createProcessGroupMPI({3, 1});
  EXPECT_EQ(some.defined(), world_.rank % 2 == 1);
  if (some) {
    EXPECT_EQ(some->getRank(), world_.rank == 3 ? 0 : 1);
    EXPECT_EQ(some->getSize(), 2);
    EXPECT_EQ(some->getBackendName(), "mpi");
    Tensors t{at::full({2}, static_cast<float>(world_.rank))};
    some->broadcast(t)->wait();
    EXPECT_EQ(t[0].data_ptr<float>()[1], 3.0f);
  }
  const auto all = ProcessGroupMPI::createProcessGroupMPI();
  Tensors t{at::full({1}, static_cast<float>(world_.rank))};
  all->allreduce(t, {.reduceOp = ReduceOp::AVG})->wait();
  EXPECT_EQ(t[0].data_ptr<float>()[0], 1.5f);
  EXPECT_EQ(message_of([] { ProcessGroupMPI::createProcessGroupMPI({0, 4}); }),
            "createProcessGroupMPI: rank 4 is no rank of a world of 4");
  EXPECT_EQ(message_of([] { ProcessGroupMPI::createProcessGroupMPI({2, 2}); }),
            "createProcessGroupMPI: a rank stands twice in 2, 2");
  // Rank 2 does not come.
  if (world_.rank == 0) {
    const std::string text = message_of(
        [] { ProcessGroupMPI::createProcessGroupMPI({0, 2}, ProcessGroupMPI::Options::create(milliseconds(300))); });
    EXPECT_EQ(
        text,
        "MPI: rank 0 of 4 failed at making a group of ranks 0, 2: rank 2 of the world did not come within 300 ms");
  }
  all->barrier()->wait();
}

TEST_F(Rank, InitProcessGroup) {
  InitProcessGroupOptions options;
  options.init_method = c10::str("file:///tmp/mpi_test_", ::getppid());  // mpirun's number
  options.rank = world_.rank;
  options.world_size = world_.size;
  torch::distributed::init_process_group("mpi", options);
  EXPECT_TRUE(is_mpi_available());
  at::Tensor t = at::full({3}, static_cast<float>(world_.rank));
  torch::distributed::all_reduce(t);
  EXPECT_EQ(t.data_ptr<float>()[2], 6.0f);
  torch::distributed::destroy_process_group();
}

void train(const std::function<void(int rank, int step)>& before) {
  auto group = ProcessGroupMPI::createProcessGroupMPI();
  group->setTimeout(milliseconds(1000));
  try {
    for (int step = 0; step < 1000; ++step) {
      before(group->getRank(), step);
      Tensors t{at::full({3}, 1.0f)};
      group->allreduce(t)->wait();
    }
  } catch (const c10::Error& error) {
    const std::string line = c10::str("rank ", group->getRank(), " got: ", error.msg(), "\n");
    std::fputs(line.c_str(), stdout);
    std::fflush(stdout);
    std::exit(1);
  }
}

TEST_F(Rank, IsKilled) {
  train([](int rank, int step) {
    if (rank == 1 && step == 5) ::raise(SIGKILL);
  });
}

TEST_F(Rank, IsStopped) {
  train([](int rank, int step) {
    if (rank == 1 && step == 2) ::raise(SIGSTOP);
  });
}

}  // namespace
}  // namespace c10d

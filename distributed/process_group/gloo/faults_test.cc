// Ranks that are processes, and what the others are told when one dies, stops, or does something else.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <regex>
#include <string>
#include <thread>

#include "aten/ops/creation/ops.h"
#include "distributed/process_group/gloo/process_group_gloo.h"
#include "distributed/store/file_store.h"
#include "distributed/testing/run_processes.h"

namespace c10d {
namespace {

using std::chrono::milliseconds;
using Tensors = std::vector<at::Tensor>;

// Each rank's group, in a store that is a file.
std::vector<testing::Ended> run_group(int size, milliseconds timeout,
                                      const std::function<void(ProcessGroupGloo&, int rank)>& body) {
  std::string path = ::testing::TempDir() + "store_XXXXXX";
  const int file = ::mkstemp(path.data());
  EXPECT_GE(file, 0);
  ::close(file);
  auto ended = testing::run_processes(size, [&](int rank) {
    const auto store = c10::make_intrusive<FileStore>(path, size);
    auto options = ProcessGroupGloo::Options::create(milliseconds(20000));
    options->devices = {ProcessGroupGloo::createDeviceForHostname("127.0.0.1")};
    options->group_name = "test";
    ProcessGroupGloo group(store, rank, size, options);
    group.setTimeout(timeout);
    body(group, rank);
  });
  ::unlink(path.c_str());
  return ended;
}

void train(ProcessGroupGloo& group, int steps, int64_t count, const std::function<void(int step)>& before) {
  for (int step = 0; step < steps; ++step) {
    before(step);
    Tensors t{at::full({count}, 1.0f)};
    group.allreduce(t)->wait();
    TORCH_CHECK(t[0].data_ptr<float>()[count - 1] == static_cast<float>(group.getSize()), "a wrong sum");
  }
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

// Small sums go to partners, large ones around a ring.
class Faults : public ::testing::TestWithParam<int64_t> {};

TEST_P(Faults, NoneAtAll) {
  for (const testing::Ended& ended : run_group(
           3, milliseconds(20000), [](ProcessGroupGloo&group, int) { train(group, 10, GetParam(), [](int) {}); })) {
    EXPECT_EQ(ended.exit_code, 0) << ended.error;
  }
}

TEST_P(Faults, AKilledRank) {
  const auto ended = run_group(4, milliseconds(10000), [](ProcessGroupGloo& group, int rank) {
    train(group, 1000, GetParam(), [&](int step) {
      if (rank == 1 && step == 5) ::kill(::getpid(), SIGKILL);
    });
  });
  EXPECT_EQ(ended[1].signal, SIGKILL);
  for (const size_t rank : {0u, 2u, 3u}) {
    EXPECT_EQ(ended[rank].exit_code, 1);
    expect_contains(ended[rank].error, "ALLREDUCE number 5 of ");
    expect_contains(ended[rank].error, "no word from rank 1");
    EXPECT_LT(ended[rank].after - ended[1].after, milliseconds(2000));
  }
}

// Nothing but a receive is on its way when the connection ends.
TEST(FaultsOfMessages, AKilledRankThatIsReceivedFrom) {
  const auto ended = run_group(2, milliseconds(6000), [](ProcessGroupGloo& group, int rank) {
    Tensors t{at::full({4}, 1.0f)};
    group.allreduce(t)->wait();
    if (rank == 1) {
      ::usleep(200000);
      ::kill(::getpid(), SIGKILL);
    }
    group.recv(t, 1, 3)->wait();
  });
  EXPECT_EQ(ended[1].signal, SIGKILL);
  EXPECT_EQ(ended[0].exit_code, 1);
  expect_contains(ended[0].error, "RECV with tag 3 from rank 1");
  expect_contains(ended[0].error, "lost rank 1");
  EXPECT_LT(ended[0].after - ended[1].after, milliseconds(2000));
}

// A message that any of three may send: they are killed one after the other. Until the last is gone one may come.
TEST(FaultsOfMessages, KilledRanksThatAnyMessageIsReceivedFrom) {
  const auto ended = run_group(4, milliseconds(8000), [](ProcessGroupGloo& group, int rank) {
    Tensors t{at::full({4}, 1.0f)};
    group.allreduce(t)->wait();
    if (rank > 0) {
      ::usleep(static_cast<useconds_t>(150000 * rank));
      if (rank == 3) group.send(t, 0, 3)->wait();
      ::kill(::getpid(), SIGKILL);
    }
    group.recvAnysource(t, 3)->wait();  // rank 3's
    group.recvAnysource(t, 3)->wait();
  });
  EXPECT_EQ(ended[3].signal, SIGKILL);
  EXPECT_EQ(ended[0].exit_code, 1);
  expect_contains(ended[0].error, "RECVANYSOURCE with tag 3");
  expect_contains(ended[0].error, "gave up waiting for ranks 1, 2, 3, of which lost ranks 1, 2, 3");
  EXPECT_LT(ended[0].after - ended[3].after, milliseconds(2000));
}

// One that is left may still send, and is waited for; at the deadline it is said who is gone.
TEST(FaultsOfMessages, AKilledRankAmongThoseAnyMessageIsReceivedFrom) {
  const auto ended = run_group(3, milliseconds(1500), [](ProcessGroupGloo& group, int rank) {
    Tensors t{at::full({4}, 1.0f)};
    group.allreduce(t)->wait();
    if (rank == 1) ::kill(::getpid(), SIGKILL);
    if (rank == 2) {
      ::usleep(400000);
      group.send(t, 0, 3)->wait();
      ::usleep(2500000);
      return;
    }
    group.recvAnysource(t, 3)->wait();
    group.recvAnysource(t, 3)->wait();
  });
  EXPECT_EQ(ended[2].exit_code, 0) << ended[2].error;
  EXPECT_EQ(ended[0].exit_code, 1);
  expect_contains(ended[0].error, "timed out waiting for ranks 1, 2, of which lost rank 1");
}

TEST_P(Faults, AStoppedRank) {
  const auto begin = std::chrono::steady_clock::now();
  const auto ended = run_group(4, milliseconds(700), [](ProcessGroupGloo& group, int rank) {
    train(group, 1000, GetParam(), [&](int step) {
      if (rank != 1 || step != 5) return;
      // Until the others have ended.
      const pid_t self = ::getpid();
      if (::fork() == 0) {
        ::usleep(3000000);
        ::kill(self, SIGKILL);
        ::_exit(0);
      }
      ::kill(self, SIGSTOP);
    });
  });
  EXPECT_EQ(ended[1].signal, SIGKILL);
  for (const size_t rank : {0u, 2u, 3u}) {
    EXPECT_EQ(ended[rank].exit_code, 1);
    expect_contains(ended[rank].error, "ALLREDUCE number 5 of ");
    expect_contains(ended[rank].error, "no word from rank 1");
    EXPECT_LT(ended[rank].after, ended[1].after);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(20000));
}

TEST_P(Faults, AnExceptionInOneRank) {
  const auto ended = run_group(3, milliseconds(10000), [](ProcessGroupGloo& group, int rank) {
    train(group, 1000, GetParam(), [&](int step) { TORCH_CHECK(rank != 2 || step != 3, "no more data"); });
  });
  EXPECT_EQ(ended[2].error, "no more data");
  for (const size_t rank : {0u, 1u}) {
    EXPECT_EQ(ended[rank].exit_code, 1);
    expect_contains(ended[rank].error, "ALLREDUCE number 3 of ");
    expect_contains(ended[rank].error, "no word from rank 2");
  }
}
INSTANTIATE_TEST_SUITE_P(Counts, Faults, ::testing::Values(16, 1 << 18));

// One that has said where it can be reached, and cannot.
TEST(FaultsAtTheStart, AKilledRankIsNotWaitedForLongerThanTheTimeout) {
  // Which of them connects to the other is left to chance.
  for (int i = 0; i < 6; ++i) {
    const int victim = i % 2;
    const std::string path = ::testing::TempDir() + "start_" + std::to_string(::getpid()) + "_" + std::to_string(i);
    const auto ended = testing::run_processes(2, [&](int rank) {
      const auto make = [&] {
        auto options = ProcessGroupGloo::Options::create(milliseconds(500));
        options->devices = {ProcessGroupGloo::createDeviceForHostname("127.0.0.1")};
        ProcessGroupGloo(c10::make_intrusive<FileStore>(path, 2), rank, 2, options);
      };
      if (rank == victim) {
        std::thread([&] { make(); }).detach();
        std::this_thread::sleep_for(milliseconds(250));
        ::kill(::getpid(), SIGKILL);
      }
      std::this_thread::sleep_for(milliseconds(350));
      make();
    });
    ::unlink(path.c_str());
    const auto& survivor = ended[static_cast<size_t>(1 - victim)];
    EXPECT_EQ(survivor.exit_code, 1);
    expect_contains(survivor.error, "failed at connecting with the other ranks");
    expect_contains(survivor.error, "connecting with rank " + std::to_string(victim));
    EXPECT_LT(survivor.after, milliseconds(2200)) << survivor.error;
  }
}

// Who is connected with it waits for those who are not: all must know whom they wait for in the end.
TEST(FaultsAtTheStart, AStoppedRankIsNamedByAll) {
  for (const int after : {1000, 2500, 5000}) {
    SCOPED_TRACE(after);
    const std::string path = ::testing::TempDir() + "stop_" + std::to_string(::getpid()) + "_" + std::to_string(after);
    const auto ended = testing::run_processes(3, [&](int rank) {
      if (rank == 2) {
        const pid_t self = ::getpid();
        if (::fork() == 0) {
          ::usleep(1800000);
          ::kill(self, SIGKILL);
          ::_exit(0);
        }
        std::thread([=] {
          std::this_thread::sleep_for(std::chrono::microseconds(after));
          ::kill(self, SIGSTOP);
        }).detach();
      }
      auto options = ProcessGroupGloo::Options::create(milliseconds(500));
      options->devices = {ProcessGroupGloo::createDeviceForHostname("127.0.0.1")};
      ProcessGroupGloo group(c10::make_intrusive<FileStore>(path, 3), rank, 3, options);
      train(group, 1000, 16, [](int) { std::this_thread::sleep_for(milliseconds(1)); });
    });
    ::unlink(path.c_str());
    for (const size_t rank : {0u, 1u}) {
      EXPECT_EQ(ended[rank].exit_code, 1);
      EXPECT_TRUE(std::regex_search(ended[rank].error, std::regex("[Rr]anks? (\\d, )*2\\b"))) << ended[rank].error;
      EXPECT_LT(ended[rank].after, ended[2].after);
    }
  }
}

}  // namespace
}  // namespace c10d

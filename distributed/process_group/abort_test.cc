// That the first error of a rank, and abort(), end what all others wait for, at once and with the reason.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "aten/ops/creation/ops.h"
#include "c10/testing/files.h"
#include "distributed/process_group/collectives.h"
#include "distributed/process_group/group_watch.h"
#include "distributed/process_group/init.h"
#include "distributed/store/file_store.h"
#include "distributed/store/hash_store.h"
#include "distributed/store/tcp_store.h"
#include "distributed/testing/run_processes.h"
#include "distributed/testing/run_ranks.h"

namespace c10d {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using testing::errors_of_ranks;

[[maybe_unused]] const bool is_local = ::setenv("GLOO_SOCKET_IFNAME", "lo", 1) == 0;

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

void init_with(const c10::intrusive_ptr<Store>& store, int rank, int size) {
  init_process_group("gloo", {.timeout = milliseconds(30000), .world_size = size, .rank = rank, .store = store});
}

milliseconds since(Clock::time_point begin) {
  return std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
}

// Handles of one store for the ranks.
using Open = std::function<c10::intrusive_ptr<Store>(int rank)>;
Open over_hash() {
  const auto store = c10::make_intrusive<HashStore>();
  return [store](int) { return store; };
}
Open over_file() {
  const std::string path = c10::testing::fresh_folder() + "/store";
  return [path](int) { return c10::make_intrusive<FileStore>(path, -1); };
}
Open over_tcp() {
  TCPStoreOptions options;
  options.port = 0;
  options.isServer = true;
  const auto server = c10::make_intrusive<TCPStore>("127.0.0.1", options);
  return [server](int) {
    TCPStoreOptions client;
    client.port = server->getPort();
    return c10::make_intrusive<TCPStore>("127.0.0.1", client);
  };
}

class Aborts : public ::testing::TestWithParam<Open (*)()> {};

// Ranks 1 and 2 wait for a message of each other; rank 0 has nothing to do with that.
TEST_P(Aborts, WakesRanksThatWaitForOthers) {
  const Open open = GetParam()();
  std::atomic<int64_t> longest = 0;
  std::atomic<int> waiting = 0;
  Clock::time_point aborted;
  const auto errors = errors_of_ranks(3, [&](int rank) {
    init_with(open(rank), rank, 3);
    const at::Tensor t = at::zeros({4});
    if (rank == 0) {
      while (waiting < 2) std::this_thread::sleep_for(milliseconds(1));
      std::this_thread::sleep_for(milliseconds(50));
      aborted = Clock::now();
      get_default_group()->abort("no more data");
      EXPECT_LT(since(aborted), milliseconds(1000));
      torch::distributed::all_reduce(t);
    }
    const auto work = torch::distributed::irecv(t, 3 - rank);
    ++waiting;
    try {
      work->wait();
    } catch (...) {
      longest = std::max<int64_t>(longest, since(aborted).count());
      throw;
    }
  });
  RecordProperty("ms", std::to_string(longest));
  EXPECT_LT(longest, 1000);
  for (const size_t rank : {1u, 2u}) {
    expect_contains(errors[rank], "RECV with tag 0 from rank ");
    expect_contains(errors[rank], "rank 0 called abort(): no more data");
  }
  expect_contains(errors[0], "rank 0 cannot use it any more: rank 0 called abort(): no more data");
  EXPECT_EQ(GroupWatch::threads(), 0);
}

// A group of two breaks; the other goes on.
TEST_P(Aborts, OnlyTheGroup) {
  const Open open = GetParam()();
  const auto errors = errors_of_ranks(3, [&](int rank) {
    init_with(open(rank), rank, 3);
    const auto pair = new_group({{0, 2}});
    if (rank == 0) pair->abort();
    if (rank == 2) {
      EXPECT_THROW(torch::distributed::all_reduce(at::ones({2}), ReduceOp::SUM, pair), c10::DistBackendError);
    }
    torch::distributed::barrier();
    const auto other = new_group({{0, 2}});
    torch::distributed::all_reduce(at::ones({2}), ReduceOp::SUM, other);
    torch::distributed::barrier();
    destroy_process_group();
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

// Calls that come after another rank's error, from a rank that had nothing running.
TEST_P(Aborts, TellsRanksThatWereBusy) {
  const Open open = GetParam()();
  std::atomic<bool> has_failed = false;
  const auto errors = errors_of_ranks(3, [&](int rank) {
    init_with(open(rank), rank, 3);
    if (rank == 2) {
      while (!has_failed) std::this_thread::sleep_for(milliseconds(1));
      std::this_thread::sleep_for(milliseconds(200));
      const auto begin = Clock::now();
      try {
        torch::distributed::all_reduce(at::ones({4}));
      } catch (...) {
        EXPECT_LT(since(begin), milliseconds(1000));
        throw;
      }
    } else {
      try {
        rank == 0 ? torch::distributed::send(at::ones({2}), 1) : (void)torch::distributed::recv(at::ones({3}), 0);
        torch::distributed::barrier();
      } catch (...) {
        has_failed = true;
        throw;
      }
    }
  });
  expect_contains(errors[2], "rank 2 cannot use it any more: process group 0: ");
  expect_contains(errors[2], "rank 0 sent 8 bytes, but rank 1 receives 12");
}
INSTANTIATE_TEST_SUITE_P(Stores, Aborts, ::testing::Values(over_hash, over_file, over_tcp));

// Ranks that are processes, started by the environment: one is killed, another has nothing running.
TEST(Abort, AKilledProcess) {
  uint16_t port = 0;
  {
    TCPStoreOptions options;
    options.port = 0;
    options.isServer = true;
    port = c10::make_intrusive<TCPStore>("127.0.0.1", options)->getPort();
  }
  const auto ended = testing::run_processes(4, [&](int rank) {
    set_rank_environment("RANK", std::to_string(rank));
    set_rank_environment("WORLD_SIZE", "4");
    set_rank_environment("MASTER_ADDR", "127.0.0.1");
    set_rank_environment("MASTER_PORT", std::to_string(port));
    init_process_group("gloo");
    torch::distributed::barrier();
    const auto three = new_group({{0, 1, 2}});
    if (rank == 2) ::raise(SIGKILL);
    if (rank == 3) {
      std::this_thread::sleep_for(milliseconds(500));
      return;
    }
    for (int step = 0; step < 1000; ++step) torch::distributed::all_reduce(at::ones({4}), ReduceOp::SUM, three);
  });
  EXPECT_EQ(ended[2].signal, SIGKILL);
  for (const size_t rank : {0u, 1u}) {
    EXPECT_EQ(ended[rank].exit_code, 1);
    expect_contains(ended[rank].error, "ALLREDUCE number 0 of 4 Float elements (SUM) failed on rank ");
    expect_contains(ended[rank].error, "no word from rank 2");
    EXPECT_LT(ended[rank].after - ended[2].after, milliseconds(2000));
  }
  EXPECT_EQ(ended[3].exit_code, 0) << ended[3].error;
}

// abort() returns although the store's process is stopped.
TEST(Abort, WhereTheStoreIsStopped) {
  int port_pipe[2];
  ASSERT_EQ(::pipe(port_pipe), 0);
  const auto ended = testing::run_processes(
      3,
      [&](int rank) {
        if (rank == 0) {
          TCPStoreOptions options;
          options.port = 0;
          options.isServer = true;
          const auto server = c10::make_intrusive<TCPStore>("127.0.0.1", options);
          for (int i = 0; i < 2; ++i) {
            const uint16_t port = server->getPort();
            TORCH_CHECK(::write(port_pipe[1], &port, sizeof port) == sizeof port, "write");
          }
          server->wait({"ready/1", "ready/2"});
          server->set("stop", "now");
          std::this_thread::sleep_for(milliseconds(50));
          ::raise(SIGSTOP);
          return;
        }
        TCPStoreOptions options;
        TORCH_CHECK(::read(port_pipe[0], &options.port, sizeof options.port) == sizeof options.port, "read");
        const auto store = c10::make_intrusive<TCPStore>("127.0.0.1", options);
        init_with(store, rank - 1, 2);
        store->set("ready/" + std::to_string(rank), "1");
        store->get("stop");
        std::this_thread::sleep_for(milliseconds(200));
        const auto begin = Clock::now();
        if (rank == 1) {
          get_default_group()->abort("enough");
          TORCH_CHECK(since(begin) < milliseconds(1000), "abort() took ", since(begin).count(), " ms");
        } else {
          torch::distributed::all_reduce(at::ones({2}));
        }
      },
      std::chrono::seconds(4));
  EXPECT_EQ(ended[1].exit_code, 0) << ended[1].error;
  EXPECT_EQ(ended[2].exit_code, 1);
  expect_contains(ended[2].error, "ALLREDUCE number 0 of 2 Float elements");
  EXPECT_LT(ended[2].after, milliseconds(3500));
}

}  // namespace
}  // namespace c10d

// torchrun and real workers: what becomes of them when one fails, when agents come and go, and when they are told to
// end.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "distributed/launch/testing_agents.h"

namespace c10d::launch::testing {
namespace {

TEST(Torchrun, WorkersOfOneNode) {
  const std::string folder = fresh_folder();
  Agent agent(
      {"--standalone", "--nproc-per-node=3", "--role=trainer", "--max-restarts=2", kWorker, "folder=" + folder});
  EXPECT_EQ(agent.wait(), 0) << agent.err();
  const auto all = workers_in(folder);
  ASSERT_EQ(all.size(), 3u);
  for (int rank = 0; rank < 3; ++rank) {
    const Seen& seen = all[static_cast<size_t>(rank)];
    EXPECT_EQ(seen.rank, rank);
    EXPECT_EQ(seen.size, 3);
    EXPECT_EQ(seen.restart, 0);
    EXPECT_EQ(seen.local_rank, rank);
    EXPECT_EQ(seen.local_size, 3);
    EXPECT_EQ(seen.group_rank, 0);
    EXPECT_EQ(seen.group_size, 1);
    EXPECT_EQ(seen.role_rank, rank);
    EXPECT_EQ(seen.role_size, 3);
    EXPECT_EQ(seen.role, "trainer");
    EXPECT_EQ(seen.max_restarts, 2);
    EXPECT_GE(seen.threads, 1);
  }
  expect_contains(agent.out(), "rank 2 of 3\n");
}

TEST(Torchrun, AFailureIsReportedOnce) {
  const std::string folder = fresh_folder();
  Agent agent({"--nproc-per-node=3", kWorker, "folder=" + folder, "fail=1:0"});
  EXPECT_EQ(agent.wait(), 1);
  expect_contains(agent.err(),
                  "torchrun: the job 'none' has failed\nthe first failure: rank 1 (local rank 1, process ");
  expect_contains(agent.err(), ": exit code 3\n");
  expect_contains(agent.err(), "its last words on stderr:\n    rank 1 has had enough");
  expect_all_ended(folder);
}

TEST(Torchrun, AnExceptionIsReported) {
  Agent agent({"--nproc-per-node=2", kWorker, "throw=0:0"});
  EXPECT_EQ(agent.wait(), 1);
  expect_contains(agent.err(), "the first failure: rank 0 (local rank 0, process ");
  expect_contains(agent.err(), "runtime_error: no more data");
}

TEST(Torchrun, AllAreStartedAgain) {
  for (const char* how : {"fail=1:0", "kill=0:0"}) {
    const std::string folder = fresh_folder();
    Agent agent({"--nproc-per-node=2", "--max-restarts=1", kWorker, "folder=" + folder, how});
    EXPECT_EQ(agent.wait(), 0) << agent.err();
    const auto all = workers_in(folder);
    ASSERT_EQ(all.size(), 4u);
    EXPECT_EQ(all[2].restart, 1);
    EXPECT_EQ(all[3].restart, 1);
  }
}

// What programs do: init_process_group by the environment, again after each restart.
TEST(Torchrun, InitProcessGroup) {
  for (const Words& options : {Words{"--standalone"}, Words{"--master-port=" + std::to_string(free_port())}}) {
    const std::string folder = fresh_folder();
    Agent agent(arguments(
        {options, {"--nproc-per-node=3", "--max-restarts=2", kWorker, "init", "folder=" + folder, "fail=1:0"}}));
    EXPECT_EQ(agent.wait(), 0) << agent.err();
    EXPECT_EQ(workers_in(folder).size(), 6u);
  }
}

TEST(Torchrun, RestartsRunOut) {
  const std::string folder = fresh_folder();
  Agent agent({"--nproc-per-node=2", "--max-restarts=1", kWorker, "folder=" + folder, "kill=1:-1"});
  EXPECT_EQ(agent.wait(), 1);
  expect_contains(agent.err(), "rank 1 (local rank 1, process ");
  expect_contains(agent.err(), "SIGKILL (out of memory, or killed by someone)");
  EXPECT_EQ(workers_in(folder).size(), 4u);
}

TEST(Torchrun, SignalsArePassedOn) {
  const std::string folder = fresh_folder();
  Agent agent({"--nproc-per-node=2", kWorker, "folder=" + folder, "steps=100000", "sleep=5"});
  ASSERT_TRUE(run_in(folder, 0, 2));
  agent.kill(SIGTERM);
  EXPECT_EQ(agent.wait(), 128 + SIGTERM);
  expect_contains(agent.err(), "torchrun: stopped by SIGTERM");
  expect_all_ended(folder);
}

TEST(Torchrun, WhoIgnoresSignalsIsKilled) {
  const std::string folder = fresh_folder();
  Agent agent({"--nproc-per-node=2", "--shutdown-timeout=0.5", kWorker, "stubborn", "folder=" + folder, "steps=100000",
               "sleep=5"});
  ASSERT_TRUE(run_in(folder, 0, 2));
  const auto begin = Clock::now();
  agent.kill(SIGINT);
  // SIGINT would end them: it is SIGTERM that they ignore.
  EXPECT_EQ(agent.wait(), 128 + SIGINT);
  const std::string again = fresh_folder();
  Agent second({"--nproc-per-node=2", "--shutdown-timeout=0.5", kWorker, "stubborn", "folder=" + again, "steps=100000",
                "sleep=5"});
  ASSERT_TRUE(run_in(again, 0, 2));
  second.kill(SIGTERM);
  EXPECT_EQ(second.wait(), 128 + SIGTERM);
  EXPECT_LT(Clock::now() - begin, milliseconds(8000));
  expect_all_ended(again);
}

TEST(Torchrun, ASecondSignalIsImpatient) {
  const std::string folder = fresh_folder();
  Agent agent({"--nproc-per-node=1", kWorker, "stubborn", "folder=" + folder, "steps=100000", "sleep=5"});
  ASSERT_TRUE(run_in(folder, 0, 1));
  agent.kill(SIGTERM);
  EXPECT_EQ(agent.wait(milliseconds(300)), -1);
  agent.kill(SIGTERM);
  EXPECT_EQ(agent.wait(milliseconds(5000)), 128 + SIGTERM);
  expect_all_ended(folder);
}

TEST(Torchrun, AKilledAgentLeavesNoWorker) {
  const std::string folder = fresh_folder();
  Agent agent({"--nproc-per-node=3", kWorker, "stubborn", "folder=" + folder, "steps=100000", "sleep=5"});
  ASSERT_TRUE(run_in(folder, 0, 3));
  agent.kill(SIGKILL);
  EXPECT_EQ(agent.wait(), 1000 + SIGKILL);
  expect_all_ended(folder);
}

TEST(Torchrun, TwoNodes) {
  for (const bool is_static : {true, false}) {
    const std::string folder = fresh_folder();
    const int port = free_port();
    const Words work{kWorker, "folder=" + folder};
    const auto node = [&](int rank) {
      if (!is_static) return arguments({elastic("2", port, 2), work});
      return arguments({{"--nnodes=2", "--nproc-per-node=2", "--node-rank=" + std::to_string(rank),
                         "--master-addr=localhost", "--master-port=" + std::to_string(port), "--rdzv-id=job"},
                        work});
    };
    Agent second(node(1));
    Agent first(node(0));
    EXPECT_EQ(first.wait(), 0) << first.err();
    EXPECT_EQ(second.wait(), 0) << second.err();
    const auto all = workers_in(folder);
    ASSERT_EQ(all.size(), 4u);
    for (int rank = 0; rank < 4; ++rank) {
      const Seen& seen = all[static_cast<size_t>(rank)];
      EXPECT_EQ(seen.rank, rank);
      EXPECT_EQ(seen.size, 4);
      EXPECT_EQ(seen.group_rank, rank / 2);
      EXPECT_EQ(seen.group_size, 2);
      EXPECT_EQ(seen.local_rank, rank % 2);
      EXPECT_EQ(seen.run_id, "job");
    }
  }
}

TEST(Torchrun, AFailureOfOneNodeIsToldByAll) {
  const std::string folder = fresh_folder();
  const int port = free_port();
  const Words work{kWorker, "folder=" + folder, "kill=2:-1", "steps=100000", "sleep=5"};
  Agent first(arguments({elastic("2", port, 2), {"--max-restarts=1"}, work}));
  Agent second(arguments({elastic("2", port, 2), {"--max-restarts=1"}, work}));
  EXPECT_EQ(first.wait(), 1);
  EXPECT_EQ(second.wait(), 1);
  for (Agent* agent : {&first, &second}) {
    expect_contains(agent->err(), "rank 2 (local rank 0, process ");
    expect_contains(agent->err(), "SIGKILL");
  }
  EXPECT_EQ(workers_in(folder).size(), 8u);
  expect_all_ended(folder);
}

// Agents that share a file in place of a server. One is killed: the others go on with fewer.
TEST(Torchrun, ANodeDiesAndAnotherComes) {
  const std::string folder = fresh_folder();
  Words options = elastic("1:2", 0);
  options[3] = "--rdzv-endpoint=" + fresh_folder() + "/rendezvous";
  options[6] += ",store_type=file";
  options.push_back("--local-addr=localhost");
  // The others' workers fail when one is gone.
  options.push_back("--max-restarts=3");
  const Words work{kWorker, "folder=" + folder, "steps=100000", "sleep=5"};
  const Words node = arguments({options, work});
  std::optional<Agent> first(std::in_place, node);
  Agent second(node);
  ASSERT_TRUE(run_in(folder, -1, 2, 2));
  first->kill(SIGKILL);
  first.reset();
  ASSERT_TRUE(run_in(folder, -1, 1, 1)) << second.err();
  Agent third(node);
  ASSERT_TRUE(run_in(folder, -1, 2, 2)) << second.err();
  // One that is told to end leaves; that is no failure either.
  third.kill(SIGTERM);
  EXPECT_EQ(third.wait(), 128 + SIGTERM);
  ASSERT_TRUE(until([&] {
    const auto all = workers_in(folder);
    return all.back().size == 1 && is_alive(all.back().process);
  })) << second.err();
  second.kill(SIGTERM);
  EXPECT_EQ(second.wait(), 128 + SIGTERM);
  expect_all_ended(folder);
}

// A node of a fixed number is started again with its rank, by hand or by a scheduler.
TEST(Torchrun, AStaticNodeComesBack) {
  const std::string folder = fresh_folder();
  const std::string port = std::to_string(free_port());
  const auto node = [&](int rank) {
    return Words{"--nnodes=2",
                 "--node-rank=" + std::to_string(rank),
                 "--master-addr=localhost",
                 "--master-port=" + port,
                 "--max-restarts=3",
                 "--rdzv-conf=keep_alive_interval=0.2,keep_alive_max_attempt=4,join_timeout=15",
                 kWorker,
                 "folder=" + folder,
                 "steps=100000",
                 "sleep=5"};
  };
  Agent first(node(0));
  std::optional<Agent> second(std::in_place, node(1));
  ASSERT_TRUE(run_in(folder, 0, 2)) << first.err();
  second->kill(SIGKILL);
  second.emplace(node(1));
  ASSERT_TRUE(until([&] {
    const auto all = workers_in(folder);
    return all.back().restart > 0 && all.back().rank == 1 && is_alive(all.back().process);
  })) << first.err()
      << second->err();
  first.kill(SIGTERM);
  EXPECT_EQ(first.wait(), 128 + SIGTERM);
  // The store was the first node's.
  EXPECT_EQ(second->wait(), 1);
  expect_contains(second->err(), "the rendezvous' store is lost: ");
  expect_all_ended(folder);
}

TEST(Torchrun, TheNodeWithTheStoreDies) {
  const std::string folder = fresh_folder();
  const int port = free_port();
  const Words node = arguments({elastic("1:2", port), {kWorker, "folder=" + folder, "steps=100000", "sleep=5"}});
  std::optional<Agent> first(std::in_place, node);
  ASSERT_TRUE(run_in(folder, -1, 1, 1));
  Agent second(node);
  ASSERT_TRUE(run_in(folder, -1, 2, 2)) << second.err();
  first->kill(SIGKILL);
  EXPECT_EQ(second.wait(milliseconds(10000)), 1);
  expect_contains(second.err(), "the rendezvous' store is lost: ");
  expect_all_ended(folder);
}

TEST(Torchrun, Logs) {
  const std::string folder = fresh_folder(), logs = fresh_folder();
  Agent agent({"--standalone", "--nproc-per-node=3", "--log-dir=" + logs, "--redirects=0:3", "--tee=1:1,2:1",
               "--local-ranks-filter=0,1", "--role=r", kWorker});
  EXPECT_EQ(agent.wait(), 0) << agent.err();
  EXPECT_EQ(agent.out(), "[r1]:rank 1 of 3\n");
  std::filesystem::path run;
  for (const auto& entry : std::filesystem::directory_iterator(logs)) run = entry.path();
  EXPECT_EQ(contents(run / "attempt_0/0/stdout.log"), "rank 0 of 3\n");
  EXPECT_EQ(contents(run / "attempt_0/1/stdout.log"), "rank 1 of 3\n");
  EXPECT_EQ(contents(run / "attempt_0/2/stdout.log"), "rank 2 of 3\n");
  EXPECT_TRUE(std::filesystem::exists(run / "attempt_0/0/stderr.log"));
  EXPECT_FALSE(std::filesystem::exists(run / "attempt_0/1/stderr.log"));
}

TEST(Torchrun, WhatCannotBeStarted) {
  Agent missing({"--max-restarts=1", "no-such-program"});
  EXPECT_EQ(missing.wait(), 1);
  expect_contains(missing.err(), "launch: cannot run 'no-such-program': No such file or directory");
  Agent wrong({"--nproc-per-node=x", "program"});
  EXPECT_EQ(wrong.wait(), 2);
  expect_contains(wrong.err(), "torchrun: --nproc-per-node must be");
  Agent alone(arguments({{"--nnodes=2", "--rdzv-backend=c10d",
                          "--rdzv-endpoint=localhost:" + std::to_string(free_port()), "--rdzv-conf=join_timeout=0.5"},
                         {kWorker}}));
  EXPECT_EQ(alone.wait(), 1);
  expect_contains(alone.err(), "1 of at least 2 node(s) are there: ");
  Agent help({"--help"});
  EXPECT_EQ(help.wait(), 0);
  expect_contains(help.out(), "--standalone");
}

TEST(Torchrun, ByTheEnvironment) {
  const std::string folder = fresh_folder();
  Agent agent({kWorker, "folder=" + folder}, {{"PET_NPROC_PER_NODE", "2"}, {"PET_STANDALONE", "1"}});
  EXPECT_EQ(agent.wait(), 0) << agent.err();
  EXPECT_EQ(workers_in(folder).size(), 2u);
}

}  // namespace
}  // namespace c10d::launch::testing

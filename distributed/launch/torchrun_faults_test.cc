// Faults by chance through torchrun: whatever happens, every agent ends in time, says what it was, and leaves nobody.
//
//   bazel-bin/distributed/launch/torchrun_faults_test     KINDLING_FAULT_SEEDS=500 for so many, from
//   KINDLING_FAULT_FIRST
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "distributed/launch/testing_agents.h"

namespace c10d::launch::testing {
namespace {

// What a worker does to itself, and what its error says then.
constexpr const char* kOfWorkers[] = {"none", "fail", "throw", "kill", "stop", "mismatch", "close"};
// What is done to an agent.
enum OfAgents { kNothing, kKill, kTerminate, kStopAWhile, kAgentFaults };

int variable(const char* name, int otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : std::atoi(value);
}

void run_seed(int seed) {
  std::mt19937 random(static_cast<unsigned>(seed));
  const auto pick = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  const int nodes = 1 + pick(3), workers = nodes == 1 ? 2 + pick(2) : 1 + pick(2);
  int least = 1 + pick(nodes);
  const int restarts = pick(3);
  const std::string of_worker = kOfWorkers[static_cast<size_t>(pick(static_cast<int>(std::size(kOfWorkers))))];
  const int victim = pick(nodes * workers), at_restart = pick(3) - 1;  // -1: each time
  auto of_agent = static_cast<OfAgents>(nodes == 1 && pick(2) ? kNothing : pick(kAgentFaults));
  if (of_worker == "stop" && nodes > 1) {
    // Nobody would wait for a worker that is alone.
    least = nodes;
    of_agent = kNothing;
  }
  const int agent_victim = pick(nodes);
  SCOPED_TRACE("seed " + std::to_string(seed) + ": " + std::to_string(least) + ":" + std::to_string(nodes) +
               " nodes of " + std::to_string(workers) + ", " + of_worker + " by rank " + std::to_string(victim) +
               " at " + std::to_string(at_restart) + ", " + std::to_string(restarts) + " restarts, agent " +
               std::to_string(agent_victim) + " gets " + std::to_string(of_agent));

  const std::string folder = fresh_folder();
  Words options = elastic(std::to_string(least) + ":" + std::to_string(nodes), free_port(), workers);
  options.push_back("--max-restarts=" + std::to_string(restarts));
  Words work{kWorker, "folder=" + folder, "steps=100", "sleep=5", "timeout=1500"};
  if (of_worker != "none") work.push_back(of_worker + "=" + std::to_string(victim) + ":" + std::to_string(at_restart));
  std::vector<std::unique_ptr<Agent>> agents;
  for (int node = 0; node < nodes; ++node) agents.push_back(std::make_unique<Agent>(arguments({options, work})));
  until([&] { return !workers_in(folder).empty(); });
  std::this_thread::sleep_for(milliseconds(pick(600)));
  Agent& hit = *agents[static_cast<size_t>(agent_victim)];
  if (of_agent == kKill) hit.kill(SIGKILL);
  if (of_agent == kTerminate) hit.kill(SIGTERM);
  if (of_agent == kStopAWhile) {
    hit.kill(SIGSTOP);
    std::this_thread::sleep_for(milliseconds(1500));
    hit.kill(SIGCONT);
  }
  // The join timeout and all else that may follow it.
  for (size_t node = 0; node < agents.size(); ++node) {
    const int code = agents[node]->wait(milliseconds(45000));
    const std::string error = agents[node]->err();
    EXPECT_NE(code, -1) << "agent " << node << " hangs: " << error;
    if (code == 1) {
      const bool says_who =
          error.find("rank ") != std::string::npos || error.find("node(s) are there") != std::string::npos ||
          error.find("store is lost") != std::string::npos || error.find("rendezvous is closed") != std::string::npos ||
          error.find("localhost") != std::string::npos;
      EXPECT_TRUE(says_who) << "agent " << node << ": " << error;
    }
    // A single node on which nobody fails for ever must get through.
    if (nodes == 1 && of_agent == kNothing && (of_worker == "none" || (at_restart >= 0 && at_restart < restarts))) {
      EXPECT_EQ(code, 0) << error;
    }
    if (nodes == 1 && of_agent == kNothing && of_worker != "none" && at_restart < 0) EXPECT_EQ(code, 1) << error;
  }
  expect_all_ended(folder);
}

TEST(TorchrunFaults, BySeeds) {
  const int first = variable("KINDLING_FAULT_FIRST", 1), count = variable("KINDLING_FAULT_SEEDS", 4);
  for (int seed = first; seed < first + count && !HasFailure(); ++seed) run_seed(seed);
}

}  // namespace
}  // namespace c10d::launch::testing

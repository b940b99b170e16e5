// The agent of a node: starts its workers round by round, looks after them, and ends them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "c10/util/intrusive_ptr.h"
#include "distributed/launch/rendezvous.h"
#include "distributed/launch/worker_process.h"
#include "distributed/store/store.h"

namespace c10d::launch {

/// Which of a worker's streams: bits.
enum Streams : unsigned { kNoStream = 0, kOut = 1, kErr = 2, kBoth = 3 };

/// For all local ranks, or one by one; who is not named has kNoStream.
struct StreamsOfRanks {
  Streams all = kNoStream;
  std::map<int, Streams> each;
  Streams of(int local_rank) const {
    const auto found = each.find(local_rank);
    return found == each.end() ? all : found->second;
  }
};

struct LogOptions {
  /// Where <run id>_<random>/attempt_<n>/<local rank>/{stdout.log,stderr.log,error.json} are written; "" for a folder
  /// of /tmp that is removed at the end of a job that has written no log.
  std::string folder;
  StreamsOfRanks redirects;              ///< to files
  StreamsOfRanks tees;                   ///< to files and the console
  std::optional<std::set<int>> console;  ///< whose local ranks' output is shown; none: all
  /// Before each line on the console of who is teed: ${role_name}, ${rank}, ${local_rank}.
  std::string prefix = "[${role_name}${rank}]:";
};

struct AgentOptions {
  std::vector<std::string> command;
  std::string run_id = "none";
  NodeInfo node;
  RendezvousOptions rendezvous;
  std::chrono::milliseconds monitor_interval{100};
  /// Between the signal that ends workers and SIGKILL.
  std::chrono::milliseconds shutdown_timeout = std::chrono::seconds(30);
  /// How long the node with the store stays for the others at the end.
  std::chrono::milliseconds close_timeout = std::chrono::seconds(30);
  LogOptions logs;
  /// Where all workers find the store that they share; none: a new one for each round, on the first node.
  std::optional<std::pair<std::string, uint16_t>> workers_store;
  bool holds_store = false;
};

struct AgentResult {
  enum class End {
    kSucceeded,  ///< all workers of all nodes have ended with 0
    kFailed,     ///< a worker failed, and there was no restart left; or the rendezvous failed
    kStopped,    ///< by a signal
  };
  End end = End::kSucceeded;
  int signal = 0;
  /// Of a failure: who failed first and how, and who else.
  std::string report;
};

/// One node of a job. The store is the job's, the same on all nodes.
///
/// When a worker fails, or a node comes or goes, all workers of all nodes are ended and started again with new ranks:
/// for a failure at most rendezvous.max_restarts times.
///
/// Workers find RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, GROUP_RANK, GROUP_WORLD_SIZE, ROLE_RANK, ROLE_NAME,
/// ROLE_WORLD_SIZE, MASTER_ADDR, MASTER_PORT, TORCHELASTIC_RESTART_COUNT (how often the group was started again, for
/// any reason), TORCHELASTIC_MAX_RESTARTS, TORCHELASTIC_RUN_ID, TORCHELASTIC_USE_AGENT_STORE (True: the store at
/// MASTER_ADDR has a server; all ranks are clients, below /worker/attempt_<TORCHELASTIC_RESTART_COUNT>),
/// TORCHELASTIC_ERROR_FILE and, where it was not set, OMP_NUM_THREADS (cores divided by workers).
class Agent {
 public:
  Agent(AgentOptions options, c10::intrusive_ptr<Store> store);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  /// Returns when the job has ended, and no process is left. Called once, by a thread that lives as long as the call.
  AgentResult run();

  /// Has run() pass the signal on to the workers and return; a second call has them killed at once. From a handler of
  /// signals, or any thread.
  void stop(int signal) noexcept;

 private:
  using Workers = std::vector<std::unique_ptr<WorkerProcess>>;
  enum class Outcome { kAgain, kEnded };

  Outcome run_round(const Round& round, AgentResult& result);
  std::optional<std::pair<std::string, uint16_t>> agree_on_store(const Round& round);
  Workers start(const Round& round, const std::pair<std::string, uint16_t>& store);
  WorkerSpec spec(const Round& round, const std::pair<std::string, uint16_t>& store, int local_rank) const;
  std::string describe(const Round& round, size_t local_rank, WorkerProcess& worker, int64_t* unix_ms) const;
  void end_workers(Workers& workers, int signal);
  void tell_failure(Failure failure);
  void wait_a_moment(const Workers& workers);
  bool is_stopped() const { return stop_signal_ != 0; }
  std::string report() const;
  std::string rank_folder(int64_t round, int local_rank) const;

  const AgentOptions options_;
  std::string folder_;  // of this run's logs
  ProcessGuard guard_;
  OutputPump pump_;
  c10::intrusive_ptr<Store> store_;
  std::unique_ptr<Rendezvous> rendezvous_;
  c10::intrusive_ptr<Store> workers_server_;
  std::atomic<int> stop_signal_{0};
  std::atomic<int> stops_{0};
  int wake_[2];
};

}  // namespace c10d::launch

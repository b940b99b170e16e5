#include "distributed/launch/agent.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "c10/util/exception.h"
#include "c10/util/string_util.h"
#include "distributed/launch/error_file.h"
#include "distributed/store/tcp_store.h"

namespace c10d::launch {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using Standing = Rendezvous::Standing;

// For what the workers wrote to be carried on when they have ended.
constexpr milliseconds kDrainTime(1000);
constexpr milliseconds kGlance(50);
constexpr milliseconds kLeaveTime(3000);

int64_t unix_ms_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<milliseconds>(now).count();
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

std::string safe_name(std::string text) {
  for (char& c : text) {
    if (c == '/' || c == '\0') c = '_';
  }
  return text;
}

std::string indented(const std::string& text, const char* by) {
  return by + replaced(text, "\n", std::string("\n") + by);
}

}  // namespace

Agent::Agent(AgentOptions options, c10::intrusive_ptr<Store> store)
    : options_(std::move(options)), store_(std::move(store)) {
  TORCH_CHECK_VALUE(!options_.command.empty(), "launch: there is no program to run");
  const std::string parent =
      options_.logs.folder.empty() ? std::filesystem::temp_directory_path().string() : options_.logs.folder;
  std::error_code error;
  std::filesystem::create_directories(parent, error);
  std::string name = parent + "/" + safe_name(options_.run_id) + "_XXXXXX";
  TORCH_CHECK(::mkdtemp(name.data()) != nullptr, "launch: cannot make a folder for logs in ", parent, ": ",
              std::strerror(errno));
  folder_ = name;
  TORCH_CHECK(::pipe2(wake_, O_CLOEXEC | O_NONBLOCK) == 0, "launch: cannot make a pipe: ", std::strerror(errno));
}

Agent::~Agent() {
  for (const int end : wake_) ::close(end);
  std::error_code ignored;
  if (options_.logs.folder.empty() && options_.logs.redirects.all == kNoStream &&
      options_.logs.redirects.each.empty() && options_.logs.tees.all == kNoStream && options_.logs.tees.each.empty()) {
    std::filesystem::remove_all(folder_, ignored);
  }
}

void Agent::stop(int signal) noexcept {
  int none = 0;
  stop_signal_.compare_exchange_strong(none, signal);
  ++stops_;
  [[maybe_unused]] const ssize_t n = ::write(wake_[1], "", 1);
}

std::string Agent::rank_folder(int64_t round, int local_rank) const {
  return c10::str(folder_, "/attempt_", round, "/", local_rank);
}

AgentResult Agent::run() {
  AgentResult result;
  rendezvous_ = std::make_unique<Rendezvous>(store_, options_.rendezvous, options_.node);
  try {
    while (run_round(rendezvous_->next_round([this] { return is_stopped(); }), result) == Outcome::kAgain) {
    }
  } catch (const RendezvousStoppedError&) {
    result.end = AgentResult::End::kStopped;
  } catch (const c10::Error& error) {
    result.end = AgentResult::End::kFailed;
    result.report = rendezvous_->failures().empty() ? error.msg() : error.msg() + "\n" + report();
  }
  result.signal = stop_signal_;
  workers_server_.reset();
  rendezvous_->leave(kLeaveTime);
  if (options_.holds_store && result.end != AgentResult::End::kStopped) {
    // The others still have to read how it ended.
    for (const auto end = Clock::now() + options_.close_timeout; Clock::now() < end && !is_stopped();) {
      if (rendezvous_->wait_until_alone(kGlance)) break;
    }
  }
  rendezvous_.reset();
  return result;
}

Agent::Outcome Agent::run_round(const Round& round, AgentResult& result) {
  const auto at = agree_on_store(round);
  if (!at) return Outcome::kAgain;
  Workers workers;
  try {
    workers = start(round, *at);
  } catch (const c10::Error& error) {
    tell_failure({round.number, unix_ms_now(), c10::str("node ", options_.node.id, ": ", error.msg())});
  }
  bool is_done = false;
  for (;;) {
    if (is_stopped()) {
      end_workers(workers, stop_signal_);
      result.end = AgentResult::End::kStopped;
      return Outcome::kEnded;
    }
    switch (rendezvous_->standing(round.number)) {
      case Standing::kRunning:
        break;
      case Standing::kOver:
        end_workers(workers, SIGTERM);
        return Outcome::kAgain;
      case Standing::kSucceeded:
        end_workers(workers, SIGTERM);
        return Outcome::kEnded;
      case Standing::kFailed:
      case Standing::kLost:
        end_workers(workers, SIGTERM);
        result.end = AgentResult::End::kFailed;
        result.report = report();
        return Outcome::kEnded;
    }
    std::optional<size_t> failed;
    bool all_well = true;
    for (size_t i = 0; i < workers.size(); ++i) {
      const std::optional<WorkerExit>& exit = workers[i]->poll();
      all_well = all_well && exit && exit->is_well();
      // Of those seen at once, who was killed: it is why others end with an error.
      if (exit && !exit->is_well() && (!failed || (exit->signal != 0 && workers[*failed]->poll()->signal == 0)))
        failed = i;
    }
    if (failed) {
      pump_.drain(kGlance);
      Failure failure{round.number, 0, ""};
      failure.text = describe(round, *failed, *workers[*failed], &failure.unix_ms);
      tell_failure(std::move(failure));
      end_workers(workers, SIGTERM);
      continue;
    }
    if (all_well && !is_done) {
      is_done = true;
      pump_.drain(kDrainTime);
      rendezvous_->succeed(round.number);
    }
    wait_a_moment(workers);
  }
}

// Returns when the others know, or the store is lost.
void Agent::tell_failure(Failure failure) {
  const int64_t round = failure.round;
  rendezvous_->fail(std::move(failure));
  while (rendezvous_->standing(round) == Standing::kRunning && !is_stopped()) std::this_thread::sleep_for(kGlance / 10);
}

void Agent::wait_a_moment(const Workers& workers) {
  std::vector<pollfd> events{{wake_[0], POLLIN, 0}};
  for (const auto& worker : workers) {
    if (!worker->poll()) events.push_back({worker->descriptor(), POLLIN, 0});
  }
  ::poll(events.data(), events.size(), static_cast<int>(options_.monitor_interval.count()));
  for (char byte; ::read(wake_[0], &byte, 1) == 1;) {
  }
}

// The first node has a server, fresh for each round: nothing of the round before is in it, and nobody else can have
// taken its port between two looks.
std::optional<std::pair<std::string, uint16_t>> Agent::agree_on_store(const Round& round) {
  if (options_.workers_store) return options_.workers_store;
  const c10::intrusive_ptr<Store> store = store_->clone();
  const std::string key = c10::str("round/", round.number, "/store");
  workers_server_.reset();
  if (round.rank == 0) {
    TCPStoreOptions options;
    options.port = 0;
    options.isServer = true;
    options.waitWorkers = false;
    auto server = c10::make_intrusive<TCPStore>("localhost", options);
    const std::pair<std::string, uint16_t> at(options_.node.address, server->getPort());
    workers_server_ = server;
    store->set(key, c10::str(at.first, " ", at.second));
    return at;
  }
  while (!store->check({key})) {
    if (is_stopped() || rendezvous_->standing(round.number) != Standing::kRunning) return std::nullopt;
    std::this_thread::sleep_for(kGlance);
  }
  const std::string at = store->get_to_str(key);
  const size_t space = at.rfind(' ');
  TORCH_CHECK(space != std::string::npos, "launch: '", at, "' is no address of a store");
  return std::make_pair(at.substr(0, space), static_cast<uint16_t>(std::atoi(at.c_str() + space)));
}

WorkerSpec Agent::spec(const Round& round, const std::pair<std::string, uint16_t>& store, int local_rank) const {
  const int workers = options_.node.workers;
  const int64_t rank = round.first_rank + local_rank;
  const std::string folder = rank_folder(round.number, local_rank);
  WorkerSpec made;
  made.command = options_.command;
  made.added = {
      {"RANK", c10::str(rank)},
      {"WORLD_SIZE", c10::str(round.world_size)},
      {"LOCAL_RANK", c10::str(local_rank)},
      {"LOCAL_WORLD_SIZE", c10::str(workers)},
      {"GROUP_RANK", c10::str(round.rank)},
      {"GROUP_WORLD_SIZE", c10::str(round.size)},
      {"ROLE_RANK", c10::str(round.first_role_rank + local_rank)},
      {"ROLE_WORLD_SIZE", c10::str(round.role_world_size)},
      {"ROLE_NAME", options_.node.role},
      {"MASTER_ADDR", store.first},
      {"MASTER_PORT", c10::str(store.second)},
      {"TORCHELASTIC_RESTART_COUNT", c10::str(round.number)},
      {"TORCHELASTIC_MAX_RESTARTS", c10::str(options_.rendezvous.max_restarts)},
      {"TORCHELASTIC_RUN_ID", options_.run_id},
      {"TORCHELASTIC_USE_AGENT_STORE", "True"},
      {"TORCHELASTIC_ERROR_FILE", folder + "/error.json"},
  };
  if (std::getenv("OMP_NUM_THREADS") == nullptr) {
    const int cores = static_cast<int>(std::thread::hardware_concurrency());
    made.added["OMP_NUM_THREADS"] = c10::str(std::max(1, cores / workers));
  }
  const unsigned redirected = options_.logs.redirects.of(local_rank), teed = options_.logs.tees.of(local_rank);
  const bool is_shown = !options_.logs.console || options_.logs.console->contains(local_rank);
  std::string prefix = replaced(options_.logs.prefix, "${role_name}", options_.node.role);
  prefix = replaced(replaced(prefix, "${local_rank}", c10::str(local_rank)), "${rank}", c10::str(rank));
  const auto output = [&](unsigned stream, const char* name) {
    Output made;
    if ((redirected | teed) & stream) made.file = folder + name;
    made.to_console = is_shown && ((teed & stream) || !(redirected & stream));
    if (teed & stream) made.prefix = prefix;
    return made;
  };
  made.standard = output(kOut, "/stdout.log");
  made.error = output(kErr, "/stderr.log");
  return made;
}

Agent::Workers Agent::start(const Round& round, const std::pair<std::string, uint16_t>& store) {
  Workers workers;
  for (int local_rank = 0; local_rank < options_.node.workers; ++local_rank) {
    std::filesystem::create_directories(rank_folder(round.number, local_rank));
    workers.push_back(std::make_unique<WorkerProcess>(spec(round, store, local_rank), guard_, pump_));
  }
  return workers;
}

void Agent::end_workers(Workers& workers, int signal) {
  const int stops = stops_;
  stop_workers(workers, signal, options_.shutdown_timeout, [&] { return stops_ > std::max(stops, 1); });
  pump_.drain(kDrainTime);
}

std::string Agent::describe(const Round& round, size_t local_rank, WorkerProcess& worker, int64_t* unix_ms) const {
  const WorkerExit& exit = *worker.poll();
  *unix_ms = exit.unix_ms;
  std::string text = c10::str("rank ", round.first_rank + static_cast<int64_t>(local_rank), " (local rank ", local_rank,
                              ", process ", worker.pid(), ") on ", options_.node.id, ": ", exit.text());
  const std::string path = rank_folder(round.number, static_cast<int>(local_rank)) + "/error.json";
  if (const std::optional<WorkerError> error = read_error_file(path)) {
    text += "\n" + indented(error->message, "  ");
  }
  const std::vector<std::string> lines = worker.last_lines_of_error();
  if (!lines.empty()) text += "\n  its last words on stderr:\n" + indented(c10::Join("\n", lines), "    ");
  return text;
}

std::string Agent::report() const {
  const std::vector<Failure> failures = rendezvous_->failures();
  const std::string reason = rendezvous_->reason();
  if (failures.empty()) return reason;
  std::string text = "the first failure: " + failures.front().text;
  for (size_t i = 1; i < failures.size(); ++i) text += "\nthen: " + failures[i].text;
  if (reason.rfind("the rendezvous' store is lost", 0) == 0) text += "\n" + reason;
  return text;
}

}  // namespace c10d::launch

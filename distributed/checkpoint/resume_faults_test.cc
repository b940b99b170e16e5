// Training through torchrun that is hit by chance: who is left says who failed and in what, within its deadline; the
// workers that are started again go on from the last checkpoint, and end with the bits of a run that nothing disturbed.
//
//   bazel-bin/distributed/checkpoint/resume_faults_test     KINDLING_FAULT_SEEDS=500 for so many, from
//   KINDLING_FAULT_FIRST
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "aten/aten.h"
#include "distributed/checkpoint/filesystem.h"
#include "distributed/checkpoint/format_utils.h"
#include "distributed/launch/error_file.h"
#include "distributed/launch/testing_agents.h"

namespace torch::distributed::checkpoint {
namespace {

using namespace c10d::launch::testing;  // testing_agents.h

constexpr const char* kTrainer = "distributed/checkpoint/resume_test_worker";
constexpr int kSteps = 12, kEvery = 3;
// Of groups, where somebody is waited for until then, and else.
constexpr milliseconds kShort(2000), kLong(15000);
// What a deadline may be missed by on a machine that does other things, too.
constexpr milliseconds kSlack(4000);

// What happens. Most of it a worker does to itself (resume_test_worker.cc).
constexpr const char* kFaults[] = {
    "kill",
    "stop",
    "throw",
    "close",
    "count",
    "dtype",
    "collective",
    "full",
    "kill store",
    "never",
    "stranger",
    "order",
    "disk",
    "kill in save",
    "none",
    "kill agent",
    "stranger at start",
};

int variable(const char* name, int otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : std::atoi(value);
}

std::optional<int64_t> number_in(const std::string& path) {
  const std::string text = contents(path);
  if (text.empty()) return std::nullopt;
  return std::stoll(text);
}

// The processes of the workers that have been.
std::vector<pid_t> processes_in(const std::string& folder) {
  std::vector<pid_t> all;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().string().rfind("pid_", 0) == 0)
      all.push_back(static_cast<pid_t>(number_in(entry.path()).value_or(0)));
  }
  return all;
}

// The ports at which these processes listen.
std::set<uint16_t> ports_of(const std::vector<pid_t>& processes) {
  std::set<std::string> sockets;
  for (const pid_t process : processes) {
    std::error_code gone;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/fd", gone)) {
      const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
      if (target.rfind("socket:[", 0) == 0) sockets.insert(target.substr(8, target.size() - 9));
    }
  }
  std::set<uint16_t> ports;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::istringstream lines(contents(table));
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::vector<std::string> all{std::istream_iterator<std::string>(words), {}};
      // Number, local address, remote address, state (0A: listens), ..., inode.
      if (all.size() < 10 || all[3] != "0A" || !sockets.contains(all[9])) continue;
      ports.insert(static_cast<uint16_t>(std::stoi(all[1].substr(all[1].rfind(':') + 1), nullptr, 16)));
    }
  }
  return ports;
}

// Connects to a port and says something that makes no sense there; some stay. Returns the socket, or -1.
int bother(uint16_t port, std::mt19937& random) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address);
  std::string text;
  switch (random() % 4) {
    case 0:
      break;  // nothing
    case 1:
      text = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
      break;
    case 2:
      text = std::string(64, '\xff');
      break;
    default:
      for (size_t i = 0; i < 500; ++i) text += static_cast<char>(random());
  }
  std::this_thread::sleep_for(milliseconds(1));
  ::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
  if (random() % 2 == 0) return socket;
  ::close(socket);
  return -1;
}

struct Job {
  std::string model;  // ddp or fsdp
  int ranks = 2;
  std::string save = "sync";
  Words more = {};
};

std::unique_ptr<Agent> start(const Job& job, const std::string& folder, int restarts) {
  return std::make_unique<Agent>(arguments(
      {{"--standalone", "--nproc-per-node=" + std::to_string(job.ranks), "--max-restarts=" + std::to_string(restarts),
        "--monitor-interval=0.02", "--shutdown-timeout=20", "--log-dir=" + folder + "/logs"},
       {kTrainer, "folder=" + folder, "model=" + job.model, "save=" + job.save, "steps=" + std::to_string(kSteps),
        "every=" + std::to_string(kEvery)},
       job.more}));
}

// Everything that a job has saved in the end: parameters, optimizer, losses, random numbers and step.
std::map<std::string, c10::IValue> saved_in(const std::string& folder) {
  const std::string path = folder + "/disk/run";
  StateDict state = StateDict::of(load_state_dict_from_keys({}, {.checkpoint_id = path, .no_dist = true}));
  std::map<std::string, c10::IValue> all;
  for (const Leaf& leaf : flatten_state_dict(state)) all.emplace(leaf.name, leaf.value);
  return all;
}

void expect_same(const std::map<std::string, c10::IValue>& got, const std::map<std::string, c10::IValue>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  EXPECT_EQ(got.at("step").toInt(), kSteps);
  for (const auto& [name, value] : expected) {
    ASSERT_TRUE(got.contains(name)) << name;
    if (value.isTensor()) {
      ASSERT_TRUE(at::equal(got.at(name).toTensor(), value.toTensor())) << name;
    } else {
      ASSERT_TRUE(got.at(name) == value) << name;
    }
  }
}

// What is left of a job that nothing disturbs.
const std::map<std::string, c10::IValue>& undisturbed(const std::string& model, int ranks) {
  static std::map<std::string, std::map<std::string, c10::IValue>> all;
  auto& saved = all[model + std::to_string(ranks)];
  if (saved.empty()) {
    const std::string folder = fresh_folder();
    std::filesystem::create_directory(folder + "/disk");
    const auto agent = start({.model = model, .ranks = ranks}, folder, 0);
    EXPECT_EQ(agent->wait(milliseconds(60000)), 0) << agent->err();
    saved = saved_in(folder);
    // A model, two moments and a step for each of six parameters, and more.
    EXPECT_GT(saved.size(), 24u);
    std::filesystem::remove_all(folder);
  }
  return saved;
}

std::string error_of_rank(const std::string& folder, int restart, int rank) {
  for (const auto& run : std::filesystem::directory_iterator(folder + "/logs")) {
    const std::string path =
        run.path().string() + "/attempt_" + std::to_string(restart) + "/" + std::to_string(rank) + "/error.json";
    if (const auto error = c10d::launch::read_error_file(path)) return error->message;
  }
  return "";
}

bool names_an_operation(const std::string& error) {
  static const std::regex operation(
      "[A-Z_]{6,} number \\d+|(save|load): \\w+ failed|waited for the others|could not be connected");
  return std::regex_search(error, operation);
}

void run_seed(int seed) {
  std::mt19937 random(static_cast<unsigned>(seed));
  const auto pick = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  const std::string fault = kFaults[static_cast<size_t>(seed - 1) % std::size(kFaults)];
  Job job{.model = pick(2) ? "ddp" : "fsdp", .ranks = 2 + pick(2)};
  constexpr const char* kSaves[] = {"sync", "async", "async_own"};
  job.save = kSaves[pick(3)];
  int victim = pick(job.ranks), step = pick(kSteps - 1), delay = pick(8000);
  std::string does = fault, init = pick(3) == 0 ? "rank0" : "env";
  if (fault == "kill in save" || fault == "kill store") does = "kill";
  if (fault == "kill in save") {
    step = step / kEvery * kEvery + kEvery - 1;
    delay = 1000 + pick(6000);
  }
  // Rank 0 has the store that all use.
  if (fault == "kill store") {
    init = "rank0";
    victim = 0;
  }
  // Without its store there is nobody to ask who is missing.
  if (fault == "never") init = "env";
  if (fault == "full" || fault == "disk") step = step / kEvery * kEvery + kEvery - 1;
  const bool is_bothered = fault == "stranger" || fault == "stranger at start";
  const bool by_itself = fault != "none" && !is_bothered && fault != "kill agent";
  const bool goes_on = (fault == "full" || fault == "disk") && delay % 2 == 1;
  // The last save is to succeed.
  if (goes_on && step == kSteps - 1) step -= kEvery;
  const std::set<std::string> waits = {"stop", "never", "stranger at start", "close"};
  const milliseconds timeout = waits.contains(fault) ? kShort : kLong;
  if (init == "rank0") init += ":" + std::to_string(20000 + (::getpid() * 37 + seed * 8) % 10000);
  job.more = {"init=" + init, "timeout=" + std::to_string(timeout.count())};
  if (by_itself) {
    job.more.push_back("fault0=" + does + ":" + std::to_string(victim) + ":" + std::to_string(step) + ":" +
                       std::to_string(delay));
  }
  // Sometimes another one when it has begun again.
  if (by_itself && !goes_on && pick(4) == 0) {
    job.more.push_back("fault1=kill:" + std::to_string(pick(job.ranks)) + ":" + std::to_string(kSteps - 2) + ":" +
                       std::to_string(pick(5000)));
  }
  if (!by_itself) job.more.push_back("sleep=40");
  std::string trace = "seed " + std::to_string(seed) + ": " + fault + ", " + job.model + " of " +
                      std::to_string(job.ranks) + ", save=" + job.save;
  for (const std::string& word : job.more) trace += " " + word;
  SCOPED_TRACE(trace);
  const auto& expected = undisturbed(job.model, job.ranks);

  const auto began = Clock::now();
  const std::string folder = fresh_folder(), disk = folder + "/disk";
  std::filesystem::create_directory(disk);
  const bool is_mounted = fault == "disk" && ::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=512k") == 0;
  if (fault == "disk" && !is_mounted) {
    std::printf("%s: left out, no tmpfs can be mounted here\n", trace.c_str());
    return;
  }
  auto agent = start(job, folder, 3);
  std::vector<int> sockets;
  if (is_bothered) {
    // Once they are connected nobody is disturbed. Before, a rank may take a stranger for another rank.
    const milliseconds most(fault == "stranger" ? 30000 : 1000);
    if (fault == "stranger") {
      EXPECT_TRUE(until([&] { return !contents(folder + "/resumed_0").empty(); }));
    }
    size_t ports = 0;
    while (contents(folder + "/saved") != std::to_string(kSteps) && agent->wait(milliseconds(0)) == -1 &&
           Clock::now() < began + most) {
      std::vector<pid_t> processes = processes_in(folder);
      processes.push_back(agent->process());
      const auto found = ports_of(processes);
      ports = std::max(ports, found.size());
      for (const uint16_t port : found) sockets.push_back(bother(port, random));
      std::this_thread::sleep_for(milliseconds(fault == "stranger" ? 20 : 2));
    }
    // The agent's store and the workers'.
    EXPECT_GE(ports, 2u);
  }
  if (fault == "kill agent") {
    // All it has started ends with it; somebody starts it again.
    EXPECT_TRUE(until([&] { return !contents(folder + "/resumed_0").empty(); }));
    std::this_thread::sleep_for(milliseconds(pick(500)));
    agent->kill(SIGKILL);
    EXPECT_EQ(agent->wait(), 1000 + SIGKILL);
    EXPECT_TRUE(until([&] {
      const auto all = processes_in(folder);
      return std::none_of(all.begin(), all.end(), is_alive);
    })) << "workers outlive their agent";
    std::filesystem::rename(folder + "/resumed_0", folder + "/resumed_before");
    agent = start(job, folder, 3);
  }
  const int code = agent->wait(milliseconds(40000));
  EXPECT_EQ(code, 0) << agent->err();
  for (const int socket : sockets) {
    if (socket >= 0) ::close(socket);
  }
  const auto processes = processes_in(folder);
  EXPECT_TRUE(std::none_of(processes.begin(), processes.end(), is_alive)) << "processes are left";

  int attempts = 0;
  for (; !contents(folder + "/began_" + std::to_string(attempts) + "_0").empty();) ++attempts;
  const int faults =
      goes_on ? 0 : static_cast<int>(by_itself) + static_cast<int>(job.more.back().rfind("fault1", 0) == 0);
  if (fault == "stranger at start") {
    EXPECT_LE(attempts, 4) << agent->err();
    for (int restart = 0; restart < attempts; ++restart) {
      for (int rank = 0; rank < job.ranks; ++rank) {
        const std::string error = error_of_rank(folder, restart, rank);
        EXPECT_TRUE(error.empty() || names_an_operation(error)) << "rank " << rank << ": " << error;
      }
    }
  } else {
    EXPECT_EQ(attempts, 1 + faults) << agent->err();
  }
  for (int restart = 0; restart < faults; ++restart) {
    const std::string attempt = std::to_string(restart);
    const int whose = restart == 0 ? victim : std::atoi(job.more.back().c_str() + sizeof "fault1=kill:" - 1);
    const auto at = number_in(folder + "/fault_" + attempt);
    EXPECT_TRUE(at) << "no fault in attempt " << restart;
    if (!at) continue;
    // "lost one of ranks 1, 2": which connection of an operation has ended is not always told. Where the store is lost,
    // too, who is named is a rank that was waited for: nobody can ask the others.
    const bool is_with_store = whose == 0 && init != "env";
    const std::regex names(is_with_store ? "[Rr]anks? \\d" : "[Rr]anks? (\\d, )*" + std::to_string(whose) + "\\b");
    for (int rank = 0; rank < job.ranks; ++rank) {
      if (rank == whose) continue;
      const std::string error = error_of_rank(folder, restart, rank);
      const auto failed = number_in(folder + "/failed_" + attempt + "_" + std::to_string(rank));
      EXPECT_TRUE(failed) << "rank " << rank << " says nothing in attempt " << restart << ": " << error;
      EXPECT_TRUE(std::regex_search(error, names)) << "rank " << rank << ": " << error;
      EXPECT_TRUE(names_an_operation(error)) << "rank " << rank << ": " << error;
      if (variable("KINDLING_FAULT_SHOW", 0)) std::printf("  rank %d: %s\n", rank, error.substr(0, 600).c_str());
      if (failed) {
        EXPECT_LT(*failed - *at, (timeout + kSlack).count()) << "rank " << rank << ": " << error;
      }
    }
    const auto again = number_in(folder + "/began_" + std::to_string(restart + 1) + "_0");
    if (again) {
      EXPECT_LT(*again - *at, (timeout + kSlack).count()) << "the agent waits for somebody";
    }
  }
  if (code == 0) {
    expect_same(saved_in(folder), expected);
    const auto files = std::distance(std::filesystem::directory_iterator(disk + "/run"), {});
    EXPECT_EQ(files, 1 + job.ranks) << "files are left in the checkpoint's folder";
  }
  const auto took = std::chrono::duration_cast<milliseconds>(Clock::now() - began).count();
  std::printf("%s: %d attempts, %lld ms\n", trace.c_str(), attempts, static_cast<long long>(took));
  std::fflush(stdout);
  if (is_mounted) ::umount(disk.c_str());
  if (!::testing::Test::HasFailure()) std::filesystem::remove_all(folder);
}

TEST(ResumeFaults, BySeeds) {
  const int first = variable("KINDLING_FAULT_FIRST", 1),
            count = variable("KINDLING_FAULT_SEEDS", static_cast<int>(std::size(kFaults)));
  for (int seed = first; seed < first + count; ++seed) run_seed(seed);
}

}  // namespace
}  // namespace torch::distributed::checkpoint

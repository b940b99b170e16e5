// A worker of the tests of the agent: sums over Gloo, by the environment that an agent gives, and faults by its
// arguments.
//
//   worker [steps=N] [fail=RANK:RESTART] [kill=RANK:RESTART] [stop=RANK:RESTART] [throw=RANK:RESTART] [stubborn]
//          [init] [mismatch=RANK:RESTART] [close=RANK:RESTART] [folder=WHERE] [sleep=MS] [timeout=MS] [exit=N]
//
// RESTART is TORCHELASTIC_RESTART_COUNT; -1 is any.
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "aten/ops/creation/ops.h"
#include "c10/util/string_util.h"
#include "distributed/launch/error_file.h"
#include "distributed/process_group/collectives.h"
#include "distributed/process_group/gloo/process_group_gloo.h"
#include "distributed/process_group/init.h"
#include "distributed/store/prefix_store.h"
#include "distributed/store/tcp_store.h"

namespace {

int number(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr) throw std::runtime_error(std::string("there is no ") + name);
  return std::atoi(value);
}

int work(const std::map<std::string, std::string>& given) {
  const int rank = number("RANK"), size = number("WORLD_SIZE"), restart = number("TORCHELASTIC_RESTART_COUNT");
  const auto is_mine = [&](const char* what) {
    const auto found = given.find(what);
    if (found == given.end()) return false;
    const size_t colon = found->second.find(':');
    const int wanted = std::atoi(found->second.c_str() + colon + 1);
    return std::atoi(found->second.c_str()) == rank && (wanted < 0 || wanted == restart);
  };
  const auto value = [&](const char* what, const char* otherwise) {
    const auto found = given.find(what);
    return found == given.end() ? std::string(otherwise) : found->second;
  };
  if (given.contains("stubborn")) ::signal(SIGTERM, SIG_IGN);
  const std::string folder = value("folder", "");
  if (!folder.empty()) {
    // Who ran, for the test to read.
    std::ofstream(folder + "/" + std::to_string(::getpid()))
        << rank << ' ' << size << ' ' << restart << ' ' << number("LOCAL_RANK") << ' ' << number("LOCAL_WORLD_SIZE")
        << ' ' << number("GROUP_RANK") << ' ' << number("GROUP_WORLD_SIZE") << ' ' << number("ROLE_RANK") << ' '
        << number("ROLE_WORLD_SIZE") << ' ' << std::getenv("ROLE_NAME") << ' ' << std::getenv("TORCHELASTIC_RUN_ID")
        << ' ' << number("TORCHELASTIC_MAX_RESTARTS") << ' ' << number("OMP_NUM_THREADS") << '\n';
  }
  std::printf("rank %d of %d\n", rank, size);
  std::fflush(stdout);
  if (given.contains("exit")) return std::atoi(value("exit", "0").c_str());

  if (given.contains("init")) {
    torch::distributed::init_process_group("gloo");
    at::Tensor sum = at::full({4}, static_cast<float>(rank));
    torch::distributed::all_reduce(sum);
    if (sum.data_ptr<float>()[3] != static_cast<float>(size * (size - 1) / 2)) throw std::runtime_error("a wrong sum");
    if (is_mine("fail")) return 3;
    torch::distributed::barrier();
    torch::distributed::destroy_process_group();
    return 0;
  }

  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(number("MASTER_PORT"));
  options.waitWorkers = false;
  options.timeout = std::chrono::seconds(20);
  auto store = c10::make_intrusive<c10d::PrefixStore>(
      c10::str("worker/attempt_", restart), c10::make_intrusive<c10d::TCPStore>(std::getenv("MASTER_ADDR"), options));
  auto gloo =
      c10d::ProcessGroupGloo::Options::create(std::chrono::milliseconds(std::atoi(value("timeout", "10000").c_str())));
  gloo->devices = {c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1")};
  c10d::ProcessGroupGloo group(store, rank, size, gloo);
  const int steps = std::atoi(value("steps", "3").c_str());
  for (int step = 0; step < steps; ++step) {
    std::vector<at::Tensor> sum{at::full({4}, static_cast<float>(rank))};
    group.allreduce(sum)->wait();
    if (sum[0].data_ptr<float>()[3] != static_cast<float>(size * (size - 1) / 2))
      throw std::runtime_error("a wrong sum");
    if (step == 0) {
      if (is_mine("fail")) {
        std::fprintf(stderr, "rank %d has had enough\n", rank);
        return 3;
      }
      if (is_mine("throw")) throw std::runtime_error("no more data");
      if (is_mine("kill")) ::raise(SIGKILL);
      if (is_mine("stop")) ::raise(SIGSTOP);
      if (is_mine("mismatch")) group.barrier()->wait();
      if (is_mine("close")) {
        for (int file = 3; file < 256; ++file) ::shutdown(file, SHUT_RDWR);
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(value("sleep", "0").c_str())));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::string> given;
  for (int i = 1; i < argc; ++i) {
    const std::string text = argv[i];
    const size_t equals = text.find('=');
    given[text.substr(0, equals)] = equals == std::string::npos ? "" : text.substr(equals + 1);
  }
  return c10d::launch::record([&] { return work(given); });
}

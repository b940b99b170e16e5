// A worker of the tests of resumption: trains a net with dropout, saves every few steps, goes on from what was saved,
// and does itself harm by its arguments.
//
//   worker folder=WHERE model=ddp|fsdp save=sync|async|async_own [init=env|rank0:PORT] [steps=N] [every=N] [timeout=MS]
//          [sleep=MS] [fault<RESTART>=NAME:RANK:STEP:MICROSECONDS]
//
// In folder: disk/run is the checkpoint; pid_<restart>_<rank>, the process; began_<restart>_<rank>, fault_<restart> and
// failed_<restart>_<rank> (that a rank throws), the time; saved, the last step that rank 0 knows to be saved;
// resumed_<restart>, the step at which rank 0 went on.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "c10/core/cpu_generator.h"
#include "c10/util/string_util.h"
#include "distributed/checkpoint/filesystem.h"
#include "distributed/checkpoint/state_dict.h"
#include "distributed/checkpoint/state_dict_loader.h"
#include "distributed/checkpoint/state_dict_saver.h"
#include "distributed/ddp/distributed_data_parallel.h"
#include "distributed/fsdp/fully_shard.h"
#include "distributed/launch/error_file.h"
#include "distributed/process_group/collectives.h"
#include "distributed/process_group/init.h"
#include "distributed/store/tcp_store.h"
#include "distributed/tensor/init_device_mesh.h"
#include "nn/layers/activation.h"
#include "nn/layers/dropout.h"
#include "nn/layers/linear.h"
#include "nn/module/sequential.h"
#include "optim/adamw.h"
#include "utils/serialize/file_io.h"

namespace {

namespace dcp = torch::distributed::checkpoint;
namespace dist = torch::distributed;
using at::Tensor;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using torch::serialize::write_file;
using Arguments = std::map<std::string, std::string>;

int number(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr) throw std::runtime_error(std::string("there is no ") + name);
  return std::atoi(value);
}

std::string now_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::to_string(std::chrono::duration_cast<milliseconds>(now).count());
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(':', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

// What this rank does to itself in this attempt, or who does what.
struct Fault {
  std::string name;
  int rank = -1, step = -1;
  microseconds delay{0};
};

Fault fault_of(const Arguments& given, int restart) {
  const auto found = given.find("fault" + std::to_string(restart));
  if (found == given.end()) return {};
  const std::vector<std::string> words = words_of(found->second);
  return {words.at(0), std::stoi(words.at(1)), std::stoi(words.at(2)), microseconds(std::stoi(words.at(3)))};
}

// The random numbers of this rank.
class RandomState : public dcp::Stateful {
 public:
  explicit RandomState(int rank) : name_("rank" + std::to_string(rank)) {}
  c10::IValue state_dict() override {
    c10::Dict<c10::IValue, c10::IValue> state;
    state.insert(name_, at::detail::getDefaultCPUGenerator().get_state());
    return state;
  }
  void load_state_dict(const c10::IValue& state) override {
    at::Generator generator = at::detail::getDefaultCPUGenerator();
    generator.set_state(state.toGenericDict().at(name_).toTensor());
  }

 private:
  const std::string name_;
};

void set_file_limit(rlim_t bytes) {
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = bytes;
  TORCH_CHECK(::setrlimit(RLIMIT_FSIZE, &limit) == 0, "cannot limit the sizes of files");
}

// Leaves no room on the disk that has the file.
void fill_disk(const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT, 0644);
  for (std::string block(4096, 'x'); !block.empty(); block.resize(block.size() / 2)) {
    while (::write(file, block.data(), block.size()) == static_cast<ssize_t>(block.size())) {
    }
  }
  ::close(file);
}

// A call on another thread, some time later.
class Later {
 public:
  ~Later() { join(); }
  void start(microseconds delay, std::function<void()> call) {
    thread_ = std::thread([delay, call = std::move(call)] {
      std::this_thread::sleep_for(delay);
      call();
    });
  }
  void join() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::thread thread_;
};

int train(const Arguments& given) {
  const int rank = number("RANK"), size = number("WORLD_SIZE"), restart = number("TORCHELASTIC_RESTART_COUNT");
  const auto value = [&](const char* what, const char* otherwise) {
    const auto found = given.find(what);
    return found == given.end() ? std::string(otherwise) : found->second;
  };
  const std::string folder = value("folder", ""), checkpoint = folder + "/disk/run", model = value("model", "ddp"),
                    how = value("save", "sync"), init = value("init", "env"), attempt = std::to_string(restart);
  const int steps = std::stoi(value("steps", "12")), every = std::stoi(value("every", "3"));
  const milliseconds timeout(std::stoi(value("timeout", "20000"))), sleep(std::stoi(value("sleep", "2")));
  const Fault fault = fault_of(given, restart);
  const bool is_victim = fault.rank == rank;
  const auto note_fault = [&] { write_file(folder + "/fault_" + attempt, now_ms()); };
  write_file(folder + "/began_" + attempt + "_" + std::to_string(rank), now_ms());
  write_file(folder + "/pid_" + attempt + "_" + std::to_string(rank), std::to_string(::getpid()));
  if (is_victim && fault.name == "never") {
    note_fault();
    ::pause();
  }
  // Who is left has the time to say what it sees, though the agent ends all when one has failed.
  ::signal(SIGTERM, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
  if (rank == 0) std::filesystem::remove(folder + "/disk/ballast");

  dist::InitProcessGroupOptions options;
  options.timeout = timeout;
  if (init != "env") {
    // By hand: torchrun has all tcp:// stores at its own.
    c10d::TCPStoreOptions at;
    at.port = static_cast<uint16_t>(std::stoi(words_of(init).at(1)) + restart);
    at.isServer = rank == 0;
    at.waitWorkers = false;
    at.timeout = timeout;
    options.store = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", at);
    options.rank = rank;
    options.world_size = size;
  }
  dist::init_process_group("gloo", options);
  const auto saving = how == "async_own" ? dist::new_group({}, {.timeout = timeout}) : nullptr;

  at::manual_seed(7);
  torch::nn::Sequential net(torch::nn::Linear(6, 16), torch::nn::Tanh(), torch::nn::Dropout(0.3),
                            torch::nn::Linear(16, 9), torch::nn::Tanh(), torch::nn::Dropout(0.2),
                            torch::nn::Linear(9, 4));
  net->to(at::kDouble);
  std::function<Tensor(const Tensor&)> forward = [&](const Tensor& x) { return net(x); };
  std::shared_ptr<torch::nn::Module> to_save = net.ptr();
  if (model == "fsdp") {
    const auto mesh = dist::init_device_mesh(c10::kCPU, {size});
    for (const size_t layer : {0, 3, 6}) dist::fsdp::fully_shard(net->ptr(layer), {mesh});
    dist::fsdp::fully_shard(net, {mesh});
  } else {
    torch::nn::parallel::DistributedDataParallel ddp(
        net, torch::nn::parallel::DistributedDataParallelOptions(dist::get_default_group()));
    to_save = ddp.ptr();
    forward = [ddp](const Tensor& x) mutable { return ddp(x); };
  }
  torch::optim::AdamW optimizer(to_save->parameters(), torch::optim::AdamWOptions(0.02));
  at::manual_seed(static_cast<uint64_t>(100 + rank));
  dcp::StateDict state{{"app", std::make_shared<dcp::AppState>(to_save, dcp::Optimizers{&optimizer})},
                       {"random", std::make_shared<RandomState>(rank)},
                       {"losses", at::zeros({steps}, at::kDouble)},
                       {"step", 0}};
  if (std::filesystem::exists(checkpoint + "/index.json")) dcp::load(state, {.checkpoint_id = checkpoint});
  const int first = static_cast<int>(state.at("step").toInt());
  if (rank == 0) {
    write_file(folder + "/resumed_" + attempt, std::to_string(first));
    if (std::filesystem::exists(folder + "/saved")) {
      const int saved = std::stoi(torch::serialize::read_file(folder + "/saved"));
      if (first < saved)
        throw std::runtime_error(c10::str("step ", saved, " was saved, but step ", first, " is there"));
    }
  }

  Later later;
  c10::intrusive_ptr<c10::ivalue::Future> saved;
  int saved_step = 0;
  const auto acknowledge = [&] {
    if (rank == 0 && saved_step > 0) write_file(folder + "/saved", std::to_string(saved_step));
  };
  const auto wait = [&] {
    if (!saved) return;
    saved->waitAndThrow();
    saved = nullptr;
    acknowledge();
  };
  const auto save = [&](int step) {
    wait();
    saved_step = step;
    if (how == "sync") {
      dcp::save(state, {.checkpoint_id = checkpoint, .process_group = saving});
      acknowledge();
    } else {
      saved = dcp::async_save(state, {.checkpoint_id = checkpoint, .process_group = saving});
    }
  };

  for (int step = first; step < steps; ++step) {
    const bool is_time = fault.step == step, is_mine = is_time && is_victim;
    if (is_mine && (fault.name == "kill" || fault.name == "stop")) {
      later.start(fault.delay, [&] {
        note_fault();
        ::kill(::getpid(), fault.name == "kill" ? SIGKILL : SIGSTOP);
      });
    }
    if (is_mine && fault.name == "close") {
      later.start(fault.delay, [&] {
        note_fault();
        for (int file = 3; file < 1024; ++file) ::shutdown(file, SHUT_RDWR);
      });
    }
    if (is_mine && fault.name == "throw") {
      note_fault();
      throw std::runtime_error("no more data");
    }
    optimizer.zero_grad();
    const Tensor x = at::arange(30, at::kDouble).view({5, 6}).add(static_cast<double>(17 * step + 5 * rank)).sin();
    const Tensor loss = forward(x).pow(2).mean();
    loss.backward();
    optimizer.step();

    Tensor all = loss.detach().view({1}).clone();
    if (is_mine && fault.name == "count") {
      note_fault();
      dist::all_reduce(at::ones({3}, at::kDouble));
    } else if (is_mine && fault.name == "dtype") {
      note_fault();
      dist::all_reduce(at::ones({1}, at::kFloat));
    } else if (is_mine && fault.name == "collective") {
      note_fault();
      dist::broadcast(all, rank);
    } else if (is_mine && fault.name == "order") {
      note_fault();
      dist::barrier();
    }
    dist::all_reduce(all);
    state.at("losses").toTensor().select(0, step).copy_(all[0]);
    state.set("step", step + 1);

    if ((step + 1) % every == 0) {
      const bool is_full = is_time && (fault.name == "full" || fault.name == "disk");
      const bool goes_on = is_full && fault.delay.count() % 2 == 1;
      try {
        if (is_full) wait();
        if (is_full && is_victim) {
          note_fault();
          if (fault.name == "full") set_file_limit(2000);
          if (fault.name == "disk") fill_disk(folder + "/disk/ballast");
        }
        // So that nobody writes before the disk is full.
        if (is_full) dist::barrier();
        save(step + 1);
        if (is_full) {
          wait();
          throw std::runtime_error("a checkpoint that has no room was saved");
        }
      } catch (const dcp::CheckpointException& error) {
        saved = nullptr;
        saved_step = 0;
        if (is_victim && fault.name == "full") set_file_limit(RLIM_INFINITY);
        if (!goes_on) throw;
        if (fault.name == "full" && (error.failures().size() != 1 || !error.failures().contains(fault.rank))) throw;
        dist::barrier();
        if (is_victim) std::filesystem::remove(folder + "/disk/ballast");
        dist::barrier();
      }
    }
    std::this_thread::sleep_for(sleep);
  }
  wait();
  later.join();
  dist::barrier();
  dist::destroy_process_group();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments given;
  for (int i = 1; i < argc; ++i) {
    const std::string text = argv[i];
    const size_t equals = text.find('=');
    given[text.substr(0, equals)] = equals == std::string::npos ? "" : text.substr(equals + 1);
  }
  return c10d::launch::record([&] {
    try {
      return train(given);
    } catch (const std::exception&) {
      write_file(
          c10::str(given["folder"], "/failed_", std::getenv("TORCHELASTIC_RESTART_COUNT"), "_", std::getenv("RANK")),
          now_ms());
      throw;
    }
  });
}

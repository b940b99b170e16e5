// Two processes on Gloo: all-reduces from 4 bytes to 64 MiB, and a data-parallel training step of the GPT example. The
// source is the same for both libraries.
#include <sys/wait.h>
#include <torch/torch.h>
#include <unistd.h>

#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "examples/gpt/model.h"
#include "utils/benchmark/program.h"

namespace {

namespace bench = torch::utils::benchmark;
using Group = c10::intrusive_ptr<c10d::ProcessGroup>;

// What a rank repeats, made when its turn comes.
using Make = std::function<std::function<void()>(const Group& group)>;

// The two ranks. The second is a process that does what it reads from a pipe: rows, each to be made or run.
class Ranks {
 public:
  int add(Make make) {
    makes_.push_back(std::move(make));
    return static_cast<int>(makes_.size()) - 1;
  }
  // The second process; it ends when the first one does.
  void start() {
    char folder[] = "/tmp/distributed_benchmark_XXXXXX";
    if (::mkdtemp(folder) == nullptr || ::pipe(pipe_) != 0) std::abort();
    folder_ = folder;
    child_ = ::fork();
    if (child_ != 0) {
      ::close(pipe_[0]);
      return;
    }
    ::close(pipe_[1]);
    int order[2];
    while (::read(pipe_[0], order, sizeof order) == sizeof order) order[0] == kMake ? make(order[1]) : run(order[1]);
    std::_Exit(0);
  }
  ~Ranks() {
    ::close(pipe_[1]);
    if (child_ > 0) ::waitpid(child_, nullptr, 0);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  void make_on_both(int row) {
    tell(kMake, row);
    make(row);
  }
  void run_on_both(int row) {
    tell(kRun, row);
    run(row);
  }

 private:
  static constexpr int kMake = 0, kRun = 1;
  void tell(int what, int row) {
    const int order[2] = {what, row};
    if (::write(pipe_[1], order, sizeof order) != sizeof order) std::abort();
  }
  void make(int row) {
    if (!group_) connect();
    statements_.clear();  // of other rows
    statements_[row] = makes_[static_cast<size_t>(row)](group_);
  }
  void run(int row) { statements_.at(row)(); }
  void connect() {
    torch::set_num_threads(1);
    const int rank = child_ == 0 ? 1 : 0;
    auto store = c10::make_intrusive<c10d::FileStore>(folder_ + "/store", 2);
    auto options = c10d::ProcessGroupGloo::Options::create();
    options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
    options->threads = 2;
    group_ = c10::make_intrusive<c10d::ProcessGroup>(store, rank, 2);
    group_->setBackend(c10::DeviceType::CPU, c10d::ProcessGroup::BackendType::GLOO,
                       c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, 2, options));
  }

  std::vector<Make> makes_;
  std::map<int, std::function<void()>> statements_;
  std::string folder_;
  int pipe_[2] = {-1, -1};
  pid_t child_ = -1;
  Group group_;
};

void add_row(bench::Program& p, Ranks& ranks, const std::string& name, Make make) {
  const int row = ranks.add(std::move(make));
  p.call(name, [&ranks, row] {
    ranks.make_on_both(row);
    return [&ranks, row] { ranks.run_on_both(row); };
  });
}

void add_all_reduce(bench::Program& p, Ranks& ranks, const std::string& size, int64_t bytes, int times) {
  add_row(p, ranks, "all_reduce " + size + " x " + std::to_string(times), [bytes, times](const Group& group) {
    return [group, times, tensors = std::vector<at::Tensor>{torch::ones({bytes / 4})}]() mutable {
      for (int i = 0; i < times; ++i) group->allreduce(tensors)->wait();
    };
  });
}

// One step on each rank of a batch of 4 x 128 bytes: forward, backward with the gradients' mean, AdamW.
std::function<void()> training_step(const Group& group) {
  torch::manual_seed(1);
  gpt::ModelOptions options;
  options.width = 256;
  options.context = 128;
  gpt::Gpt model(options);
  std::vector<at::Tensor> params = model->parameters();
  const std::vector<size_t> limits{size_t{1} << 20, size_t{25} << 20};
  auto buckets = std::get<0>(c10d::compute_bucket_assignment_by_size(params, limits));
  const auto reducer = std::make_shared<c10d::Reducer>(
      params, std::move(buckets), group, std::vector<bool>(params.size(), false), int64_t{25} << 20, false, true,
      std::unordered_map<size_t, std::string>(), int64_t{1} << 20, false, false, std::vector<int64_t>());
  const auto optimizer = std::make_shared<torch::optim::AdamW>(gpt::make_optimizer(model, gpt::OptimizerSettings()));
  const auto tokens = torch::randint(256, {4, 128}, torch::kLong),
             targets = torch::randint(256, {4, 128}, torch::kLong);
  return [=]() mutable {
    model->zero_grad();
    reducer->prepare_for_forward();
    reducer->rebuild_buckets();
    torch::Tensor loss = model->loss(tokens, targets);
    reducer->prepare_for_backward({});
    loss.backward();
    optimizer->step();
  };
}

void add_rows(bench::Program& p, Ranks& ranks) {
  p.section("all-reduce by two processes on Gloo, float32");
  const struct {
    const char* size;
    int64_t bytes;
    int times;
  } kSizes[] = {
      {"4 B", 4, 200},           {"64 B", 64, 200},         {"1 KiB", 1 << 10, 200},    {"4 KiB", 4 << 10, 200},
      {"16 KiB", 16 << 10, 200}, {"64 KiB", 64 << 10, 100}, {"256 KiB", 256 << 10, 50}, {"1 MiB", 1 << 20, 20},
      {"4 MiB", 4 << 20, 10},    {"16 MiB", 16 << 20, 3},   {"64 MiB", 64 << 20, 1}};
  for (const auto& s : kSizes) add_all_reduce(p, ranks, s.size, s.bytes, s.times);
  p.section("a data-parallel training step, one thread a process");
  add_row(p, ranks, "ddp_step", training_step);
}

}  // namespace

int main(int argc, char** argv) {
  Ranks ranks;
  bench::Program program("distributed");
  add_rows(program, ranks);
  ranks.start();
  return program.run(argc, argv);
}

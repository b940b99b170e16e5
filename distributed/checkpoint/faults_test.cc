// Processes that are killed while they save, and disks that are full: what was saved before is there.
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "autograd/autograd.h"
#include "distributed/checkpoint/filesystem.h"
#include "distributed/checkpoint/state_dict.h"
#include "distributed/checkpoint/state_dict_loader.h"
#include "distributed/checkpoint/state_dict_saver.h"
#include "distributed/checkpoint/testing.h"
#include "distributed/ddp/distributed_data_parallel.h"
#include "distributed/process_group/collectives.h"
#include "distributed/process_group/gloo/process_group_gloo.h"
#include "distributed/process_group/init.h"
#include "distributed/store/file_store.h"
#include "distributed/store/hash_store.h"
#include "distributed/testing/run_processes.h"
#include "distributed/testing/run_ranks.h"
#include "nn/layers/activation.h"
#include "nn/layers/linear.h"
#include "nn/module/sequential.h"
#include "optim/adamw.h"
#include "utils/serialize/file_io.h"
#include "utils/serialize/safetensors.h"

namespace torch::distributed::checkpoint {
namespace {

using at::Tensor;
using c10d::testing::Ended;
using c10d::testing::Group;
using c10d::testing::run_processes;
using std::chrono::milliseconds;
using testing::dict;
using testing::error_of;
using testing::expect_has;
using testing::files_of;
using testing::new_folder;

Group gloo(const std::string& path, int rank, int size, milliseconds timeout = milliseconds(10000)) {
  auto store = c10::make_intrusive<c10d::FileStore>(path, size);
  auto options = c10d::ProcessGroupGloo::Options::create(timeout);
  options->devices = {c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1")};
  auto group = c10::make_intrusive<c10d::ProcessGroup>(store, rank, size);
  group->setBackend(c10::DeviceType::CPU, c10d::ProcessGroup::GLOO,
                    c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, size, options));
  return group;
}

// Until there is such a file, or it is too late.
void wait_for(const std::string& path) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(15);
  while (!std::filesystem::exists(path) && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(milliseconds(1));
  }
}

// All values of a state have its version.
StateDict state_of(const std::vector<int>& ranks, int version, int64_t numel) {
  c10::Dict<c10::IValue, c10::IValue> parts;
  for (const int rank : ranks) parts.insert(c10::str("part", rank), at::full({numel}, static_cast<double>(version)));
  return {{"parts", c10::IValue(parts)}, {"replica", at::full({300}, static_cast<double>(version))}, {"step", version}};
}

// The version that the folder has whole; -1, with a failure, for a mixture.
int version_in(const std::string& folder, int ranks, int64_t numel) {
  std::vector<int> all;
  for (int r = 0; r < ranks; ++r) all.push_back(r);
  StateDict state = state_of(all, -1, numel);
  load(state, {.checkpoint_id = folder, .no_dist = true});
  const int version = static_cast<int>(state.at("step").toInt());
  EXPECT_TRUE(at::equal(state.at("replica").toTensor(), at::full({300}, static_cast<double>(version))));
  for (const auto& entry : state.at("parts").toGenericDict()) {
    EXPECT_TRUE(at::equal(entry.value().toTensor(), at::full({numel}, static_cast<double>(version))));
  }
  return version;
}

TEST(Killed, WhileItSavesLeavesOneVersionWhole) {
  constexpr int kRanks = 3;
  constexpr int64_t kNumel = 20000;
  constexpr milliseconds kTimeout(3000);
  std::mt19937 random(7);
  for (int run = 0; run < 12; ++run) {
    const std::string folder = new_folder(), done = folder + ".done";
    const int victim = run % kRanks;
    const auto delay = std::chrono::microseconds(random() % 40000);
    const std::vector<Ended> ended = run_processes(
        kRanks,
        [&](int rank) {
          const Group group = gloo(folder + ".store", rank, kRanks, kTimeout);
          for (int version = 1; version < 10000; ++version) {
            save(state_of({rank}, version, kNumel), {.checkpoint_id = folder, .process_group = group});
            if (rank == 0) serialize::write_file(done, std::to_string(version));
          }
        },
        milliseconds(20000),
        [&](const std::vector<pid_t>& processes) {
          wait_for(done);
          std::this_thread::sleep_for(delay);
          ::kill(processes[static_cast<size_t>(victim)], SIGKILL);
        });
    for (size_t rank = 0; rank < kRanks; ++rank) {
      if (static_cast<int>(rank) == victim) {
        EXPECT_EQ(ended[rank].signal, SIGKILL);
        continue;
      }
      EXPECT_EQ(ended[rank].exit_code, 1);
      EXPECT_NE(ended[rank].error.find(c10::str("rank ", victim)), std::string::npos) << ended[rank].error;
      EXPECT_LT(ended[rank].after - ended[static_cast<size_t>(victim)].after, kTimeout + milliseconds(2000))
          << ended[rank].error;
    }
    const int acknowledged = std::stoi(serialize::read_file(done)), there = version_in(folder, kRanks, kNumel);
    EXPECT_GE(there, acknowledged) << "run " << run;
    EXPECT_LE(there, acknowledged + 1) << "run " << run;
    // The next save takes away what the killed one left.
    save(state_of({0, 1, 2}, 99, kNumel), {.checkpoint_id = folder, .no_dist = true});
    EXPECT_EQ(files_of(folder).size(), 2u);
    EXPECT_EQ(version_in(folder, kRanks, kNumel), 99);
  }
}

torch::nn::Sequential make_net() {
  torch::nn::Sequential net(torch::nn::Linear(6, 8), torch::nn::Tanh(), torch::nn::Linear(8, 4));
  c10d::testing::fill(*net, 1);
  return net;
}

// Trains from the last checkpoint on, with one at each step, and writes the parameters in the end.
void train(const std::string& folder, int rank, int ranks, const std::string& attempt, int steps) {
  const Group group = gloo(folder + ".store" + attempt, rank, ranks, milliseconds(3000));
  const Group for_saving = gloo(folder + ".saving" + attempt, rank, ranks, milliseconds(3000));
  const torch::nn::Sequential net = make_net();
  torch::nn::parallel::DistributedDataParallel ddp(net, torch::nn::parallel::DistributedDataParallelOptions(group));
  torch::optim::AdamW optimizer(ddp->parameters(), torch::optim::AdamWOptions(0.02));
  StateDict state{{"app", std::make_shared<AppState>(ddp.ptr(), Optimizers{&optimizer})}, {"step", 0}};
  if (std::filesystem::exists(folder + "/index.json")) {
    load(state, {.checkpoint_id = folder, .process_group = for_saving});
  }
  c10::intrusive_ptr<c10::ivalue::Future> saved;
  for (int64_t step = state.at("step").toInt(); step < steps; ++step) {
    optimizer.zero_grad();
    ddp(c10d::testing::numbers({5, 6}, static_cast<int>(2 * step + rank))).pow(2).sum().backward();
    optimizer.step();
    state.set("step", step + 1);
    saved = async_save(state, {.checkpoint_id = folder, .process_group = for_saving});
    if (rank == 0) std::ofstream(folder + ".began" + attempt).close();
  }
  if (saved) saved->waitAndThrow();
  if (rank == 0) {
    safetensors::NamedTensors parameters;
    for (const auto& item : net->named_parameters()) parameters.emplace_back(item.key(), item.value().detach());
    safetensors::save_file(parameters, folder + ".safetensors");
  }
}

TEST(Killed, TrainingThatIsStartedAgainEndsWithTheSameBits) {
  constexpr int kRanks = 2, kSteps = 30;
  const std::string calm = new_folder(), troubled = new_folder();
  for (const Ended& e : run_processes(kRanks, [&](int rank) { train(calm, rank, kRanks, "", kSteps); })) {
    ASSERT_EQ(e.exit_code, 0) << e.error;
  }
  std::mt19937 random(11);
  int kills = 0;
  for (int attempt = 0; attempt < 6 && !std::filesystem::exists(troubled + ".safetensors"); ++attempt) {
    const auto ended = run_processes(
        kRanks, [&](int rank) { train(troubled, rank, kRanks, std::to_string(attempt), kSteps); }, milliseconds(20000),
        [&](const std::vector<pid_t>& processes) {
          if (attempt == 5) return;
          // Not while they connect.
          wait_for(troubled + ".began" + std::to_string(attempt));
          std::this_thread::sleep_for(std::chrono::microseconds(random() % 60000));
          ::kill(processes[static_cast<size_t>(attempt % kRanks)], SIGKILL);
        });
    for (const Ended& e : ended) kills += e.signal == SIGKILL;
  }
  EXPECT_GT(kills, 0);
  const safetensors::File expected(calm + ".safetensors"), got(troubled + ".safetensors");
  for (const std::string& name : expected.keys()) EXPECT_TRUE(at::equal(expected.get(name), got.get(name))) << name;
}

TEST(Stopped, WhileItSavesIsAnErrorInTime) {
  constexpr int kRanks = 3, kVictim = 1;
  const std::string folder = new_folder(), done = folder + ".done";
  const std::vector<Ended> ended = run_processes(
      kRanks,
      [&](int rank) {
        const Group group = gloo(folder + ".store", rank, kRanks, milliseconds(700));
        for (int version = 1; version < 10000; ++version) {
          save(state_of({rank}, version, 1000), {.checkpoint_id = folder, .process_group = group});
          if (rank == 0) serialize::write_file(done, std::to_string(version));
        }
      },
      milliseconds(20000),
      [&](const std::vector<pid_t>& processes) {
        wait_for(done);
        ::kill(processes[kVictim], SIGSTOP);
        std::this_thread::sleep_for(milliseconds(2000));
        ::kill(processes[kVictim], SIGKILL);
      });
  for (const size_t rank : {0u, 2u}) {
    EXPECT_EQ(ended[rank].exit_code, 1);
    EXPECT_NE(ended[rank].error.find("rank 1"), std::string::npos) << ended[rank].error;
  }
  EXPECT_GE(version_in(folder, kRanks, 1000), std::stoi(serialize::read_file(done)));
}

TEST(DefaultGroup, SavesBesideItsOwnCollectives) {
  const std::string folder = new_folder();
  const auto store = c10::make_intrusive<c10d::HashStore>();
  c10d::testing::run_ranks(3, [&](int rank) {
    c10d::init_process_group("gloo",
                             {.timeout = std::chrono::seconds(20), .world_size = 3, .rank = rank, .store = store});
    for (int version = 1; version <= 3; ++version) {
      const auto saved = async_save(state_of({rank}, version, 1000), {.checkpoint_id = folder});
      for (int i = 0; i < 20; ++i) {
        const Tensor one = at::ones({8});
        all_reduce(one);
        EXPECT_EQ(one.sum().item<float>(), 24);
      }
      if (version == 3) saved->waitAndThrow();
    }
    StateDict state = state_of({rank}, -1, 1000);
    load(state, {.checkpoint_id = folder});
    EXPECT_EQ(state.at("step").toInt(), 3);
    barrier();
    c10d::destroy_process_group();
  });
  EXPECT_EQ(version_in(folder, 3, 1000), 3);
}

TEST(Full, FilesOfOneRankThatMayNotGrowAreAnErrorOnAll) {
  constexpr int kRanks = 3;
  const std::string folder = new_folder();
  const std::vector<Ended> ended = run_processes(kRanks, [&](int rank) {
    const Group group = gloo(folder + ".store", rank, kRanks);
    save(state_of({rank}, 1, 1000), {.checkpoint_id = folder, .process_group = group});
    if (rank == 1) {
      ::signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{100000, 100000};
      TORCH_CHECK(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
    }
    const std::string error =
        error_of([&] { save(state_of({rank}, 2, 100000), {.checkpoint_id = folder, .process_group = group}); });
    TORCH_CHECK(error.find(c10::str("save: write failed on 1 of 3 ranks. Rank 1: write failed for ", folder,
                                    "/data-1-2.safetensors: File too large")) == 0,
                error);
    // The group is whole, and smaller states still have room.
    save(state_of({rank}, 3, 1000), {.checkpoint_id = folder, .process_group = group});
  });
  for (const Ended& e : ended) EXPECT_EQ(e.exit_code, 0) << e.error;
  EXPECT_EQ(version_in(folder, kRanks, 1000), 3);
  EXPECT_EQ(files_of(folder).size(), 4u);
}

TEST(Full, ADiskIsAnErrorOnAllAndLosesNothing) {
  const std::string disk = new_folder(), folder = disk + "/run";
  std::filesystem::create_directories(disk);
  if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=512k") != 0) {
    GTEST_SKIP() << "no tmpfs can be mounted here";
  }
  constexpr int kRanks = 2;
  const std::vector<Ended> ended = run_processes(kRanks, [&](int rank) {
    const Group group = gloo(disk + ".store", rank, kRanks);
    // Twice: the second time there are files of the first, and two states have room.
    for (int version = 1; version <= 2; ++version) {
      save(state_of({rank}, version, 10000), {.checkpoint_id = folder, .process_group = group});
    }
    const std::vector<std::string> before = files_of(folder);
    for (int i = 0; i < 2; ++i) {
      const std::string error =
          error_of([&] { save(state_of({rank}, 3, 100000), {.checkpoint_id = folder, .process_group = group}); });
      TORCH_CHECK(
          error.find("save: write failed on ") == 0 && error.find("No space left on device") != std::string::npos,
          error);
    }
    std::vector<Tensor> ones{at::ones({1})};
    group->allreduce(ones)->wait();
    TORCH_CHECK(files_of(folder) == before, "files were left");
    save(state_of({rank}, 4, 10000), {.checkpoint_id = folder, .process_group = group});
  });
  for (const Ended& e : ended) EXPECT_EQ(e.exit_code, 0) << e.error;
  EXPECT_EQ(version_in(folder, kRanks, 10000), 4);
  ::umount(disk.c_str());
}

}  // namespace
}  // namespace torch::distributed::checkpoint

// Process groups on Gloo whose ranks are processes: of one network, and of two with a wire between them.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "aten/ops/creation/ops.h"
#include "distributed/process_group/conformance.h"
#include "distributed/process_group/gloo/process_group_gloo.h"
#include "distributed/store/file_store.h"
#include "distributed/store/prefix_store.h"
#include "distributed/store/tcp_store.h"
#include "distributed/testing/run_processes.h"
#include "distributed/testing/run_ranks.h"
#include "distributed/testing/two_networks.h"

namespace c10d {
namespace {

using std::chrono::milliseconds;
using Tensors = std::vector<at::Tensor>;
using testing::TwoNetworks;

constexpr milliseconds kLong(20000);

// Where a rank's connections are made.
using AddressOf = std::function<std::string(int rank)>;

// What is common to the ranks of one process: a store, that rank 0 serves, and as many groups as are wanted.
class RankOfProcess {
 public:
  RankOfProcess(const std::string& path, int rank, int size, AddressOf address_of)
      : rank_(rank), size_(size), address_of_(std::move(address_of)) {
    const auto file = c10::make_intrusive<FileStore>(path, size);
    TCPStoreOptions options;
    options.port = 0;
    options.isServer = rank == 0;
    options.waitWorkers = false;
    options.timeout = kLong;
    if (rank != 0) {
      const std::vector<uint8_t> port = file->get("port");
      options.port = static_cast<uint16_t>(std::stoi(std::string(port.begin(), port.end())));
    }
    store_ = c10::make_intrusive<TCPStore>(address_of_(0), options);
    if (rank == 0) {
      const std::string port = std::to_string(store_->getPort());
      file->set("port", std::vector<uint8_t>(port.begin(), port.end()));
    }
    testing::set_own_rank(rank, [this](const std::string& own) {
      const std::string prefix = c10::str("errors/", ++gathered_, "/");
      store_->set(c10::str(prefix, rank_), std::vector<uint8_t>(own.begin(), own.end()));
      std::vector<std::string> texts;
      for (int other = 0; other < size_; ++other) {
        const std::vector<uint8_t> text = store_->get(c10::str(prefix, other));
        texts.emplace_back(text.begin(), text.end());
      }
      return texts;
    });
  }
  // All have gone on so far: the server may end.
  ~RankOfProcess() {
    try {
      store_->add("ends", 1);
      while (rank_ == 0 && store_->add("ends", 0) < size_) std::this_thread::sleep_for(milliseconds(5));
    } catch (const c10::Error&) {
      // A rank that has failed says it by itself.
    }
  }
  RankOfProcess(const RankOfProcess&) = delete;
  RankOfProcess& operator=(const RankOfProcess&) = delete;

  testing::BackendOfRank group(int size) {
    const auto store = c10::make_intrusive<PrefixStore>(c10::str("group", ++groups_), store_);
    return [this, store, size](int rank, milliseconds timeout) -> c10::intrusive_ptr<Backend> {
      auto options = ProcessGroupGloo::Options::create(kLong);
      options->devices = {ProcessGroupGloo::createDeviceForHostname(address_of_(rank))};
      options->group_name = "test";
      auto made = c10::make_intrusive<ProcessGroupGloo>(store, rank, size, options);
      made->setTimeout(timeout);
      return made;
    };
  }

 private:
  const int rank_, size_;
  const AddressOf address_of_;
  c10::intrusive_ptr<TCPStore> store_;
  int groups_ = 0, gathered_ = 0;
};

// Runs `body` in a process for each rank; what fails there fails here.
void run_group(int size, const AddressOf& address_of, const std::function<void(int rank)>& enter,
               const std::function<void(RankOfProcess& self, int rank)>& body,
               const std::function<void(const std::vector<pid_t>&)>& meanwhile = nullptr) {
  std::string path = ::testing::TempDir() + "store_XXXXXX";
  const int file = ::mkstemp(path.data());
  ASSERT_GE(file, 0);
  ::close(file);
  const auto ended = testing::run_processes(
      size,
      [&](int rank) {
        enter(rank);
        RankOfProcess self(path, rank, size, address_of);
        body(self, rank);
        std::fflush(stdout);
        TORCH_CHECK(!::testing::Test::HasFailure(), "see above");
      },
      std::chrono::seconds(60), meanwhile);
  ::unlink(path.c_str());
  for (size_t rank = 0; rank < ended.size(); ++rank) {
    EXPECT_EQ(ended[rank].exit_code, 0) << "rank " << rank << ", signal " << ended[rank].signal << ": "
                                        << ended[rank].error;
  }
}

void expect_conformance(RankOfProcess& self, int size) {
  const testing::MakeGroup make = [&](int ranks) { return self.group(ranks); };
  testing::expect_collectives(make, size);
  if (size > 1) testing::expect_messages(make, size);
  if (size == 4) testing::expect_errors(make);
}

class GlooOfProcesses : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Sizes, GlooOfProcesses, ::testing::Values(2, 3, 4, 7));

TEST_P(GlooOfProcesses, OfOneNetwork) {
  const int size = GetParam();
  run_group(
      size, [](int) { return "127.0.0.1"; }, [](int) {},
      [=](RankOfProcess& self, int) { expect_conformance(self, size); });
}

// Every other rank is in the second network. In a process of its own: what enters a network stays there.
void over_two_networks(const std::function<void(const TwoNetworks& networks, const AddressOf& address_of,
                                                const std::function<void(int rank)>& enter)>& body) {
  constexpr int kSkipped = 77;
  std::fflush(stdout);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const TwoNetworks networks;
    if (!networks.refusal().empty()) {
      std::printf("%s\n", networks.refusal().c_str());
      std::fflush(stdout);
      std::_Exit(kSkipped);
    }
    body(
        networks, [](int rank) { return rank % 2 == 0 ? TwoNetworks::kFirst : TwoNetworks::kSecond; },
        [&](int rank) {
          if (rank % 2 == 1) networks.enter_second();
        });
    std::fflush(stdout);
    std::exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kSkipped) GTEST_SKIP() << "no networks can be made here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_P(GlooOfProcesses, OfTwoNetworks) {
  const int size = GetParam();
  over_two_networks([=](const TwoNetworks&, const AddressOf& address_of, const std::function<void(int)>& enter) {
    run_group(size, address_of, enter, [=](RankOfProcess& self, int) { expect_conformance(self, size); });
  });
}

// A wire that is cut for less than the timeout is waited for; for longer, every rank says whom it has lost.
TEST(GlooOfTwoNetworks, ACutWire) {
  over_two_networks(
      [](const TwoNetworks& networks, const AddressOf& address_of, const std::function<void(int)>& enter) {
        for (const bool for_long : {false, true}) {
          run_group(
              2, address_of, enter,
              [=](RankOfProcess& self, int rank) {
                const auto group = self.group(2)(rank, milliseconds(2000));
                const auto begin = std::chrono::steady_clock::now();
                std::string error;
                try {
                  for (int step = 0; step < 150; ++step) {
                    Tensors t{at::full({1000}, 1.0f)};
                    group->allreduce(t)->wait();
                    std::this_thread::sleep_for(milliseconds(10));
                  }
                } catch (const c10::DistBackendError& e) {
                  error = e.msg();
                }
                if (!for_long) {
                  EXPECT_EQ(error, "");
                } else {
                  EXPECT_NE(error.find(c10::str("timed out waiting for rank ", 1 - rank)), std::string::npos) << error;
                  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(6000));
                }
              },
              [&](const std::vector<pid_t>&) {
                std::this_thread::sleep_for(milliseconds(700));
                networks.set_wire(false);
                std::this_thread::sleep_for(milliseconds(for_long ? 5000 : 300));
                networks.set_wire(true);
              });
        }
      });
}

}  // namespace
}  // namespace c10d

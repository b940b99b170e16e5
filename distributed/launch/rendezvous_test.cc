// The rendezvous with threads as nodes, over stores that are slow, fail, or end.
#include "distributed/launch/rendezvous.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "c10/testing/message_of.h"
#include "c10/util/string_util.h"
#include "distributed/store/file_store.h"
#include "distributed/store/hash_store.h"
#include "distributed/store/prefix_store.h"
#include "distributed/store/tcp_store.h"
#include "distributed/testing/run_ranks.h"

namespace c10d::launch {
namespace {

using c10::testing::message_of;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using Standing = Rendezvous::Standing;

RendezvousOptions options(int min_nodes, int max_nodes, int max_restarts = 0) {
  RendezvousOptions made;
  made.min_nodes = min_nodes;
  made.max_nodes = max_nodes;
  made.max_restarts = max_restarts;
  made.join_timeout = milliseconds(10000);
  made.last_call_timeout = milliseconds(300);
  made.keep_alive_interval = milliseconds(200);
  return made;
}

NodeInfo node(int index) {
  NodeInfo info;
  info.id = c10::str("node", index);
  info.address = "localhost";
  return info;
}

void wait_while(const Rendezvous& rendezvous, int64_t round, Standing standing,
                milliseconds at_most = milliseconds(8000)) {
  const auto begin = Clock::now();
  while (rendezvous.standing(round) == standing) {
    ASSERT_LT(Clock::now() - begin, at_most);
    std::this_thread::sleep_for(milliseconds(2));
  }
}

// Each answer takes a while, or is an error now and then.
class TryingStore : public PrefixStore {
 public:
  TryingStore(c10::intrusive_ptr<Store> store, milliseconds slowest, double errors)
      : PrefixStore("trying", store), store_(store), slowest_(slowest), errors_(errors) {}

  c10::intrusive_ptr<Store> clone() override {
    return c10::make_intrusive<TryingStore>(store_->clone(), slowest_, errors_);
  }
  std::vector<uint8_t> compareSet(const std::string& key, const std::vector<uint8_t>& current,
                                  const std::vector<uint8_t>& wanted) override {
    thread_local std::mt19937 random(std::random_device{}());
    std::this_thread::sleep_for(milliseconds(std::uniform_int_distribution<int64_t>(0, slowest_.count())(random)));
    const bool before = std::bernoulli_distribution(errors_)(random);
    TORCH_CHECK_WITH(DistNetworkError, !before, "a broken connection");
    auto answer = PrefixStore::compareSet(key, current, wanted);
    // What was done, but nobody knows.
    TORCH_CHECK_WITH(DistNetworkError, !std::bernoulli_distribution(errors_)(random), "a broken connection");
    return answer;
  }

 private:
  c10::intrusive_ptr<Store> store_;
  milliseconds slowest_;
  double errors_;
};

// Two rounds that end by a failure, and one that does not. A node may miss one that ends before it looks.
void run_rounds(const std::function<c10::intrusive_ptr<Store>(int)>& store, int nodes) {
  std::vector<std::vector<Round>> given(3);
  std::mutex mutex;
  testing::run_ranks(nodes, [&](int index) {
    Rendezvous rendezvous(store(index), options(nodes, nodes, 2), node(index));
    for (;;) {
      const Round round = rendezvous.next_round();
      EXPECT_EQ(round.restarts, round.number);
      {
        const std::lock_guard<std::mutex> lock(mutex);
        given.at(static_cast<size_t>(round.number)).push_back(round);
      }
      if (round.number < 2) {
        if (round.rank == round.number) rendezvous.fail({round.number, 1, "a worker"});
        wait_while(rendezvous, round.number, Standing::kRunning);
        continue;
      }
      rendezvous.succeed(round.number);
      wait_while(rendezvous, round.number, Standing::kRunning);
      EXPECT_EQ(rendezvous.standing(round.number), Standing::kSucceeded);
      return;
    }
  });
  for (const auto& rounds : given) {
    std::set<int> ranks;
    for (const Round& round : rounds) {
      ranks.insert(round.rank);
      EXPECT_EQ(round.size, nodes);
    }
    EXPECT_EQ(ranks.size(), rounds.size());
  }
  EXPECT_EQ(given[2].size(), static_cast<size_t>(nodes));
}

TEST(Rendezvous, OnAStoreOfThreads) {
  const auto store = c10::make_intrusive<HashStore>();
  run_rounds([&](int) { return store; }, 12);
}

TEST(Rendezvous, OnAFile) {
  const std::string path = ::testing::TempDir() + "/rendezvous";
  run_rounds([&](int) { return c10::make_intrusive<FileStore>(path, 3); }, 3);
}

TEST(Rendezvous, OnAServer) {
  TCPStoreOptions at;
  at.port = 0;
  at.isServer = true;
  at.waitWorkers = false;
  const auto server = c10::make_intrusive<TCPStore>("localhost", at);
  run_rounds(
      [&](int) {
        TCPStoreOptions client;
        client.port = server->getPort();
        client.waitWorkers = false;
        return c10::make_intrusive<TCPStore>("localhost", client);
      },
      4);
}

TEST(Rendezvous, OnAStoreThatIsSlowAndFails) {
  const auto store = c10::make_intrusive<HashStore>();
  run_rounds([&](int) { return c10::make_intrusive<TryingStore>(store, milliseconds(30), 0.1); }, 5);
}

TEST(Rendezvous, NotEnoughCome) {
  const auto store = c10::make_intrusive<HashStore>();
  RendezvousOptions late = options(2, 3);
  late.join_timeout = milliseconds(400);
  Rendezvous rendezvous(store, late, node(0));
  try {
    rendezvous.next_round();
    FAIL();
  } catch (const RendezvousTimeoutError& error) {
    EXPECT_NE(error.msg().find("no round of the rendezvous began within 4"), std::string::npos) << error.msg();
    EXPECT_NE(error.msg().find("1 of at least 2 node(s) are there: node0"), std::string::npos) << error.msg();
  }
}

TEST(Rendezvous, CanBeStopped) {
  Rendezvous rendezvous(c10::make_intrusive<HashStore>(), options(2, 2), node(0));
  std::atomic<bool> is_stopped{false};
  std::thread other([&] {
    std::this_thread::sleep_for(milliseconds(100));
    is_stopped = true;
  });
  const auto begin = Clock::now();
  EXPECT_THROW(rendezvous.next_round([&] { return is_stopped.load(); }), RendezvousStoppedError);
  EXPECT_LT(Clock::now() - begin, milliseconds(2000));
  other.join();
}

TEST(Rendezvous, AFailureWithoutARestartClosesIt) {
  const auto store = c10::make_intrusive<HashStore>();
  testing::run_ranks(2, [&](int index) {
    Rendezvous rendezvous(store, options(2, 2), node(index));
    const Round round = rendezvous.next_round();
    // When both have it.
    store->barrier("begun", 2);
    if (index == 1) rendezvous.fail({round.number, 1, "worker 5 ended by SIGKILL"});
    wait_while(rendezvous, round.number, Standing::kRunning);
    EXPECT_EQ(rendezvous.standing(round.number), Standing::kFailed);
    EXPECT_EQ(rendezvous.reason(), "worker 5 ended by SIGKILL");
    EXPECT_THROW(rendezvous.next_round(), RendezvousClosedError);
  });
  Rendezvous late(store, options(2, 2), node(2));
  const std::string text = message_of([&] { late.next_round(); });
  EXPECT_EQ(text, "the rendezvous is closed: worker 5 ended by SIGKILL");
}

TEST(Rendezvous, ANodeLeaves) {
  const auto store = c10::make_intrusive<HashStore>();
  testing::run_ranks(3, [&](int index) {
    auto rendezvous = std::make_unique<Rendezvous>(store, options(2, 3), node(index));
    const Round round = rendezvous->next_round();
    EXPECT_EQ(round.size, 3);
    store->barrier("begun", 3);
    if (round.rank == 1) return;
    wait_while(*rendezvous, round.number, Standing::kRunning);
    const Round second = rendezvous->next_round();
    EXPECT_EQ(second.size, 2);
    EXPECT_EQ(second.restarts, 0);
    rendezvous->succeed(second.number);
    wait_while(*rendezvous, second.number, Standing::kRunning);
    if (second.rank != 0) return;
    const auto begin = Clock::now();
    EXPECT_TRUE(rendezvous->wait_until_alone(milliseconds(5000)));
    EXPECT_LT(Clock::now() - begin, milliseconds(4000));
  });
}

// The store's server ends: every node knows in time.
TEST(Rendezvous, TheStoreIsLost) {
  TCPStoreOptions at;
  at.port = 0;
  at.isServer = true;
  at.waitWorkers = false;
  auto server = c10::make_intrusive<TCPStore>("localhost", at);
  at.port = server->getPort();
  at.isServer = false;
  std::atomic<int> running{0};
  testing::run_ranks(3, [&](int index) {
    if (index == 2) {
      while (running < 2) std::this_thread::sleep_for(milliseconds(2));
      server.reset();
      return;
    }
    Rendezvous rendezvous(c10::make_intrusive<TCPStore>("localhost", at), options(2, 2), node(index));
    const Round round = rendezvous.next_round();
    ++running;
    wait_while(rendezvous, round.number, Standing::kRunning, milliseconds(3000));
    EXPECT_EQ(rendezvous.standing(round.number), Standing::kLost);
    EXPECT_NE(rendezvous.reason().find("the rendezvous' store is lost: "), std::string::npos) << rendezvous.reason();
    EXPECT_THROW(rendezvous.next_round(), RendezvousConnectionError);
  });
}

TEST(Rendezvous, AStoreOfSomethingElse) {
  const auto store = c10::make_intrusive<HashStore>();
  store->set("state", "something else");
  Rendezvous rendezvous(store, options(1, 1), node(0));
  const std::string text = message_of([&] { rendezvous.next_round(); });
  EXPECT_NE(text.find("the store holds what is no state of a rendezvous"), std::string::npos) << text;
}

}  // namespace
}  // namespace c10d::launch

#include "distributed/process_group/group_watch.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "c10/testing/files.h"
#include "distributed/process_group/store_notice.h"
#include "distributed/store/file_store.h"
#include "distributed/store/hash_store.h"
#include "distributed/store/prefix_store.h"
#include "distributed/store/tcp_store.h"
#include "distributed/testing/run_ranks.h"

namespace c10d {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using StorePtr = c10::intrusive_ptr<Store>;

// What was heard.
class Ear {
 public:
  GroupWatch::Hear hear() {
    return [this](const std::string& kind, const std::string& text) {
      const std::lock_guard<std::mutex> lock(mutex_);
      heard_.push_back(kind + ": " + text);
      changed_.notify_all();
    };
  }
  // The first `count`, or what came in 5 s.
  std::vector<std::string> first(size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(5), [&] { return heard_.size() >= count; });
    return heard_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> heard_;
};

// Handles of one store, as the ranks of a job have them.
struct Kind {
  const char* name;
  std::function<std::function<StorePtr()>()> make;
};
const Kind kKinds[] = {
    {"hash",
     [] {
       const StorePtr store = c10::make_intrusive<HashStore>();
       return [store] { return store; };
     }},
    {"file",
     [] {
       const std::string path = c10::testing::fresh_folder() + "/store";
       return [path]() -> StorePtr { return c10::make_intrusive<FileStore>(path, -1); };
     }},
    {"tcp",
     [] {
       TCPStoreOptions options;
       options.port = 0;
       options.isServer = true;
       const auto server = c10::make_intrusive<TCPStore>("127.0.0.1", options);
       return [server]() -> StorePtr {
         TCPStoreOptions client;
         client.port = server->getPort();
         return c10::make_intrusive<TCPStore>("127.0.0.1", client);
       };
     }},
    {"prefix",
     [] {
       const StorePtr store = c10::make_intrusive<HashStore>();
       return [store, n = 0]() mutable -> StorePtr {
         return c10::make_intrusive<PrefixStore>(std::to_string(n++), c10::make_intrusive<PrefixStore>("p", store));
       };
     }},
};

class GroupWatchOn : public ::testing::TestWithParam<Kind> {};

TEST_P(GroupWatchOn, MessagesInOrder) {
  auto open = GetParam().make();
  Ear a, b, other;
  const StorePtr first = open(), second = open();
  GroupWatch says(first, "group", a.hear()), hears(second, "group", b.hear()), apart(second, "other", other.hear());
  EXPECT_EQ(GroupWatch::threads(), 1);
  const auto begin = Clock::now();
  says.say("abort", "one");
  hears.say("abort", "two\nlines");
  says.say("note", "");
  const std::vector<std::string> expected{"abort: one", "abort: two\nlines", "note: "};
  EXPECT_EQ(b.first(3), expected);
  EXPECT_EQ(a.first(3), expected);
  EXPECT_LT(Clock::now() - begin, milliseconds(1000));
  EXPECT_TRUE(other.first(0).empty());
  // Who comes later hears what comes later.
  Ear late;
  GroupWatch watch(open(), "group", late.hear());
  says.say("abort", "three");
  EXPECT_EQ(late.first(1), std::vector<std::string>{"abort: three"});
}

TEST_P(GroupWatchOn, Ends) {
  auto open = GetParam().make();
  for (int i = 0; i < 3; ++i) {
    const StorePtr store = open();
    const auto handles = store.use_count();
    {
      Ear ear;
      GroupWatch a(store, "a", ear.hear());
      GroupWatch b(store, "b", ear.hear());
      EXPECT_EQ(GroupWatch::threads(), 1);
    }
    EXPECT_EQ(GroupWatch::threads(), 0);
    EXPECT_EQ(store.use_count(), handles);
  }
}

TEST_P(GroupWatchOn, Ticks) {
  auto open = GetParam().make();
  std::atomic<int> ticks = 0;
  Ear ear;
  GroupWatch watch(open(), "a", ear.hear(), [&] { ++ticks; });
  const auto until = Clock::now() + milliseconds(3000);
  while (ticks < 3 && Clock::now() < until) std::this_thread::sleep_for(milliseconds(2));
  EXPECT_GE(ticks, 3);
}
INSTANTIATE_TEST_SUITE_P(Stores, GroupWatchOn, ::testing::ValuesIn(kKinds),
                         [](const auto& info) { return info.param.name; });

// Who leaves is not called any more, whatever comes meanwhile.
TEST(GroupWatch, ManyComeAndGo) {
  const StorePtr store = c10::make_intrusive<HashStore>();
  testing::run_ranks(6, [&](int rank) {
    for (int i = 0; i < 20; ++i) {
      std::atomic<bool> is_alive = true;
      {
        GroupWatch watch(store, "g" + std::to_string(i % 3),
                         [&](const std::string&, const std::string&) { EXPECT_TRUE(is_alive); });
        watch.say("note", std::to_string(rank * 100 + i));
      }
      is_alive = false;
    }
  });
  EXPECT_EQ(GroupWatch::threads(), 0);
}

TEST(GroupWatch, AServerThatEnds) {
  TCPStoreOptions options;
  options.port = 0;
  options.isServer = true;
  auto server = c10::make_intrusive<TCPStore>("127.0.0.1", options);
  TCPStoreOptions client_options;
  client_options.port = server->getPort();
  const StorePtr client = c10::make_intrusive<TCPStore>("127.0.0.1", client_options);
  Ear ear;
  const auto begin = Clock::now();
  {
    GroupWatch watch(client, "a", ear.hear());
    server = nullptr;
    std::this_thread::sleep_for(milliseconds(30));
    EXPECT_THROW(watch.say("abort", "x"), c10::Error);
  }
  EXPECT_LT(Clock::now() - begin, milliseconds(3000));
  // Other stores are heard all the same.
  const StorePtr other = c10::make_intrusive<HashStore>();
  GroupWatch watch(other, "a", ear.hear());
  watch.say("abort", "y");
  EXPECT_EQ(ear.first(1), std::vector<std::string>{"abort: y"});
}

// As on a busy machine.
class SlowStore final : public HashStore {
 public:
  c10::intrusive_ptr<Store> clone() override { return c10::intrusive_ptr<Store>::reclaim_copy(this); }
  void set(const std::string& key, const std::vector<uint8_t>& value) override {
    std::this_thread::sleep_for(milliseconds(100));
    HashStore::set(key, value);
  }
};

// The words of ranks of which the first waited for the second, and that one for the third, which is stopped.
TEST(StoreNotice, ARankThatSpeaksLateIsNotTakenForTheOneThatStopped) {
  const StorePtr store = c10::make_intrusive<SlowStore>();
  StoreNotice first(store, 0, 3), second(store, 1, 3);
  first.post("timed out waiting for rank 1", {.ranks = {1}}, milliseconds(1500));
  std::thread late([&] {
    std::this_thread::sleep_for(milliseconds(400));  // more than a moment
    second.post("timed out waiting for rank 2", {.ranks = {2}}, milliseconds(1000));
  });
  const auto begin = Clock::now();
  // Nobody speaks for rank 2, however long that is waited for.
  EXPECT_EQ(first.others(), "; no word from rank 2");
  EXPECT_GE(Clock::now() - begin, milliseconds(1400));
  late.join();
  EXPECT_EQ(second.others(), "; the group's first error: timed out waiting for rank 1; no word from rank 2");
}

// Who ends a connection has said why before that.
TEST(StoreNotice, ARankThatIsGoneIsNotWaitedFor) {
  const StorePtr store = c10::make_intrusive<SlowStore>();
  StoreNotice first(store, 0, 4), second(store, 1, 4);
  const auto begin = Clock::now();
  // One of two, of which the other speaks.
  first.post("lost one of ranks 1, 3", {.ranks = {1, 3}, .are_gone = true}, milliseconds(5000));
  std::thread late([&] {
    std::this_thread::sleep_for(milliseconds(300));
    second.post("lost rank 3", {.ranks = {3}, .are_gone = true}, milliseconds(5000));
  });
  EXPECT_EQ(first.others(), "; no word from rank 3");
  late.join();
  EXPECT_EQ(second.others(), "; the group's first error: lost one of ranks 1, 3; no word from rank 3");
  EXPECT_LT(Clock::now() - begin, milliseconds(4000));
}

}  // namespace
}  // namespace c10d

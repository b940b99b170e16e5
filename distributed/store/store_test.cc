// Every operation on every store: one table of expectations for all kinds.

#include "distributed/store/store.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "c10/testing/message_of.h"
#include "distributed/store/hash_store.h"
#include "distributed/store/prefix_store.h"
#include "distributed/store/testing/stores.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace c10d {
namespace {

using c10::testing::message_of;
using std::chrono::milliseconds;
using testing::bytes;
using ::testing::HasSubstr;
using testing::store_kinds;
using testing::StoreKind;
using ::testing::UnorderedElementsAre;

class StoreTest : public ::testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override {
    open_ = GetParam().make();
    store_ = open_();
    other_ = open_();
  }
  // As the other handle sees it, once what this one has sent is there.
  std::string value(const std::string& key) {
    store_->check({});
    return other_->get_to_str(key);
  }

  std::function<c10::intrusive_ptr<Store>()> open_;
  c10::intrusive_ptr<Store> store_, other_;
};

TEST_P(StoreTest, SetAndGet) {
  store_->set("key", "value");
  EXPECT_EQ(store_->get_to_str("key"), "value");
  EXPECT_EQ(store_->get("key"), bytes("value"));
  EXPECT_EQ(value("key"), "value");
  store_->set("key", "another");
  EXPECT_EQ(value("key"), "another");
  store_->set("key", "");
  EXPECT_EQ(store_->get_to_str("key"), "");
  EXPECT_EQ(value("key"), "");
}

TEST_P(StoreTest, KeysAndValuesAreAnyBytes) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  for (const std::string& key : {std::string(), std::string("/"), std::string("a/b"), std::string("\0x", 2), all}) {
    store_->set(key, all);
    EXPECT_EQ(store_->get(key), bytes(all));
    EXPECT_TRUE(store_->check({key}));
  }
  const std::string large(300000, 'x');
  store_->set("large", large);
  EXPECT_EQ(store_->get_to_str("large"), large);
}

TEST_P(StoreTest, CompareSet) {
  EXPECT_EQ(store_->compareSet("key", "x", "1"), "x");  // not there: what was expected, and nothing is set
  EXPECT_FALSE(store_->check({"key"}));
  EXPECT_EQ(store_->compareSet("key", "", "1"), "1");
  EXPECT_EQ(store_->compareSet("key", "", "2"), "1");
  EXPECT_EQ(store_->compareSet("key", "x", "2"), "1");
  EXPECT_EQ(store_->compareSet("key", "1", "2"), "2");
  EXPECT_EQ(store_->get_to_str("key"), "2");
  EXPECT_EQ(store_->compareSet("key", bytes("2"), bytes("3")), bytes("3"));
}

TEST_P(StoreTest, Add) {
  EXPECT_EQ(store_->add("n", 5), 5);
  EXPECT_EQ(store_->add("n", -7), -2);
  EXPECT_EQ(store_->get_to_str("n"), "-2");
  store_->set("n", "41");
  EXPECT_EQ(store_->add("n", 1), 42);
  EXPECT_EQ(store_->add("n", 0), 42);
  EXPECT_EQ(store_->add("n", INT64_MAX), INT64_MIN + 41);  // wraps
  for (const char* text : {"text", "", "1x", " 1", "99999999999999999999"}) {
    auto store = open_();
    store->set("text", text);
    EXPECT_THROW(store->add("text", 1), c10::DistError) << text;
    EXPECT_EQ(value("text"), text);
  }
}

TEST_P(StoreTest, Check) {
  EXPECT_TRUE(store_->check({}));
  EXPECT_FALSE(store_->check({"a"}));
  store_->set("a", "1");
  store_->set("b", "");
  EXPECT_TRUE(store_->check({"a"}));
  EXPECT_TRUE(store_->check({"a", "b", "a"}));
  EXPECT_FALSE(store_->check({"a", "c"}));
}

TEST_P(StoreTest, DeleteKey) {
  store_->set("key", "1");
  if (!GetParam().has_queues) {
    EXPECT_THAT(message_of<c10::NotImplementedError>([&] { store_->deleteKey("key"); }), HasSubstr("not supported"));
    EXPECT_EQ(store_->get_to_str("key"), "1");
    return;
  }
  EXPECT_TRUE(store_->deleteKey("key"));
  EXPECT_FALSE(store_->check({"key"}));
  EXPECT_FALSE(store_->deleteKey("key"));
  store_->queuePush("queue", bytes("1"));
  EXPECT_TRUE(store_->deleteKey("queue"));
  EXPECT_EQ(store_->queueLen("queue"), 0);
}

TEST_P(StoreTest, NumberOfKeys) {
  const int64_t before = store_->getNumKeys();
  store_->set("a", "1");
  store_->set("a", "2");
  store_->add("b", 1);
  EXPECT_EQ(store_->getNumKeys(), before + 2);
}

TEST_P(StoreTest, ListKeys) {
  store_->set("a", "1");
  store_->add("b/c", 1);
  store_->set("", "1");
  EXPECT_THAT(store_->listKeys(), UnorderedElementsAre("a", "b/c", ""));
}

TEST_P(StoreTest, AppendAndSeveralKeys) {
  if (!store_->hasExtendedApi()) {
    EXPECT_THROW(store_->append("s", bytes("po")), c10::NotImplementedError);
  } else {
    store_->append("s", bytes("po"));
    store_->append("s", bytes("tato"));
    store_->append("s", {});
    EXPECT_EQ(store_->get_to_str("s"), "potato");
  }
  store_->multiSet({"a", "b", "a"}, {bytes("1"), bytes(""), bytes("2")});
  const std::vector<std::vector<uint8_t>> expected = {bytes(""), bytes("2"), bytes("")};
  EXPECT_EQ(store_->multiGet({"b", "a", "b"}), expected);
  store_->multiSet({}, {});
  EXPECT_TRUE(store_->multiGet({}).empty());
  EXPECT_THROW(store_->multiSet({"a"}, {}), c10::ValueError);
  EXPECT_EQ(value("a"), "2");
}

TEST_P(StoreTest, Queues) {
  if (!GetParam().has_queues) {
    EXPECT_THROW(store_->queuePush("q", bytes("1")), c10::NotImplementedError);
    EXPECT_THROW(store_->queuePop("q"), c10::NotImplementedError);
    EXPECT_THROW(store_->queueLen("q"), c10::NotImplementedError);
    return;
  }
  const int64_t keys = store_->getNumKeys();
  EXPECT_EQ(store_->queueLen("q"), 0);
  EXPECT_THROW(store_->queuePop("q", false), c10::DistQueueEmptyError);
  EXPECT_FALSE(store_->check({"q"}));
  for (const char* element : {"1", "", "3"}) store_->queuePush("q", bytes(element));
  EXPECT_EQ(store_->queueLen("q"), 3);
  EXPECT_TRUE(store_->check({"q"}));
  store_->wait({"q"});
  EXPECT_EQ(store_->getNumKeys(), keys);
  EXPECT_EQ(store_->queuePop("q"), bytes("1"));
  EXPECT_EQ(other_->queuePop("q", false), bytes(""));
  EXPECT_EQ(store_->queuePop("q"), bytes("3"));
  EXPECT_THAT(message_of<c10::DistQueueEmptyError>([&] { store_->queuePop("q", false); }), HasSubstr("queue is empty"));
  // A key of the same name is another thing.
  store_->set("q", "value");
  store_->queuePush("q", bytes("element"));
  EXPECT_EQ(store_->get_to_str("q"), "value");
  EXPECT_EQ(store_->queuePop("q"), bytes("element"));
}

TEST_P(StoreTest, AKeyThatIsSetWakesWhoWaits) {
  std::thread setter([&] {
    std::this_thread::sleep_for(milliseconds(50));
    other_->set("a", "1");
    other_->add("b", 2);
  });
  store_->wait({"a", "b"}, std::chrono::seconds(30));
  EXPECT_EQ(store_->get_to_str("b"), "2");
  setter.join();

  std::thread second([&] {
    std::this_thread::sleep_for(milliseconds(50));
    other_->compareSet("c", "", "3");
    std::this_thread::sleep_for(milliseconds(20));
    other_->multiSet({"d", "e"}, {bytes("4"), bytes("5")});
  });
  EXPECT_EQ(store_->get_to_str("c"), "3");
  EXPECT_EQ(store_->multiGet({"d", "e"})[1], bytes("5"));
  second.join();
}

TEST_P(StoreTest, OnlyWhatSetsAKeyWakes) {
  std::thread looks([&] {
    std::this_thread::sleep_for(milliseconds(30));
    other_->compareSet("key", "x", "1");
    other_->check({"key"});
    other_->add("another key", 1);
  });
  EXPECT_THROW(store_->wait({"key"}, milliseconds(150)), c10::DistStoreError);
  looks.join();
}

TEST_P(StoreTest, AnElementWakesOneOfThoseThatWait) {
  if (!GetParam().has_queues) return;
  std::atomic<int> sum{0};
  std::vector<std::thread> takers;
  for (int i = 0; i < 3; ++i) {
    takers.emplace_back([&] { sum += static_cast<int>(open_()->queuePop("q")[0]); });
  }
  std::this_thread::sleep_for(milliseconds(50));
  for (uint8_t i = 1; i <= 3; ++i) other_->queuePush("q", {i});
  for (std::thread& taker : takers) taker.join();
  EXPECT_EQ(sum, 6);
  EXPECT_EQ(store_->queueLen("q"), 0);
}

TEST_P(StoreTest, TimeoutsNameKeyAndTime) {
  store_->set("there", "1");
  const auto start = std::chrono::steady_clock::now();
  const std::string waited = message_of<c10::DistStoreError>([&] {
    store_->wait({"there", "never"}, milliseconds(60));
  });
  const auto took = std::chrono::steady_clock::now() - start;
  EXPECT_GE(took, milliseconds(60));
  EXPECT_LT(took, std::chrono::seconds(20));
  EXPECT_THAT(waited, HasSubstr("wait timeout after "));
  EXPECT_THAT(waited, HasSubstr("limit 60 ms"));
  EXPECT_THAT(waited, HasSubstr("never'"));
  {
    StoreTimeoutGuard guard(*store_, milliseconds(40));
    EXPECT_EQ(store_->getTimeout(), milliseconds(40));
    EXPECT_THAT(message_of<c10::DistStoreError>([&] { store_->get("absent"); }), HasSubstr("absent'"));
    EXPECT_THAT(message_of<c10::DistStoreError>([&] { store_->multiGet({"there", "absent"}); }), HasSubstr("absent'"));
    EXPECT_THROW(store_->wait({"absent"}), c10::DistStoreError);
    if (GetParam().has_queues) {
      EXPECT_THAT(message_of<c10::DistStoreError>([&] { store_->queuePop("queue"); }), HasSubstr("queue'"));
    }
  }
  EXPECT_GT(store_->getTimeout(), milliseconds(40));
  EXPECT_THROW(store_->wait({"there"}, milliseconds(-1)), c10::ValueError);
  EXPECT_THROW(store_->setTimeout(milliseconds(-1)), c10::ValueError);
  store_->wait({"there"}, Store::kNoTimeout);
  // The store is as good as before.
  EXPECT_EQ(store_->get_to_str("there"), "1");
  store_->set("absent", "2");
  EXPECT_EQ(store_->get_to_str("absent"), "2");
}

TEST_P(StoreTest, BarrierHoldsUntilAllHaveCome) {
  constexpr int kThreads = 4;
  std::atomic<int> arrived{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      auto store = open_();
      for (int round = 1; round <= 3; ++round) {
        ++arrived;
        store->barrier("gate", kThreads);
        EXPECT_GE(arrived, round * kThreads);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THROW(store_->barrier("gate", 0), c10::ValueError);
  EXPECT_THROW(store_->barrier("other gate", 2, milliseconds(40)), c10::DistStoreError);
}

TEST_P(StoreTest, ClonesShareTheData) {
  if (std::string(GetParam().name) == "plain") return;
  store_->set("key", "1");
  store_->setTimeout(std::chrono::seconds(20));
  auto copy = store_->clone();
  EXPECT_EQ(copy->get_to_str("key"), "1");
  EXPECT_EQ(copy->getTimeout(), std::chrono::seconds(20));
  copy->set("key", "2");
  EXPECT_EQ(copy->get_to_str("key"), "2");
  EXPECT_EQ(store_->get_to_str("key"), "2");
}

TEST_P(StoreTest, ThreadsShareOneHandle) {
  constexpr int kThreads = 8, kRounds = 50;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const std::string own = "thread" + std::to_string(t);
      for (int i = 0; i < kRounds; ++i) {
        store_->add("sum", 1);
        store_->set(own, std::to_string(i));
        EXPECT_EQ(store_->get_to_str(own), std::to_string(i));
        if (store_->hasExtendedApi()) store_->append("log", {static_cast<uint8_t>('a' + t)});
      }
      // Waits for the next thread, while others go on.
      store_->set("done" + std::to_string(t), "1");
      store_->wait({"done" + std::to_string((t + 1) % kThreads)});
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store_->add("sum", 0), kThreads * kRounds);
  if (!store_->hasExtendedApi()) return;
  const std::string log = store_->get_to_str("log");
  EXPECT_EQ(log.size(), kThreads * kRounds);
  for (int t = 0; t < kThreads; ++t) EXPECT_EQ(std::count(log.begin(), log.end(), 'a' + t), kRounds);
}

TEST_P(StoreTest, OneOfManyWinsACompareSet) {
  std::atomic<int> winners{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      const std::string mine = "rank " + std::to_string(t);
      if (open_()->compareSet("leader", "", mine) == mine) ++winners;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(winners, 1);
}

INSTANTIATE_TEST_SUITE_P(All, StoreTest, ::testing::ValuesIn(store_kinds()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(PrefixStoreTest, KeysStandBelowThePrefix) {
  auto store = c10::make_intrusive<HashStore>();
  auto outer = c10::make_intrusive<PrefixStore>("outer", store);
  auto inner = c10::make_intrusive<PrefixStore>("inner", outer);
  inner->set("key", "1");
  store->set("outerkey", "2");
  EXPECT_EQ(store->get_to_str("outer/inner/key"), "1");
  EXPECT_THAT(outer->listKeys(), UnorderedElementsAre("inner/key"));
  EXPECT_THAT(inner->listKeys(), UnorderedElementsAre("key"));
  inner->barrier("gate", 1);
  inner->queuePush("q", bytes("1"));
  EXPECT_EQ(store->queueLen("outer/inner/q"), 1);
  EXPECT_EQ(inner->getUnderlyingStore().get(), outer.get());
  EXPECT_EQ(inner->getUnderlyingNonPrefixStore().get(), store.get());
  inner->setTimeout(milliseconds(123));
  EXPECT_EQ(store->getTimeout(), milliseconds(123));
  EXPECT_THROW(PrefixStore("x", nullptr), c10::ValueError);
}

TEST(StoreErrorsTest, AreErrorsOfDistributedPrograms) {
  EXPECT_TRUE((std::is_base_of_v<c10::DistStoreError, c10::DistQueueEmptyError>));
  EXPECT_TRUE((std::is_base_of_v<c10::DistError, c10::DistStoreError>));
}

}  // namespace
}  // namespace c10d
